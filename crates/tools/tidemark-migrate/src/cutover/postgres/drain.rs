//! Reads the changes that a replication slot keeps, and records them in the outbox.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::PgLsn;
use tokio_postgres::{Error, Statement};

use super::logical::Slot;
use super::{Postgres, quoted};
use crate::cutover::pgoutput::{Change, Decoder, Relation, Values};
use crate::mapping::Table;
use crate::source::{literal, source_failure};
use crate::terminal::progress_bar;
use crate::{Failure, FailureKind};

/// The number of messages after which the server ends a batch. A transaction is never divided.
const MESSAGES_PER_BATCH: usize = 5_000;

/// The number of messages that are in memory at once.
const MESSAGES_PER_READ: usize = 500;

/// How often a transaction that writers block is tried.
const TRIES: u32 = 20;

/// Why a transaction was not done.
pub(super) enum Refusal {
    /// Another session has a lock or the slot. A session that ends gives up its locks before its slot.
    Blocked(Failure),
    Failed(Failure),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        match error.code() {
            Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::T_R_DEADLOCK_DETECTED | &SqlState::OBJECT_IN_USE) => {
                Self::Blocked(source_failure(error))
            }
            Some(&SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE) => Self::Failed(lost(&source_failure(error).detail)),
            _ => Self::Failed(source_failure(error)),
        }
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn lost(why: &str) -> Failure {
    FailureKind::CaptureLost.because(format!(
        "{why}. Changes of the application are lost to the migration, so it has to begin again: `rollback`, and then \
         `cutover --to capture`"
    ))
}

/// Changes that cannot be recorded stay in the slot, and stop every later command.
fn unreadable(why: impl std::fmt::Display) -> Failure {
    lost(&format!("the slot's changes cannot be recorded: {why}"))
}

fn blocked(by: &Failure) -> Failure {
    FailureKind::Cutover.because(format!(
        "another session holds a lock or the slot that the capture needs: end it, and run the same command again ({})",
        by.detail
    ))
}

/// The captured tables' columns, and the statement that records changes.
struct Recorder {
    /// The schema, the table, and the names of its columns in the order of a row.
    tables: Vec<(String, Vec<String>)>,
    statement: Statement,
}

/// A batch of changes that was recorded.
struct Batch {
    changes: u64,
    /// The position in the WAL up to which changes are recorded.
    end: u64,
    is_last: bool,
}

impl Postgres {
    /// Records the changes that the slot keeps now: all of them, or those before the triggers took
    /// over. Returns the number of changes. A command that was killed meanwhile can be repeated.
    pub(in crate::cutover) async fn drain(&self) -> Result<u64, Failure> {
        let Some(slot) = self.slot().await?.filter(|slot| !slot.is_settled) else { return Ok(0) };
        let until = match slot.triggers_from {
            Some(position) => position,
            None => {
                let row = self.client.query_one("SELECT pg_current_wal_flush_lsn()", &[]).await;
                row.map_err(source_failure)?.get(0)
            }
        };
        let recorder = self.recorder().await?;
        let mut at = slot.recorded_to.map_or(0, u64::from);
        let bar = progress_bar(u64::from(until).saturating_sub(at), "bytes of WAL");
        let mut all = 0;
        loop {
            let batch = self.in_transaction(async || self.drain_batch(&recorder, until).await).await?;
            all += batch.changes;
            bar.inc(batch.end.saturating_sub(at));
            at = batch.end;
            if batch.is_last {
                break;
            }
        }
        // The server may remove the WAL up to here.
        self.in_transaction(async || self.locked_slot().await.map(drop)).await?;
        bar.finish_and_clear();
        Ok(all)
    }

