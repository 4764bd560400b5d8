-- The part of the cutover that runs in PostgreSQL, for all writers: each change of a user's row is
-- recorded in the same transaction, and refused once DynamoDB owns the user. {schema} stands for
-- the schema of the application's tables, as an identifier, and {settings} for the settings that change
-- how a value becomes a text. `DROP SCHEMA tidemark_migration CASCADE` removes everything.

CREATE SCHEMA tidemark_migration;

-- One row: the id and phase of the cutover. Decisions about a user depend only on the user's
-- ownership record, never on this row.
CREATE TABLE tidemark_migration.plan (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    run text NOT NULL,
    phase text NOT NULL,
    percent smallint NOT NULL DEFAULT 0,
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- Until when a finished cutover can be rolled back.
    way_back_until timestamptz,
    -- The manifest of the run's items, for sidecars, which have no folder.
    items text
);

-- A user's ownership record on this side: PostgreSQL may write while `epoch` is even. A transaction
-- that changes the user's rows holds a FOR KEY SHARE lock on the record until it ends. Such locks do
-- not block each other, so capture never makes two writers wait for each other, or deadlock. A move
-- waits for these locks.
CREATE TABLE tidemark_migration.ownerships (
    user_id text PRIMARY KEY,
    epoch integer NOT NULL DEFAULT 0,
    version bigint NOT NULL DEFAULT 0,
    -- Makes `epoch` part of a key. Otherwise its update would not wait for the lock FOR KEY SHARE,
    -- and a REPEATABLE READ transaction could go on with the old epoch of its snapshot.
    UNIQUE (user_id, epoch)
);

-- Changes that are not replicated to DynamoDB yet. A change gets its version when it is read for
-- the first time; a user's versions have no gaps.
CREATE TABLE tidemark_migration.outbox (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id text NOT NULL,
    version bigint,
    source text NOT NULL,
    before jsonb,
    after jsonb,
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (user_id, version)
);

-- The rows whose owners want a key that another owner has. Of the key, this is a hash.
CREATE TABLE tidemark_migration.waiting (
    key text NOT NULL,
    user_id text NOT NULL,
    source text NOT NULL,
    row_key jsonb NOT NULL,
    PRIMARY KEY (key, user_id)
);

-- The captured tables: the columns that identify their rows, the column with the owner or with the
-- row of the parent that knows the owner, and the prefix of the kind of owner. Without a foreign
-- key that is checked at once, a row may lack its parent for a while.
CREATE TABLE tidemark_migration.sources (
    source text PRIMARY KEY,
    keys text[] NOT NULL,
    owner_column text NOT NULL,
    parent text,
    prefix text NOT NULL,
    may_lack_parent boolean NOT NULL
);

-- The captured tables as they were when the capture began.
CREATE TABLE tidemark_migration.captured (source text PRIMARY KEY, shape text[] NOT NULL);

-- A line for each column of a table, for each name of an enumeration in it, and for its primary key.
CREATE FUNCTION tidemark_migration.shape_of(of_source text) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(line ORDER BY line), '{}') FROM (
        SELECT of_source || '.' || attname || ' ' || format_type(atttypid, atttypmod)
            || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END || CASE WHEN attgenerated = '' THEN '' ELSE ' GENERATED' END
            || CASE WHEN attidentity = '' THEN '' ELSE ' IDENTITY' END AS line
        FROM pg_attribute WHERE attrelid = to_regclass(format('{schema}.%I', of_source)) AND attnum > 0 AND NOT attisdropped
        UNION ALL
        SELECT of_source || '.' || attname || ' ' || quote_literal(enumlabel)
            FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid JOIN pg_enum ON enumtypid IN (atttypid, typelem, typbasetype)
            WHERE attrelid = to_regclass(format('{schema}.%I', of_source)) AND attnum > 0
        UNION ALL
        SELECT of_source || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
            WHERE conrelid = to_regclass(format('{schema}.%I', of_source)) AND contype = 'p'
    ) AS lines
$$;

