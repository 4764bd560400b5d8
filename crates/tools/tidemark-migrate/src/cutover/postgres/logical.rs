//! Capture by logical replication: a slot keeps the changes until the triggers take over.
//!
//! Nothing here is one transaction, because a slot is not created or dropped by transactions. Each
//! step can be repeated, and a capture that was killed before it began is removed by the next one.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::PgLsn;

use super::install::{REVOKE, WAIT_SHORTLY, plan_sql};
use super::{Postgres, is_missing};
use crate::source::{literal, source_failure};
use crate::{Failure, FailureKind};

/// How often the tool checks whether older transactions have ended, and the pause between two checks.
/// Together: five minutes.
const WAITS: u32 = 3_000;
const WAIT: Duration = Duration::from_millis(100);

/// The number of staged changes that are recorded in one transaction.
const STAGED_PER_TRANSACTION: i64 = 1_000;

/// The slot of a capture by logical replication.
#[derive(Debug, Clone)]
pub(in crate::cutover) struct Slot {
    /// The name of the slot and of its publication.
    pub(super) name: String,
    pub(super) recorded_to: Option<PgLsn>,
    pub(super) triggers_from: Option<PgLsn>,
    pub(super) is_settled: bool,
}

impl Postgres {
    /// The slot that captures; `None` if the triggers do.
    pub(in crate::cutover) async fn slot(&self) -> Result<Option<Slot>, Failure> {
        let sql = "SELECT name, recorded_to, triggers_from, is_settled FROM tidemark_migration.slot";
        let row = match self.client.query_opt(sql, &[]).await {
            Err(error) if is_missing(&error) => return Ok(None),
            row => row.map_err(source_failure)?,
        };
        Ok(row.map(|row| Slot {
            name: row.get(0),
            recorded_to: row.get(1),
            triggers_from: row.get(2),
            is_settled: row.get(3),
        }))
    }

    /// Starts a cutover that captures with a slot. Locks one table after the other, each for a moment.
    pub(in crate::cutover) async fn install_logical(
        &self,
        run: &str,
        files: &BTreeMap<String, String>,
    ) -> Result<(), Failure> {
        let name = slot_name(run);
        let tables: Vec<_> = self.schema.captured().map(|table| self.table(table)).collect();
        let mut sql = format!("{WAIT_SHORTLY}\n{}", self.tables_sql());
        sql.push_str(&self.with_names(include_str!("../logical.sql")));
        sql.push_str(REVOKE);
        sql.push_str(&format!("INSERT INTO tidemark_migration.slot (name) VALUES ('{name}');\n"));
        let names = tables.iter().map(|table| literal(table)).collect::<Vec<_>>().join(", ");
        sql.push_str(&format!("SELECT tidemark_migration.remember_identities(ARRAY[{names}]::regclass[])"));
        self.all_or_nothing(&sql).await?;
        for (table, truncate) in tables.iter().zip(self.truncate_sql()) {
            let full = format!("SELECT tidemark_migration.log_whole_rows({})", literal(table));
            self.all_or_nothing(&format!("{WAIT_SHORTLY} {full}; {truncate}")).await?;
        }
        // Before the slot: a change from before the publication could not be decoded.
        let tables = tables.join(", ");
        let publication = format!("CREATE PUBLICATION {name} FOR TABLE {tables} WITH (publish_via_partition_root)");
        self.all_or_nothing(&publication).await?;
        self.create_slot(&name).await?;
        self.wait_for_older_transactions().await?;
        let (owners, plan) = (self.owners_sql(), plan_sql(run, files));
        self.all_or_nothing(&format!("{owners}{plan}")).await
    }

    /// Whether a capture of this run was killed before it began.
    pub(crate) async fn is_unfinished(&self, run: &str) -> Result<bool, Failure> {
        Ok(self.unfinished().await?.is_some_and(|slot| slot.name == slot_name(run)))
    }

    /// The slot of a capture that was killed before it began.
    async fn unfinished(&self) -> Result<Option<Slot>, Failure> {
        match self.plan().await? {
            Some(_) => Ok(None),
            None => self.slot().await,
        }
    }

    /// Removes a capture that was killed before it began, after [`Postgres::lock_installation`]: the
    /// server may still create the slot of a killed command.
    pub(crate) async fn remove_unfinished(&self) -> Result<(), Failure> {
        match self.unfinished().await? {
            Some(_) => self.uninstall().await,
            None => Ok(()),
        }
    }

    async fn create_slot(&self, name: &str) -> Result<(), Failure> {
        self.client.batch_execute("SET statement_timeout = '5min'").await.map_err(source_failure)?;
        let created = self
            .client
            .query_one("SELECT lsn FROM pg_create_logical_replication_slot($1::text::name, 'pgoutput')", &[&name])
            .await;
        self.client.batch_execute("SET statement_timeout = 0").await.map_err(source_failure)?;
        let created = created.map_err(|error| match error.code() {
            Some(&SqlState::QUERY_CANCELED) => open_transaction(),
            _ => source_failure(error),
        })?;
        let from: PgLsn = created.get(0);
        let sql = "UPDATE tidemark_migration.slot SET recorded_to = $1";
        self.client.execute(sql, &[&from]).await.map(drop).map_err(source_failure)
    }

    /// Waits until all transactions that run now have ended. The commit of one of them may be in the
    /// WAL from before the slot, and not be visible yet, for example while it waits for a synchronous
    /// standby. Its changes would be in neither the slot nor the export.
    async fn wait_for_older_transactions(&self) -> Result<(), Failure> {
        let now = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text";
        let now: String = self.client.query_one(now, &[]).await.map_err(source_failure)?.get(0);
        let are_over = "SELECT pg_snapshot_xmin(pg_current_snapshot()) >= $1::text::xid8";
        for _ in 0..WAITS {
            if self.client.query_one(are_over, &[&now]).await.map_err(source_failure)?.get(0) {
                return Ok(());
            }
            tokio::time::sleep(WAIT).await;
        }
        Err(open_transaction())
    }

