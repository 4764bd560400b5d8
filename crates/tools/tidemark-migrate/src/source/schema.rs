//! The tables and columns that PostgreSQL has, compared with those of the mapping: the data of
//! unknown columns would be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio_postgres::GenericClient;

use super::connect::source_failure;
use crate::mapping::{Column, ColumnType, JsonColumns, Mapping, Table};
use crate::{Failure, FailureKind};

/// The columns of each table: names and types, in the spelling of `format_type` without length.
pub type FoundColumns = BTreeMap<String, BTreeMap<String, String>>;

/// Whether a type is a number that JSON has.
pub(crate) fn is_number(kind: &str) -> bool {
    matches!(kind, "bigint" | "integer" | "smallint" | "numeric" | "real" | "double precision")
}

/// The columns of the types `json` and `jsonb`.
pub(crate) fn json_columns(found: &FoundColumns) -> JsonColumns {
    let of_table = |columns: &BTreeMap<String, String>| -> BTreeSet<String> {
        let json = columns.iter().filter(|(_, kind)| matches!(kind.as_str(), "json" | "jsonb"));
        json.map(|(name, _)| name.clone()).collect()
    };
    found.iter().map(|(table, columns)| (table.clone(), of_table(columns))).collect()
}

/// When a write may give the value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restricted {
    /// Never: it is computed from other columns.
    Computed,
    /// Only in an insert: PostgreSQL generates it.
    Generated,
}

/// The restricted columns, by table and column.
pub(crate) type RestrictedColumns = BTreeMap<String, BTreeMap<String, Restricted>>;

async fn restricted_columns<C: GenericClient + Sync>(client: &C, schema: &str) -> Result<RestrictedColumns, Failure> {
    let sql = "SELECT relname::text, attname::text, attgenerated <> ''
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace AND nspname = $1
        JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
        WHERE relkind IN ('r', 'p') AND (attgenerated <> '' OR attidentity = 'a')";
    let mut restricted = RestrictedColumns::new();
    for row in client.query(sql, &[&schema]).await.map_err(source_failure)? {
        let kind = if row.get(2) { Restricted::Computed } else { Restricted::Generated };
        restricted.entry(row.get(0)).or_default().insert(row.get(1), kind);
    }
    Ok(restricted)
}

/// A schema of PostgreSQL that has the tables of a mapping.
#[derive(Debug, Clone)]
pub struct Schema {
    /// Its name, without quotes.
    pub name: String,
    /// The mapping.
    pub mapping: Arc<Mapping>,
    /// The columns of the mapping's tables.
    pub columns: FoundColumns,
    pub(crate) restricted: RestrictedColumns,
    /// Other tables of the schema, which are not migrated.
    pub left_behind: Vec<String>,
    /// The tables from which others inherit, and those others.
    pub(crate) heirs: Vec<(String, String)>,
    /// Foreign keys that change rows when the row to which they refer is deleted or gets another
    /// key, as far as they lead to a table of the mapping, also through tables that are not migrated.
    pub(crate) dependencies: Vec<ForeignKey>,
}

/// A recursive query `base`: the type `plain` under each domain `type`, which is last if `under` is
/// 0. A domain counts as the type under it.
pub(crate) const BASE_TYPES: &str = "base (type, plain, under) AS (
    SELECT oid, oid, typbasetype FROM pg_type
    UNION ALL SELECT base.type, t.oid, t.typbasetype FROM base JOIN pg_type t ON t.oid = base.under
)";

/// A foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignKey {
    pub(crate) table: String,
    pub(crate) refers_to: String,
    /// Columns of the table, and of the table to which they refer, by PostgreSQL's names.
    pub(crate) columns: Vec<(String, String)>,
    pub(crate) on_delete: ForeignKeyAction,
    pub(crate) on_update: ForeignKeyAction,
}

/// What happens to a row if the row to which it refers is deleted, or gets another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForeignKeyAction {
    /// The change is refused.
    Refuse,
    /// The row is deleted too, or gets the new key.
    Cascade,
    /// Its columns are set to another value.
    Set,
}

