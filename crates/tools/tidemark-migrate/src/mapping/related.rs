//! Which other rows may become the same items as a row: the search that keeps a change of one row
//! from reading all rows of its owner.

use super::Mapping;
use super::code::{Code, Conversion, Piece, Template};
use super::table::{ColumnType, ItemSpec, Table, TableOwner};
use crate::item::Key;
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
    /// The column has this text, which need not be a value of the column's type.
    Text(String),
}

impl Similar {
    /// The column's name in the mapping.
    pub(crate) fn column(&self) -> &str {
        match self {
            Self::Equal(column) | Self::Folded(column) | Self::Near(column) | Self::Text(column) => column,
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

    /// The conditions that rows fulfil whose item of this place may have the key, each with its value;
    /// `None` if no row's item can have it.
    pub(crate) fn with_key(&self, place: usize, key: &Key) -> Option<Vec<(Similar, String)>> {
        let mut all = Vec::new();
        for (template, text) in self.items.get(place)?.key.iter().zip([&key.partition, &key.sort]) {
            for (code, text) in known_texts(template, text)? {
                all.extend(self.with_text(code, text).map(|similar| (similar, text.to_owned())));
            }
        }
        Some(all)
    }

    /// What follows for a column from the text of an expression.
    fn with_text(&self, code: &Code, text: &str) -> Option<Similar> {
        let of_kind = |column: &str| self.columns.get(column).map(|column| column.kind);
        match self.similar_of(code).filter(|_| !self.has_hash(code))? {
            Similar::Equal(column) => match of_kind(&column)? {
                ColumnType::Text | ColumnType::Integer | ColumnType::Key => Some(Similar::Text(column)),
                ColumnType::Boolean | ColumnType::Time | ColumnType::Date => Some(Similar::Text(column)),
                // Two texts may stand for one value.
                ColumnType::Number | ColumnType::Json | ColumnType::Bytes | ColumnType::Array | ColumnType::Any => None,
            },
            Similar::Near(column) => {
                // PostgreSQL reads neither seconds nor the year 0 as a time.
                let has_year = text.get(4..5) == Some("-") && !text.starts_with("0000");
                let is_time = text.parse::<jiff::Timestamp>().is_ok() || text.parse::<jiff::civil::Date>().is_ok();
                let is_column = matches!(of_kind(&column)?, ColumnType::Time | ColumnType::Date);
                (has_year && is_time && is_column).then_some(Similar::Near(column))
            }
            similar => Some(similar),
        }
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

    /// Whether the text of an expression may be a hash, which says nothing about the hashed value.
    fn has_hash(&self, code: &Code) -> bool {
        let mut found = false;
        code.each(&mut |part| {
            found |= match part {
                Code::Named(place) => self.values.get(*place).is_some_and(|(_, code)| self.has_hash(code)),
                Code::Convert(Conversion::Builtin(builtin), ..) => builtin.name == "sha256",
                _ => false,
            };
        });
        found
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

/// The texts of a template's placeholders, as far as one text determines them. `None` if the template
/// never gives this text.
fn known_texts<'t>(template: &'t Template, mut text: &'t str) -> Option<Vec<(&'t Code, &'t str)>> {
    let (mut pieces, mut found) = (template.0.as_slice(), Vec::new());
    if let [others @ .., Piece::Text(last)] = pieces {
        (pieces, text) = (others, text.strip_suffix(last.as_str())?);
    }
    let (mut waiting, mut is_known) = (None, true);
    for piece in pieces {
        match (piece, waiting.take()) {
            (Piece::Text(literal), None) => text = text.strip_prefix(literal.as_str())?,
            (Piece::Text(literal), Some(code)) => {
                // The text of the placeholder may contain the literal.
                is_known &= text.find(literal.as_str()) == text.rfind(literal.as_str());
                let (of_code, rest) = text.split_once(literal.as_str())?;
                found.extend(is_known.then_some((code, of_code)));
                text = rest;
            }
            (Piece::Code(code), before) => {
                is_known &= before.is_none();
                waiting = Some(code);
            }
        }
    }
    match waiting {
        Some(code) => found.extend(is_known.then_some((code, text))),
        None if !text.is_empty() => return None,
        None => {}
    }
    Some(found)
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
