-- 100,000 rows of the shop.

INSERT INTO customers (id, email, phone, name, born, tags, balance, preferences, avatar, created_at, updated_at, deleted_at)
SELECT pg_temp.uuid_of('customer', n),
    CASE n % 25
        WHEN 0 THEN NULL
        -- The address of the customer before, in another case or with spaces.
        WHEN 1 THEN upper('customer' || n + 1 || '@example.com')
        WHEN 3 THEN ' customer' || n - 1 || '@example.com  '
        WHEN 4 THEN 'Müller' || n || '@bücher.example'
        WHEN 5 THEN 'MÜLLER' || n - 1 || '@BÜCHER.example'
        WHEN 6 THEN CASE n WHEN 6 THEN '' ELSE 'no address ' || n END
        WHEN 7 THEN CASE WHEN n % 2000 = 7 THEN repeat('x', 3000) || n || '@example.com' ELSE 'customer' || n || '@example.com' END
        ELSE 'customer' || n || '@example.com' END,
    CASE WHEN n % 3 = 0 THEN '+49 30 ' || n END,
    CASE n % 11 WHEN 0 THEN '' WHEN 1 THEN '🌊💊👩🏽‍⚕️ はなこ ' || n WHEN 2 THEN E'tab\tline\nback\\slash "q" \u200fשלום'
        WHEN 3 THEN E'e\u0301 and é' ELSE '  Customer ' || n || ' ' END,
    CASE n % 40 WHEN 1 THEN date '1900-02-28' WHEN 2 THEN date '1969-12-31' WHEN 3 THEN date '2000-02-29'
        WHEN 4 THEN CASE n WHEN 4 THEN date 'infinity' WHEN 44 THEN date '0044-03-15 BC' WHEN 84 THEN date '12026-01-01'
            WHEN 124 THEN date '0001-01-01' END
        WHEN 5 THEN NULL ELSE date '1950-01-01' + pg_temp.pick('born', n, 20000)::integer END,
    CASE n % 13 WHEN 0 THEN '{}' WHEN 1 THEN '{a,A,a,"",NULL,"ä b","🐈"}'::text[] WHEN 2 THEN ARRAY[NULL, NULL]::text[]
        WHEN 3 THEN CASE WHEN n % 3900 = 3 THEN '{{a,b},{c,d}}'::text[] ELSE '{vip}'::text[] END
        ELSE ARRAY['tag' || n % 7, 'tag' || n % 5, 'zebra'] END,
    CASE n % 50 WHEN 0 THEN 9999999999999999999999999999.9999999999 WHEN 1 THEN -9999999999999999999999999999.9999999999
        WHEN 2 THEN 0.0000000001 WHEN 3 THEN 'NaN' WHEN 4 THEN 1.5000000000 WHEN 5 THEN 1200
        ELSE pg_temp.pick('balance', n, 1000000)::numeric / 100 END,
    CASE n % 17 WHEN 0 THEN NULL WHEN 1 THEN 'null' WHEN 2 THEN '[]' WHEN 3 THEN CASE n % 2 WHEN 0 THEN '"text"' ELSE '"12"' END::jsonb
        WHEN 4 THEN '{"big": 12345678901234567890123456789012345678, "small": -0.00000001, "list": [1.10, null, {"deep": [true]}], "": "x"}'
        WHEN 5 THEN CASE WHEN n % 1700 = 5 THEN '{"n": 1e400}' WHEN n % 1700 = 22 THEN '{"n": 123456789012345678901234567890123456789}'
            WHEN n % 1700 = 39 THEN (repeat('[', 40) || repeat(']', 40))::jsonb ELSE '{"n": 1e20}' END
        ELSE jsonb_build_object('theme', 'dark', 'size', n % 20 / 2.0, 'news', n % 2 = 0, 'note', NULL) END,
    CASE n % 30 WHEN 1 THEN ''::bytea WHEN 2 THEN '\x00ff10' WHEN 3 THEN decode(md5('avatar' || n), 'hex') END,
    CASE n % 300 WHEN 1 THEN timestamptz '1969-07-20 20:17:40.123456Z' WHEN 2 THEN timestamptz '1900-01-01 00:00Z'
        WHEN 4 THEN CASE WHEN n % 1500 = 4 THEN timestamptz '-infinity' ELSE pg_temp.moment('created', n) END
        ELSE pg_temp.moment('created', n) END,
    CASE WHEN n % 4 <> 0 THEN pg_temp.moment('updated', n) END,
    CASE WHEN n % 20 = 19 THEN pg_temp.moment('deleted', n) END
