//! The writes of rows, and the refusals of PostgreSQL.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::{MOVED, Postgres, epoch, is_missing, number, quoted, unreadable};
use crate::Failure;
use crate::cutover::outbox_entry::OutboxEntry;
use crate::cutover::ownership::{Ownership, Side};
use crate::cutover::writer::WriteError;
use crate::mapping::Table;
use crate::row::{Cell, Row};
use crate::source::{Restricted, source_failure};

impl Postgres {
    /// Refuses a row that cannot mean what it says.
    pub(in crate::cutover) fn check(&self, row: &Row) -> Result<(), WriteError> {
        let (table, key) = (&row.table.name, self.schema.key_columns(&row.table));
        if let Some(column) = key.iter().find(|name| row.columns.get(*name).is_none_or(|cell| *cell == Cell::Null)) {
            return Err(WriteError::Refused(format!("a row of {table} without {column}, which identifies it")));
        }
        let known = self.schema.columns.get(table);
        match row.columns.keys().find(|name| known.is_some_and(|known| !known.contains_key(*name))) {
            Some(unknown) => Err(WriteError::Refused(format!("{table} has no column {unknown:?}"))),
            None => Ok(()),
        }
    }

    /// The row with the columns of its key and its owner as PostgreSQL writes them, such as a uuid
    /// in lower case.
    pub(in crate::cutover) async fn normalised(&self, row: &Row) -> Result<Row, WriteError> {
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
            return Ok(row.clone());
        }
        let mut given = row.clone();
        given.columns.retain(|name, _| names.contains(name));
        let json = given.json().map_err(|error| unreadable("a row", error))?;
        let from = self.table(table);
        let sql = format!("SELECT to_jsonb(jsonb_populate_record(NULL::{from}, $1::text::jsonb))::text");
        let found = self.client.query_one(&sql, &[&json]).await.map_err(|error| refusal(table, error))?;
        let found = Row::read(table, found.get(0)).map_err(|error| unreadable(&table.name, error))?;
        let mut columns = row.columns.clone();
        columns.extend(found.columns.into_iter().filter(|(name, _)| given.columns.contains_key(name)));
        let normalised = Row::new(table, columns);
        Ok(match &row.owner {
            Some(owner) if normalised.owner.is_none() => normalised.of_owner(owner),
            _ => normalised,
        })
    }

    /// The id of an owner as PostgreSQL writes it.
    pub(crate) async fn normalised_owner(&self, owner: &str) -> Result<String, WriteError> {
        let mapping = &self.schema.mapping;
        let kind = mapping.kind_of(owner).and_then(|kind| mapping.owners.get(kind));
        let table = kind.and_then(|kind| mapping.table(&kind.table));
        let (Some(kind), Some(table)) = (kind, table) else {
            return Err(WriteError::Refused(format!("{owner:?} has the prefix of no kind of owners")));
        };
        let column = self.schema.key_columns(table).swap_remove(0);
        let id = owner.strip_prefix(&kind.prefix).unwrap_or(owner).to_owned();
        let row = self.normalised(&Row::new(table, [(column, Cell::Text(id))].into())).await?;
        Ok(row.owner.unwrap_or_else(|| owner.to_owned()))
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

    /// Inserts a row, or updates the given columns of the row with the same key. False if this side
    /// does not own the user.
    pub(in crate::cutover) async fn put(&self, row: &Row) -> Result<bool, WriteError> {
        let json = row.json().map_err(|error| unreadable("a row", error))?;
        let sql = self.upsert(&row.table, row.columns.keys());
        let is_written = unless_moved(&row.table, self.client.execute(&sql, &[&json]).await)?;
        if is_written {
            let advance = "SELECT tidemark_migration.advance_sequence($1, $2::text::jsonb)";
            match self.client.execute(advance, &[&row.table.name, &json]).await {
                Err(error) if !is_missing(&error) => return Err(source_failure(error).into()),
                _ => {}
            }
        }
        Ok(is_written)
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

    /// Deletes an owner's row. A missing row counts as deleted. False if this side does not own the user.
    pub(in crate::cutover) async fn delete(&self, row: &Row, user: &str) -> Result<bool, WriteError> {
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
            Ok(row) => Ok(row.get(0) || Ownership { epoch: epoch(row.get(1)), version: 0 }.is_open(Side::Postgres)),
            // There is no cutover, so PostgreSQL is the only side.
            Err(error) if is_missing(&error) => {
                parameters.pop();
                unless_moved(&row.table, self.client.execute(&delete, &parameters).await)
            }
            Err(error) => unless_moved(&row.table, Err(error)),
        }
    }

    /// The row that PostgreSQL would store for a write; `None` for a deletion. Nothing is written.
    pub(in crate::cutover) async fn preview(&self, row: &Row, is_gone: bool) -> Result<Option<Row>, WriteError> {
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
        let stored = self.client.query_one(&sql, &[&row.table.name, &json, &after]).await;
        let stored = stored.map_err(|error| refusal(&row.table, error))?;
        let Some(stored) = stored.get::<_, Option<&str>>(0) else { return Ok(None) };
        let mut stored = self.read(&row.table, stored)?;
        stored.columns.retain(|name, _| !row.table.ignored.contains(name));
        Ok(Some(row.updated(&stored)))
    }

    /// Writes a row with exactly these values, or deletes it, although PostgreSQL refuses the
    /// application's writes. Returns why PostgreSQL refuses the row, if it does.
    pub(in crate::cutover) async fn return_row(
        &self,
        row: &Row,
        after: Option<&Row>,
    ) -> Result<Option<String>, Failure> {
        let json = |row: &Row| row.json().map_err(|error| unreadable("a row", error));
        let (key, after) = (json(row)?, after.map(json).transpose()?);
        let sql = "SELECT tidemark_migration.return_row($1, $2::text::jsonb, $3::text::jsonb)";
        let refused = self.query_one(sql, &[&row.table.name, &key, &after]).await?;
        Ok(refused.get(0))
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
        let row = self.query_one(sql, &[&entry.user, &version, table, &key, &after]).await?;
        Ok(row.get(0))
    }
}

/// The classes of SQLSTATE that are not about a row: PostgreSQL or the connection is in trouble,
/// another transaction was faster, or a right or a table is missing.
const NOT_ABOUT_ROW: [&str; 10] = ["08", "25", "28", "40", "42", "53", "55", "57", "58", "TM"];

/// Why PostgreSQL refuses a row: wrong values, violated constraints, and errors that types and
/// triggers raise.
fn refusal(table: &Table, error: tokio_postgres::Error) -> WriteError {
    let Some(code) = error.code().cloned() else { return source_failure(error).into() };
    let is_about_row = !NOT_ABOUT_ROW.iter().any(|class| code.code().starts_with(class));
    if code == SqlState::UNIQUE_VIOLATION {
        let index = error.as_db_error().and_then(|error| error.constraint()).unwrap_or("a unique index");
        return WriteError::Taken(format!("a value that must be unique in {} ({index})", table.name));
    }
    match source_failure(error) {
        // The input of some types raises a syntax error.
        failure if is_about_row || code == SqlState::SYNTAX_ERROR => WriteError::Refused(failure.detail),
        failure => failure.into(),
    }
}

/// False if the triggers say that DynamoDB owns the user.
fn unless_moved(table: &Table, written: Result<u64, tokio_postgres::Error>) -> Result<bool, WriteError> {
    match written {
        Ok(_) => Ok(true),
        Err(error) if error.code().is_some_and(|code| code.code() == MOVED) => Ok(false),
        Err(error) => Err(refusal(table, error)),
    }
}
