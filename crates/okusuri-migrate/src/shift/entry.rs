//! A change on its way from one side to the other.

use crate::source::{Row, Table};

/// A change of a row, with its number among the user's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
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

impl Entry {
    /// The row, as it is or as it last was.
    pub(super) fn row(&self) -> Option<&Row> {
        self.after.as_ref().or(self.before.as_ref())
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
