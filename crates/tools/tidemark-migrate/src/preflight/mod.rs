//! `preflight`: says what would stop a migration, or surprise it, before anything is changed.

mod round_trip;

use clap::Args;
use serde_json::json;
use tokio_postgres::Client;

use crate::arguments::MappingArguments;
use crate::command::Product;
use crate::mapping::Table;
use crate::source::{Restricted, Schema, Server, connect, quoted, source_failure};
use crate::{Failure, FailureKind, Report};

/// The source, the mapping and its parameters.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) mapping: MappingArguments,
    /// The application's role in PostgreSQL, if it is not the tool's own.
    #[arg(long, value_name = "ROLE")]
    pub(crate) application_role: Option<String>,
}

/// The size in bytes from which on an index is missed.
const LARGE: i64 = 8 * 1024 * 1024;

/// What was found: some of it stops a cutover.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The cutover would fail.
    pub(crate) stops: Vec<String>,
    /// The cutover would succeed, and somebody should know.
    pub(crate) warnings: Vec<String>,
}

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    // The parameters and the secret, too, are checked before anything begins.
    let world = arguments.mapping.world(product, "preflight", jiff::Timestamp::UNIX_EPOCH)?;
    let client = connect(&arguments.server).await?;
    let schema = Schema::read(&client, &arguments.server.schema, &world.mapping).await?;
    let mut findings = find(&client, &schema, arguments.application_role.as_deref()).await?;
    findings.stops.extend(schema.check().err().map(|failure| failure.to_string()));
    let Findings { stops, warnings } = findings;
    let mut text = match (stops.len(), warnings.len()) {
        (0, 0) => "Nothing stands in the way of the migration.".to_owned(),
        (0, warnings) => format!("Nothing stops the migration. To know: {warnings}."),
        (stops, _) => format!("The migration would fail. Findings that stop it: {stops}."),
    };
    for (what, all) in [("stops", &stops), ("to know", &warnings)] {
        all.iter().for_each(|finding| text.push_str(&format!("\n  {what}: {finding}")));
    }
    if !schema.left_behind.is_empty() {
        text.push_str(&format!("\ntables that are not migrated: {}", schema.left_behind.join(", ")));
    }
    let json =
        json!({ "phase": "preflight", "stops": stops, "warnings": warnings, "tablesLeftBehind": schema.left_behind });
    Ok(Report::new(json, text, !(stops.is_empty() && warnings.is_empty())))
}

/// Refuses a cutover that would fail later.
pub(crate) async fn check(client: &Client, schema: &Schema, application: Option<&str>) -> Result<(), Failure> {
    let findings = find(client, schema, application).await?;
    match &*findings.stops {
        [] => Ok(()),
        stops => Err(FailureKind::Cutover.because(format!("{}. `preflight` shows more", stops.join("; ")))),
    }
}

async fn find(client: &Client, schema: &Schema, application: Option<&str>) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    let facts = client
        .query_one(
            "SELECT pg_is_in_recovery(), has_database_privilege(current_database(), 'CREATE'),
                    current_setting('default_transaction_isolation'),
                    format('GRANT CREATE ON DATABASE %I TO %I;', current_database(), current_user)",
            &[],
        )
        .await
        .map_err(source_failure)?;
    if facts.get(0) {
        findings.stops.push("this server is a standby: only `export` can read it".to_owned());
    }
    if !facts.get::<_, bool>(1) {
        let grant: &str = facts.get(3);
        findings.stops.push(format!("the role may not create a schema in this database ({grant})"));
    }
    let isolation: &str = facts.get(2);
    if isolation != "read committed" {
        findings.warnings.push(format!(
            "the default isolation level is {isolation}: the application's transactions may fail with 40001 while an \
             owner moves, and have to be repeated"
        ));
    }
    for table in schema.mapping.owned() {
        // `Schema::check` names tables that are missing.
        if schema.columns.contains_key(&table.name) {
            if find_in_table(client, schema, table, &mut findings).await? {
                round_trip::find(client, schema, table, &mut findings).await?;
            }
            find_unindexed_owner(client, schema, table, &mut findings).await?;
            find_unindexed_joins(client, schema, table, &mut findings).await?;
        }
    }
    find_unreadable(client, schema, application, &mut findings).await?;
    find_foreign_chains(client, schema, &mut findings).await?;
    Ok(findings)
}

