//! The writes of rows, and the refusals of PostgreSQL.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::{MOVED, Postgres, epoch, is_missing, number, quoted, unreadable};
use crate::Failure;
use crate::cutover::outbox_entry::OutboxEntry;
use crate::cutover::ownership::{Ownership, Side};
use crate::mapping::Table;
use crate::row::{Cell, Row};
use crate::source::{Restricted, source_failure};

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cutover) enum PostgresWrite {
    Written,
    /// This side does not own the user; nothing was written.
    NotOwner,
    /// Another row has the value in this unique index; nothing was written.
    UniqueViolation(String),
    /// PostgreSQL refuses the row, and says why; nothing was written.
    Refused(String),
}

/// The result of a write that PostgreSQL would make.
#[derive(Debug)]
pub(in crate::cutover) enum Preview {
    /// The row as it would be stored; `None` if it would be deleted.
    Stored(Option<Row>),
    /// Another row has the value in this unique index.
    UniqueViolation(String),
    /// PostgreSQL would refuse the write; the text says why.
    Refused(String),
}

impl Postgres {
    /// Why a row cannot mean what it says; `None` if it can.
    pub(in crate::cutover) fn mistake(&self, row: &Row) -> Option<String> {
        let (table, key) = (&row.table.name, self.schema.key_columns(&row.table));
        if let Some(column) = key.iter().find(|name| row.columns.get(*name).is_none_or(|cell| *cell == Cell::Null)) {
            return Some(format!("a row of {table} without {column}, which identifies it"));
        }
        let known = self.schema.columns.get(table)?;
        let unknown = row.columns.keys().find(|name| !known.contains_key(*name))?;
        Some(format!("{table} has no column {unknown:?}"))
    }

    /// The row with the columns of its key and its owner as PostgreSQL writes them, such as a uuid
    /// in lower case; or why they are no values of their types.
    pub(in crate::cutover) async fn normalised(&self, row: &Row) -> Result<Result<Row, String>, Failure> {
        let (table, owner) = (&row.table, row.table.owner.as_ref());
        let mut names = self.schema.key_columns(table);
        names.extend(owner.and_then(|owner| self.schema.column(table, &owner.column)).map(str::to_owned));
        let types = self.schema.columns.get(&table.name);
        let is_plain = |name: &String| match (types.and_then(|types| types.get(name)), row.columns.get(name)) {
            (_, None | Some(Cell::Null)) => true,
            (Some(kind), Some(Cell::Text(_))) if matches!(&**kind, "text" | "character varying") => true,
            (Some(kind), Some(Cell::Number(text))) if matches!(&**kind, "bigint" | "integer" | "smallint") => {
                text.parse::<i64>().is_ok_and(|number| number.to_string() == *text)
            }
            _ => false,
        };
        if names.iter().all(is_plain) {
            return Ok(Ok(row.clone()));
        }
        let mut given = row.clone();
        given.columns.retain(|name, _| names.contains(name));
        let json = given.json().map_err(|error| unreadable("a row", error))?;
        let from = self.table(table);
        let sql = format!("SELECT to_jsonb(jsonb_populate_record(NULL::{from}, $1::text::jsonb))::text");
        let found = match self.client.query_one(&sql, &[&json]).await {
            Ok(found) => Row::read(table, found.get(0)).map_err(|error| unreadable(&table.name, error))?,
            Err(error) => return refusal(error).map(Err),
        };
        let mut columns = row.columns.clone();
        columns.extend(found.columns.into_iter().filter(|(name, _)| given.columns.contains_key(name)));
        let normalised = Row::new(table, columns);
        Ok(Ok(match &row.owner {
            Some(owner) if normalised.owner.is_none() => normalised.of_owner(owner),
            _ => normalised,
        }))
    }

