-- Changes of rows with which rows of other owners are joined. The items of these other rows are made
-- again later, by whoever replicates: here it would take the locks of all their owners, and would
-- fail if DynamoDB owns one of them.
CREATE TABLE tidemark_migration.joined_changes (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The owner of the changed row; null if it belongs to nobody.
    user_id text,
    source text NOT NULL,
    -- Of the row, only the columns that other rows use.
    before jsonb,
    after jsonb
);
CREATE INDEX ON tidemark_migration.joined_changes (user_id);

-- Records a change of a row if one of the used columns has changed. Otherwise rows that are joined with
-- each other would make each other's items again for ever. The trigger's arguments are the table's name
-- and the columns that other rows use. Also records the changes that `apply_change` writes: DynamoDB
-- does not know which rows of other owners are joined.
CREATE FUNCTION tidemark_migration.record_joined() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp {settings} AS $$
DECLARE
    before jsonb;
    after jsonb;
    used_before jsonb;
    used_after jsonb;
    of_user text;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        before := tidemark_migration.row_of(OLD);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        after := tidemark_migration.row_of(NEW);
    END IF;
    IF NOT coalesce(after, before) ?& TG_ARGV[1:] THEN
        RAISE EXCEPTION 'a column of % that the migration needs is gone', TG_ARGV[0] USING ERRCODE = 'TM004';
    END IF;
    of_user := tidemark_migration.owner_of(TG_ARGV[0], coalesce(after, before));
    SELECT coalesce(jsonb_object_agg(key, value), '{}') INTO used_before FROM jsonb_each(before) WHERE key = ANY (TG_ARGV[1:]);
    SELECT coalesce(jsonb_object_agg(key, value), '{}') INTO used_after FROM jsonb_each(after) WHERE key = ANY (TG_ARGV[1:]);
    IF TG_OP <> 'UPDATE' OR used_before <> used_after THEN
        INSERT INTO tidemark_migration.joined_changes (user_id, source, before, after)
            VALUES (of_user, TG_ARGV[0], CASE WHEN TG_OP <> 'INSERT' THEN used_before END, CASE WHEN TG_OP <> 'DELETE' THEN used_after END);
    END IF;
    RETURN NULL;
END $$;

-- Records a row as changed without changing it, so that its items are made again. False if DynamoDB
-- owns the user.
CREATE FUNCTION tidemark_migration.touch(of_user text, of_source text, row_key jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp {settings} AS $$
DECLARE
    name text := format('{schema}.%I', of_source);
    is_same text;
    found_row jsonb;
BEGIN
    SELECT string_agg(format('this.%1$I = given.%1$I', key), ' AND ') INTO is_same
        FROM tidemark_migration.sources, unnest(keys) AS key WHERE source = of_source;
    IF is_same IS NULL OR NOT has_any_column_privilege(session_user, name, 'UPDATE') THEN
        RAISE EXCEPTION 'permission denied for the table %', of_source USING ERRCODE = '42501';
    END IF;
    EXECUTE format('SELECT tidemark_migration.row_of(this.*) FROM %1$s AS this, jsonb_populate_record(NULL::%1$s, $1) AS given WHERE %2$s', name, is_same)
        INTO found_row USING row_key;
    IF tidemark_migration.owner_of(of_source, found_row) = of_user THEN
        PERFORM tidemark_migration.record_change(of_user, of_source, found_row, found_row);
    END IF;
    RETURN true;
EXCEPTION WHEN SQLSTATE 'TM001' THEN
    RETURN false;
END $$;