/// Tables that are not migrated and through which foreign keys change migrated rows: each writer reads
/// them. The application's role also reads the migrated tables.
async fn find_unreadable(
    client: &Client,
    schema: &Schema,
    application: Option<&str>,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let is_owned = |name: &String| schema.mapping.owned().any(|table| table.name == *name);
    let between = schema.dependencies.iter().map(|key| &key.table).filter(|name| !is_owned(name));
    let between: Vec<_> = between.map(|name| schema.table(name)).collect();
    let migrated = schema.mapping.owned().map(|table| schema.table(&table.name));
    let all: Vec<_> = migrated.chain(between.iter().cloned()).collect();
    let sql = "SELECT DISTINCT format('GRANT SELECT ON %s TO %I;', name, coalesce($1, current_user)) FROM unnest($2::text[]) AS name
               WHERE NOT has_table_privilege(coalesce($1, current_user), to_regclass(name), 'SELECT') ORDER BY 1";
    for (role, tables) in [(None, &between)].into_iter().chain(application.map(|role| (Some(role), &all))) {
        for row in client.query(sql, &[&role, tables]).await.map_err(source_failure)? {
            let grant: &str = row.get(0);
            findings.stops.push(format!("a role may not read a table that a write needs ({grant})"));
        }
    }
    Ok(())
}

/// Foreign keys that delete or change migrated rows together with other migrated rows, through a table
/// of another schema. The cutover would not follow them: DynamoDB would keep the items as they were.
async fn find_foreign_chains(client: &Client, schema: &Schema, findings: &mut Findings) -> Result<(), Failure> {
    let tables: Vec<_> = schema.mapping.owned().map(|table| schema.table(&table.name)).collect();
    let sql = "WITH RECURSIVE migrated AS (SELECT to_regclass(name)::oid AS oid FROM unnest($1::text[]) AS name),
        keys AS (SELECT conrelid, confrelid, conkey, confkey, on_delete, on_delete AND does = 'c' AS deletes,
                CASE WHEN relnamespace <> to_regnamespace($2) THEN conrelid END AS foreign_table
            FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid,
                LATERAL (VALUES (true, confdeltype), (false, confupdtype)) AS action (on_delete, does)
            WHERE contype = 'f' AND conparentid = 0 AND does IN ('c', 'n', 'd')),
        reached AS (
            SELECT conrelid, conkey, deletes, foreign_table, confrelid AS origin FROM keys WHERE confrelid IN (SELECT oid FROM migrated)
            UNION SELECT keys.conrelid, keys.conkey, keys.deletes, coalesce(reached.foreign_table, keys.foreign_table), origin
            FROM reached JOIN keys ON keys.confrelid = reached.conrelid AND keys.on_delete = reached.deletes
                AND (keys.on_delete OR keys.confkey && reached.conkey)
            WHERE reached.conrelid NOT IN (SELECT oid FROM migrated WHERE oid IS NOT NULL))
        SELECT DISTINCT format('%s to %s through %s', origin::regclass, conrelid::regclass, foreign_table::regclass)
        FROM reached WHERE foreign_table IS NOT NULL AND conrelid IN (SELECT oid FROM migrated) ORDER BY 1";
    for row in client.query(sql, &[&tables, &quoted(&schema.name)]).await.map_err(source_failure)? {
        let chain: &str = row.get(0);
        findings
            .stops
            .push(format!("foreign keys lead from {chain}: a cutover does not follow them into another schema"));
    }
    Ok(())
}

