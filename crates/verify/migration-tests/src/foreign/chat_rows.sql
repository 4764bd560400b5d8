-- 100,000 rows of the chat.

CREATE OR REPLACE FUNCTION pg_temp.room(n bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE n WHEN 1 THEN 9223372036854775807 WHEN 2 THEN 1 ELSE 1700000000000000 + n * 4096 END
$$;

INSERT INTO users
SELECT pg_temp.uuid_of('user', n),
    CASE n % 25 WHEN 1 THEN 'Grüße' || n WHEN 2 THEN 'Ops#' || n WHEN 3 THEN '🐙' || n WHEN 4 THEN 'very' || repeat('-long', 40) || n
        ELSE 'Handle_' || n END,
    CASE n % 8 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN '   ' WHEN 3 THEN E'line\nbreak ' || n ELSE 'Name ' || n || ' 🎧' END,
    CASE n % 1500 WHEN 1 THEN pg_temp.long_text(300000) ELSE CASE WHEN n % 3 = 0 THEN 'About me ' || n END END,
    CASE n % 6 WHEN 0 THEN '' WHEN 1 THEN '🏖️' END,
    CASE WHEN n % 4 = 0 THEN time '22:00' WHEN n % 4 = 1 THEN time '24:00' END,
    CASE WHEN n % 4 = 0 THEN time '06:30:00.5' END,
    CASE n % 40 WHEN 1 THEN '{}' WHEN 2 THEN '[]' WHEN 3 THEN CASE WHEN n % 600 = 3 THEN '{"n": 0.123456789012345678901234567890123456789}' ELSE '{"n": 0.10}' END::jsonb
        ELSE jsonb_build_object('theme', n % 3, 'sounds', jsonb_build_object('volume', 0.50, 'off', NULL)) END,
    CASE n % 200 WHEN 1 THEN timestamptz '1969-12-31 23:59:59Z' WHEN 2 THEN timestamptz 'infinity' ELSE pg_temp.moment('user', n) END,
    CASE WHEN n % 30 = 29 THEN pg_temp.moment('user deleted', n) END
FROM generate_series(1, 3000) AS n;

INSERT INTO rooms
SELECT pg_temp.room(n), kind,
    CASE WHEN kind = 'direct' THEN NULL ELSE CASE n % 14
        -- A deleted room had the name of the next one.
        WHEN 4 THEN 'GENERAL-' || n + 3 WHEN 6 THEN 'straße-' || n WHEN 7 THEN 'general-' || n WHEN 0 THEN ' spaced ' || n
        WHEN 1 THEN 'with#hash' || n ELSE 'Room-' || n END END,
    CASE WHEN kind = 'direct' THEN CASE WHEN n % 30 < 3 THEN 'Handle_7:handle_' || n / 90 ELSE 'HANDLE_' || n || ':Handle_9' END END,
    CASE n % 5 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'Topic ' || n || ' 📌' END,
    CASE n % 6 WHEN 0 THEN NULL WHEN 1 THEN interval '1 mon 3 days' ELSE n * interval '1 hour' END,
    CASE n % 9 WHEN 0 THEN NULL WHEN 1 THEN 'true' ELSE jsonb_build_object('slow', n % 60, 'words', ARRAY['x', '', NULL], 'ratio', 1.250) END,
    CASE WHEN n % 12 = 1 THEN decode(repeat(md5('icon' || n), 8), 'hex') END,
    CASE WHEN n % 7 > 0 THEN pg_temp.uuid_of('user', 1 + pg_temp.pick('creator', n, 3000)) END,
    pg_temp.moment('room', n), CASE WHEN n % 3 > 0 THEN pg_temp.moment('room updated', n) END,
    CASE WHEN n % 14 = 4 THEN pg_temp.moment('room deleted', n) END
FROM (SELECT n, (enum_range(NULL::room_kind))[1 + n % 3] AS kind FROM generate_series(1, 1500) AS n) AS numbered;

INSERT INTO members
SELECT pg_temp.room(1 + (n - 1) % 1500), pg_temp.uuid_of('user', 1 + (n * 11 + (n - 1) / 1500) % 3000),
    (enum_range(NULL::role))[1 + n % 4], CASE n % 6 WHEN 0 THEN '' WHEN 1 THEN 'Nick 🦊 ' || n END,
    CASE n % 60 WHEN 1 THEN NULL WHEN 2 THEN timestamp '-infinity' WHEN 3 THEN timestamp '1970-01-01'
        ELSE pg_temp.moment('joined', n) AT TIME ZONE 'UTC' END,
    CASE n % 5 WHEN 0 THEN NULL WHEN 1 THEN 9223372036854775807 WHEN 2 THEN 0 ELSE n * 1000 END,
    CASE n % 10 WHEN 0 THEN tstzrange('2025-01-01 00:00Z', '2025-02-01 00:00Z') WHEN 1 THEN 'empty' END,
    CASE n % 80 WHEN 1 THEN 'NaN' WHEN 2 THEN 1e-130 WHEN 3 THEN 9.5e125 WHEN 4 THEN 1e126 WHEN 5 THEN 'Infinity'
        WHEN 6 THEN 0.12345678901234567890123456789012345678 ELSE (n % 100) / 100.0 END
FROM generate_series(1, 12000) AS n;

INSERT INTO messages
SELECT CASE WHEN n % 400 = 0 THEN 77 WHEN n % 3 = 0 THEN pg_temp.room(3) ELSE pg_temp.room(1 + pg_temp.pick('room of message', n, 1500)) END,
    CASE n WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -1 ELSE 1700000000000000000 + n::bigint * 4194304 END,
    CASE WHEN n % 15 > 0 THEN pg_temp.uuid_of('user', 1 + pg_temp.pick('author', n, 3000)) END,
    CASE n % 12000 WHEN 3 THEN pg_temp.long_text(405000) WHEN 2 THEN repeat('🦑', 110000) ELSE CASE n % 9 WHEN 0 THEN NULL WHEN 1 THEN ''
        WHEN 2 THEN '¯\_(ツ)_/¯' WHEN 3 THEN E'multi\r\nline\t' || n ELSE 'Message ' || n END END,
    CASE n % 6 WHEN 0 THEN NULL WHEN 1 THEN ARRAY[pg_temp.uuid_of('user', 9), NULL, pg_temp.uuid_of('user', 8), pg_temp.uuid_of('user', 9)] ELSE '{}' END,
    CASE n % 10 WHEN 0 THEN jsonb_build_array(jsonb_build_object('name', 'photo.jpg', 'bytes', n * 1000000000::numeric, 'size', ARRAY[1.50, 2])) ELSE '[]' END,
    CASE WHEN n % 7 = 0 THEN 1700000000000000000 + (n - 3)::bigint * 4194304 END,
    CASE WHEN n % 50 = 0 THEN point(n / 8.0, -0.5) END,
    CASE n % 900 WHEN 3 THEN timestamptz 'infinity' WHEN 4 THEN timestamptz '0001-01-01 00:00Z' WHEN 5 THEN timestamptz '9999-12-31 23:59:59Z'
        WHEN 6 THEN timestamptz '9999-12-30 21:59:59.999999Z'
        ELSE pg_temp.moment('sent', n) END,
    CASE WHEN n % 11 = 0 THEN pg_temp.moment('edited', n) END,
    -- Long ago or in a long time, so that the result does not depend on the day of the test.
    CASE n % 20 WHEN 1 THEN timestamptz '2020-02-29 12:00Z' WHEN 2 THEN timestamptz '2099-12-31 23:59:59.999Z' END,
    CASE WHEN n % 25 = 24 THEN pg_temp.moment('message deleted', n) END
FROM generate_series(1, 60000) AS n;

-- The most popular message has 300 of them.
INSERT INTO reactions
SELECT messages.room_id, messages.id, pg_temp.uuid_of('user', 1 + (reaction * 7) % 3000), (ARRAY['👍', '❤️', ':shipit:', '👍🏽'])[1 + reaction % 4],
    timestamptz '2025-05-05 05:05Z' + (reaction % 10) * interval '1 second'
FROM (SELECT n, CASE WHEN n <= 300 THEN 60 ELSE 1 + n * 3 END AS message, CASE WHEN n <= 300 THEN n ELSE n % 997 END AS reaction
    FROM generate_series(1, 18000) AS n) AS numbered
JOIN messages ON messages.id = 1700000000000000000 + message::bigint * 4194304;

INSERT INTO pins
SELECT room_id, id, author_id, sent_at FROM messages WHERE isfinite(sent_at) ORDER BY md5(id::text) LIMIT 1500;

INSERT INTO invites
SELECT pg_temp.uuid_of('invite', n), CASE WHEN n % 20 > 0 THEN pg_temp.room(1 + (n - 1) % 1500) END,
    CASE WHEN n % 3 > 0 THEN pg_temp.uuid_of('user', 1 + pg_temp.pick('inviter', n, 3000)) END, n % 50,
    CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN 9999999999 ELSE n % 50 END,
    CASE n % 5 WHEN 0 THEN NULL WHEN 1 THEN timestamptz '1999-12-31 23:59Z' WHEN 2 THEN timestamptz 'infinity' ELSE timestamptz '2098-01-01 00:00Z' + n * interval '1 minute' END,
    pg_temp.moment('invite', n)
FROM generate_series(1, 2500) AS n;

INSERT INTO devices
SELECT n, CASE WHEN n % 18 = 0 THEN pg_temp.uuid_of('nobody', n) ELSE pg_temp.uuid_of('user', 1 + pg_temp.pick('device of', n, 3000)) END,
    (ARRAY['ios', 'Android', ' WEB ', 'fridge', NULL])[1 + n % 5],
    CASE n % 9 WHEN 0 THEN NULL WHEN 1 THEN 'TOKEN-' || n + 1 ELSE 'token-' || n END,
    CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE ARRAY['192.168.0.1', '2001:db8::1', '10.0.0.0/8', '192.168.0.1']::inet[] END,
    CASE n % 3 WHEN 0 THEN NULL WHEN 1 THEN '127.0.0.1' ELSE '10.1.0.0/16' END::inet,
    CASE n % 70 WHEN 1 THEN date '-infinity' WHEN 2 THEN date '1583-01-01' WHEN 3 THEN NULL ELSE date '2025-01-01' + n % 300 END,
    pg_temp.moment('device', n)
FROM generate_series(1, 1500) AS n;

REFRESH MATERIALIZED VIEW recent_messages;
