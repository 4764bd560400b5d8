//! A mapping: which rows become which items. It is read from a file, and checked as a whole before
//! anything else happens.

mod code;
mod compile;
mod conversions;
mod evaluate;
mod file;
pub(crate) mod invert;
mod items;
mod joined;
mod names;
pub(crate) mod related;
mod syntax;
mod table;
#[cfg(test)]
mod tests;
pub mod value;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use self::code::Template;
pub use self::evaluate::{Extension, JsonColumns, Parameters, Signature, World, Writing};
pub use self::file::{Parameter, ParameterKind};
pub use self::items::{OnConflict, OwnerRow, RowItems};
pub use self::table::{Column, ColumnType, Join, Owner, Table, TableOwner};
use crate::row::{GivenColumns, Row, check_names};
use crate::{Failure, FailureKind};

/// A checked mapping.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// The table in DynamoDB.
    pub target: Target,
    /// What the command line has to give.
    pub parameters: BTreeMap<String, Parameter>,
    /// The kinds of owners.
    pub owners: Vec<Owner>,
    /// The tables; those of owners come first.
    pub tables: Vec<Arc<Table>>,
    /// Items that lead to other items.
    pub markers: Vec<Marker>,
    /// SHA-256 of the file.
    pub digest: String,
}

/// The attributes of all items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// The partition key's attribute.
    pub partition: String,
    /// The sort key's attribute.
    pub sort: String,
    /// The attribute with the item's type.
    pub kind: String,
    /// The attribute with the item's owner.
    pub owner: String,
    /// The attribute with the time of the application's last change.
    pub updated_at: Option<String>,
    /// The attribute with the time when DynamoDB may delete the item, in epoch seconds.
    pub ttl: Option<String>,
}

impl Target {
    /// The attributes that the tool makes itself.
    fn made(&self) -> impl Iterator<Item = &String> {
        [&self.partition, &self.sort, &self.kind, &self.owner].into_iter()
    }
}

/// An item that leads to another one.
#[derive(Debug, Clone)]
pub struct Marker {
    /// The marker's type.
    pub marker: String,
    /// The type of the item to which it leads.
    pub of: String,
    pub(crate) key: [Template; 2],
    pub(crate) leads_to: [Template; 2],
    /// Whether several items may ask for one marker.
    pub is_contested: bool,
}

/// The errors of a mapping, each with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingErrors(pub Vec<MappingError>);

/// An error of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappingError {
    /// Counts from 1.
    pub line: usize,
    /// Counts characters from 1.
    pub column: usize,
    /// What is wrong.
    pub why: String,
}

impl fmt::Display for MappingErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, MappingError { line, column, why }) in self.0.iter().enumerate() {
            write!(f, "{}line {line}, column {column}: {why}", if n == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for MappingErrors {}

impl Mapping {
    /// Reads and checks a mapping. `conversions` are those of the extension.
    pub fn read(text: &str, conversions: &[Signature]) -> Result<Self, MappingErrors> {
        compile::compile(text, conversions)
    }

    /// The table of that name in PostgreSQL.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// A row of a table, from the JSON of its columns: by PostgreSQL's names, with texts, numbers
    /// and `null`. A write leaves the columns as they are that the JSON does not have.
    ///
    /// # Errors
    /// `option` if there is no such table, or the text is not a JSON object, or has a name twice.
    pub fn row(&self, table: &str, json: &str) -> Result<Row, Failure> {
        let known = self.table(table);
        let known = known.ok_or_else(|| FailureKind::Options.because(format!("the mapping has no table {table:?}")));
        let refused = |error| FailureKind::Options.because(format!("a row of {table}: {error}"));
        let GivenColumns(columns) = serde_json::from_str(json).map_err(refused)?;
        columns.values().try_for_each(check_names).map_err(refused)?;
        Ok(Row::new(known?, columns))
    }

    /// Whether items of a type may have an attribute.
    pub(crate) fn makes(&self, kind: &str, attribute: &str) -> bool {
        let mut items = self.tables.iter().flat_map(|table| &table.items).filter(|item| item.kind == kind);
        items.any(|item| item.attributes.iter().any(|made| made.name == attribute))
    }

    /// The tables whose changes are captured: those whose rows have an owner.
    pub fn owned(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.iter().filter(|table| table.owner.is_some())
    }
}
