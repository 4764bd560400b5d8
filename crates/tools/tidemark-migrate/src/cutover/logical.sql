-- The part of a capture by logical replication that runs in PostgreSQL: the slot's changes are
-- recorded in the outbox, and later the triggers take over. It follows `capture.sql`.

-- One row while a slot captures.
CREATE TABLE tidemark_migration.slot (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    -- The name of the slot and of its publication.
    name text NOT NULL,
    -- All transactions that ended before this position in the WAL are recorded. Null until the slot exists.
    recorded_to pg_lsn,
    -- The position at which the triggers took over.
    triggers_from pg_lsn,
    -- The slot is not needed any more.
    is_settled boolean NOT NULL DEFAULT false
);

-- The replica identities that the tables and partitions had before.
CREATE TABLE tidemark_migration.replica_identities (
    of_table regclass PRIMARY KEY,
    identity text NOT NULL
);

-- Remembers the replica identities of tables and of their partitions.
CREATE FUNCTION tidemark_migration.remember_identities(of_tables regclass[]) RETURNS void
LANGUAGE sql AS $$
    INSERT INTO tidemark_migration.replica_identities
        SELECT c.oid, CASE c.relreplident WHEN 'd' THEN 'DEFAULT' WHEN 'n' THEN 'NOTHING' WHEN 'f' THEN 'FULL'
            ELSE (SELECT format('USING INDEX %I', name.relname) FROM pg_index JOIN pg_class AS name ON name.oid = indexrelid
                  WHERE indrelid = c.oid AND indisreplident) END
        FROM pg_class AS c WHERE c.oid = ANY (of_tables)
            OR c.oid IN (SELECT part.relid FROM unnest(of_tables) AS whole, pg_partition_tree(whole) AS part)
$$;

-- Makes the server write whole rows to the WAL, for a table and its partitions.
CREATE FUNCTION tidemark_migration.log_whole_rows(of_table regclass) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT of_table UNION SELECT relid FROM pg_partition_tree(of_table) LOOP
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY FULL', part);
    END LOOP;
END $$;

