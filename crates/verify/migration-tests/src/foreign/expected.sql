-- What the expected items of all sources have in common. The result of each source is in the views
-- expected.items (pk, sk, attributes) and expected.rejects (source, reason, count). An attribute is
-- plain JSON, except for a set, {"$set": [...]}, and bytes, {"$bytes": "base64"}. A row with several
-- faults counts once, by the first fault in the order of the rules, items and attribute names.
SET timezone = 'UTC';
CREATE SCHEMA expected;

-- A time from the year 1 to nearly the end of 9999: the calendar library ends 26 hours early, so
-- that each zone has a local time.
CREATE FUNCTION expected.readable(at timestamptz) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT at >= timestamptz '0001-01-01 00:00Z' AND at <= timestamptz '9999-12-30 22:00Z'
$$;
CREATE FUNCTION expected.sortable(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
$$;
-- RFC 3339 without zeros at the end of the fraction.
CREATE FUNCTION expected.instant(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT regexp_replace(expected.sortable(at), '\.?0*Z$', 'Z')
$$;
-- A local time: of a repeated hour the first one. PostgreSQL takes the second.
CREATE FUNCTION expected.local_time(at timestamp, zone text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT least(at AT TIME ZONE zone, (at - interval '1 hour') AT TIME ZONE zone + interval '1 hour')
$$;
CREATE FUNCTION expected.day(of date) RETURNS text LANGUAGE sql STABLE AS $$ SELECT to_char(of, 'YYYY-MM-DD') $$;
CREATE FUNCTION expected.text_set(VARIADIC members text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('$set', jsonb_agg(member ORDER BY member COLLATE "C"))
    FROM (SELECT DISTINCT member FROM unnest(members) AS member WHERE member IS NOT NULL) AS found
    HAVING count(*) > 0
$$;
CREATE FUNCTION expected.bytes(of bytea) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('$bytes', translate(encode(of, 'base64'), E'\n', '')) WHERE of IS NOT NULL
$$;
-- Without the attributes that are null; null inside of an attribute stays.
CREATE FUNCTION expected.attributes(kind text, owner text, named jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_object_agg(name, value)
    FROM jsonb_each(named || jsonb_build_object('Type', kind, 'Owner', owner)) AS each (name, value)
    WHERE value <> 'null'
$$;
-- DynamoDB stores 38 significant digits, and magnitudes from 1e-130 to 9.9e125.
CREATE FUNCTION expected.storable(number numeric) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT number = 0 OR (number <> 'NaN' AND abs(number) < 1e126 AND abs(number) >= 1e-130
        AND length(trim(BOTH '0' FROM translate(number::text, '-.', ''))) <= 38)
$$;
-- Whether DynamoDB stores it as maps and lists: it has limits for numbers and for depth, and
-- takes no member without a name.
CREATE FUNCTION expected.storable(of jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    WITH RECURSIVE part (value, depth) AS (
        SELECT of, 0
        UNION ALL
        SELECT member.value, depth + 1 FROM part, LATERAL (
            SELECT value FROM jsonb_each(CASE jsonb_typeof(part.value) WHEN 'object' THEN part.value ELSE '{}' END)
            UNION ALL
            SELECT value FROM jsonb_array_elements(CASE jsonb_typeof(part.value) WHEN 'array' THEN part.value ELSE '[]' END)
        ) AS member
    )
    SELECT coalesce(bool_and(depth <= 32 AND NOT coalesce(jsonb_typeof(value) = 'object' AND value ? '', false) AND (jsonb_typeof(value) <> 'number' OR expected.storable((value #>> '{}')::numeric))), true)
    FROM part WHERE of IS NOT NULL
$$;
-- Whether a text can stand between the separators of a key.
CREATE FUNCTION expected.key_part(of text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT length(of) BETWEEN 1 AND 128 AND of !~ '[#[:cntrl:]]'
$$;
