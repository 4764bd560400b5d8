-- 100,000 rows of the issue tracker.

INSERT INTO users
SELECT n,
    CASE n % 20
        -- A deleted user had the login of the next one, in another case.
        WHEN 18 THEN 'USER-' || n + 1 WHEN 1 THEN 'ユーザー' || n WHEN 2 THEN 'Élodie' || n WHEN 3 THEN 'with#hash' || n
        WHEN 4 THEN CASE n WHEN 4 THEN '' ELSE ' spaced ' || n || '  ' END
        ELSE 'user-' || n END,
    CASE n % 15 WHEN 0 THEN NULL WHEN 1 THEN 'User' || n + 1 || '@Example.com' ELSE 'user' || n || '@example.com' END,
    CASE n % 12 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN '🐈‍⬛ ' || n ELSE 'User ' || n END,
    '$2b$10$' || md5('password' || n),
    (ARRAY['Europe/Berlin', 'Asia/Tokyo', 'America/St_Johns', NULL, 'UTC'])[1 + n % 5],
    n % 100 = 0,
    CASE n % 10 WHEN 0 THEN NULL WHEN 1 THEN '{"a": 1, "a" : 2.50, "b":[ ]}' ELSE json_build_object('page', n % 9, 'mail', NULL) END,
    CASE n % 16 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN '{"broken":' WHEN 3 THEN '[1e3, "x"]' WHEN 4 THEN '{"n": 1e999}'
        ELSE '{"theme": "dark"}' END,
    CASE n % 50
        -- In New York's or in Berlin's gap, repeated hours, and long ago.
        WHEN 1 THEN timestamp '2025-03-30 02:30' WHEN 2 THEN timestamp '2025-10-26 02:30' WHEN 3 THEN timestamp '1969-07-20 20:17:40.5'
        ELSE pg_temp.moment('user', n) AT TIME ZONE 'UTC' END,
    CASE n % 30 WHEN 0 THEN NULL WHEN 1 THEN timestamptz 'infinity' WHEN 2 THEN timestamptz '-infinity' WHEN 3 THEN timestamptz '0044-03-15 00:00Z BC'
        ELSE pg_temp.moment('seen', n) END,
    CASE WHEN n % 20 = 18 THEN pg_temp.moment('user deleted', n) END
FROM generate_series(1, 2000) AS n;

INSERT INTO projects
SELECT pg_temp.uuid_of('project', n), 'P' || n, CASE n % 9 WHEN 0 THEN '' ELSE '  Project ' || n || ' 🚀' END,
    (enum_range(NULL::visibility))[1 + n % 3], CASE WHEN n % 4 > 0 THEN 1 + pg_temp.pick('lead', n, 2000) END,
    CASE n % 25 WHEN 7 THEN 'Moon/Base' ELSE (ARRAY['Europe/Berlin', 'Asia/Tokyo', 'America/St_Johns', NULL, 'Pacific/Apia'])[1 + n % 5] END,
    jsonb_build_object('columns', ARRAY['todo', 'doing', 'done'], 'limits', '{"doing": 3.0}'::jsonb),
    CASE n % 10 WHEN 0 THEN NULL WHEN 1 THEN -0.0000000001 WHEN 2 THEN 9999999999999999999999999999.9999999999 ELSE n * 1000.50 END,
    CASE n % 10 WHEN 1 THEN date 'infinity' WHEN 2 THEN date '-infinity' WHEN 3 THEN date '1912-06-23' ELSE date '2024-01-01' + n END,
    pg_temp.moment('project', n), pg_temp.moment('project updated', n),
    CASE WHEN n % 16 = 15 THEN pg_temp.moment('project deleted', n) END
FROM generate_series(1, 500) AS n;

INSERT INTO members
SELECT pg_temp.uuid_of('project', 1 + (n - 1) % 500), 1 + (n * 13 + (n - 1) / 500) % 2000, (enum_range(NULL::member_role))[1 + n % 4],
    CASE n % 40 WHEN 1 THEN NULL WHEN 2 THEN timestamptz 'infinity' ELSE pg_temp.moment('joined', n) END
FROM generate_series(1, 4000) AS n;

INSERT INTO labels
SELECT pg_temp.uuid_of('project', 1 + (n - 1) / 5), (ARRAY['bug', 'Feature', 'BUG ', '🔥 hot', ''])[1 + n % 5],
    lpad(to_hex(pg_temp.pick('color', n, 16777216)), 6, '0'), pg_temp.moment('label', n)
FROM generate_series(1, 2500) AS n;