FROM generate_series(1, 6000) AS n;

INSERT INTO addresses
SELECT pg_temp.uuid_of('customer', (n + 1) / 2), (enum_range(NULL::address_kind))[1 + n % 3],
    CASE WHEN n % 500 = 0 THEN -1 WHEN n % 500 = 1 THEN 32767 ELSE n % 9 END,
    CASE n % 7 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'Recipient ' || n END,
    CASE n % 5 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE ARRAY['Street ' || n, NULL, 'Floor 🏢'] END,
    CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN '01067' ELSE lpad(n::text, 5, '0') END,
    (ARRAY['DE', 'JP', 'us', '??'])[1 + n % 4]
FROM generate_series(1, 9000) AS n;

INSERT INTO products
SELECT n, CASE n % 20 WHEN 1 THEN 'sku-' || n - 1 WHEN 2 THEN 'Sku-' || n - 2 WHEN 3 THEN 'a#' || n WHEN 4 THEN 'ÄÖ-' || n
        WHEN 5 THEN 'äö-' || n - 1 ELSE 'SKU-' || n END,
    CASE n % 9 WHEN 0 THEN '' ELSE 'Product ' || n || ' ねこ' END,
    CASE n % 500 WHEN 1 THEN pg_temp.long_text(400000) WHEN 2 THEN pg_temp.long_text(420000) WHEN 3 THEN repeat('🌊', 100000)
        ELSE CASE WHEN n % 3 > 0 THEN 'About product ' || n END END,
    CASE n % 40 WHEN 1 THEN 0 WHEN 2 THEN -0.01 WHEN 3 THEN 9999999999999999999999999999.9999999999
        ELSE pg_temp.pick('price', n, 100000)::numeric / 100 END,
    (ARRAY['EUR', 'JPY', 'USD'])[1 + n % 3],
    CASE n % 60 WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN 1e308 WHEN 4 THEN 5e-324 WHEN 5 THEN 0.1 WHEN 6 THEN 1e20
        WHEN 7 THEN NULL ELSE (n % 100) / 8.0 END,
    CASE n % 6 WHEN 0 THEN '{}' ELSE jsonb_build_object('colour', 'blue', 'sizes', ARRAY[n % 50, 42.50], 'nested', '{"a": {"b": [1e-10, 0.10]}}'::jsonb) END,
    CASE WHEN n % 10 = 1 THEN decode(repeat(md5('image' || n), 20), 'hex') END,
    CASE n % 30 WHEN 1 THEN date 'infinity' WHEN 2 THEN NULL WHEN 3 THEN date '1969-07-20' ELSE date '2020-01-01' + n % 2000 END,
    n % 25 = 0, pg_temp.moment('product', n)
FROM generate_series(1, 2000) AS n;

