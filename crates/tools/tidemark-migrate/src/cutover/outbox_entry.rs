//! A change that is to be replicated from one side to the other.

use std::sync::Arc;

use crate::item::ITEM_BYTES_MAX;
use crate::mapping::Table;
use crate::row::Row;

/// The most bytes of a row's JSON in DynamoDB's outbox: the limit of an item, less room for its key
/// and attribute names.
const ROW_BYTES_MAX: usize = ITEM_BYTES_MAX - 4 * 1024;

/// A change of a row, with its version among the user's changes.
#[derive(Debug, Clone)]
pub(crate) struct OutboxEntry {
    pub(crate) user: String,
    /// Counts from 1, without gaps.
    pub(crate) version: u64,
    pub(crate) table: Arc<Table>,
    /// The row before the change; `None` if there was none.
    pub(crate) before: Option<Row>,
    /// The row after the change; `None` if it was deleted.
    pub(crate) after: Option<Row>,
}

impl OutboxEntry {
    /// The row after the change, or before it if it was deleted.
    pub(crate) fn row(&self) -> Option<&Row> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// The attribute's name and JSON that DynamoDB's outbox stores: the changed columns of the row
    /// after the change, or a deleted row as it was. PostgreSQL keeps the other columns: not every
    /// value comes back from JSON as it was.
    pub(super) fn kept(&self) -> Result<Option<(&'static str, String)>, serde_json::Error> {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => Ok(Some(("After", after.changed_since(before).json()?))),
            (None, Some(row)) => Ok(Some(("After", row.json()?))),
            (Some(row), None) => Ok(Some(("Before", row.json()?))),
            (None, None) => Ok(None),
        }
    }

    /// Whether the change fits into DynamoDB's outbox.
    pub(super) fn fits(&self) -> bool {
        self.kept().is_ok_and(|kept| kept.is_none_or(|(_, row)| row.len() <= ROW_BYTES_MAX))
    }
}