    /// The id of an owner as PostgreSQL writes it; or why there is no such id.
    pub(crate) async fn normalised_owner(&self, owner: &str) -> Result<Result<String, String>, Failure> {
        let mapping = &self.schema.mapping;
        let kind = mapping.kind_of(owner).and_then(|kind| mapping.owners.get(kind));
        let table = kind.and_then(|kind| mapping.table(&kind.table));
        let (Some(kind), Some(table)) = (kind, table) else {
            return Ok(Err(format!("{owner:?} has the prefix of no kind of owners")));
        };
        let column = self.schema.key_columns(table).swap_remove(0);
        let id = owner.strip_prefix(&kind.prefix).unwrap_or(owner).to_owned();
        let row = self.normalised(&Row::new(table, [(column, Cell::Text(id))].into())).await?;
        Ok(row.map(|row| row.owner.unwrap_or_else(|| owner.to_owned())))
    }

    /// The owner of the row that is a row's parent, or will be; `None` if there is no such row.
    pub(in crate::cutover) async fn owner_by_parent(&self, row: &Row) -> Result<Option<String>, Failure> {
        let owner = row.table.owner.as_ref();
        let parent = owner.and_then(|owner| self.schema.mapping.table(owner.through.as_ref()?));
        let (Some(owner), Some(parent)) = (owner, parent) else { return Ok(None) };
        let found = match row.table.cell(&row.columns, &owner.column).and_then(Cell::text) {
            Some(key) => self.rows_where(parent, &self.key_equals(parent, 1), &[&key]).await?.pop(),
            None => self.row_by_id(row).await?,
        };
        Ok(found.and_then(|row| row.owner))
    }

    /// Inserts a row, or updates the given columns of the row with the same key.
    pub(in crate::cutover) async fn put(&self, row: &Row) -> Result<PostgresWrite, Failure> {
        let json = row.json().map_err(|error| unreadable("a row", error))?;
        let sql = self.upsert(&row.table, row.columns.keys());
        let outcome = write_outcome(self.client.execute(&sql, &[&json]).await)?;
        if outcome == PostgresWrite::Written {
            let advance = "SELECT tidemark_migration.advance_sequence($1, $2::text::jsonb)";
            match self.client.execute(advance, &[&row.table.name, &json]).await {
                Err(error) if !is_missing(&error) => return Err(source_failure(error)),
                _ => {}
            }
        }
        Ok(outcome)
    }

