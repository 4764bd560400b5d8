//! Rows as PostgreSQL gives them in JSON (`to_jsonb`): the lines of an export, and the rows that a
//! trigger records. Numbers and JSON columns keep their text, so nothing is rounded.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::item::hash;
use crate::mapping::Table;
use crate::mapping::value::compare_numbers;

/// The member of a row's JSON with the id of its owner, if only another table knows it.
pub(crate) const OWNER: &str = "$owner";

/// The value of a column.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cell {
    /// NULL
    Null,
    /// `boolean`
    Bool(bool),
    /// A number with all of its digits.
    Number(String),
    /// Everything else that PostgreSQL writes as a JSON string: texts, times, uuids, bytes as
    /// `\x...`.
    Text(String),
    /// The JSON of an array, an object, or a row.
    Json(String),
}

impl Cell {
    /// The cell as a plain text, as it stands in keys: `None` for NULL.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Bool(truth) => Some(truth.to_string()),
            Self::Number(text) | Self::Text(text) | Self::Json(text) => Some(text.clone()),
        }
    }

    fn of_json(raw: &str) -> Result<Self, serde_json::Error> {
        Ok(match raw.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => Self::Text(serde_json::from_str(raw)?),
            Some(b'{' | b'[') => Self::Json(raw.to_owned()),
            _ => Self::Number(raw.to_owned()),
        })
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Self::of_json(raw.get()).map_err(D::Error::custom)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(truth) => serializer.serialize_bool(*truth),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Number(json) | Self::Json(json) => {
                let raw = serde_json::from_str::<&RawValue>(json).map_err(serde::ser::Error::custom)?;
                raw.serialize(serializer)
            }
        }
    }
}

/// The columns of a row, by their names in PostgreSQL.
pub type Columns = BTreeMap<String, Cell>;

/// The columns that a request gives, each once: of two values, nobody knows which one is meant.
pub(crate) struct GivenColumns(pub(crate) Columns);

impl<'de> Deserialize<'de> for GivenColumns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Given;
        impl<'de> Visitor<'de> for Given {
            type Value = GivenColumns;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the columns of a row")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GivenColumns, A::Error> {
                let mut columns = Columns::new();
                while let Some((name, cell)) = map.next_entry::<String, Cell>()? {
                    if let Some(name) = columns.insert(name.clone(), cell).map(|_| name) {
                        return Err(A::Error::custom(format!("{name:?} is given twice")));
                    }
                }
                Ok(GivenColumns(columns))
            }
        }
        deserializer.deserialize_map(Given)
    }
}

/// The most levels of JSON in a column.
const LEVELS_MAX: usize = 128;

/// Refuses JSON of which an object has a name twice, at any level.
pub(crate) fn check_names(cell: &Cell) -> Result<(), serde_json::Error> {
    fn check(cell: &Cell, levels: usize) -> Result<(), serde_json::Error> {
        let Cell::Json(json) = cell else { return Ok(()) };
        let levels = levels.checked_sub(1).ok_or_else(|| serde_json::Error::custom("too many levels"))?;
        if json.starts_with('[') {
            return serde_json::from_str::<Vec<Cell>>(json)?.iter().try_for_each(|one| check(one, levels));
        }
        let GivenColumns(members) = serde_json::from_str(json)?;
        members.values().try_for_each(|one| check(one, levels))
    }
    check(cell, LEVELS_MAX)
}

/// A row of a table.
#[derive(Clone)]
pub struct Row {
    /// The row's table.
    pub table: Arc<Table>,
    /// Its columns, and the rows that are joined with it.
    pub columns: Columns,
    /// The id of its owner, after the prefix of the kind of owner.
    pub owner: Option<String>,
}

impl fmt::Debug for Row {
    /// Without the values, which may be personal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.table.name, self.id())
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.table.name == other.table.name && self.columns == other.columns
    }
}

impl Row {
    /// Reads a row's JSON.
    pub fn read(table: &Arc<Table>, json: &str) -> Result<Self, serde_json::Error> {
        Ok(Self::new(table, serde_json::from_str(json)?))
    }

    /// A row of these columns.
    pub fn new(table: &Arc<Table>, mut columns: Columns) -> Self {
        let found = columns.remove(OWNER);
        let owner = table.owner.as_ref().and_then(|owner| {
            let id = match owner.through {
                None => table.cell(&columns, &owner.column),
                Some(_) => found.as_ref(),
            };
            Some(format!("{}{}", owner.prefix, id?.text()?))
        });
        Self { table: Arc::clone(table), columns, owner }
    }

    /// The values of the key's columns, as texts.
    pub fn key(&self) -> Vec<String> {
        let cell = |name: &String| self.table.cell(&self.columns, name).and_then(Cell::text);
        self.table.key.iter().map(|name| cell(name).unwrap_or_default()).collect()
    }

