//! Checks the source's tables column by column, because the data of unknown columns would be lost.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::GenericClient;

use super::Table;
use super::connect::unreadable;
use crate::{Failure, FailureKind};

/// A column: its name, and its allowed types in the spelling of `format_type` without length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column(pub &'static str, pub &'static [&'static str]);

pub(super) const TEXT: &[&str] = &["text", "character varying", "character", "uuid", "json", "jsonb"];
pub(super) const BOOL: &[&str] = &["boolean"];
pub(super) const INTEGER: &[&str] = &["bigint", "integer"];
pub(super) const TIME: &[&str] = &["timestamp without time zone", "timestamp with time zone"];

/// The columns of each table as found: names and types.
pub type Columns = BTreeMap<Table, BTreeMap<String, String>>;

/// Reads the tables' columns. Refuses missing columns, other types, and unknown columns that are
/// not in `ignored` (`table.column`). Also returns the other tables of the schema, which are not
/// exported.
///
/// # Errors
/// `option` if a column of `ignored` does not exist or is migrated; `schema-missing-table`,
/// `schema-missing-column`, `schema-extra-column`, `schema-column-type`;
/// each names all its tables or columns.
pub async fn check_schema<C: GenericClient + Sync>(
    client: &C,
    schema: &str,
    ignored: &BTreeSet<String>,
) -> Result<(Columns, Vec<String>), Failure> {
    let rows = client
        .query(
            "SELECT c.relname, a.attname, format_type(a.atttypid, NULL)
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f')",
            &[&schema],
        )
        .await
        .map_err(unreadable)?;
    let mut found: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for row in rows {
        found.entry(row.get(0)).or_default().insert(row.get(1), row.get(2));
    }
    // A mistyped name would otherwise leave its column among the unknown ones, or seem to work.
    let cannot_be_ignored = |name: &&String| {
        let (table, column) = name.split_once('.').unwrap_or((name, ""));
        let known = Table::ALL.into_iter().find(|known| known.name() == table);
        let is_migrated = known.is_some_and(|table| table.columns().iter().any(|Column(known, _)| *known == column));
        is_migrated || !(known.is_some() && found.get(table).is_some_and(|columns| columns.contains_key(column)))
    };
    if let Some(name) = ignored.iter().find(cannot_be_ignored) {
        return Err(FailureKind::Options.because(format!(
            "--ignore-column {name}: there is no such column, or it is one that this tool migrates"
        )));
    }
    let mut columns = Columns::new();
    let (mut missing_tables, mut missing, mut extra, mut wrong) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for table in Table::ALL {
        let Some(of_table) = found.remove(table.name()) else {
            missing_tables.push(format!("{schema}.{table}"));
            continue;
        };
        for Column(name, kinds) in table.columns() {
            match of_table.get(*name) {
                None => missing.push(format!("{table}.{name}")),
                Some(kind) if !kinds.contains(&kind.as_str()) => {
                    wrong.push(format!("{table}.{name} has the type {kind}, expected {}", kinds.join(" or ")));
                }
                Some(_) => {}
            }
        }
        let known = |name: &str| table.columns().iter().any(|Column(column, _)| *column == name);
        let unknown = of_table.keys().filter(|name| !known(name)).map(|name| format!("{table}.{name}"));
        extra.extend(unknown.filter(|name| !ignored.contains(name)));
        columns.insert(table, of_table);
    }
    let refuse = |kind: FailureKind, what: &str, names: Vec<String>| match &*names {
        [] => Ok(()),
        names => Err(kind.because(format!("{what}{}", names.join(", ")))),
    };
    refuse(FailureKind::MissingTable, "there is no ", missing_tables)?;
    refuse(FailureKind::MissingColumn, "there is no ", missing)?;
    refuse(FailureKind::ColumnType, "", wrong)?;
    let extra_hint = "unknown columns, which --ignore-column leaves out: ";
    refuse(FailureKind::ExtraColumn, extra_hint, extra)?;
    Ok((columns, found.into_keys().collect()))
}
