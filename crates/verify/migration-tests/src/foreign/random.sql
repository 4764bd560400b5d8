-- Numbers and ids that depend only on the seed, on a word, and on the number of the row. A session
-- sets the seed: SET rows.seed = 7.
SET timezone = 'UTC';
CREATE OR REPLACE FUNCTION pg_temp.pick(word text, n bigint, below bigint) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT ('x' || substr(md5(current_setting('rows.seed') || word || n), 1, 15))::bit(60)::bigint % below
$$;
CREATE OR REPLACE FUNCTION pg_temp.uuid_of(word text, n bigint) RETURNS uuid LANGUAGE sql STABLE AS $$
    SELECT md5(current_setting('rows.seed') || word || n)::uuid
$$;
-- A moment from 2024 to 2025 with a fraction of none to six digits.
CREATE OR REPLACE FUNCTION pg_temp.moment(word text, n bigint) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT timestamptz '2024-01-01 00:00Z' + pg_temp.pick(word || ' s', n, 731 * 86400) * interval '1 second'
        + CASE pg_temp.pick(word || ' f', n, 4) WHEN 0 THEN 0 WHEN 1 THEN 500000 WHEN 2 THEN 123456 ELSE 1 END
            * interval '1 microsecond'
$$;
-- A text of so many bytes.
CREATE OR REPLACE FUNCTION pg_temp.long_text(bytes integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT repeat('0123456789abcde ', bytes / 16)
$$;