    /// An update of some columns, or an insert if there is no such row; the parameter is the row's
    /// JSON. The update comes first: an insert without a required column would fail even if the row
    /// exists.
    fn upsert<'c>(&self, table: &Table, columns: impl Iterator<Item = &'c String>) -> String {
        let key = self.schema.key_columns(table);
        let known = self.schema.columns.get(&table.name);
        let restricted = |name: &String| self.schema.restricted.get(&table.name)?.get(name);
        let is_written = |name: &&String| {
            known.is_some_and(|known| known.contains_key(*name)) && restricted(name) != Some(&Restricted::Computed)
        };
        let columns: Vec<_> = columns.filter(is_written).collect();
        let settings = columns.iter().filter(|name| !key.contains(name) && restricted(name).is_none());
        let settings: Vec<_> = settings.map(|name| quoted(name)).collect();
        let set = |of: &str| settings.iter().map(|name| format!("{name} = {of}.{name}")).collect::<Vec<_>>().join(", ");
        let is_same =
            key.iter().map(|name| format!("this.{0} = given.{0}", quoted(name))).collect::<Vec<_>>().join(" AND ");
        let keys = key.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let names = columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
        let from = self.table(table);
        let updated = match settings.is_empty() {
            true => format!("SELECT 1 FROM {from} AS this, given WHERE {is_same}"),
            false => format!("UPDATE {from} AS this SET {} FROM given WHERE {is_same} RETURNING 1", set("given")),
        };
        let conflict = match settings.is_empty() {
            true => "DO NOTHING".to_owned(),
            false => format!("DO UPDATE SET {}", set("EXCLUDED")),
        };
        // The key is given even if a column generates it, and such a column must not be updated.
        format!(
            "WITH given AS (SELECT * FROM jsonb_populate_record(NULL::{from}, $1::text::jsonb)), updated AS ({updated})
             INSERT INTO {from} ({names}) OVERRIDING SYSTEM VALUE
             SELECT {names} FROM given WHERE NOT EXISTS (SELECT FROM updated) ON CONFLICT ({keys}) {conflict}"
        )
    }

    /// Deletes an owner's row. If this side owns the owner, a missing row counts as deleted.
    pub(in crate::cutover) async fn delete(&self, row: &Row, user: &str) -> Result<PostgresWrite, Failure> {
        let key = row.key();
        let of_user = key.len() + 1;
        let delete = format!("DELETE FROM {} AS this WHERE {}", self.table(&row.table), self.key_equals(&row.table, 1));
        // If there is no row, no trigger checks the owner, so the same statement reads the
        // ownership record.
        let sql = format!(
            "WITH gone AS ({delete} RETURNING 1)
             SELECT EXISTS (SELECT FROM gone), coalesce((SELECT epoch FROM tidemark_migration.ownerships WHERE user_id = ${of_user}), 0)"
        );
        let mut parameters: Vec<_> = key.iter().map(|part| part as &(dyn ToSql + Sync)).collect();
        parameters.push(&user);
        match self.client.query_one(&sql, &parameters).await {
            Ok(row) if row.get(0) || Ownership { epoch: epoch(row.get(1)), version: 0 }.is_open(Side::Postgres) => {
                Ok(PostgresWrite::Written)
            }
            Ok(_) => Ok(PostgresWrite::NotOwner),
            // There is no cutover, so PostgreSQL is the only side.
            Err(error) if is_missing(&error) => {
                parameters.pop();
                write_outcome(self.client.execute(&delete, &parameters).await)
            }
            Err(error) => write_outcome(Err(error)),
        }
    }

    /// The row that PostgreSQL would store for a write; `None` for a deletion. Nothing is written.
    pub(in crate::cutover) async fn preview(&self, row: &Row, is_gone: bool) -> Result<Preview, Failure> {
        let json = row.json().map_err(|error| unreadable("a row", error))?;
        let after = (!is_gone).then_some(&json);
        // The stored row is joined with the same rows as an exported one.
        let sql = format!(
            "SELECT (stored || {})::text
             FROM (SELECT tidemark_migration.preview($1, $2::text::jsonb, $3::text::jsonb) AS stored) AS previewed,
                 jsonb_populate_record(NULL::{}, stored) AS this",
            self.schema.joined(&row.table, "this"),
            self.table(&row.table)
        );
        let stored = match self.client.query_one(&sql, &[&row.table.name, &json, &after]).await {
            Ok(stored) => stored,
            Err(error) => {
                return match unique_index(&error) {
                    Some(index) => Ok(Preview::UniqueViolation(index)),
                    None => refusal(error).map(Preview::Refused),
                };
            }
        };
        let Some(stored) = stored.get::<_, Option<&str>>(0) else { return Ok(Preview::Stored(None)) };
        let mut stored = self.read(&row.table, stored)?;
        stored.columns.retain(|name, _| !row.table.ignored.contains(name));
        Ok(Preview::Stored(Some(row.updated(&stored))))
    }

    /// Begins a trial: until it ends, rows are written as without it, and then all of them are
    /// undone.
    pub(in crate::cutover) async fn begin_trial(&self) -> Result<(), Failure> {
        // A deferred constraint would be checked at the end.
        let begin = "BEGIN; SET CONSTRAINTS ALL IMMEDIATE; SET LOCAL tidemark_migration.is_trial = 'on'";
        self.client.batch_execute(begin).await.map_err(source_failure)
    }

    /// Undoes what was written in a trial.
    pub(in crate::cutover) async fn end_trial(&self) -> Result<(), Failure> {
        self.client.batch_execute("ROLLBACK").await.map_err(source_failure)
    }

    /// Writes a row with exactly these values, or deletes it; also while PostgreSQL refuses the
    /// application's writes. Returns why PostgreSQL refuses the row, if it does.
    pub(in crate::cutover) async fn write_as_given(
        &self,
        row: &Row,
        after: Option<&Row>,
        is_trial: bool,
    ) -> Result<Option<String>, Failure> {
        let json = |row: &Row| row.json().map_err(|error| unreadable("a row", error));
        let (key, after) = (json(row)?, after.map(json).transpose()?);
        let sql = "SELECT tidemark_migration.write_as_given($1, $2::text::jsonb, $3::text::jsonb)";
        // A refused row must not end the transaction of the trial.
        if is_trial {
            self.client.batch_execute("SAVEPOINT of_row").await.map_err(source_failure)?;
        }
        let written = self.client.execute(sql, &[&row.table.name, &key, &after]).await;
        if is_trial {
            let end = if written.is_ok() { "RELEASE of_row" } else { "ROLLBACK TO of_row" };
            self.client.batch_execute(end).await.map_err(source_failure)?;
        }
        match written {
            Ok(_) => Ok(None),
            // Nobody else writes now, so any other error is about the row, too.
            Err(error) => {
                let is_about_row = is_outside(&error, &TROUBLE);
                reason(error, is_about_row).map(Some)
            }
        }
    }

    /// Applies a change of the other side, if it is the next one.
    pub(in crate::cutover) async fn apply_change(&self, entry: &OutboxEntry) -> Result<bool, Failure> {
        let json = |row: &Row| row.json().map_err(|error| unreadable("a row", error));
        // A change without any row has no key: it deletes nothing, but it counts as a version like
        // any other.
        let key = entry.row().map(json).transpose()?;
        let after = entry.after.as_ref().map(json).transpose()?;
        let sql = "SELECT tidemark_migration.apply_change($1, $2, $3, $4::text::jsonb, $5::text::jsonb)";
        let (version, table) = (number(entry.version), &entry.table.name);
        let row =
            self.client.query_one(sql, &[&entry.user, &version, table, &key, &after]).await.map_err(source_failure)?;
        Ok(row.get(0))
    }
}