    /// Does something in a transaction, and tries it again if others block it.
    pub(super) async fn in_transaction<T>(&self, work: impl AsyncFn() -> Result<T, Refusal>) -> Result<T, Failure> {
        // Shorter than the second after which PostgreSQL looks for a deadlock. So of a deadlock with a
        // writer this transaction ends, and never the writer's.
        let begin = "BEGIN; SET LOCAL lock_timeout = '500ms'; SET LOCAL synchronous_commit = local";
        let mut tries = 0;
        loop {
            tries += 1;
            self.client.batch_execute(begin).await.map_err(source_failure)?;
            let done = match work().await {
                Ok(done) => self.client.batch_execute("COMMIT").await.map(|()| done).map_err(Refusal::from),
                refused => refused,
            };
            let refusal = match done {
                Ok(done) => return Ok(done),
                Err(refusal) => refusal,
            };
            // The first error is the one to report.
            let _ = self.client.batch_execute("ROLLBACK").await;
            match refusal {
                Refusal::Failed(failure) => return Err(failure),
                Refusal::Blocked(failure) if tries == TRIES => return Err(blocked(&failure)),
                Refusal::Blocked(_) => tokio::time::sleep(Duration::from_millis(500).mul_f64(fastrand::f64())).await,
            }
        }
    }

    /// Takes the slot for this transaction, and advances it to where its changes are recorded.
    async fn locked_slot(&self) -> Result<Slot, Refusal> {
        // Two commands would read the same changes. The server of a killed command has the lock until
        // it has noticed that.
        self.client
            .batch_execute("SET LOCAL lock_timeout = '60s'; SELECT FROM tidemark_migration.slot FOR UPDATE")
            .await?;
        self.client.batch_execute("SET LOCAL lock_timeout = '500ms'").await?;
        let slot =
            self.slot().await?.ok_or_else(|| FailureKind::Cutover.because("another command has ended the capture"))?;
        let recorded_to = slot.recorded_to.unwrap_or_else(|| PgLsn::from(0));
        let sql = "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = $1 AND wal_status <> 'lost'";
        let name = &slot.name;
        let Some(row) = self.client.query_opt(sql, &[name]).await? else {
            return Err(lost(&format!("the replication slot {name} is gone, or the server has removed its WAL")).into());
        };
        // A slot that was created again under this name begins later.
        let confirmed: PgLsn = row.get(0);
        if confirmed > recorded_to {
            return Err(lost(&format!("the replication slot {name} was advanced by somebody else")).into());
        }
        // The server then gives no transaction again that is recorded. A slot is behind if a command was
        // killed after it had recorded changes, or if the server crashed and forgot that it had advanced.
        if confirmed < recorded_to {
            self.client.query("SELECT pg_replication_slot_advance($1::text::name, $2)", &[name, &recorded_to]).await?;
        }
        Ok(slot)
    }