/// The foreign keys of a schema's tables.
pub(crate) async fn foreign_keys<C: GenericClient + Sync>(
    client: &C,
    schema: &str,
) -> Result<Vec<ForeignKey>, Failure> {
    let names = |of: &str, keys: &str| {
        format!(
            "ARRAY(SELECT a.attname::text FROM unnest(f.{keys}) WITH ORDINALITY AS k (number, place)
                   JOIN pg_attribute a ON a.attrelid = f.{of} AND a.attnum = k.number ORDER BY place)"
        )
    };
    let sql = format!(
        "SELECT own.relname::text, other.relname::text, f.confdeltype::text, f.confupdtype::text, {}, {}
         FROM pg_constraint f JOIN pg_class own ON own.oid = f.conrelid JOIN pg_class other ON other.oid = f.confrelid
         JOIN pg_namespace n ON n.oid = own.relnamespace
         WHERE f.contype = 'f' AND n.nspname = $1 AND other.relnamespace = n.oid AND f.conparentid = 0
         ORDER BY own.relname, f.conname",
        names("conrelid", "conkey"),
        names("confrelid", "confkey"),
    );
    let rows = client.query(&sql, &[&schema]).await.map_err(source_failure)?;
    let foreign_key = |row: &tokio_postgres::Row| {
        let (own, other): (Vec<String>, Vec<String>) = (row.get(4), row.get(5));
        let action = |place: usize| match row.get(place) {
            "c" => ForeignKeyAction::Cascade,
            "n" | "d" => ForeignKeyAction::Set,
            _ => ForeignKeyAction::Refuse,
        };
        let columns = own.into_iter().zip(other).collect();
        let (on_delete, on_update) = (action(2), action(3));
        ForeignKey { table: row.get(0), refers_to: row.get(1), columns, on_delete, on_update }
    };
    Ok(rows.iter().map(foreign_key).collect())
}

/// The foreign keys that change rows, and lead to one of the tables: a change of the row to which
/// they refer ends there, or passes through other tables.
fn leading_to(is_table: impl Fn(&str) -> bool, all: Vec<ForeignKey>) -> Vec<ForeignKey> {
    let changes = |key: &ForeignKey| [key.on_delete, key.on_update].iter().any(|to| *to != ForeignKeyAction::Refuse);
    let (mut leading, mut others): (Vec<_>, Vec<_>) =
        all.into_iter().filter(changes).partition(|key| is_table(&key.table));
    loop {
        let is_next = |key: &mut ForeignKey| leading.iter().any(|next| next.refers_to == key.table);
        let found: Vec<_> = others.extract_if(.., is_next).collect();
        if found.is_empty() {
            return leading;
        }
        leading.extend(found);
    }
}

/// The tables of a schema from which others inherit, each with another one; partitions do not
/// count.
pub(crate) async fn heirs<C: GenericClient + Sync>(client: &C, schema: &str) -> Result<Vec<(String, String)>, Failure> {
    let sql = "SELECT parent.relname::text, heir.relname::text FROM pg_inherits
               JOIN pg_class parent ON parent.oid = inhparent JOIN pg_class heir ON heir.oid = inhrelid
               JOIN pg_namespace n ON n.oid = parent.relnamespace
               WHERE n.nspname = $1 AND parent.relkind = 'r' ORDER BY 1, 2";
    let rows = client.query(sql, &[&schema]).await.map_err(source_failure)?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

impl Column {
    /// The column's name in PostgreSQL, if one of its names is found.
    pub(crate) fn found<'c>(&'c self, columns: &BTreeMap<String, String>) -> Option<&'c str> {
        self.names.iter().find(|name| columns.contains_key(*name)).map(String::as_str)
    }
}

impl ColumnType {
    /// Whether a type of PostgreSQL belongs to the group. `is_plain` is false for composite types
    /// and arrays.
    fn takes(self, kind: &str) -> bool {
        let is_text = matches!(kind, "text" | "character varying" | "character" | "uuid" | "name" | "citext" | "xml");
        let is_integer = matches!(kind, "bigint" | "integer" | "smallint");
        let is_number = is_integer || matches!(kind, "numeric" | "real" | "double precision" | "money");
        let is_time = matches!(kind, "timestamp without time zone" | "timestamp with time zone");
        let is_json = matches!(kind, "json" | "jsonb");
        let is_known = is_text || is_number || is_time || is_json || matches!(kind, "boolean" | "date" | "bytea");
        match self {
            // Enumerations and other types of the application are written as texts.
            Self::Text => is_text || !(is_known || kind.ends_with("[]")),
            Self::Integer => is_integer,
            Self::Number => is_number,
            Self::Boolean => kind == "boolean",
            Self::Time => is_time,
            Self::Date => kind == "date",
            Self::Json => is_json || is_text,
            Self::Bytes => kind == "bytea",
            Self::Array => kind.ends_with("[]"),
            Self::Key => is_text || is_integer || !(is_known || kind.ends_with("[]")),
            Self::Any => true,
        }
    }
}

