//! Which other rows may become the same items as a row: the search that keeps a change of one row
//! from reading all rows of its owner.

use super::Mapping;
use super::code::{Code, Conversion};
use super::table::{ColumnType, ItemSpec, Table, TableOwner};
use crate::row::Cell;

/// A condition on a column under which another row may have the same key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Similar {
    /// The column has the same value.
    Equal(String),
    /// The column has the same text apart from case and white space at its ends.
    Folded(String),
    /// The column has a time at most two days away: the day depends on the zone.
    Near(String),
}

impl Similar {
    /// The column's name in the mapping.
    pub(crate) fn column(&self) -> &str {
        match self {
            Self::Equal(column) | Self::Folded(column) | Self::Near(column) => column,
        }
    }
}

impl Table {
    /// For each item that several rows may become, the conditions that such rows fulfil. No
    /// condition means that any row of the owner may become it.
    pub(crate) fn similar(&self) -> Vec<Vec<Similar>> {
        let of_item = |item: &ItemSpec| {
            let codes = item.key.iter().flat_map(super::code::Template::codes);
            let similar: Vec<_> = codes.filter_map(|code| self.similar_of(code)).collect();
            let is_equal = |column: &String| similar.contains(&Similar::Equal(column.clone()));
            // A key that holds the row's own key belongs to this row alone.
            (!self.key.iter().all(is_equal)).then_some(similar)
        };
        self.items.iter().filter_map(of_item).collect()
    }

    /// What follows for a column from equal values of an expression.
    fn similar_of(&self, code: &Code) -> Option<Similar> {
        match code {
            Code::Column(names) => {
                let (name, _) = self.columns.iter().find(|(_, column)| column.names == *names)?;
                Some(Similar::Equal(name.clone()))
            }
            Code::Named(place) => self.similar_of(&self.values.get(*place)?.1),
            Code::Convert(Conversion::Required(_) | Conversion::OrReject(_), inner, _) => self.similar_of(inner),
            Code::Convert(Conversion::Builtin(builtin), inner, arguments) => {
                match (builtin.name, self.similar_of(inner)?) {
                    ("text" | "key_part" | "one_of" | "sha256" | "not_empty", similar) => Some(similar),
                    ("lower" | "upper" | "trim", Similar::Equal(column) | Similar::Folded(column)) => {
                        Some(Similar::Folded(column))
                    }
                    ("date" | "instant" | "sortable" | "epoch", similar) => {
                        Some(Similar::Near(similar.column().to_owned()))
                    }
                    // Two whole numbers have two texts. A text of digits may have zeros before it.
                    ("pad", Similar::Equal(column)) if self.columns[&column].kind == ColumnType::Integer => {
                        Some(Similar::Equal(column))
                    }
                    // Half of a hash is as good as the hash. Long texts may begin alike.
                    ("prefix", similar) if is_long(arguments) && self.is_hash(inner) => Some(similar),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn is_hash(&self, code: &Code) -> bool {
        match code {
            Code::Named(place) => self.values.get(*place).is_some_and(|(_, code)| self.is_hash(code)),
            Code::Convert(Conversion::Required(_) | Conversion::OrReject(_), inner, _) => self.is_hash(inner),
            Code::Convert(Conversion::Builtin(builtin), ..) => builtin.name == "sha256",
            _ => false,
        }
    }
}

fn is_long(arguments: &[Code]) -> bool {
    let length = match arguments.first() {
        Some(Code::Constant(super::value::Value::Number(number))) => number.parse().unwrap_or(0),
        _ => 0,
    };
    length >= 32
}

impl Mapping {
    /// The id of an owner in the column of a table; `None` if the owner is of another kind.
    pub(crate) fn id_of<'o>(&self, table: &TableOwner, owner: &'o str) -> Option<&'o str> {
        let is_of_kind = self.kind_of(owner) == Some(table.kind);
        if is_of_kind { owner.strip_prefix(&table.prefix) } else { None }
    }

    /// The kind of an owner, by its prefix.
    pub(crate) fn kind_of(&self, owner: &str) -> Option<usize> {
        self.owners.iter().position(|kind| owner.starts_with(&kind.prefix))
    }
}

/// The text of a cell for a condition; `None` for values that have no plain text.
pub(crate) fn plain(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Json(_) => None,
        cell => cell.text(),
    }
}