-- How the captured tables differ from what they were: a line with - or + for each difference.
CREATE FUNCTION tidemark_migration.schema_changes() RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(array_agg(change ORDER BY substr(change, 3), change), '{}') FROM (
        SELECT '- ' || line AS change FROM tidemark_migration.captured, unnest(shape) AS line
            WHERE line <> ALL (tidemark_migration.shape_of(source))
        UNION ALL
        SELECT '+ ' || line FROM tidemark_migration.captured, unnest(tidemark_migration.shape_of(source)) AS line
            WHERE line <> ALL (shape)
    ) AS changes
$$;

-- Refuses a change of a captured table, until a finished cutover has no way back any more. A renamed
-- schema has no table of this name.
CREATE FUNCTION tidemark_migration.refuse_schema_change() RETURNS event_trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changes text[];
BEGIN
    IF to_regclass('tidemark_migration.captured') IS NULL THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM tidemark_migration.plan
            WHERE phase = 'finished' AND coalesce(way_back_until, '-infinity') < now()) THEN
        RETURN;
    END IF;
    changes := tidemark_migration.schema_changes();
    IF changes <> '{}' THEN
        RAISE EXCEPTION 'tables must not change while they are migrated: %', array_to_string(changes, '; ') USING ERRCODE = 'TM004';
    END IF;
END $$;

-- The owners of deleted rows that other rows have as their parent: these other rows are deleted
-- after them.
CREATE TABLE tidemark_migration.departed (
    source text NOT NULL,
    key text NOT NULL,
    owner text NOT NULL,
    PRIMARY KEY (source, key)
);

