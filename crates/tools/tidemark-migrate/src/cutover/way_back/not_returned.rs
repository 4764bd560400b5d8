//! What the way back does not bring back: a line of `not-returned.jsonl` each.

use serde::Serialize;

use crate::item::Key;
use crate::row::Row;

/// Something in DynamoDB that PostgreSQL does not have after the way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NotReturned {
    pub(super) owner: String,
    #[serde(flatten)]
    pub(super) place: ItemOrRow,
    /// `unknown`: the mapping has no such item; `no-row`: no row can be made from it; `attributes`:
    /// its row has other values; `missing`: it is deleted, and its row stays; `refused`: PostgreSQL
    /// refuses the row; `changed`: PostgreSQL stores another value than the one that it is given.
    pub(super) what: &'static str,
    /// The attributes that are not brought back, or what PostgreSQL says.
    pub(super) detail: String,
}

/// The item, or the row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum ItemOrRow {
    Item { partition: String, sort: String },
    Row { table: String, key: String },
}

impl ItemOrRow {
    pub(super) fn of_item(Key { partition, sort }: &Key) -> Self {
        Self::Item { partition: partition.clone(), sort: sort.clone() }
    }

    pub(super) fn of_row(row: &Row) -> Self {
        Self::Row { table: row.table.name.clone(), key: row.id() }
    }
}