/// Returns whether the role may read the table.
async fn find_in_table(
    client: &Client,
    schema: &Schema,
    spec: &Table,
    findings: &mut Findings,
) -> Result<bool, Failure> {
    let (table, name, keys) = (&spec.name, schema.table(&spec.name), schema.key_columns(spec));
    let sql = "SELECT pg_has_role(relowner, 'USAGE'),
            EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisunique AND indimmediate AND indpred IS NULL
                AND (SELECT array_agg(attname::text ORDER BY attname) FROM pg_attribute
                     WHERE attrelid = c.oid AND attnum = ANY (indkey[0:indnkeyatts - 1]))
                    = (SELECT array_agg(name ORDER BY name COLLATE \"C\") FROM unnest($2::text[]) AS name)),
            relrowsecurity,
            ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
                  AND attnotnull AND NOT atthasdef AND attidentity = ''),
            -- Of the BEFORE triggers for a row, those that fire before `tidemark_restore` are harmless.
            ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = c.oid AND NOT tgisinternal
                  AND tgname NOT LIKE 'tidemark\\_%' AND tgenabled <> 'D'
                  AND (tgtype & 3 <> 3 OR tgname::text COLLATE \"C\" > '~tidemark_restore')),
            relkind IN ('r', 'p'), has_table_privilege(c.oid, 'SELECT')
        FROM pg_class c WHERE c.oid = $1::text::regclass";
    let row = client.query_one(sql, &[&name, &keys]).await.map_err(source_failure)?;
    if !row.get::<_, bool>(0) {
        findings.stops.push(format!("the role is not an owner of {table}, so it cannot create triggers on it"));
    }
    let is_readable: bool = row.get(6);
    if !is_readable {
        findings.stops.push(format!("the role may not read {table}"));
    }
    if !row.get::<_, bool>(5) {
        findings.stops.push(format!("{table} is no table of this database, so its changes cannot be captured"));
    }
    let computed = |column: &&String| {
        schema.restricted.get(table).and_then(|columns| columns.get(*column)) == Some(&Restricted::Computed)
    };
    if let Some(column) = keys.iter().chain(spec.owner.as_ref().map(|owner| &owner.column)).find(computed) {
        findings.stops.push(format!("{table}.{column} says whose row it is, and PostgreSQL computes it"));
    }
    if !row.get::<_, bool>(1) {
        findings.stops.push(format!("{table} has no unique index of {} alone", keys.join(", ")));
    }
    if row.get(2) {
        findings.warnings.push(format!("{table} has row security: the role has to see all rows"));
    }
    let required: Vec<_> =
        row.get::<_, Vec<String>>(3).into_iter().filter(|name| spec.ignored.contains(name)).collect();
    if !required.is_empty() {
        findings.warnings.push(format!(
            "{table}: {} is left behind, and is NOT NULL without a default: PostgreSQL refuses rows that are made in \
             DynamoDB",
            required.join(", ")
        ));
    }
    let triggers: Vec<String> = row.get(4);
    if !triggers.is_empty() {
        findings.warnings.push(format!(
            "{table} has triggers ({}) that PostgreSQL also runs for changes made in DynamoDB: what they change in \
             migrated tables does not reach DynamoDB, and `--compare` names it",
            triggers.join(", ")
        ));
    }
    Ok(is_readable)
}

/// Whether an index of the table begins with one of these columns.
async fn has_index(client: &Client, table: &str, columns: &[String]) -> Result<bool, Failure> {
    let sql = "SELECT EXISTS (SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
               WHERE indrelid = to_regclass($1) AND indpred IS NULL AND attname = ANY ($2))";
    Ok(client.query_one(sql, &[&table, &columns]).await.map_err(source_failure)?.get(0))
}

/// A large table that is read as a whole for each owner.
async fn find_unindexed_owner(
    client: &Client,
    schema: &Schema,
    table: &Table,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let Some(owner) = &table.owner else { return Ok(()) };
    let column = schema.column(table, &owner.column).unwrap_or(&owner.column);
    let name = schema.table(&table.name);
    let sql = "SELECT coalesce((SELECT sum(pg_relation_size(relid)) FROM pg_partition_tree(to_regclass($1))),
                               pg_relation_size(to_regclass($1)), 0) > $2::bigint";
    let is_large = client.query_one(sql, &[&name, &LARGE]).await.map_err(source_failure)?.get(0);
    if is_large && !has_index(client, &name, &[column.to_owned()]).await? {
        findings.warnings.push(format!(
            "{} has no index that begins with {column}: a move and a comparison read all of it for each owner",
            table.name
        ));
    }
    Ok(())
}

/// Joins by which each change of another table's row reads a whole table.
async fn find_unindexed_joins(
    client: &Client,
    schema: &Schema,
    joined: &Table,
    findings: &mut Findings,
) -> Result<(), Failure> {
    for (table, join) in schema.mapping.joins_across(joined) {
        let own = join.on.iter().map(|(_, own)| schema.column(table, own).unwrap_or(own).to_owned());
        let own: Vec<_> = own.collect();
        if !has_index(client, &schema.table(&table.name), &own).await? {
            findings.warnings.push(format!(
                "{0} is joined with {1} by {2}, and has no index that begins with it: each change of {1} reads all of {0}",
                table.name,
                joined.name,
                own.join(", ")
            ));
        }
    }
    Ok(())
}
