//! What a capture by logical replication needs of the server and of the tables.

use tokio_postgres::Client;

use super::Findings;
use crate::Failure;
use crate::source::{Schema, source_failure};

/// The first version with `publish_via_partition_root` and `wal_status`.
const VERSION_MIN: i32 = 130_000;

/// The first version in which a publication may have a list of columns.
const VERSION_COLUMN_LISTS: i32 = 150_000;

pub(super) async fn find(client: &Client, schema: &Schema, findings: &mut Findings) -> Result<(), Failure> {
    let facts = "SELECT current_setting('server_version_num')::integer, current_setting('wal_level'),
            current_setting('max_replication_slots')::bigint - (SELECT count(*) FROM pg_replication_slots),
            (SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user)
                OR EXISTS (SELECT FROM pg_roles WHERE rolname = 'rds_replication' AND pg_has_role(oid, 'USAGE')),
            current_setting('server_encoding'), current_setting('max_slot_wal_keep_size', true)";
    let facts = client.query_one(facts, &[]).await.map_err(source_failure)?;
    let version: i32 = facts.get(0);
    if version < VERSION_MIN {
        findings.stops.push("a capture by logical replication needs PostgreSQL 13 or later".to_owned());
        return Ok(());
    }
    let level: &str = facts.get(1);
    if level != "logical" {
        findings
            .stops
            .push(format!("wal_level is {level}: a slot needs wal_level = logical, and a restart of the server"));
    }
    if facts.get::<_, i64>(2) < 1 {
        findings.stops.push("no replication slot is free: raise max_replication_slots".to_owned());
    }
    if !facts.get::<_, bool>(3) {
        findings.stops.push(
            "the role may not create a replication slot: ALTER ROLE ... REPLICATION, or GRANT rds_replication on Amazon RDS"
                .to_owned(),
        );
    }
    let encoding: &str = facts.get(4);
    if encoding != "UTF8" {
        findings.stops.push(format!("the database has the encoding {encoding}, and a slot is read in UTF8 only"));
    }
    match facts.get::<_, Option<&str>>(5) {
        None | Some("-1") => findings.warnings.push(
            "max_slot_wal_keep_size is not set: the server keeps its WAL until the slot is read, or until the disk is full".to_owned(),
        ),
        Some(most) => findings.warnings.push(format!(
            "max_slot_wal_keep_size is {most}: if the slot needs more WAL than this, the slot is lost, and the migration has to begin again"
        )),
    }
    let lists = if version < VERSION_COLUMN_LISTS { "false" } else { "bool_or(prattrs IS NOT NULL)" };
    let parts = "SELECT c.oid, c.relname::text FROM pg_class c WHERE c.oid = $1::text::regclass
            OR c.oid IN (SELECT relid FROM pg_partition_tree($1::text::regclass))";
    let sql = format!(
        "SELECT coalesce(string_agg(relname, ', ') FILTER (WHERE relpersistence <> 'p'), ''),
                coalesce(string_agg(relname, ', ') FILTER (WHERE relkind NOT IN ('r', 'p')), ''),
                bool_or(relkind = 'p'),
                (SELECT {lists} FROM pg_publication_rel WHERE prrelid IN (SELECT oid FROM part))
         FROM pg_class WHERE oid IN (SELECT oid FROM part)"
    );
    for table in schema.captured().filter(|table| schema.columns.contains_key(&table.name)) {
        let (sql, name) = (format!("WITH part AS ({parts}) {sql}"), &table.name);
        let row = client.query_one(&sql, &[&schema.table(name)]).await.map_err(source_failure)?;
        for (place, what) in [(0, "unlogged or temporary"), (1, "not ordinary tables")] {
            let names: &str = row.get(place);
            if !names.is_empty() {
                findings.stops.push(format!("{name}: {names} are {what}, so the WAL does not have their changes"));
            }
        }
        if row.get(2) {
            findings.warnings.push(format!(
                "{name} is partitioned: give a partition that is added before dual REPLICA IDENTITY FULL, or its changes \
                 stop the capture"
            ));
        }
        // The capture needs whole rows, and PostgreSQL would then refuse updates.
        if row.get::<_, Option<bool>>(3).unwrap_or_default() {
            findings
                .stops
                .push(format!("{name} is in a publication with a list of columns: PostgreSQL would refuse updates"));
        }
    }
    Ok(())
}
