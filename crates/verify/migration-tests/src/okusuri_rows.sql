-- So many users as rows.users says, with some forty awkward rows each: the same of the same seed.
-- random.sql has the functions.

-- better-auth's ids are 32 letters and digits; a few are not.
CREATE TEMP TABLE person AS SELECT n, CASE n WHEN 13 THEN 'with#hash' WHEN 14 THEN '利用者 14 🙂' WHEN 15 THEN repeat('x', 200)
        ELSE md5(current_setting('rows.seed') || 'user' || n) END AS id
    FROM generate_series(0, current_setting('rows.users')::int - 1) AS n;

INSERT INTO "user" (id, name, email, "emailVerified", image, "createdAt", "updatedAt", "deletedAt")
    SELECT id,
        CASE n % 9 WHEN 0 THEN NULL WHEN 1 THEN '🌊💊👩🏽‍⚕️ はなこ' WHEN 3 THEN '' WHEN 4 THEN E'e\u0301 and é'
            WHEN 2 THEN E'tab\tline\nback\\slash "quotes" ''and'' \u200fשלום' ELSE 'User ' || n END,
        -- Two users with one address in other cases.
        CASE WHEN n % 20 = 0 THEN NULL WHEN n % 20 = 1 THEN 'user' || n - 1 || '@EXAMPLE.COM' WHEN n % 20 = 2 THEN 'USER' || n - 2 || '@EXAMPLE.COM'
            WHEN n % 20 = 3 THEN 'user' || n || '@bücher.example' WHEN n % 20 = 4 THEN repeat('  ', n % 3) || 'user' || n || '@example.com '
            WHEN n % 200 = 5 THEN 'no address ' || n ELSE 'user' || n || '@example.com' END,
        (ARRAY[true, false, NULL])[1 + pg_temp.pick('verified', n, 3)],
        CASE WHEN n % 50 = 1 THEN 'https://example.com/' || repeat('p', 3000)
            WHEN n % 50 = 2 THEN 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
            WHEN n % 500 = 3 THEN 'data:image/jpeg;base64,' || repeat('QUJD', 65000) WHEN n % 500 = 4 THEN 'data:image/png;base64,' || repeat('QUJD', 97000)
            WHEN n % 3 = 0 THEN 'https://example.com/' || n || '.png' END,
        CASE WHEN n % 100 = 7 THEN '1900-01-01' WHEN n % 100 = 8 THEN '1969-07-20 20:17:40.123456' WHEN n = 9 THEN 'infinity'
            WHEN n = 10 THEN '0044-03-15 BC' WHEN n = 11 THEN '12026-01-01' ELSE '2023-11-05 01:30:00.5' END::timestamp,
        pg_temp.moment('updated', n), CASE WHEN n % 33 = 32 THEN timestamp '2025-01-01' END
    FROM person;

INSERT INTO session (id, "expiresAt", token, "createdAt", "updatedAt", "ipAddress", "userAgent", "userId")
    SELECT left(md5('session' || s), 24),
        CASE WHEN kind < 5 THEN '2099-12-31 23:59:59.999' WHEN kind = 5 THEN '1969-12-31' WHEN kind = 6 AND m = 0 THEN 'infinity' ELSE '2020-02-29 12:00' END::timestamp,
        CASE WHEN n % 300 < 299 THEN md5('token' || s) END, pg_temp.moment('session', s), pg_temp.moment('session', s),
        (ARRAY['192.168.1.1', '2001:db8::1', NULL])[1 + pg_temp.pick('ip', s, 3)],
        CASE pg_temp.pick('agent', s, 20) WHEN 0 THEN NULL WHEN 1 THEN repeat('Mozilla ', 400) ELSE 'Mozilla/5.0 (iPhone; ねこ) 🐈' END, id
    FROM person, generate_series(0, pg_temp.pick('sessions', n, 4) - 1) AS m, LATERAL (SELECT n * 10 + m AS s) AS numbered,
        LATERAL (SELECT pg_temp.pick('expires', s, 10) AS kind) AS drawn;

-- Every now and then two users share a login.
INSERT INTO account (id, "accountId", "providerId", "userId", "accessToken", "refreshToken", "accessTokenExpiresAt", scope, password, "createdAt", "updatedAt")
    SELECT left(md5('account' || a), 24),
        CASE WHEN n % 60 = 59 THEN provider || '-' || n - 1 WHEN n % 60 = 58 AND provider = 'apple' THEN 'with#hash-' || n ELSE provider || '-' || n END,
        provider, id, access, access,
        CASE WHEN access IS NOT NULL THEN (ARRAY['2099-01-01', '2001-01-01', 'infinity'])[CASE WHEN n % 40 = 0 THEN 1 + pg_temp.pick('ends', a, 3) ELSE 1 END]::timestamp END,
        'openid profile email', CASE WHEN provider = 'credential' THEN '5a1t:6a5h' END, pg_temp.moment('account', a), pg_temp.moment('account', a)
    FROM person, generate_series(1, pg_temp.pick('accounts', n, 4)) AS m, LATERAL (SELECT n * 10 + m AS a) AS numbered,
        LATERAL (SELECT (ARRAY['google', 'apple', 'credential'])[m] AS provider,
            CASE WHEN pg_temp.pick('access', a, 2) = 0 THEN 'ya29.' || repeat(md5('access' || a), 6) END AS access) AS drawn;

