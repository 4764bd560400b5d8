//! The PostgreSQL side. Everything that must be atomic is one statement, so a process that is
//! killed between two statements leaves nothing half done.

mod install;

use std::sync::Arc;

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::outbox_entry::{OutboxEntry, json};
use super::ownership::{Ownership, Side};
use super::plan::{Phase, Plan};
use crate::source::{Row, Table, source_failure};
use crate::{Failure, FailureKind};

/// The error code that the triggers raise if PostgreSQL does not own the user.
const MOVED: &str = "TM001";

/// The number of users per page.
const USERS_PER_PAGE: i64 = 1_000;

/// The number of a user's changes that are replicated in one pass.
const ENTRIES_PER_PAGE: i64 = 50;

/// The PostgreSQL side of the cutover.
#[derive(Debug, Clone)]
pub struct Postgres {
    client: Arc<Client>,
    schema: String,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostgresWrite {
    /// The row was written.
    Written,
    /// This side does not own the user; nothing was written.
    NotOwner,
    /// Another row violates a unique index; nothing was written.
    UniqueViolation,
}

/// The column with a row's user; `None` if the table's rows belong to no user.
fn owner(table: Table) -> Option<&'static str> {
    match table {
        Table::User => Some("id"),
        Table::Session | Table::Account => Some("userId"),
        Table::MedicationLogs | Table::NotificationSettings => Some("user_id"),
        Table::Verification => None,
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn version(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn number(version: u64) -> i64 {
    i64::try_from(version).unwrap_or(i64::MAX)
}

fn epoch(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

fn unreadable(what: &str, error: impl std::fmt::Display) -> Failure {
    FailureKind::SourceUnreadable.because(format!("{what}: {error}"))
}

impl Postgres {
    /// The application's tables in `schema`.
    pub fn new(client: Client, schema: &str) -> Self {
        Self { client: Arc::new(client), schema: quoted(schema) }
    }

    fn table(&self, table: Table) -> String {
        format!("{}.{}", self.schema, quoted(table.name()))
    }

    /// The condition that a column equals a text parameter. The parameter is converted to the
    /// column's own type, so that PostgreSQL can use the column's index.
    fn column_equals(&self, table: Table, column: &str, parameter: &str) -> String {
        let (table, quoted) = (self.table(table), quoted(column));
        format!(
            "{quoted} = (jsonb_populate_record(NULL::{table}, jsonb_build_object('{column}', {parameter}::text))).{quoted}"
        )
    }

    /// The plan of the cutover; `None` before it starts and after it was rolled back.
    pub(crate) async fn plan(&self) -> Result<Option<Plan>, Failure> {
        let row = self.client.query_opt("SELECT run, phase, percent FROM tidemark_migration.plan", &[]).await;
        let row = match row {
            Err(error) if is_missing(&error) => return Ok(None),
            row => row.map_err(source_failure)?,
        };
        let Some(row) = row else { return Ok(None) };
        let phase = row.get::<_, &str>(1).parse().map_err(|error| unreadable("the plan", error))?;
        Ok(Some(Plan { run: row.get(0), phase, percent: u8::try_from(row.get::<_, i16>(2)).unwrap_or_default() }))
    }

    /// Records the phase of the cutover.
    pub(super) async fn set_phase(&self, phase: Phase, percent: u8) -> Result<(), Failure> {
        // A cutover that is still running elsewhere must not undo the start of a rollback.
        let sql = "UPDATE tidemark_migration.plan SET phase = $1, percent = $2, changed_at = now()
                   WHERE phase <> 'rolling-back' OR $1 = 'rolling-back'";
        match self.client.execute(sql, &[&phase.as_str(), &i16::from(percent)]).await.map_err(source_failure)? {
            0 => Err(FailureKind::Cutover.because("the cutover is being rolled back")),
            _ => Ok(()),
        }
    }

    /// A user's ownership record on this side.
    pub(super) async fn ownership(&self, user: &str) -> Result<Ownership, Failure> {
        let sql = "SELECT epoch, version FROM tidemark_migration.ownerships WHERE user_id = $1";
        let row = self.client.query_opt(sql, &[&user]).await.map_err(source_failure)?;
        Ok(row.map_or_else(Ownership::default, |row| Ownership {
            epoch: epoch(row.get(0)),
            version: version(row.get(1)),
        }))
    }

    /// The next users and their ownership records, by id: all users in the user table, and all with
    /// an ownership record.
    pub(super) async fn users_after(&self, user: &str) -> Result<Vec<(String, Ownership)>, Failure> {
        // A user who is not in the user table gets an ownership record when one of the user's rows
        // changes. Each part of the union reads at most one page.
        let sql = format!(
            "SELECT users.id, coalesce(ownerships.epoch, 0), coalesce(ownerships.version, 0)
             FROM ((SELECT id::text AS id FROM {} WHERE id::text > $1 ORDER BY 1 LIMIT $2)
                   UNION (SELECT user_id FROM tidemark_migration.ownerships WHERE user_id > $1 ORDER BY 1 LIMIT $2)
                   ORDER BY 1 LIMIT $2) AS users
             LEFT JOIN tidemark_migration.ownerships ON ownerships.user_id = users.id ORDER BY users.id",
            self.table(Table::User)
        );
        let rows = self.client.query(&sql, &[&user, &USERS_PER_PAGE]).await.map_err(source_failure)?;
        let ownership =
            |row: &tokio_postgres::Row| Ownership { epoch: epoch(row.get(1)), version: version(row.get(2)) };
        Ok(rows.iter().map(|row| (row.get(0), ownership(row))).collect())
    }

    /// The approximate number of users.
    pub(super) async fn users(&self) -> Result<u64, Failure> {
        let sql = format!("SELECT count(*) FROM {}", self.table(Table::User));
        let row = self.client.query_one(&sql, &[]).await.map_err(source_failure)?;
        Ok(version(row.get(0)))
    }

    /// Increases an ownership's epoch by one, if it is `from` and the version is `at`, if given.
    pub(super) async fn advance_epoch(&self, user: &str, from: u32, at: Option<u64>) -> Result<bool, Failure> {
        let from = i32::try_from(from).map_err(|error| unreadable("the epoch", error))?;
        let sql = "SELECT tidemark_migration.advance_epoch($1, $2, $3)";
        let row = self.client.query_one(sql, &[&user, &from, &at.map(number)]).await.map_err(source_failure)?;
        Ok(row.get(0))
    }

    /// The user's first changes that the other side may not have, in order.
    pub(super) async fn outbox_entries(&self, user: &str) -> Result<Vec<OutboxEntry>, Failure> {
        let sql = "SELECT version, source, before::text, after::text FROM tidemark_migration.outbox
                   WHERE user_id = $1 ORDER BY version LIMIT $2";
        let rows = self.client.query(sql, &[&user, &ENTRIES_PER_PAGE]).await.map_err(source_failure)?;
        let entry = |row: &tokio_postgres::Row| {
            let table = table_of(row.get(1))?;
            let read = |json: Option<&str>| {
                json.map(|json| Row::read(table, json)).transpose().map_err(|error| unreadable(table.name(), error))
            };
            let (before, after) = (read(row.get(2))?, read(row.get(3))?);
            Ok(OutboxEntry { user: user.to_owned(), version: version(row.get(0)), table, before, after })
        };
        rows.iter().map(entry).collect()
    }

    /// Removes a change that the other side has.
    pub(super) async fn remove_outbox_entry(&self, user: &str, number_of: u64) -> Result<(), Failure> {
        let sql = "DELETE FROM tidemark_migration.outbox WHERE user_id = $1 AND version = $2";
        self.client.execute(sql, &[&user, &number(number_of)]).await.map_err(source_failure)?;
        Ok(())
    }

    /// Some users with changes that are not replicated, and the number of all these changes.
    pub(super) async fn pending(&self) -> Result<(Vec<String>, u64), Failure> {
        let sql = "SELECT DISTINCT user_id FROM tidemark_migration.outbox LIMIT $1";
        let users = self.client.query(sql, &[&USERS_PER_PAGE]).await.map_err(source_failure)?;
        let count = self
            .client
            .query_one("SELECT count(*) FROM tidemark_migration.outbox", &[])
            .await
            .map_err(source_failure)?;
        Ok((users.iter().map(|row| row.get(0)).collect(), version(count.get(0))))
    }

    /// The row of a user in the user table.
    pub(super) async fn user(&self, user: &str) -> Result<Option<Row>, Failure> {
        Ok(self.rows_where(Table::User, &self.column_equals(Table::User, "id", "$1"), &[&user]).await?.pop())
    }

    /// The current row with the same id.
    pub(super) async fn row_by_id(&self, row: &Row) -> Result<Option<Row>, Failure> {
        Ok(self.rows_where(row.table(), &self.column_equals(row.table(), "id", "$1"), &[&row.id()]).await?.pop())
    }

    /// The rows of a user that may become the same items as these two: all rows of the table, but
    /// only the logs of nearby days.
    pub(super) async fn related_rows(
        &self,
        user: &str,
        table: Table,
        of: [Option<&Row>; 2],
    ) -> Result<Vec<Row>, Failure> {
        let Some(owner) = owner(table) else { return Ok(Vec::new()) };
        if table != Table::MedicationLogs {
            return self.rows_where(table, &self.column_equals(table, owner, "$1"), &[&user]).await;
        }
        let made = of.map(|row| match row {
            Some(Row::MedicationLog(row)) => row.created_at.as_ref().map(|time| time.0.clone()),
            _ => None,
        });
        // Two days, because a log's date depends on the time zone.
        let near = |parameter: &str| {
            format!(
                "created_at BETWEEN {parameter}::text::timestamptz - interval '2 days' AND {parameter}::text::timestamptz + interval '2 days'"
            )
        };
        let filter = format!("{} AND ({} OR {})", self.column_equals(table, owner, "$1"), near("$2"), near("$3"));
        self.rows_where(table, &filter, &[&user, &made[0], &made[1]]).await
    }

    /// All rows of a user that may be migrated.
    pub(super) async fn rows_of(&self, user: &str) -> Result<Vec<Row>, Failure> {
        let mut all = Vec::new();
        for table in Table::ALL {
            if let Some(owner) = owner(table) {
                all.extend(self.rows_where(table, &self.column_equals(table, owner, "$1"), &[&user]).await?);
            }
        }
        Ok(all)
    }

    /// A user's logs and ownership record, read in one snapshot.
    pub(super) async fn logs_of(&self, user: &str) -> Result<(Ownership, Vec<Row>), Failure> {
        let sql = format!(
            "SELECT to_jsonb(logs)::text, coalesce(ownerships.epoch, 0), coalesce(ownerships.version, 0)
             FROM (SELECT $1::text AS id) AS asked
             LEFT JOIN tidemark_migration.ownerships ON ownerships.user_id = asked.id
             LEFT JOIN {} AS logs ON logs.{}",
            self.table(Table::MedicationLogs),
            self.column_equals(Table::MedicationLogs, "user_id", "$1"),
        );
        let rows = self.client.query(&sql, &[&user]).await.map_err(source_failure)?;
        let mut ownership = Ownership::default();
        let mut logs = Vec::new();
        for row in &rows {
            ownership = Ownership { epoch: epoch(row.get(1)), version: version(row.get(2)) };
            if let Some(json) = row.get::<_, Option<&str>>(0) {
                logs.push(Row::read(Table::MedicationLogs, json).map_err(|error| unreadable("a log", error))?);
            }
        }
        Ok((ownership, logs))
    }

    /// A user's logs, if there is no cutover.
    pub(super) async fn plain_logs_of(&self, user: &str) -> Result<Vec<Row>, Failure> {
        self.rows_where(Table::MedicationLogs, &self.column_equals(Table::MedicationLogs, "user_id", "$1"), &[&user])
            .await
    }

    async fn rows_where(
        &self,
        table: Table,
        filter: &str,
        parameters: &[&(dyn tokio_postgres::types::ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let sql = format!("SELECT to_jsonb(found)::text FROM {} AS found WHERE {filter}", self.table(table));
        let rows = self.client.query(&sql, parameters).await.map_err(source_failure)?;
        let read = |row: &tokio_postgres::Row| Row::read(table, row.get(0));
        rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| unreadable(table.name(), error))
    }

    /// Inserts or updates a row by its id, as the application does.
    pub(super) async fn put(&self, row: &Row) -> Result<PostgresWrite, Failure> {
        let json = json(row).map_err(|error| unreadable("a row", error))?;
        let columns: Vec<_> = json.as_object().into_iter().flatten().map(|(name, _)| quoted(name)).collect();
        let settings = columns.iter().filter(|name| **name != quoted("id"));
        // The id is given even if the column generates it, and such a column must not be updated.
        let sql = format!(
            "INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE
             SELECT {names} FROM jsonb_populate_record(NULL::{table}, $1::text::jsonb)
             ON CONFLICT (id) DO UPDATE SET {settings}",
            table = self.table(row.table()),
            names = columns.join(", "),
            settings = settings.map(|name| format!("{name} = EXCLUDED.{name}")).collect::<Vec<_>>().join(", "),
        );
        write_outcome(self.client.execute(&sql, &[&json.to_string()]).await)
    }

    /// Deletes a user's row. If this side owns the user, a missing row counts as deleted.
    pub(super) async fn delete(&self, row: &Row, user: &str) -> Result<PostgresWrite, Failure> {
        let table = self.table(row.table());
        let delete = format!("DELETE FROM {table} WHERE {}", self.column_equals(row.table(), "id", "$1"));
        // If there is no row, no trigger checks the owner, so the same statement reads the
        // ownership record.
        let sql = format!(
            "WITH gone AS ({delete} RETURNING 1)
             SELECT EXISTS (SELECT FROM gone), coalesce((SELECT epoch FROM tidemark_migration.ownerships WHERE user_id = $2), 0)"
        );
        match self.client.query_one(&sql, &[&row.id(), &user]).await {
            Ok(row) if row.get(0) || Ownership { epoch: epoch(row.get(1)), version: 0 }.is_open(Side::Postgres) => {
                Ok(PostgresWrite::Written)
            }
            Ok(_) => Ok(PostgresWrite::NotOwner),
            // There is no cutover, so PostgreSQL is the only side.
            Err(error) if is_missing(&error) => write_outcome(self.client.execute(&delete, &[&row.id()]).await),
            Err(error) => write_outcome(Err(error)),
        }
    }

    /// Applies a change of the other side, if it is the next one.
    pub(super) async fn apply_change(&self, entry: &OutboxEntry) -> Result<bool, Failure> {
        let after = entry.after.as_ref().map(json).transpose().map_err(|error| unreadable("a row", error))?;
        // A change without any row has no id: it deletes nothing, but it counts as a version like
        // any other.
        let id = entry.row().map(|row| serde_json::json!({ "id": row.id() }).to_string());
        let sql = "SELECT tidemark_migration.apply_change($1, $2, $3, $4::text::jsonb, $5::text::jsonb)";
        let after = after.map(|row| row.to_string());
        let (version, table) = (number(entry.version), entry.table.name());
        let row =
            self.client.query_one(sql, &[&entry.user, &version, &table, &id, &after]).await.map_err(source_failure)?;
        Ok(row.get(0))
    }
}

/// Whether a table of the cutover is missing: it has not started, or was rolled back.
fn is_missing(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME))
}

fn write_outcome(written: Result<u64, tokio_postgres::Error>) -> Result<PostgresWrite, Failure> {
    match written {
        Ok(_) => Ok(PostgresWrite::Written),
        Err(error) if error.code().is_some_and(|code| code.code() == MOVED) => Ok(PostgresWrite::NotOwner),
        Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => Ok(PostgresWrite::UniqueViolation),
        Err(error) => Err(source_failure(error)),
    }
}

pub(super) fn table_of(name: &str) -> Result<Table, Failure> {
    let table = Table::ALL.into_iter().find(|table| table.name() == name);
    table.ok_or_else(|| FailureKind::SourceUnreadable.because(format!("a change of the unknown table {name}")))
}
