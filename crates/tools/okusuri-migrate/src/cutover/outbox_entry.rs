//! A change on its way from one side to the other.

use crate::source::{Row, Table};
use crate::transform::ITEM_BYTES_MAX;

/// How much the JSON of a change's row may have in DynamoDB's outbox, bytes: an item's room, less
/// that for its key and the names.
const ROW_BYTES_MAX: usize = ITEM_BYTES_MAX - 4 * 1024;

/// A change of a row, with its number among the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutboxEntry {
    /// Whose row it is.
    pub(super) user: String,
    /// From 1, without a gap.
    pub(super) version: u64,
    /// Of which table.
    pub(super) table: Table,
    /// As it was; none when there was none.
    pub(super) before: Option<Row>,
    /// As it is; none when it is gone.
    pub(super) after: Option<Row>,
}

impl OutboxEntry {
    /// The row, as it is or as it last was.
    pub(super) fn row(&self) -> Option<&Row> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// What DynamoDB's outbox keeps of it, the attribute's name and JSON: the row as it is, or of
    /// one that is gone as it last was. With a picture in it, both would not fit.
    pub(super) fn kept(&self) -> Result<Option<(&'static str, String)>, serde_json::Error> {
        let name = if self.after.is_some() { "After" } else { "Before" };
        self.row().map(|row| Ok((name, json(row)?.to_string()))).transpose()
    }

    /// Whether DynamoDB's outbox has room for it.
    pub(super) fn fits(&self) -> bool {
        self.kept().is_ok_and(|kept| kept.is_none_or(|(_, row)| row.len() <= ROW_BYTES_MAX))
    }
}

/// A row as PostgreSQL would tell it.
pub(super) fn json(row: &Row) -> Result<serde_json::Value, serde_json::Error> {
    match row {
        Row::User(row) => serde_json::to_value(row),
        Row::Session(row) => serde_json::to_value(row),
        Row::Account(row) => serde_json::to_value(row),
        Row::Verification(row) => serde_json::to_value(row),
        Row::MedicationLog(row) => serde_json::to_value(row),
        Row::NotificationSetting(row) => serde_json::to_value(row),
    }
}