INSERT INTO issues
SELECT pg_temp.uuid_of('project', project), number, pg_temp.uuid_of('issue', n),
    CASE n % 10 WHEN 0 THEN '' WHEN 1 THEN 'It crashes 💥 ' || n ELSE 'Issue ' || n END,
    CASE n % 3000 WHEN 1 THEN pg_temp.long_text(400000) WHEN 2 THEN pg_temp.long_text(416000) WHEN 3 THEN repeat('é', 300000)
        ELSE CASE n % 4 WHEN 0 THEN NULL ELSE 'Steps:' || E'\n1. open\n\t2. wait ' || n END END,
    (enum_range(NULL::issue_state))[1 + pg_temp.pick('state', n, 4)],
    CASE n % 8 WHEN 0 THEN NULL WHEN 1 THEN CASE WHEN n % 400 = 1 THEN -32768 ELSE 0 END ELSE n % 8 END,
    CASE n % 9 WHEN 0 THEN NULL ELSE 1 + pg_temp.pick('reporter', n, 3000) END,
    CASE WHEN n % 3 > 0 THEN 1 + pg_temp.pick('assignee', n, 2000) END,
    CASE WHEN number BETWEEN 2 AND 30 AND n % 7 = 0 THEN number - 1 END,
    CASE n % 50 WHEN 1 THEN date 'infinity' WHEN 2 THEN date '1899-12-31' WHEN 3 THEN date '0001-01-01 BC' WHEN 4 THEN NULL
        ELSE date '2025-01-01' + n % 400 END,
    CASE n % 5 WHEN 0 THEN NULL WHEN 1 THEN interval '-1 day 02:00' ELSE n * interval '1 minute' END,
    CASE n % 500 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -9223372036854775808 ELSE n % 100 END,
    CASE n % 6 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE ARRAY[n, 9223372036854775807, NULL, n] END,
    CASE n % 20 WHEN 0 THEN NULL WHEN 1 THEN '[]' WHEN 2 THEN '{"severity": 1.50, "tree": {"leaf": [null, false, "x"]}}'
        WHEN 3 THEN CASE WHEN n % 600 = 3 THEN '{"n": 1e200}' ELSE '7' END::jsonb ELSE jsonb_build_object('source', 'web', 'build', n) END,
    CASE n % 300 WHEN 5 THEN timestamptz '1960-05-05 12:00Z' ELSE pg_temp.moment('issue', n) END,
    pg_temp.moment('issue updated', n), CASE WHEN n % 3 = 0 THEN pg_temp.moment('closed', n) END,
    CASE WHEN n % 25 = 24 THEN pg_temp.moment('issue deleted', n) END
FROM (SELECT n, 1 + (n - 1) % 500 AS project, CASE WHEN n > 14990 THEN 2147483647 - 15000 + n ELSE 1 + (n - 1) / 500 END AS number
    FROM generate_series(1, 15000) AS n) AS numbered;

INSERT INTO issue_labels
SELECT issues.project_id, number, name
FROM (SELECT project_id, number, row_number() OVER (ORDER BY public_id) AS n FROM issues) AS issues
JOIN labels ON labels.project_id = issues.project_id
    AND (length(name) + n) % 3 = 0
ORDER BY issues.n, name LIMIT 20000;

INSERT INTO comments
SELECT CASE n WHEN 40000 THEN 9223372036854775807 ELSE n END, pg_temp.uuid_of('project', 1 + (n - 1) % 500),
    -- Some issues never existed.
    CASE WHEN n % 60 = 0 THEN 100000 + n ELSE 1 + pg_temp.pick('commented', n, 29) END,
    CASE n % 8 WHEN 0 THEN NULL ELSE 1 + pg_temp.pick('author', n, 2000) END,
    CASE n % 8000 WHEN 1 THEN pg_temp.long_text(408000) WHEN 2 THEN pg_temp.long_text(500000) ELSE
        CASE n % 7 WHEN 0 THEN '' WHEN 1 THEN '👍🏽' ELSE 'Comment ' || n || E' \\ "x"' END END,
    CASE n % 5 WHEN 0 THEN ARRAY[n % 2000, n % 1999, n % 2000]::integer[] ELSE '{}' END,
    CASE n % 6 WHEN 0 THEN jsonb_build_object('+1', n % 9, '👀', ARRAY[1, 2]) ELSE '{}' END,
    CASE n % 800 WHEN 3 THEN timestamptz 'infinity' WHEN 2 THEN timestamptz '1969-12-31 23:59:59.999999Z' ELSE pg_temp.moment('comment', n) END,
    CASE WHEN n % 9 = 0 THEN pg_temp.moment('edited', n) END,
    CASE WHEN n % 30 = 29 THEN pg_temp.moment('comment deleted', n) END
FROM generate_series(1, 40000) AS n;

INSERT INTO attachments
SELECT pg_temp.uuid_of('attachment', n), CASE n % 15 WHEN 0 THEN NULL ELSE 1 + pg_temp.pick('attached', n, 39999) END,
    CASE n % 5 WHEN 0 THEN '' WHEN 1 THEN 'bild ' || n || '.PNG' ELSE 'file-' || n || '.txt' END,
    CASE n % 90 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN 0 ELSE n END,
    CASE n % 30 WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN 1e38 WHEN 4 THEN 1e-38 WHEN 5 THEN NULL ELSE (n % 16) / 4.0 END,
    CASE n % 2000 WHEN 1 THEN decode(repeat('00ff', 200000), 'hex') WHEN 2 THEN decode(repeat('00ff', 220000), 'hex')
        ELSE CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN ''::bytea ELSE decode(md5('content' || n), 'hex') END END,
    (enum_range(NULL::scan_state))[1 + pg_temp.pick('scan', n, 20) / 9], pg_temp.moment('attachment', n)
FROM generate_series(1, 6000) AS n;

INSERT INTO thumbnails
SELECT pg_temp.uuid_of('attachment', n * 3), n % 640, n % 480, decode(md5('thumbnail' || n), 'hex') FROM generate_series(1, 2000) AS n;

INSERT INTO watches
SELECT 1 + (n * 7) % 2100, pg_temp.uuid_of('project', 1 + (n - 1) % 500), n,
    pg_temp.moment('watch', n), CASE n % 11 WHEN 0 THEN timestamptz 'infinity' WHEN 1 THEN pg_temp.moment('muted', n) END
FROM generate_series(1, 8000) AS n;