    /// Whether both are states of one row.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.table.name == other.table.name && self.key() == other.key()
    }

    /// The key in one text, for reports.
    pub fn id(&self) -> String {
        self.key().join("/")
    }

    /// The hash of the table's name and the key.
    pub(crate) fn hash(&self) -> u128 {
        let key = self.key();
        let parts = key.iter().flat_map(|part| [part.as_bytes(), b"\0"]);
        let parts: Vec<_> = [self.table.name.as_bytes(), b"\0"].into_iter().chain(parts).collect();
        hash(&parts)
    }

    /// The row as JSON, without the rows that are joined with it.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        let is_joined = |name: &String| self.table.joins.iter().any(|join| join.name == *name);
        let columns: BTreeMap<_, _> = self.columns.iter().filter(|(name, _)| !is_joined(name)).collect();
        serde_json::to_string(&columns)
    }

    /// The row with another table's row changed among those that are joined with it: `before` in
    /// any state, and `after` the change, or none if it is deleted.
    pub(crate) fn joined(mut self, before: &Self, after: Option<&Self>) -> Self {
        let table = Arc::clone(&self.table);
        for join in table.joins.iter().filter(|join| join.table == before.table.name) {
            let other = &before.table;
            let mut all: Vec<Columns> = match self.columns.get(&join.name) {
                Some(Cell::Json(json)) if join.is_one => serde_json::from_str(json).map(|row| vec![row]),
                Some(Cell::Json(json)) => serde_json::from_str(json),
                _ => Ok(Vec::new()),
            }
            .unwrap_or_default();
            all.retain(|columns| Self::new(other, columns.clone()).key() != before.key());
            let is_equal = |after: &&Self| {
                join.on.iter().all(|(theirs, own)| {
                    other.cell(&after.columns, theirs).and_then(Cell::text)
                        == table.cell(&self.columns, own).and_then(Cell::text)
                })
            };
            all.extend(after.filter(is_equal).map(|after| after.columns.clone()));
            let order = |columns: &Columns| -> Vec<Option<Cell>> {
                join.order.iter().chain(&other.key).map(|name| other.cell(columns, name).cloned()).collect()
            };
            all.sort_by(|one, other| compare(&order(one), &order(other)));
            // Columns that were read are always written.
            let json = match all.first() {
                Some(first) if join.is_one => serde_json::to_string(first),
                None if join.is_one => Ok("null".to_owned()),
                _ => serde_json::to_string(&all),
            }
            .unwrap_or_default();
            let cell = if json == "null" { Cell::Null } else { Cell::Json(json) };
            self.columns.insert(join.name.clone(), cell);
        }
        self
    }

    /// The row as one of this owner, whose own columns may not say so.
    pub(crate) fn of_owner(mut self, owner: &str) -> Self {
        self.owner = Some(owner.to_owned());
        self
    }

    /// The row with its key and the columns that differ from an earlier state.
    pub(crate) fn changed_since(&self, before: &Self) -> Self {
        let is_key = |name: &String| self.table.key.iter().any(|key| self.table.columns[key].names.contains(name));
        let mut changed = self.clone();
        changed.columns.retain(|name, cell| is_key(name) || before.columns.get(name) != Some(cell));
        changed
    }

    /// The row with the columns of another one in place of its own.
    pub(crate) fn updated(&self, with: &Self) -> Self {
        let mut columns = self.columns.clone();
        columns.extend(with.columns.clone());
        Self { table: Arc::clone(&self.table), columns, owner: with.owner.clone().or_else(|| self.owner.clone()) }
    }
}

/// The order of joined rows: numbers by value, everything else by the bytes of its text, and null
/// last, as PostgreSQL sorts.
fn compare(one: &[Option<Cell>], other: &[Option<Cell>]) -> Ordering {
    let text = |cell: &Option<Cell>| cell.as_ref().and_then(Cell::text);
    let pairs = one.iter().zip(other).map(|(one, other)| match (one, other) {
        (Some(Cell::Number(one)), Some(Cell::Number(other))) => compare_numbers(one, other),
        (one, other) => match (text(one), text(other)) {
            (None, None) => Ordering::Equal,
            (None, _) => Ordering::Greater,
            (_, None) => Ordering::Less,
            (one, other) => one.cmp(&other),
        },
    });
    pairs.fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_written_as_it_was_read() {
        let json = r#"{"a":null,"b":true,"c":12345678901234567890.123456789012345678,"d":"tab\t\"x\" 🌊","e":{"n":1.50},"f":[1,2],"g":-1e+300}"#;
        let row: Columns = serde_json::from_str(json).unwrap();
        assert_eq!(row["c"], Cell::Number("12345678901234567890.123456789012345678".to_owned()));
        assert_eq!(row["e"], Cell::Json(r#"{"n":1.50}"#.to_owned()));
        assert_eq!(serde_json::to_string(&row).unwrap(), json);
        assert!(serde_json::from_str::<Columns>("[1]").is_err());
    }
}