-- Waits up to 200 ms, once in a transaction, while a move of the user waits for its lock. Without
-- this, transactions that always overlap would make the move wait for ever.
CREATE FUNCTION tidemark_migration.give_way(of_user text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('tidemark_migration.gave_way', true) = 'yes' THEN
        RETURN;
    END IF;
    PERFORM set_config('tidemark_migration.gave_way', 'yes', true);
    FOR attempt IN 1..20 LOOP
        PERFORM pg_sleep(0.01);
        IF pg_try_advisory_lock_shared({move_lock}, hashtext(of_user)) THEN
            PERFORM pg_advisory_unlock_shared({move_lock}, hashtext(of_user));
            EXIT;
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION tidemark_migration.record_change(of_user text, source text, before jsonb, after jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    current_epoch integer;
    current_phase text;
BEGIN
    IF NOT pg_try_advisory_lock_shared({move_lock}, hashtext(of_user)) THEN
        PERFORM tidemark_migration.give_way(of_user);
    ELSE
        PERFORM pg_advisory_unlock_shared({move_lock}, hashtext(of_user));
    END IF;
    -- The lock makes a move wait until this transaction has ended. If a move has closed the
    -- ownership since, READ COMMITTED reads the new epoch, and REPEATABLE READ fails with 40001.
    SELECT epoch INTO current_epoch FROM tidemark_migration.ownerships WHERE user_id = of_user FOR KEY SHARE;
    IF NOT FOUND THEN
        INSERT INTO tidemark_migration.ownerships (user_id) VALUES (of_user) ON CONFLICT (user_id) DO NOTHING;
        -- A new user has no ownership record that could be closed. The lock makes this statement
        -- wait for a cutover that is just being finished.
        SELECT phase INTO current_phase FROM tidemark_migration.plan FOR SHARE;
        IF current_phase = 'finished' THEN
            RAISE EXCEPTION 'DynamoDB owns all users' USING ERRCODE = 'TM001';
        END IF;
        SELECT epoch INTO STRICT current_epoch FROM tidemark_migration.ownerships WHERE user_id = of_user FOR KEY SHARE;
    END IF;
    -- The fence: the ownership is closed, so a change made here would be lost.
    IF current_epoch % 2 = 1 THEN
        RAISE EXCEPTION 'DynamoDB owns user %', of_user USING ERRCODE = 'TM001',
            HINT = 'Write through the library or the sidecar (docs/sidecar.md).';
    END IF;
    INSERT INTO tidemark_migration.outbox (user_id, source, before, after) VALUES (of_user, source, before, after);
END $$;

-- Gives a version to each committed change of a user that has none. Two changes of one row, or of
-- one unique value, get their `sequence` in the order in which they were made, because the second
-- one waits for the transaction of the first. So this order, and the order in which transactions
-- become visible here, are both orders in which the changes could have been made.
CREATE FUNCTION tidemark_migration.number_changes(of_user text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    last_version bigint;
    numbered bigint;
BEGIN
    -- A snapshot from before the lock would hide changes that were committed since.
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'the connection of the migration needs the isolation level READ COMMITTED';
    END IF;
    IF NOT EXISTS (SELECT FROM tidemark_migration.outbox WHERE user_id = of_user AND version IS NULL) THEN
        RETURN;
    END IF;
    -- One numbering at a time. This lock does not block writers.
    SELECT version INTO last_version FROM tidemark_migration.ownerships WHERE user_id = of_user FOR NO KEY UPDATE;
    UPDATE tidemark_migration.outbox SET version = last_version + unnumbered.position
        FROM (SELECT sequence, row_number() OVER (ORDER BY sequence) AS position
              FROM tidemark_migration.outbox WHERE user_id = of_user AND version IS NULL) AS unnumbered
        WHERE outbox.sequence = unnumbered.sequence;
    GET DIAGNOSTICS numbered = ROW_COUNT;
    UPDATE tidemark_migration.ownerships SET version = last_version + numbered WHERE user_id = of_user;
END $$;

-- A user's first changes that are not replicated yet, in order.
CREATE FUNCTION tidemark_migration.numbered_changes(of_user text, at_most bigint) RETURNS SETOF tidemark_migration.outbox
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM tidemark_migration.number_changes(of_user);
    RETURN QUERY SELECT * FROM tidemark_migration.outbox
        WHERE user_id = of_user AND version IS NOT NULL ORDER BY version LIMIT at_most;
END $$;

-- A row as JSON. A column of the type `json` may have a value that PostgreSQL cannot convert, such as the
-- character \u0000. Such a value becomes null here: an error would stop the application's own write.
CREATE FUNCTION tidemark_migration.row_of(of_row anyelement) RETURNS jsonb
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN pg_catalog.to_jsonb(of_row);
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
    RETURN tidemark_migration.convertible_columns(of_row);
END $$;

-- A row as JSON, column by column; null for each value that PostgreSQL cannot convert.
CREATE FUNCTION tidemark_migration.convertible_columns(of_row anyelement) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    columns jsonb := '{}';
    name text;
    value jsonb;
BEGIN
    FOR name IN SELECT attname FROM pg_attribute JOIN pg_type ON typrelid = attrelid
        WHERE pg_type.oid = pg_typeof(of_row) AND attnum > 0 AND NOT attisdropped
    LOOP
        BEGIN
            EXECUTE format('SELECT to_jsonb(($1).%I)', name) INTO value USING of_row;
        EXCEPTION WHEN data_exception OR program_limit_exceeded THEN
            value := NULL;
        END;
        columns := columns || jsonb_build_object(name, value);
    END LOOP;
    RETURN columns;
END $$;

-- The owner of a row; null if it belongs to nobody.
CREATE FUNCTION tidemark_migration.owner_of(of_source text, of_row jsonb) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    this tidemark_migration.sources;
    parent_key text;
    parent_row jsonb;
BEGIN
    SELECT * INTO this FROM tidemark_migration.sources WHERE source = of_source;
    IF this.parent IS NULL THEN
        RETURN this.prefix || (of_row ->> this.owner_column);
    END IF;
    SELECT keys[1] INTO parent_key FROM tidemark_migration.sources WHERE source = this.parent;
    EXECUTE format('SELECT tidemark_migration.row_of(parent.*) FROM {schema}.%1$I AS parent
            WHERE parent.%2$I = (jsonb_populate_record(NULL::{schema}.%1$I, jsonb_build_object(%2$L, $1))).%2$I', this.parent, parent_key)
        INTO parent_row USING of_row ->> this.owner_column;
    IF parent_row IS NULL THEN
        RETURN (SELECT owner FROM tidemark_migration.departed
                WHERE source = this.parent AND key = of_row ->> this.owner_column);
    END IF;
    RETURN tidemark_migration.owner_of(this.parent, parent_row);
END $$;

-- Moves the rows below a row whose owner has changed: for each owner, this is a change of its own.
-- `only_free`: only the rows that PostgreSQL lets exist without this row.
CREATE FUNCTION tidemark_migration.move_children(of_source text, of_row jsonb, from_owner text, to_owner text, only_free boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    parent_key text;
    child tidemark_migration.sources;
    child_row jsonb;
BEGIN
    SELECT keys[1] INTO parent_key FROM tidemark_migration.sources WHERE source = of_source;
    FOR child IN SELECT * FROM tidemark_migration.sources
        WHERE parent = of_source AND (may_lack_parent OR NOT only_free) ORDER BY source
    LOOP
        FOR child_row IN EXECUTE format('SELECT tidemark_migration.row_of(child.*) FROM {schema}.%1$I AS child
            WHERE child.%2$I = (jsonb_populate_record(NULL::{schema}.%1$I, jsonb_build_object(%2$L, $1))).%2$I', child.source, child.owner_column)
            USING of_row ->> parent_key
        LOOP
            IF from_owner IS NOT NULL THEN
                PERFORM tidemark_migration.record_change(from_owner, child.source, child_row, NULL);
            END IF;
            IF to_owner IS NOT NULL THEN
                PERFORM tidemark_migration.record_change(to_owner, child.source, NULL, child_row);
            END IF;
            PERFORM tidemark_migration.move_children(child.source, child_row, from_owner, to_owner, false);
        END LOOP;
    END LOOP;
END $$;

-- Remembers the owner of a row before it is deleted or gets another key, for the rows below it: a
-- foreign key changes them before `capture` sees this row.
CREATE FUNCTION tidemark_migration.depart() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp {settings} AS $$
DECLARE
    old_row jsonb := tidemark_migration.row_of(OLD);
    old_key text;
    old_owner text := tidemark_migration.owner_of(TG_ARGV[0], old_row);
BEGIN
    SELECT old_row ->> keys[1] INTO old_key FROM tidemark_migration.sources WHERE source = TG_ARGV[0];
    IF old_owner IS NOT NULL THEN
        INSERT INTO tidemark_migration.departed (source, key, owner) VALUES (TG_ARGV[0], old_key, old_owner)
            ON CONFLICT (source, key) DO UPDATE SET owner = EXCLUDED.owner;
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;

-- A trigger's arguments are the table's name (for a partition, the name of the whole table), the
-- column with the row's owner, the prefix of the kind of owner, and the table's place: 'child' if its
-- parent knows the owner, 'parent' if it has rows below it, 'both', or 'alone'. The columns that the
-- mapping uses follow. The function runs with the rights of its owner, so the application needs no
-- rights here.
CREATE FUNCTION tidemark_migration.capture() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp {settings} AS $$
DECLARE
    before jsonb;
    after jsonb;
    of_before text;
    of_after text;
    is_child boolean := TG_ARGV[3] IN ('child', 'both');
    parent_key text;
BEGIN
    -- A change that `apply_change` writes has its version already, and `preview` is undone.
    IF current_setting('tidemark_migration.applying', true) IN ('on', 'preview') THEN
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        before := tidemark_migration.row_of(OLD);
        of_before := CASE WHEN is_child THEN tidemark_migration.owner_of(TG_ARGV[0], before)
            ELSE TG_ARGV[2] || (before ->> TG_ARGV[1]) END;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        after := tidemark_migration.row_of(NEW);
        of_after := CASE WHEN is_child THEN tidemark_migration.owner_of(TG_ARGV[0], after)
            ELSE TG_ARGV[2] || (after ->> TG_ARGV[1]) END;
    END IF;
    -- Without this, a renamed column would become an attribute that every changed row loses.
    IF NOT coalesce(after, before) ?& TG_ARGV[4:] THEN
        RAISE EXCEPTION 'a column of % that the migration needs is gone', TG_ARGV[0] USING ERRCODE = 'TM004';
    END IF;
    IF of_before = of_after THEN
        PERFORM tidemark_migration.record_change(of_after, TG_ARGV[0], before, after);
    ELSE
        -- A row without an owner is not migrated. A row that changes its owner counts as two
        -- changes.
        IF of_before IS NOT NULL THEN
            PERFORM tidemark_migration.record_change(of_before, TG_ARGV[0], before, NULL);
        END IF;
        IF of_after IS NOT NULL THEN
            PERFORM tidemark_migration.record_change(of_after, TG_ARGV[0], NULL, after);
        END IF;
        IF TG_OP = 'UPDATE' AND TG_ARGV[3] IN ('parent', 'both') THEN
            PERFORM tidemark_migration.move_children(TG_ARGV[0], after, of_before, of_after, false);
        END IF;
    END IF;
    -- Rows below may be written before this row, or stay after it: nobody owns them in the
    -- meantime.
    IF TG_ARGV[3] IN ('parent', 'both') THEN
        SELECT keys[1] INTO parent_key FROM tidemark_migration.sources WHERE source = TG_ARGV[0];
        IF before ->> parent_key IS DISTINCT FROM after ->> parent_key THEN
            IF of_before IS NOT NULL THEN
                PERFORM tidemark_migration.move_children(TG_ARGV[0], before, of_before, NULL, true);
            END IF;
            IF of_after IS NOT NULL THEN
                PERFORM tidemark_migration.move_children(TG_ARGV[0], after, NULL, of_after, true);
            END IF;
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION tidemark_migration.refuse_truncate() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the migration cannot capture TRUNCATE; use DELETE' USING ERRCODE = 'TM002';
END $$;

-- Increases an ownership's epoch by one, if it is `from_epoch` and the version is `at_version`, if
-- given: a step of a move. Waits for all transactions that have changed the user's rows, and gives
-- their changes a version. False if the record has changed.
CREATE FUNCTION tidemark_migration.advance_epoch(of_user text, from_epoch integer, at_version bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO tidemark_migration.ownerships (user_id) VALUES (of_user) ON CONFLICT (user_id) DO NOTHING;
    PERFORM pg_advisory_xact_lock({move_lock}, hashtext(of_user));
    PERFORM FROM tidemark_migration.ownerships WHERE user_id = of_user FOR UPDATE;
    PERFORM tidemark_migration.number_changes(of_user);
    UPDATE tidemark_migration.ownerships SET epoch = from_epoch + 1
        WHERE user_id = of_user AND epoch = from_epoch AND (at_version IS NULL OR version = at_version);
    RETURN FOUND;
END $$;

-- Advances the sequence of a key that the application has chosen, so that it is not given again; without
-- a row, for the keys of all rows. The sequence is set 1,000 ahead: other transactions take fewer values
-- between the two steps, and a sequence that was set back would give their values again.
CREATE FUNCTION tidemark_migration.advance_sequence(of_source text, of_row jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key_name text;
    sequence_name text;
    highest bigint;
    is_ahead boolean;
BEGIN
    IF NOT has_any_column_privilege(session_user, format('{schema}.%I', of_source), 'INSERT') THEN
        RAISE EXCEPTION 'permission denied for the table %', of_source USING ERRCODE = '42501';
    END IF;
    FOR key_name IN SELECT unnest(keys) FROM tidemark_migration.sources WHERE source = of_source LOOP
        sequence_name := pg_get_serial_sequence(format('{schema}.%I', of_source), key_name);
        CONTINUE WHEN sequence_name IS NULL;
        highest := of_row ->> key_name;
        IF of_row IS NULL THEN
            EXECUTE format('SELECT max(%I) FROM {schema}.%I', key_name, of_source) INTO highest;
        END IF;
        EXECUTE format('SELECT last_value >= $1 FROM %s', sequence_name) INTO is_ahead USING highest;
        IF NOT is_ahead THEN
            PERFORM setval(sequence_name, highest + 1000);
        END IF;
    END LOOP;
END $$;

-- Refuses a write that the caller may not make itself: session_user is the caller, and current_user is
-- the owner of the functions.
CREATE FUNCTION tidemark_migration.check_rights(of_source text, is_gone boolean) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    name text := pg_catalog.format('{schema}.%I', of_source);
BEGIN
    IF NOT EXISTS (SELECT FROM tidemark_migration.sources WHERE sources.source OPERATOR(pg_catalog.=) of_source) THEN
        RAISE EXCEPTION 'the migration does not write the table %', of_source USING ERRCODE = '42501';
    END IF;
    IF NOT pg_catalog.has_table_privilege(session_user, name, 'SELECT')
        OR (is_gone AND NOT pg_catalog.has_table_privilege(session_user, name, 'DELETE'))
        OR (NOT is_gone AND NOT pg_catalog.has_any_column_privilege(session_user, name, 'INSERT'))
        OR (NOT is_gone AND NOT pg_catalog.has_any_column_privilege(session_user, name, 'UPDATE')) THEN
        RAISE EXCEPTION 'permission denied for the table %', of_source USING ERRCODE = '42501';
    END IF;
END $$;

-- Updates the row with the same key, inserts a row, or deletes one (`after` is null). Returns the row as
-- it is stored. The callers have the application's schema in the search path for the application's own
-- triggers, so each function is named with its schema: the application's role may create a function
-- there, which would run with the rights of this function's owner.
CREATE FUNCTION tidemark_migration.write_row(of_source text, row_key jsonb, after jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    name text := pg_catalog.format('{schema}.%I', of_source);
    key_names text[];
    is_same text;
    names text;
    settings text;
    stored jsonb;
BEGIN
    SELECT keys INTO key_names FROM tidemark_migration.sources WHERE sources.source OPERATOR(pg_catalog.=) of_source;
    SELECT pg_catalog.string_agg(pg_catalog.format('this.%1$I OPERATOR(pg_catalog.=) given.%1$I', key), ' AND ')
        INTO is_same FROM pg_catalog.unnest(key_names) AS key;
    IF after IS NULL THEN
        -- A change without any row has no key, and deletes nothing.
        EXECUTE pg_catalog.format('DELETE FROM %1$s AS this USING pg_catalog.jsonb_populate_record(NULL::%1$s, $1) AS given WHERE %2$s',
            name, is_same) USING row_key;
        RETURN NULL;
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.jsonb_object_keys(after) AS given WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_attribute
            WHERE attrelid OPERATOR(pg_catalog.=) name::pg_catalog.regclass AND attnum OPERATOR(pg_catalog.>) 0
                AND NOT attisdropped AND attname::text OPERATOR(pg_catalog.=) given)) THEN
        RAISE EXCEPTION 'a column of % that the migration needs is gone', of_source USING ERRCODE = 'TM004';
    END IF;
    -- The key is given even if a column generates it. Such a column must not be updated, and a
    -- computed column must not be written at all.
    SELECT pg_catalog.string_agg(pg_catalog.format('%I', attname), ', '),
        pg_catalog.string_agg(pg_catalog.format('%1$I = given.%1$I', attname), ', ')
            FILTER (WHERE NOT attname::text OPERATOR(pg_catalog.=) ANY (key_names) AND attidentity OPERATOR(pg_catalog.<>) 'a')
        INTO names, settings FROM pg_catalog.pg_attribute
        WHERE attrelid OPERATOR(pg_catalog.=) name::pg_catalog.regclass AND attnum OPERATOR(pg_catalog.>) 0 AND NOT attisdropped
            AND attgenerated OPERATOR(pg_catalog.=) '' AND after OPERATOR(pg_catalog.?) attname::text;
    EXECUTE pg_catalog.format(CASE WHEN settings IS NULL
            THEN 'SELECT tidemark_migration.row_of(this.*) FROM %1$s AS this, pg_catalog.jsonb_populate_record(NULL::%1$s, $1) AS given WHERE %2$s'
            ELSE 'UPDATE %1$s AS this SET %3$s FROM pg_catalog.jsonb_populate_record(NULL::%1$s, $1) AS given WHERE %2$s
                RETURNING tidemark_migration.row_of(this.*)' END, name, is_same, settings)
        INTO stored USING after;
    IF stored IS NULL THEN
        EXECUTE pg_catalog.format('INSERT INTO %1$s AS this (%2$s) OVERRIDING SYSTEM VALUE
            SELECT %2$s FROM pg_catalog.jsonb_populate_record(NULL::%1$s, $1) RETURNING tidemark_migration.row_of(this.*)', name, names)
            INTO stored USING after;
    END IF;
    RETURN stored;
END $$;

-- The row that PostgreSQL would store, with the values of defaults and of BEFORE triggers. Fails if
-- PostgreSQL would refuse the write. Changes nothing.
CREATE FUNCTION tidemark_migration.preview(of_source text, row_key jsonb, after jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp {settings} AS $$
DECLARE
    stored jsonb;
BEGIN
    PERFORM tidemark_migration.check_rights(of_source, after IS NULL);
    BEGIN
        PERFORM pg_catalog.set_config('tidemark_migration.applying', 'preview', true);
        stored := tidemark_migration.write_row(of_source, row_key, after);
        -- Undoes the write.
        RAISE EXCEPTION USING ERRCODE = 'TM003';
    EXCEPTION WHEN SQLSTATE 'TM003' THEN
        RETURN stored;
    END;
END $$;

-- Writes a row with the values of DynamoDB; the capture does not record it.
CREATE FUNCTION tidemark_migration.write_as_given(of_source text, row_key jsonb, after jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, {schema}, pg_temp {settings} AS $$
BEGIN
    PERFORM pg_catalog.set_config('tidemark_migration.applying', 'on', true),
        pg_catalog.set_config('tidemark_migration.source', of_source, true),
        pg_catalog.set_config('tidemark_migration.row', coalesce(after::text, ''), true);
    PERFORM tidemark_migration.write_row(of_source, row_key, after);
    PERFORM pg_catalog.set_config('tidemark_migration.applying', 'off', true);
END $$;

-- The same on the way back. Returns why PostgreSQL refuses the row; the transaction goes on. Nobody else
-- writes then, so every error is about the row, unless PostgreSQL or the connection is in trouble.
CREATE FUNCTION tidemark_migration.return_row(of_source text, row_key jsonb, after jsonb) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    details text;
    advice text;
BEGIN
    -- A deferred constraint would be checked at the end.
    SET CONSTRAINTS ALL IMMEDIATE;
    PERFORM tidemark_migration.write_as_given(of_source, row_key, after);
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN
    IF left(SQLSTATE, 2) IN ('08', '40', '53', '57', '58') THEN
        RAISE;
    END IF;
    GET STACKED DIAGNOSTICS details = PG_EXCEPTION_DETAIL, advice = PG_EXCEPTION_HINT;
    RETURN concat_ws('. ', format('ERROR: %s (%s)', SQLERRM, SQLSTATE), 'DETAIL: ' || nullif(details, ''), 'HINT: ' || nullif(advice, ''));
END $$;

-- Applies a change that was made in DynamoDB, if it is the next version. Otherwise it changes
-- nothing and returns false.
CREATE FUNCTION tidemark_migration.apply_change(of_user text, to_version bigint, of_source text, row_key jsonb, after jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp AS $$
BEGIN
    PERFORM tidemark_migration.check_rights(of_source, after IS NULL);
    INSERT INTO tidemark_migration.ownerships (user_id) VALUES (of_user) ON CONFLICT (user_id) DO NOTHING;
    UPDATE tidemark_migration.ownerships SET version = to_version WHERE user_id = of_user AND version = to_version - 1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM tidemark_migration.write_as_given(of_source, row_key, after);
    IF after IS NOT NULL THEN
        PERFORM tidemark_migration.advance_sequence(of_source, after);
    END IF;
    RETURN true;
END $$;

-- Fires after all other BEFORE triggers of a row that `apply_change` writes: gives the row the values that
-- DynamoDB has, which a trigger such as one for `updated_at` may have changed. Rows that a trigger of
-- the application writes meanwhile are left alone.
CREATE FUNCTION tidemark_migration.restore() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    given jsonb;
    given_key jsonb;
BEGIN
    IF pg_catalog.current_setting('tidemark_migration.source') OPERATOR(pg_catalog.<>) TG_ARGV[0] THEN
        RETURN NEW;
    END IF;
    given := nullif(pg_catalog.current_setting('tidemark_migration.row'), '')::pg_catalog.jsonb;
    SELECT pg_catalog.jsonb_object_agg(key, given OPERATOR(pg_catalog.->) key) INTO given_key
        FROM tidemark_migration.sources, pg_catalog.unnest(keys) AS key WHERE sources.source OPERATOR(pg_catalog.=) TG_ARGV[0];
    IF tidemark_migration.row_of(pg_catalog.jsonb_populate_record(NEW, given_key)) OPERATOR(pg_catalog.=) tidemark_migration.row_of(NEW) THEN
        RETURN pg_catalog.jsonb_populate_record(NEW, given);
    END IF;
    RETURN NEW;
END $$;
