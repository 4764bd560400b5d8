//! A change that is to be replicated from one side to the other.

use crate::source::{Row, Table};
use crate::transform::ITEM_BYTES_MAX;

/// The most bytes of a row's JSON in DynamoDB's outbox: the limit of an item, less room for its key
/// and attribute names.
const ROW_BYTES_MAX: usize = ITEM_BYTES_MAX - 4 * 1024;

/// A change of a row, with its version among the user's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutboxEntry {
    /// The user who owns the row.
    pub(crate) user: String,
    /// Counts from 1, without gaps.
    pub(crate) version: u64,
    /// The row's table.
    pub(crate) table: Table,
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

    /// The attribute's name and JSON that DynamoDB's outbox stores: the row after the change, or a
    /// deleted row as it was. Both together may not fit if the row has a picture.
    pub(super) fn kept(&self) -> Result<Option<(&'static str, String)>, serde_json::Error> {
        let name = if self.after.is_some() { "After" } else { "Before" };
        self.row().map(|row| Ok((name, json(row)?.to_string()))).transpose()
    }

    /// Whether the change fits into DynamoDB's outbox.
    pub(super) fn fits(&self) -> bool {
        self.kept().is_ok_and(|kept| kept.is_none_or(|(_, row)| row.len() <= ROW_BYTES_MAX))
    }
}

/// A row as JSON, in the form that PostgreSQL gives it.
pub(crate) fn json(row: &Row) -> Result<serde_json::Value, serde_json::Error> {
    match row {
        Row::User(row) => serde_json::to_value(row),
        Row::Session(row) => serde_json::to_value(row),
        Row::Account(row) => serde_json::to_value(row),
        Row::Verification(row) => serde_json::to_value(row),
        Row::MedicationLog(row) => serde_json::to_value(row),
        Row::NotificationSetting(row) => serde_json::to_value(row),
    }
}