    /// Lets the triggers take over from the slot, and records the rest of its changes. Returns their
    /// number; none if the triggers capture already.
    pub(in crate::cutover) async fn switch_to_triggers(&self) -> Result<u64, Failure> {
        let Some(slot) = self.slot().await? else { return Ok(0) };
        let mut changes = 0;
        if !slot.is_settled {
            if slot.triggers_from.is_none() {
                // Less is left to read after the switch.
                changes += self.drain().await?;
                self.install_triggers().await?;
            }
            changes += self.drain().await?;
            self.settle().await?;
            let sql = "UPDATE tidemark_migration.slot SET is_settled = true";
            self.client.execute(sql, &[]).await.map_err(source_failure)?;
        }
        self.remove_slot().await?;
        for table in self.schema.mapping.owned() {
            let name = self.table(table);
            self.all_or_nothing(&format!("{WAIT_SHORTLY} DROP TRIGGER IF EXISTS tidemark_stage ON {name}")).await?;
        }
        let end = "DELETE FROM tidemark_migration.slot; DELETE FROM tidemark_migration.links;
                   DELETE FROM tidemark_migration.staged";
        self.all_or_nothing(end).await?;
        Ok(changes)
    }

    /// Creates the triggers, and notes the position in the WAL from which on they record changes.
    ///
    /// A transaction holds the lock of a table that it has changed until it has ended. So it has
    /// either ended before this transaction got the lock of that table, and its end is before the
    /// noted position; or it changes the table after this transaction, and the triggers record that.
    async fn install_triggers(&self) -> Result<(), Failure> {
        let mut sql = format!(
            "{WAIT_SHORTLY}
            -- The slot reads only what is on the disk.
            SET LOCAL synchronous_commit = local;
            SELECT FROM tidemark_migration.slot FOR UPDATE;\n"
        );
        sql.push_str(&self.triggers_sql());
        for table in self.schema.mapping.owned() {
            let is_child = table.owner.as_ref().is_some_and(|owner| owner.through.is_some());
            if is_child || self.is_parent(table) {
                let (name, source) = (self.table(table), literal(&table.name));
                sql.push_str(&format!(
                    "CREATE TRIGGER tidemark_stage AFTER INSERT OR UPDATE OR DELETE ON {name} FOR EACH ROW EXECUTE FUNCTION tidemark_migration.stage({source});
                     ALTER TABLE {name} ENABLE ALWAYS TRIGGER tidemark_stage;\n"
                ));
            }
        }
        sql.push_str("UPDATE tidemark_migration.slot SET triggers_from = pg_current_wal_insert_lsn()");
        self.all_or_nothing(&sql).await
    }

    /// Records the staged changes. Changes that are staged meanwhile need no other owner: the rows
    /// below a parent with another owner were staged when the parent's change was read.
    async fn settle(&self) -> Result<(), Failure> {
        let last = "SELECT coalesce(max(sequence), 0) FROM tidemark_migration.staged";
        let last: i64 = self.client.query_one(last, &[]).await.map_err(source_failure)?.get(0);
        loop {
            let sql = "SELECT tidemark_migration.settle($1, $2)";
            let settled = self.in_transaction(async || {
                Ok(self.client.query_one(sql, &[&last, &STAGED_PER_TRANSACTION]).await?.get::<_, i64>(0))
            });
            if settled.await? == 0 {
                return Ok(());
            }
        }
    }

    /// Drops the slot and the publication, and gives the tables their replica identities back. May be
    /// repeated.
    pub(super) async fn remove_slot(&self) -> Result<(), Failure> {
        let Some(slot) = self.slot().await? else { return Ok(()) };
        let name = &slot.name;
        // The lock waits for the server to notice that a command was killed that read the slot.
        let remove = format!(
            "SET LOCAL lock_timeout = '60s'; SELECT FROM tidemark_migration.slot FOR UPDATE;
             SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{name}';
             DROP PUBLICATION IF EXISTS {name}"
        );
        self.in_transaction(async || Ok(self.client.batch_execute(&remove).await?)).await?;
        let tables = "SELECT of_table::oid FROM tidemark_migration.replica_identities ORDER BY 1";
        for table in self.client.query(tables, &[]).await.map_err(source_failure)? {
            let table: u32 = table.get(0);
            self.all_or_nothing(&format!("{WAIT_SHORTLY} SELECT tidemark_migration.restore_identity({table})")).await?;
        }
        Ok(())
    }

    /// The slot's name and the bytes of WAL that it keeps, for reports: null if the triggers
    /// capture, and null bytes if the slot is lost.
    pub(in crate::cutover) async fn slot_state(&self) -> Result<Value, Failure> {
        let Some(slot) = self.slot().await?.filter(|slot| !slot.is_settled) else { return Ok(Value::Null) };
        let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint FROM pg_replication_slots
                   WHERE slot_name = $1 AND wal_status <> 'lost'";
        let row = self.client.query_opt(sql, &[&slot.name]).await.map_err(source_failure)?;
        Ok(json!({ "name": slot.name, "keptBytes": row.map(|row| row.get::<_, i64>(0)) }))
    }
}

/// The name of a run's slot and of its publication.
fn slot_name(run: &str) -> String {
    format!("tidemark_{run}")
}

fn open_transaction() -> Failure {
    let why = "a transaction has been open for five minutes, and the slot begins after it: end it, and try again";
    FailureKind::Cutover.because(why)
}
