//! The PostgreSQL side. Everything that must be atomic is one statement, so a process that is
//! killed between two statements leaves nothing half done.

mod install;
mod joined;
mod rows;
mod waiting;
mod writes;

use std::sync::Arc;

use clap::ValueEnum;
pub(super) use rows::ItemKey;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::outbox_entry::OutboxEntry;
use super::ownership::Ownership;
use super::plan::{Phase, Plan};
use crate::mapping::{Mapping, Table};
use crate::row::Row;
use crate::source::{Schema, check_unchanged, literal, quoted, set_formats, source_failure};
use crate::{Failure, FailureKind};

/// The error code that the triggers raise if PostgreSQL does not own the user.
const MOVED: &str = "TM001";

const USERS_PER_PAGE: i64 = 1_000;

/// The number of a user's changes that are replicated in one pass.
const ENTRIES_PER_PAGE: i64 = 50;

/// The PostgreSQL side of the cutover.
#[derive(Debug, Clone)]
pub struct Postgres {
    client: Arc<Client>,
    schema: Arc<Schema>,
}

type Parameters<'p> = &'p [&'p (dyn ToSql + Sync)];

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
    /// The application's tables in a schema of this name. Sets the time zone of the client's
    /// session to UTC, and the other formats of values.
    pub async fn open(client: Client, schema: &str, mapping: &Arc<Mapping>) -> Result<Self, Failure> {
        check_unchanged(&client).await?;
        Self::open_changed(client, schema, mapping).await
    }

    /// The same for a rollback, also if the tables have changed since.
    pub(crate) async fn open_changed(client: Client, schema: &str, mapping: &Arc<Mapping>) -> Result<Self, Failure> {
        // With another time zone, the same row would become other items.
        set_formats(&client).await?;
        let schema = Arc::new(Schema::read(&client, schema, mapping).await?);
        Ok(Self { client: Arc::new(client), schema })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    async fn query(&self, sql: &str, parameters: Parameters<'_>) -> Result<Vec<tokio_postgres::Row>, Failure> {
        self.client.query(sql, parameters).await.map_err(source_failure)
    }

    async fn query_one(&self, sql: &str, parameters: Parameters<'_>) -> Result<tokio_postgres::Row, Failure> {
        self.client.query_one(sql, parameters).await.map_err(source_failure)
    }

    async fn query_opt(&self, sql: &str, parameters: Parameters<'_>) -> Result<Option<tokio_postgres::Row>, Failure> {
        self.client.query_opt(sql, parameters).await.map_err(source_failure)
    }

    async fn execute(&self, sql: &str, parameters: Parameters<'_>) -> Result<u64, Failure> {
        self.client.execute(sql, parameters).await.map_err(source_failure)
    }

    /// Reads a row's JSON. Without a column that the mapping uses, its items would lose an
    /// attribute.
    fn read(&self, table: &Arc<Table>, json: &str) -> Result<Row, Failure> {
        let row = Row::read(table, json).map_err(|error| unreadable(&table.name, error))?;
        let gone = self.schema.mapped_columns(table).find(|column| !row.columns.contains_key(*column));
        match gone.filter(|column| !table.ignored.iter().any(|ignored| ignored == column)) {
            None => Ok(row),
            Some(column) => Err(FailureKind::SchemaChanged
                .because(format!("{}.{column} is gone: undo the change of the schema", table.name))),
        }
    }

    fn table(&self, table: &Table) -> String {
        self.schema.table(&table.name)
    }

    /// The condition that a column of the mapping equals a text parameter. The parameter is
    /// converted to the column's own type, so that PostgreSQL can use the column's index.
    fn column_equals(&self, table: &Table, column: &str, parameter: usize) -> String {
        self.physical_equals(&table.name, "this", self.schema.column(table, column).unwrap_or(column), parameter)
    }

    /// The same for a column by its name in PostgreSQL, of a row of any name. A subquery converts
    /// the parameter once, and not for each row.
    fn physical_equals(&self, table: &str, row: &str, name: &str, parameter: usize) -> String {
        let (table, quoted, name) = (self.schema.table(table), quoted(name), literal(name));
        format!(
            "{row}.{quoted} = (SELECT (jsonb_populate_record(NULL::{table}, jsonb_build_object({name}, ${parameter}::text))).{quoted})"
        )
    }

    /// The condition that a row has a key, whose values are the parameters from `first` on.
    fn key_equals(&self, table: &Table, first: usize) -> String {
        let columns = table.key.iter().enumerate().map(|(n, column)| self.column_equals(table, column, first + n));
        columns.collect::<Vec<_>>().join(" AND ")
    }

    /// The condition that a row belongs to the owner in a text parameter; `None` if the table's
    /// rows belong to owners of another kind.
    fn owner_equals(&self, table: &Table, row: &str, parameter: usize) -> Option<String> {
        let owner = table.owner.as_ref()?;
        let column = self.schema.column(table, &owner.column).unwrap_or(&owner.column);
        let Some(parent) = &owner.through else {
            return Some(self.physical_equals(&table.name, row, column, parameter));
        };
        // From the owner down to the row, so that PostgreSQL can use the index of each table.
        let parent = self.schema.mapping.table(parent)?;
        let (above, from, key) = (format!("{row}_parent"), self.table(parent), self.schema.key_columns(parent));
        let of_owner = self.owner_equals(parent, &above, parameter)?;
        let (column, key) = (quoted(column), quoted(key.first()?));
        Some(format!("{row}.{column} IN (SELECT {above}.{key} FROM {from} AS {above} WHERE {of_owner})"))
    }

    /// The plan of the cutover; `None` before it starts and after it was rolled back.
    pub(crate) async fn plan(&self) -> Result<Option<Plan>, Failure> {
        let row = self.client.query_opt("SELECT run, phase, percent FROM tidemark_migration.plan", &[]).await;
        let row = match row {
            Err(error) if is_missing(&error) => return Ok(None),
            row => row.map_err(source_failure)?,
        };
        let Some(row) = row else { return Ok(None) };
        let phase = Phase::from_str(row.get(1), false).map_err(|error| unreadable("the plan", error))?;
        Ok(Some(Plan { run: row.get(0), phase, percent: u8::try_from(row.get::<_, i16>(2)).unwrap_or_default() }))
    }

    pub(crate) async fn set_phase(&self, phase: Phase, percent: u8) -> Result<(), Failure> {
        // A cutover that is still running elsewhere must not undo the start of a rollback.
        let sql = "UPDATE tidemark_migration.plan SET phase = $1, percent = $2, changed_at = now()
                   WHERE phase <> 'rolling-back' OR $1 = 'rolling-back'";
        match self.execute(sql, &[&phase.name(), &i16::from(percent)]).await? {
            0 => Err(FailureKind::Cutover.because("the cutover is being rolled back")),
            _ => Ok(()),
        }
    }

    /// Stores the manifest of the run's items.
    pub(super) async fn store_items(&self, items: &str) -> Result<(), Failure> {
        let sql = "UPDATE tidemark_migration.plan SET items = $1 WHERE items IS DISTINCT FROM $1";
        self.execute(sql, &[&items]).await?;
        Ok(())
    }

    /// Permits a rollback of the finished cutover for so many days from now on.
    pub(super) async fn allow_way_back(&self, days: u16) -> Result<(), Failure> {
        let sql = "UPDATE tidemark_migration.plan SET way_back_until = now() + make_interval(days => $1)";
        self.execute(sql, &[&i32::from(days)]).await?;
        Ok(())
    }

    /// Until when a finished cutover can be rolled back, in RFC 3339, and whether this time is
    /// over.
    pub(crate) async fn way_back_until(&self) -> Result<Option<(String, bool)>, Failure> {
        let sql = "SELECT to_char(way_back_until AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), way_back_until < now()
                   FROM tidemark_migration.plan WHERE way_back_until IS NOT NULL";
        let row = self.query_opt(sql, &[]).await?;
        Ok(row.map(|row| (row.get(0), row.get(1))))
    }

    /// A user's ownership record on this side.
    pub(super) async fn ownership(&self, user: &str) -> Result<Ownership, Failure> {
        // Committed changes that have no version yet count, too.
        let sql = "SELECT epoch, version + (SELECT count(*) FROM tidemark_migration.outbox WHERE user_id = $1 AND version IS NULL)
                   FROM tidemark_migration.ownerships WHERE user_id = $1";
        let row = self.query_opt(sql, &[&user]).await?;
        Ok(row.map_or_else(Ownership::default, |row| Ownership {
            epoch: epoch(row.get(0)),
            version: version(row.get(1)),
        }))
    }

    /// The next users and their ownership records, by id.
    pub(super) async fn users_after(&self, user: &str) -> Result<Vec<(String, Ownership)>, Failure> {
        // The capture has made a record for each owner, and its triggers make one for each new
        // owner.
        let sql = "SELECT user_id, epoch, version FROM tidemark_migration.ownerships
                   WHERE user_id > $1 ORDER BY user_id LIMIT $2";
        let rows = self.query(sql, &[&user, &USERS_PER_PAGE]).await?;
        let ownership =
            |row: &tokio_postgres::Row| Ownership { epoch: epoch(row.get(1)), version: version(row.get(2)) };
        Ok(rows.iter().map(|row| (row.get(0), ownership(row))).collect())
    }

    /// Those of the users who have no ownership record.
    pub(crate) async fn unknown_users(&self, users: &[String]) -> Result<Vec<String>, Failure> {
        let sql = "SELECT id FROM unnest($1::text[]) AS id
                   WHERE NOT EXISTS (SELECT FROM tidemark_migration.ownerships WHERE user_id = id) ORDER BY id";
        let rows = self.query(sql, &[&users]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// The number of users with an ownership record, also those who have no row of their own.
    pub(super) async fn users(&self) -> Result<u64, Failure> {
        let row = self.query_one("SELECT count(*) FROM tidemark_migration.ownerships", &[]).await?;
        Ok(version(row.get(0)))
    }

    /// Increases an ownership's epoch by one, if it is `from` and the version is `at`, if given.
    pub(super) async fn advance_epoch(&self, user: &str, from: u32, at: Option<u64>) -> Result<bool, Failure> {
        let from = i32::try_from(from).map_err(|error| unreadable("the epoch", error))?;
        let sql = "SELECT tidemark_migration.advance_epoch($1, $2, $3)";
        let row = self.query_one(sql, &[&user, &from, &at.map(number)]).await?;
        Ok(row.get(0))
    }

    /// The user's first changes that the other side may not have, in order.
    pub(super) async fn outbox_entries(&self, user: &str) -> Result<Vec<OutboxEntry>, Failure> {
        let sql = "SELECT version, source, before::text, after::text FROM tidemark_migration.numbered_changes($1, $2)";
        let rows = self.query(sql, &[&user, &ENTRIES_PER_PAGE]).await?;
        let entry = |row: &tokio_postgres::Row| {
            let table = table_of(&self.schema.mapping, row.get(1))?;
            let read = |json: Option<&str>| {
                let row = json.map(|json| Row::read(&table, json)).transpose();
                row.map(|row| row.map(|row| row.of_owner(user))).map_err(|error| unreadable(&table.name, error))
            };
            let (before, after) = (read(row.get(2))?, read(row.get(3))?);
            Ok(OutboxEntry { user: user.to_owned(), version: version(row.get(0)), table, before, after })
        };
        rows.iter().map(entry).collect()
    }

    /// Removes a user's changes up to the last one that the other side has.
    pub(super) async fn remove_outbox_entries(&self, user: &str, last: u64) -> Result<(), Failure> {
        let sql = "DELETE FROM tidemark_migration.outbox WHERE user_id = $1 AND version <= $2";
        self.execute(sql, &[&user, &number(last)]).await?;
        Ok(())
    }

    /// The sequence of the last change that is not replicated, and the number of such changes.
    pub(super) async fn pending(&self) -> Result<(i64, u64), Failure> {
        let sql = "SELECT coalesce(max(sequence), 0), count(*) FROM tidemark_migration.outbox";
        let row = self.query_one(sql, &[]).await?;
        Ok((row.get(0), version(row.get(1))))
    }

    /// The next users by id who have a change that is not replicated, up to a sequence.
    pub(super) async fn pending_users(&self, last: &str, until: i64, limit: usize) -> Result<Vec<String>, Failure> {
        let sql = "SELECT DISTINCT user_id FROM tidemark_migration.outbox
                   WHERE user_id > $1 AND sequence <= $2 ORDER BY user_id LIMIT $3";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let users = self.query(sql, &[&last, &until, &limit]).await?;
        Ok(users.iter().map(|row| row.get(0)).collect())
    }
}

/// Whether a table of the cutover is missing: it has not started, or was rolled back.
fn is_missing(error: &tokio_postgres::Error) -> bool {
    let missing = [&SqlState::UNDEFINED_TABLE, &SqlState::UNDEFINED_FUNCTION, &SqlState::INVALID_SCHEMA_NAME];
    error.code().is_some_and(|code| missing.contains(&code))
}

pub(super) fn table_of(mapping: &Mapping, name: &str) -> Result<Arc<Table>, Failure> {
    let unknown = || FailureKind::SourceUnreadable.because(format!("a change of the unknown table {name}"));
    mapping.table(name).cloned().ok_or_else(unknown)
}