INSERT INTO orders (id, customer_id, status, placed_at, total, currency, coupons, note, meta, updated_at, deleted_at)
SELECT CASE n WHEN 18000 THEN 9223372036854775807 ELSE n END,
    -- Nobody's, of an unknown customer, of some customers with many orders, of anybody.
    CASE n % 50 WHEN 0 THEN NULL WHEN 1 THEN pg_temp.uuid_of('unknown customer', n) WHEN 2 THEN pg_temp.uuid_of('customer', 8)
        ELSE pg_temp.uuid_of('customer', 1 + pg_temp.pick('customer of order', n, 6000)) END,
    (enum_range(NULL::order_status))[1 + pg_temp.pick('status', n, 7)],
    CASE n % 60
        -- In the gap of spring, in the repeated hour of autumn, around both, and before 1970.
        WHEN 0 THEN timestamp '2025-03-30 02:30:00' WHEN 1 THEN timestamp '2025-10-26 02:30:00.25'
        WHEN 2 THEN timestamp '2025-10-26 03:00:00' WHEN 3 THEN timestamp '2025-03-30 03:15:00'
        WHEN 4 THEN timestamp '2025-10-26 01:59:59.999999' WHEN 5 THEN timestamp '1969-12-31 23:59:59'
        WHEN 6 THEN NULL
        WHEN 7 THEN CASE WHEN n % 3600 = 7 THEN timestamp 'infinity' WHEN n % 3600 = 67 THEN timestamp '0044-03-15 12:00 BC'
            ELSE timestamp '2024-02-29 23:59:59.999999' END
        ELSE pg_temp.moment('placed', n) AT TIME ZONE 'Europe/Berlin' END,
    CASE n % 90 WHEN 1 THEN 9999999999999999999999999999.9999999999 WHEN 2 THEN -5.50 WHEN 3 THEN 0
        ELSE pg_temp.pick('total', n, 10000000)::numeric / 100 END,
    (ARRAY['EUR', 'USD'])[1 + n % 2],
    CASE n % 8 WHEN 0 THEN NULL WHEN 1 THEN '{}' ELSE ARRAY['WELCOME', 'c' || n % 3, 'WELCOME'] END,
    CASE n % 9 WHEN 0 THEN NULL WHEN 1 THEN '' WHEN 2 THEN '🎁 please' ELSE 'Note ' || n END,
    CASE n % 12 WHEN 0 THEN NULL WHEN 1 THEN '{"gift": "no"}' WHEN 2 THEN '{"gift": {"to": "Ann"}}' WHEN 3 THEN '[1]'
        ELSE jsonb_build_object('gift', n % 2 = 0, 'source', 'web', 'ids', ARRAY[9223372036854775807, -9223372036854775808]) END,
    pg_temp.moment('order updated', n),
    CASE WHEN n % 45 = 44 THEN pg_temp.moment('order deleted', n) END
FROM generate_series(1, 18000) AS n;

INSERT INTO order_lines (order_id, line_no, product_id, quantity, unit_price, options)
SELECT CASE WHEN n > 39900 THEN 9223372036854775807 ELSE 1 + (n - 1) % 17000 END, CASE n % 10 WHEN 0 THEN -n ELSE n END,
    CASE n % 30 WHEN 0 THEN NULL ELSE 1 + pg_temp.pick('product', n, 2000) END,
    CASE n % 100 WHEN 1 THEN 2147483647 WHEN 2 THEN -1 ELSE 1 + n % 5 END,
    CASE n % 200 WHEN 3 THEN 999999999999999999.0000000001 ELSE pg_temp.pick('unit price', n, 100000)::numeric / 1000 END,
    CASE n % 4 WHEN 0 THEN jsonb_build_object('engraving', '💍 ' || n, 'lengths', '[1.50, 2]'::jsonb) END
FROM generate_series(1, 40000) AS n;

INSERT INTO reviews
SELECT 1 + (n - 1) % 2000, pg_temp.uuid_of('customer', 1 + (n * 7 + (n - 1) / 2000) % 6000),
    CASE WHEN n % 10 > 0 THEN 1 + n % 5 END,
    CASE n % 3333 WHEN 1 THEN pg_temp.long_text(500000) ELSE CASE n % 5 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE 'Good ⭐ ' || n END END,
    pg_temp.moment('review', n)
FROM generate_series(1, 10000) AS n;

INSERT INTO stock_movements
SELECT CASE n % 1000 WHEN 0 THEN -n WHEN 1 THEN 9223372036854775807 - n ELSE n END,
    -- One of eleven belongs to a product that is gone.
    CASE WHEN n % 11 = 0 THEN 3000 + n ELSE 1 + pg_temp.pick('moved product', n, 2000) END,
    CASE n % 700 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -9223372036854775808 ELSE n % 41 - 20 END,
    CASE n % 3 WHEN 0 THEN NULL WHEN 1 THEN 'sale' ELSE 'Inventur ✅' END,
    CASE n % 100 WHEN 1 THEN timestamptz '1969-12-31 23:59:59.999Z' WHEN 2 THEN timestamptz '2038-01-19 03:14:08Z'
        WHEN 3 THEN CASE WHEN n % 2000 = 3 THEN timestamptz 'infinity' ELSE timestamptz '2025-01-01 00:00Z' END
        ELSE pg_temp.moment('moved', n) END
FROM generate_series(1, 15000) AS n;