    /// Records a batch of changes.
    async fn drain_batch(&self, recorder: &Recorder, until: PgLsn) -> Result<Batch, Refusal> {
        let slot = self.locked_slot().await?;
        let name = &slot.name;
        let recorded_to = slot.recorded_to.map_or(0, u64::from);
        self.client
            .batch_execute(&format!(
                "DECLARE changes NO SCROLL CURSOR FOR SELECT data FROM pg_logical_slot_peek_binary_changes(
                     '{name}', '{until}', {MESSAGES_PER_BATCH}, 'proto_version', '1', 'publication_names', '{name}')"
            ))
            .await?;
        let mut decoder = Decoder::new(recorded_to);
        let (mut messages, mut changes) = (0, 0);
        loop {
            let read = self.client.query(&format!("FETCH {MESSAGES_PER_READ} FROM changes"), &[]).await?;
            let mut found = Vec::new();
            for row in &read {
                found.extend(decoder.read(row.get(0)).map_err(unreadable)?);
            }
            self.record(recorder, &found).await?;
            messages += read.len();
            changes += found.len() as u64;
            if read.len() < MESSAGES_PER_READ {
                break;
            }
        }
        let is_last = messages < MESSAGES_PER_BATCH;
        let end = if is_last { decoder.end.max(u64::from(until)) } else { decoder.end };
        self.client.execute("UPDATE tidemark_migration.slot SET recorded_to = $1", &[&PgLsn::from(end)]).await?;
        Ok(Batch { changes, end, is_last })
    }

    async fn record(&self, recorder: &Recorder, changes: &[Change]) -> Result<(), Refusal> {
        let (mut tables, mut before, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for change in changes {
            let Relation { schema, table, .. } = &*change.relation;
            let known = recorder.tables.iter().find(|(name, _)| name == table && *schema == self.schema.name);
            let (_, columns) =
                known.ok_or_else(|| unreadable(format!("the table {schema}.{table} is not captured")))?;
            let literal =
                |values: &Option<Values>| values.as_ref().map(|values| row_literal(columns, &change.relation, values));
            tables.push(table.as_str());
            before.push(literal(&change.before));
            after.push(literal(&change.after));
        }
        if !changes.is_empty() {
            self.client.query(&recorder.statement, &[&tables, &before, &after]).await?;
        }
        Ok(())
    }

    /// Reads the tables' present columns, and prepares the statement that turns rows into the JSON that
    /// `to_jsonb` gives in a trigger, and records them in the order of the slot.
    async fn recorder(&self) -> Result<Recorder, Failure> {
        let mut tables = Vec::new();
        let mut changes = Vec::new();
        for table in self.schema.captured() {
            let sql = "SELECT attname::text, CASE WHEN attgenerated <> '' THEN pg_get_expr(adbin, adrelid) END
                FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
                WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum";
            let found = self.client.query(sql, &[&self.table(table)]).await.map_err(source_failure)?;
            let columns = found.iter().map(|row| row.get(0)).collect();
            let generated = found.iter().filter_map(|row| Some((row.get(0), row.get::<_, Option<String>>(1)?)));
            let generated: Vec<_> = generated.collect();
            let (before, after) = (self.json(table, "before", &generated), self.json(table, "after", &generated));
            let (source, across) = (literal(&table.name), self.columns_across(table).join(", "));
            changes.push(format!(
                "SELECT place, source, {before} AS before, {after} AS after, ARRAY[{across}]::text[] AS across
                 FROM given WHERE source = {source}"
            ));
            tables.push((table.name.clone(), columns));
        }
        let statement = format!(
            "WITH given AS MATERIALIZED (
                 SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS given (source, before, after, place))
             SELECT tidemark_migration.record_captured(source, before, after, across)
             FROM (SELECT * FROM ({}) AS changes ORDER BY place OFFSET 0) AS changes",
            changes.join(" UNION ALL ")
        );
        let statement = self.client.prepare(&statement).await.map_err(source_failure)?;
        Ok(Recorder { tables, statement })
    }

    /// The JSON of a row that is given as a text. The slot has no generated columns, so their expressions
    /// are evaluated: an item's key may depend on them.
    fn json(&self, table: &Table, row: &str, generated: &[(String, String)]) -> String {
        let state = format!("given.{row}::{}", self.table(table));
        if generated.is_empty() {
            return format!("to_jsonb({state})");
        }
        let values = generated.iter().map(|(name, expression)| format!("{}, ({expression})", literal(name)));
        let values = values.collect::<Vec<_>>().join(", ");
        // Without OFFSET the text would be read again for each column.
        format!(
            "(SELECT to_jsonb(this.*) || jsonb_build_object({values})
              FROM (SELECT (whole.state).* FROM (SELECT {state} AS state OFFSET 0) AS whole WHERE given.{row} IS NOT NULL) AS this)"
        )
    }
}

/// A row as PostgreSQL reads it: `("1",,"a ""text""")`. A column that the slot does not have is NULL,
/// such as one that was added later.
fn row_literal(columns: &[String], relation: &Relation, values: &Values) -> String {
    let mut literal = "(".to_owned();
    for (place, column) in columns.iter().enumerate() {
        if place > 0 {
            literal.push(',');
        }
        let place = relation.columns.iter().position(|known| known == column);
        if let Some(value) = place.and_then(|place| values.get(place)?.as_ref()) {
            literal.push_str(&quoted(&value.replace('\\', "\\\\")));
        }
    }
    literal.push(')');
    literal
}