impl Schema {
    /// Reads the columns of a schema's tables, without comparing them.
    pub async fn read<C: GenericClient + Sync>(
        client: &C,
        name: &str,
        mapping: &Arc<Mapping>,
    ) -> Result<Self, Failure> {
        let sql = format!(
            "WITH RECURSIVE {BASE_TYPES}
             SELECT c.relname, a.attname, format_type(base.plain, NULL)
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
             JOIN base ON base.type = a.atttypid AND base.under = 0
             WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition"
        );
        let rows = client.query(&sql, &[&name]).await.map_err(source_failure)?;
        let mut columns = FoundColumns::new();
        for row in rows {
            columns.entry(row.get(0)).or_default().insert(row.get(1), row.get(2));
        }
        let is_known = |table: &String| mapping.table(table).is_some();
        let left_behind = columns.keys().filter(|table| !is_known(table)).cloned().collect();
        columns.retain(|table, _| is_known(table));
        let is_owned = |table: &str| mapping.owned().any(|owned| owned.name == table);
        let dependencies = leading_to(is_owned, foreign_keys(client, name).await?);
        let restricted = restricted_columns(client, name).await?;
        let mut heirs = heirs(client, name).await?;
        heirs.retain(|(parent, _)| is_known(parent));
        let (name, mapping) = (name.to_owned(), Arc::clone(mapping));
        Ok(Self { name, mapping, columns, restricted, left_behind, heirs, dependencies })
    }

    /// Refuses missing columns, other types, and unknown columns that the mapping does not leave
    /// behind.
    pub fn check(&self) -> Result<(), Failure> {
        let (mut missing_tables, mut missing, mut extra, mut wrong) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for table in &self.mapping.tables {
            let name = &table.name;
            let Some(found) = self.columns.get(name) else {
                missing_tables.push(format!("{}.{name}", self.name));
                continue;
            };
            for (column, spec) in &table.columns {
                match spec.found(found) {
                    None if spec.is_optional => {}
                    None => missing.push(format!("{name}.{}", spec.names.join(" or "))),
                    Some(physical) if !spec.kind.takes(&found[physical]) => {
                        let kind = &found[physical];
                        wrong.push(format!(
                            "{name}.{physical} has the type {kind}, and the mapping has {:?} for {column}",
                            spec.kind
                        ));
                    }
                    Some(_) => {}
                }
            }
            let is_known = |column: &String| is_migrated(table, column) || table.ignored.contains(column);
            extra.extend(found.keys().filter(|column| !is_known(column)).map(|column| format!("{name}.{column}")));
        }
        let refuse = |kind: FailureKind, what: &str, names: Vec<String>| match &*names {
            [] => Ok(()),
            names => Err(kind.because(format!("{what}{}", names.join(", ")))),
        };
        let heirs = self.heirs.iter().map(|(parent, heir)| format!("{heir} inherits from {parent}")).collect();
        refuse(FailureKind::ColumnType, "rows of another table would count as a table's own: ", heirs)?;
        refuse(FailureKind::MissingTable, "there is no ", missing_tables)?;
        refuse(FailureKind::MissingColumn, "there is no ", missing)?;
        refuse(FailureKind::ColumnType, "", wrong)?;
        refuse(FailureKind::ExtraColumn, "the mapping has neither in `columns` nor in `ignore`: ", extra)
    }

    /// The same for a cutover, to which unknown columns do not matter: rows are whole there.
    pub(crate) fn check_known(&self) -> Result<(), Failure> {
        match self.check() {
            Err(failure) if failure.kind == FailureKind::ExtraColumn => Ok(()),
            checked => checked,
        }
    }
}

fn is_migrated(table: &Table, column: &str) -> bool {
    table.columns.values().any(|known| known.names.iter().any(|name| name == column))
}
