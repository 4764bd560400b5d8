//! What becomes of a column: its type in the mapping, its attribute, and its part of a key.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::{SourceColumn, SourceTable};
use super::words::{looks_secret, pascal, plain};

/// A column in the mapping.
#[derive(Debug, Clone)]
pub(super) struct ColumnDraft<'s> {
    pub(super) column: &'s SourceColumn,
    /// The name in expressions.
    pub(super) name: String,
    pub(super) attribute: String,
    /// The type in the mapping.
    pub(super) kind: &'static str,
    /// How the value becomes an attribute; `None` if it is one already.
    conversion: Option<&'static str>,
    pub(super) is_secret: bool,
}

/// The type of a column in a mapping, and its conversion.
fn kind_of(column: &SourceColumn) -> (&'static str, Option<&'static str>) {
    match column.kind.as_str() {
        "bigint" | "integer" | "smallint" => ("integer", None),
        "numeric" | "real" | "double precision" => ("number", Some("number")),
        "boolean" => ("boolean", None),
        "timestamp with time zone" | "timestamp without time zone" => ("time", Some("instant")),
        "date" => ("date", Some("date")),
        "json" | "jsonb" => ("json", Some("json")),
        "bytea" => ("bytes", Some("bytes")),
        "money" => ("any", None),
        kind if kind.ends_with("[]") => ("array", Some("json")),
        _ if column.is_composite => ("any", Some("json")),
        _ => ("text", None),
    }
}

/// The columns of a table that are migrated. `reserved` are attributes that mean something else.
pub(super) fn columns_of<'s>(table: &'s SourceTable, reserved: &BTreeSet<String>) -> Vec<ColumnDraft<'s>> {
    let (mut names, mut attributes) = (BTreeSet::new(), reserved.clone());
    let mut columns = Vec::new();
    for column in table.columns.iter().filter(|column| !is_left_behind(column)) {
        let (kind, conversion) = kind_of(column);
        let is_text = matches!(kind, "text" | "json" | "bytes" | "any");
        columns.push(ColumnDraft {
            column,
            name: unused(&mut names, &plain(&column.name)),
            attribute: unused(&mut attributes, &pascal(&column.name)),
            kind,
            conversion,
            is_secret: is_text && looks_secret(&column.name),
        });
    }
    columns
}

pub(super) fn is_left_behind(column: &SourceColumn) -> bool {
    why_left_behind(column).is_some()
}

/// Why the draft ignores a column.
pub(super) fn why_left_behind(column: &SourceColumn) -> Option<&'static str> {
    match &*column.kind {
        "tsvector" => Some("usually PostgreSQL makes it of other columns. To keep it, give it the type text"),
        "hstore" => Some("PostgreSQL does not read its own JSON of an hstore. To keep it, make it jsonb"),
        "geometry" => Some("PostgreSQL's JSON of it loses M and digits. To keep it, make it geography, or text"),
        _ => None,
    }
}

/// The name, with a number after it if it is used already.
pub(super) fn unused(used: &mut BTreeSet<String>, name: &str) -> String {
    let numbered = (2..).map(|n| format!("{name}{n}"));
    let free = [name.to_owned()].into_iter().chain(numbered).find(|name| !used.contains(name)).unwrap_or_default();
    used.insert(free.clone());
    free
}

impl ColumnDraft<'_> {
    /// The value of the attribute, in TOML.
    pub(super) fn value(&self) -> String {
        let name = &self.name;
        match self.conversion {
            None => format!("\"{{{name}}}\""),
            // PostgreSQL's own form of bytes can always be read.
            Some("bytes") => format!("\"{{{name} | bytes}}\""),
            Some(conversion) => format!("{{ value = \"{{{name} | {conversion}}}\", on_error = \"leave-out\" }}"),
        }
    }

    /// The column as a part of a key that is sorted as the values are, as far as that is possible.
    pub(super) fn in_key(&self, is_last: bool) -> String {
        let name = &self.name;
        match self.column.kind.as_str() {
            // `pad` refuses negative numbers.
            _ if self.column.has_negative => format!("{{{name}}}"),
            "smallint" => format!("{{{name} | pad(5)}}"),
            "integer" => format!("{{{name} | pad(10)}}"),
            "bigint" => format!("{{{name} | pad(19)}}"),
            "timestamp with time zone" => format!("{{{name} | sortable}}"),
            // Local times: in their own zone, two of them may be one instant.
            "timestamp without time zone" => format!("{{{name} | sortable('UTC')}}"),
            // A text that contains the separator would make two keys equal.
            "text" | "character varying" | "character" | "citext" if !is_last => format!("{{{name} | key_part}}"),
            _ => format!("{{{name}}}"),
        }
    }
}

/// The columns by their names in PostgreSQL.
pub(super) fn by_name<'d, 's>(columns: &'d [ColumnDraft<'s>]) -> BTreeMap<&'s str, &'d ColumnDraft<'s>> {
    columns.iter().map(|draft| (draft.column.name.as_str(), draft)).collect()
}