/// The unique index that forbids a write.
fn unique_index(error: &tokio_postgres::Error) -> Option<String> {
    let violated = error.as_db_error().filter(|error| *error.code() == SqlState::UNIQUE_VIOLATION)?;
    Some(violated.constraint().unwrap_or("a unique index").to_owned())
}

/// The classes of SQLSTATE that are not about a row: PostgreSQL or the connection is in trouble,
/// another transaction was faster, or a right or a table is missing.
const NOT_ABOUT_ROW: [&str; 10] = ["08", "25", "28", "40", "42", "53", "55", "57", "58", "TM"];

/// Those of them where PostgreSQL or the connection is in trouble, or another transaction was
/// faster.
const TROUBLE: [&str; 5] = ["08", "40", "53", "57", "58"];

/// Whether PostgreSQL reported the error, with a SQLSTATE outside of these classes.
fn is_outside(error: &tokio_postgres::Error, classes: &[&str]) -> bool {
    error.code().is_some_and(|code| !classes.iter().any(|class| code.code().starts_with(class)))
}

/// The error as the reason why a row is refused, or as a failure.
fn reason(error: tokio_postgres::Error, is_about_row: bool) -> Result<String, Failure> {
    let failure = source_failure(error);
    if is_about_row { Ok(failure.detail) } else { Err(failure) }
}

/// Why PostgreSQL refuses a row: wrong values, violated constraints, and errors that types and
/// triggers raise.
fn refusal(error: tokio_postgres::Error) -> Result<String, Failure> {
    // The input of some types raises a syntax error.
    let is_syntax = error.code() == Some(&SqlState::SYNTAX_ERROR);
    let is_about_row = is_syntax || is_outside(&error, &NOT_ABOUT_ROW);
    reason(error, is_about_row)
}

fn write_outcome(written: Result<u64, tokio_postgres::Error>) -> Result<PostgresWrite, Failure> {
    match written {
        Ok(_) => Ok(PostgresWrite::Written),
        Err(error) if error.code().is_some_and(|code| code.code() == MOVED) => Ok(PostgresWrite::NotOwner),
        Err(error) => match unique_index(&error) {
            Some(index) => Ok(PostgresWrite::UniqueViolation(index)),
            None => refusal(error).map(PostgresWrite::Refused),
        },
    }
}