-- Gives a table its replica identity back, if there is still such a table.
CREATE FUNCTION tidemark_migration.restore_identity(restored oid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    was tidemark_migration.replica_identities;
BEGIN
    DELETE FROM tidemark_migration.replica_identities WHERE of_table = restored RETURNING * INTO was;
    IF EXISTS (SELECT FROM pg_class WHERE oid = restored) THEN
        EXECUTE format('ALTER TABLE %s REPLICA IDENTITY %s', was.of_table, was.identity);
    END IF;
END $$;

-- For each row of a parent that has changed: the values that its column with the owner, or with its
-- own parent, has had. It has no unique index, because two inserts of one key would wait for each
-- other, and writers could deadlock with the tool.
CREATE TABLE tidemark_migration.links (
    source text NOT NULL,
    key text NOT NULL,
    link text NOT NULL
);
CREATE INDEX ON tidemark_migration.links (source, key);

-- Changes of rows whose parent knows the owner. The owner is decided when all changes of the parents
-- are known.
CREATE TABLE tidemark_migration.staged (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    source text NOT NULL,
    before jsonb,
    after jsonb
);

-- Stages the rows below a row that has another owner now, or is gone.
CREATE FUNCTION tidemark_migration.stage_children(of_source text, of_key text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    child tidemark_migration.sources;
    child_row jsonb;
BEGIN
    FOR child IN SELECT * FROM tidemark_migration.sources WHERE parent = of_source ORDER BY source LOOP
        FOR child_row IN EXECUTE format('SELECT to_jsonb(child.*) FROM {schema}.%1$I AS child
            WHERE child.%2$I = (jsonb_populate_record(NULL::{schema}.%1$I, jsonb_build_object(%2$L, $1))).%2$I', child.source, child.owner_column)
            USING of_key
        LOOP
            INSERT INTO tidemark_migration.staged (source, before) VALUES (child.source, child_row);
            PERFORM tidemark_migration.stage_children(child.source, child_row ->> child.keys[1]);
        END LOOP;
    END LOOP;
END $$;

-- Stages a change of a row whose parent knows the owner, and remembers the owners that a change of a
-- parent reveals.
CREATE FUNCTION tidemark_migration.stage_change(of_source text, before jsonb, after jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    this tidemark_migration.sources;
BEGIN
    SELECT * INTO this FROM tidemark_migration.sources WHERE source = of_source;
    IF this.parent IS NOT NULL THEN
        INSERT INTO tidemark_migration.staged (source, before, after) VALUES (of_source, before, after);
    END IF;
    IF NOT EXISTS (SELECT FROM tidemark_migration.sources WHERE parent = of_source) THEN
        RETURN;
    END IF;
    INSERT INTO tidemark_migration.links (source, key, link)
        SELECT DISTINCT of_source, state ->> this.keys[1], state ->> this.owner_column
        FROM unnest(ARRAY[before, after]) AS state
        WHERE state ->> this.owner_column IS NOT NULL AND NOT EXISTS (
            SELECT FROM tidemark_migration.links AS known
            WHERE known.source = of_source AND known.key = state ->> this.keys[1] AND known.link = state ->> this.owner_column);
    IF before IS NOT NULL AND before ->> this.owner_column IS DISTINCT FROM after ->> this.owner_column THEN
        PERFORM tidemark_migration.stage_children(of_source, before ->> this.keys[1]);
    END IF;
END $$;

-- Records a change that the slot has captured, as the triggers `capture` and `record_joined` do. `used`
-- are the columns that rows of other owners use.
CREATE FUNCTION tidemark_migration.record_captured(of_source text, before jsonb, after jsonb, used text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    this tidemark_migration.sources;
    of_before text;
    of_after text;
BEGIN
    IF used <> '{}' THEN
        PERFORM tidemark_migration.record_if_used(NULL, of_source, before, after, used);
    END IF;
    SELECT * INTO this FROM tidemark_migration.sources WHERE source = of_source;
    -- The table's rows belong to nobody.
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM tidemark_migration.stage_change(of_source, before, after);
    IF this.parent IS NOT NULL THEN
        RETURN;
    END IF;
    of_before := this.prefix || (before ->> this.owner_column);
    of_after := this.prefix || (after ->> this.owner_column);
    IF of_before = of_after THEN
        PERFORM tidemark_migration.record_change(of_after, of_source, before, after);
        RETURN;
    END IF;
    IF of_before IS NOT NULL THEN
        PERFORM tidemark_migration.record_change(of_before, of_source, before, NULL);
    END IF;
    IF of_after IS NOT NULL THEN
        PERFORM tidemark_migration.record_change(of_after, of_source, NULL, after);
    END IF;
END $$;

-- The owners that a row has had during the capture, by its column with the owner or with the parent.
-- STABLE: the parents' present rows and their earlier links are read in one snapshot. Otherwise a
-- parent could change its owner between the two, and its earlier owner would be in neither.
CREATE FUNCTION tidemark_migration.owners_ever(of_source text, of_link text) RETURNS SETOF text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    this tidemark_migration.sources;
    above tidemark_migration.sources;
    present text;
BEGIN
    IF of_link IS NULL THEN
        RETURN;
    END IF;
    SELECT * INTO this FROM tidemark_migration.sources WHERE source = of_source;
    IF this.parent IS NULL THEN
        RETURN NEXT this.prefix || of_link;
        RETURN;
    END IF;
    SELECT * INTO above FROM tidemark_migration.sources WHERE source = this.parent;
    EXECUTE format('SELECT to_jsonb(parent.%3$I) #>> ''{}'' FROM {schema}.%1$I AS parent
            WHERE parent.%2$I = (jsonb_populate_record(NULL::{schema}.%1$I, jsonb_build_object(%2$L, $1))).%2$I',
            above.source, above.keys[1], above.owner_column)
        INTO present USING of_link;
    RETURN QUERY SELECT tidemark_migration.owners_ever(above.source, known.link)
        FROM (SELECT present AS link UNION SELECT links.link FROM tidemark_migration.links
              WHERE links.source = above.source AND links.key = of_link) AS known;
END $$;

-- Records staged changes for every owner that their rows have had; returns the number of these
-- changes. A change for one owner too many is harmless: items are made from the present rows.
CREATE FUNCTION tidemark_migration.settle(up_to bigint, at_most bigint) RETURNS bigint
LANGUAGE sql AS $$
    WITH taken AS (
        DELETE FROM tidemark_migration.staged WHERE sequence IN (
            SELECT sequence FROM tidemark_migration.staged WHERE sequence <= up_to ORDER BY sequence LIMIT at_most)
        RETURNING *
    ), owned AS (
        SELECT taken.*, found.owner FROM taken JOIN tidemark_migration.sources USING (source), LATERAL (
            SELECT tidemark_migration.owners_ever(taken.source, taken.before ->> sources.owner_column) AS owner
            UNION
            SELECT tidemark_migration.owners_ever(taken.source, taken.after ->> sources.owner_column)
        ) AS found
    ), known AS (
        INSERT INTO tidemark_migration.ownerships (user_id) SELECT DISTINCT owner FROM owned ON CONFLICT DO NOTHING
    ), recorded AS (
        INSERT INTO tidemark_migration.outbox (user_id, source, before, after)
            SELECT owner, source, before, after FROM owned GROUP BY owner, source, before, after ORDER BY min(sequence)
    )
    SELECT count(*) FROM taken
$$;

-- Stages the changes that the trigger `capture` records while the slot still has earlier ones: a row
-- may have items of an owner that its parent had before.
CREATE FUNCTION tidemark_migration.stage() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO' AS $$
BEGIN
    PERFORM tidemark_migration.stage_change(TG_ARGV[0], CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
        CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
    RETURN NULL;
END $$;
