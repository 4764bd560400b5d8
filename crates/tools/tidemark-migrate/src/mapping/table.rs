//! A table of the source, as a mapping declares it.

use std::collections::BTreeMap;

use super::code::{Attribute, Code, Template};
use super::items::OnConflict;
use crate::reject::Reason;
use crate::row::{Cell, Columns};

/// A table of the source.
#[derive(Debug)]
pub struct Table {
    /// The name in PostgreSQL, without quotes.
    pub name: String,
    pub(crate) index: usize,
    /// The columns that identify a row.
    pub key: Vec<String>,
    /// How a row's owner is found; `None` if the rows belong to nobody.
    pub owner: Option<TableOwner>,
    /// The columns by the names that the mapping's expressions use.
    pub columns: BTreeMap<String, Column>,
    /// Columns that are left behind.
    pub ignored: Vec<String>,
    /// Columns whose values appear in no report, by their names in PostgreSQL.
    pub secret: Vec<String>,
    /// Rows of other tables that are read with each row.
    pub joins: Vec<Join>,
    /// The named values, each of which may use those before it.
    pub(crate) values: Vec<(String, Code)>,
    pub(crate) reject: Vec<RejectRule>,
    /// The time of the row's last change.
    pub(crate) version: Option<Code>,
    pub(crate) items: Vec<ItemSpec>,
}

/// A column of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The names that it may have in PostgreSQL; the first one found is used.
    pub names: Vec<String>,
    /// Its type.
    pub kind: ColumnType,
    /// Whether it need not exist.
    pub is_optional: bool,
}

/// A group of PostgreSQL's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Texts, uuids, and types that are written as texts, such as enumerations.
    Text,
    /// Whole numbers.
    Integer,
    /// All numbers.
    Number,
    /// `boolean`
    Boolean,
    /// `timestamp`, with or without a zone.
    Time,
    /// `date`
    Date,
    /// `json` and `jsonb`, and texts that have JSON.
    Json,
    /// `bytea`
    Bytes,
    /// An array.
    Array,
    /// An id: a text, a whole number, or a uuid.
    Key,
    /// Any type.
    Any,
}

/// How the owner of a table's rows is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOwner {
    /// The place of the kind of owner in the mapping.
    pub kind: usize,
    /// The column with the owner, or with the row of the parent.
    pub column: String,
    /// The parent: the table whose row has the owner.
    pub through: Option<String>,
    /// Stands before the id.
    pub prefix: String,
}

/// A kind of owner.
#[derive(Debug, Clone)]
pub struct Owner {
    /// Its name in the mapping.
    pub name: String,
    /// The table with a row for each owner.
    pub table: String,
    /// Stands before the ids, so that ids of several kinds differ.
    pub prefix: String,
    /// The partitions that hold only items of one owner.
    pub(crate) partitions: Vec<Template>,
}

/// Rows of another table that are read together with a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// Its name in the mapping.
    pub name: String,
    /// The other table.
    pub table: String,
    /// Columns of the other table, and the columns of this table that they equal.
    pub on: Vec<(String, String)>,
    /// The columns by which the rows are sorted.
    pub order: Vec<String>,
    /// Whether there is one such row at most.
    pub is_one: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct RejectRule {
    pub(crate) reason: Reason,
    pub(crate) when: Code,
    pub(crate) is_expected: bool,
}

/// An item that a row becomes.
#[derive(Debug, Clone)]
pub(crate) struct ItemSpec {
    pub(crate) kind: String,
    /// The templates of partition and sort key.
    pub(crate) key: [Template; 2],
    pub(crate) when: Option<Code>,
    /// Whether only the item is left out if it cannot be made; otherwise the row is rejected.
    pub(crate) is_optional: bool,
    pub(crate) on_conflict: OnConflict,
    /// Of two items with one key, the one with the greater values is migrated.
    pub(crate) prefer: Vec<Preference>,
    pub(crate) attributes: Vec<Attribute>,
    /// Whether the key holds the owner's id, so that no other owner has an item with this key.
    pub(crate) is_own: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Preference {
    pub(crate) code: Code,
    /// The smallest value is preferred.
    pub(crate) is_least: bool,
}

impl ColumnType {
    /// The type of that name in a mapping.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind)
    }

    pub(crate) const NAMED: [(&str, Self); 11] = [
        ("text", Self::Text),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("time", Self::Time),
        ("date", Self::Date),
        ("json", Self::Json),
        ("bytes", Self::Bytes),
        ("array", Self::Array),
        ("key", Self::Key),
        ("any", Self::Any),
    ];
}

impl Table {
    /// Whether an item is the first one of its row that no other owner has: the row exists as long
    /// as this item does.
    pub(crate) fn is_first_own(&self, spec: usize) -> bool {
        self.items.iter().position(|spec| spec.is_own) == Some(spec)
    }

    pub(crate) fn codes(&self) -> Vec<&Code> {
        let mut all: Vec<&Code> = self.values.iter().map(|(_, code)| code).collect();
        all.extend(self.reject.iter().map(|rule| &rule.when).chain(&self.version));
        for item in &self.items {
            all.extend(item.when.iter().chain(item.prefer.iter().map(|preference| &preference.code)));
            all.extend(item.key.iter().flat_map(Template::codes));
            item.attributes.iter().for_each(|attribute| attribute.codes(&mut |code| all.push(code)));
        }
        all
    }

    /// The expressions over the owner's own row.
    pub(crate) fn of_owner(&self) -> Vec<&Code> {
        let mut found = Vec::new();
        for code in self.codes() {
            code.each(&mut |code| {
                if let Code::OfOwner(inner) = code {
                    found.push(&**inner);
                }
            });
        }
        found
    }

    /// The value of a column by its name in the mapping; `None` if the row has no such column.
    pub(crate) fn cell<'r>(&self, row: &'r Columns, name: &str) -> Option<&'r Cell> {
        self.columns.get(name)?.names.iter().find_map(|name| row.get(name))
    }
}