INSERT INTO verification (id, identifier, value, "expiresAt", "createdAt", "updatedAt")
    SELECT left(md5('verification' || n), 24), 'sign-in-otp-user' || n || '@example.com', lpad(pg_temp.pick('code', n, 1000000)::text, 6, '0') || ':0',
        (ARRAY['2099-01-01', '2024-01-01'])[1 + n % 2]::timestamp, pg_temp.moment('verification', n), NULL
    FROM person WHERE n < current_setting('rows.users')::int / 5;

-- Days around 2024's leap day, a year before that, in 1900, and before 1970, on both sides of midnight
-- in UTC and in Tokyo. Some days have a second log: newer, older, or of the very same moment.
INSERT INTO medication_logs (user_id, has_bleeding, created_at, updated_at, deleted_at)
    SELECT id, CASE WHEN again = 1 THEN true WHEN pg_temp.pick('flag', l, 50) > 0 THEN day - 5 - pg_temp.pick('from', n, 25) BETWEEN 0 AND 3 END, created,
        CASE WHEN again = 0 THEN updated ELSE (ARRAY[updated, created, '2026-01-01 00:00+00'])[1 + pg_temp.pick('again', l, 3)] END,
        CASE WHEN again = 0 AND pg_temp.pick('deleted', l, 60) = 0 THEN updated END
    FROM person, generate_series(0, 37) AS day, LATERAL (SELECT n * 100 + day AS l) AS numbered,
        LATERAL (SELECT (ARRAY['2024-01-20', '2023-02-10', '1900-01-01', '1969-12-01'])[1 + CASE WHEN n % 25 = 0 THEN pg_temp.pick('first', n, 4) ELSE n % 2 END]::date + day AS at) AS dated,
        LATERAL (SELECT (at || ' ' || (ARRAY['21:00:00+09', '23:59:59.999999+09', '00:00:00+09', '08:59:59+09', '09:00:00+09'])[1 + pg_temp.pick('time', l, 5)])::timestamptz AS created,
            (at || ' 23:59:59.9999' || lpad(pg_temp.pick('fraction', l, 99)::text, 2, '0') || '+09')::timestamptz AS updated) AS timed,
        generate_series(0, CASE WHEN pg_temp.pick('twice', l, 20) = 0 THEN 1 ELSE 0 END) AS again
    WHERE pg_temp.pick('skipped', l, 12) > 0 ORDER BY n, day, again;
INSERT INTO medication_logs (user_id, has_bleeding, created_at, updated_at)
    SELECT id, false, at, at FROM person, unnest(ARRAY['infinity', '-infinity', '1899-12-31 12:00+00', '0001-01-01 00:00+00 BC']::timestamptz[]) AS at WHERE n % 97 = 0;

INSERT INTO notification_settings (user_id, platform, is_enabled, subscription, created_at, updated_at, deleted_at)
    SELECT id, (ARRAY['web', 'ios', 'android', 'web', 'smart#fridge', NULL])[n % 5 + m], (ARRAY[true, false, NULL])[1 + pg_temp.pick('enabled', s, 3)],
        CASE WHEN kind = 0 THEN NULL WHEN kind = 1 THEN left(good, 40) WHEN kind = 2 THEN '""' WHEN kind = 3 THEN '{"endpoint":"http://192.168.0.1/","keys":{}}'
            WHEN kind = 4 AND n % 400 < 3 THEN repeat('x', 390 * 1024) ELSE good END,
        at, at, CASE WHEN pg_temp.pick('off', s, 15) = 0 THEN at END
    FROM person, generate_series(1, pg_temp.pick('settings', n, 3)) AS m, LATERAL (SELECT n * 10 + m AS s) AS numbered,
        LATERAL (SELECT pg_temp.pick('subscription', s, 10) AS kind, pg_temp.moment('setting', s) AS at,
            '{"endpoint":"https://push.example.com/' || left(md5('endpoint' || s), 20) || '","expirationTime":null,"keys":{"p256dh":'
            || '"BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM","auth":"tBHItJI5svbpez7KI4CCXg"}}' AS good) AS drawn;

-- Rows of nobody.
INSERT INTO session SELECT 'orphan ' || n, '2099-01-01', 'orphan ' || n, NULL, NULL, NULL, NULL, of FROM (VALUES (1, 'nobody'), (2, NULL)) AS given (n, of);
INSERT INTO account (id, "accountId", "providerId", "userId", "createdAt", "updatedAt") VALUES ('orphan 1', 'orphan', 'google', 'nobody', NULL, NULL), ('orphan 2', 'orphan', 'google', NULL, NULL, NULL);
INSERT INTO medication_logs (user_id, has_bleeding, created_at, updated_at) SELECT of, true, '2024-05-05 12:00+00', '2024-05-05 12:00+00' FROM unnest(ARRAY['nobody', NULL]) AS of;
INSERT INTO notification_settings (user_id, platform, is_enabled, created_at, updated_at) SELECT of, 'web', true, NULL, NULL FROM unnest(ARRAY['nobody', NULL]) AS of;
DROP TABLE person;
