//! Why a phase could not be done, with a type that stays the same.

use std::fmt::Display;

use serde_json::{Value, json};

/// What a program can tell failures apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// `source-unreachable`: PostgreSQL does not let us in.
    SourceUnreachable,
    /// `source-gone`: PostgreSQL was there, and no longer is; begun again, an export starts anew.
    SourceGone,
    /// `source-unreadable`: PostgreSQL refused a query, or answered what cannot be.
    SourceUnreadable,
    /// `schema-missing-table`
    MissingTable,
    /// `schema-missing-column`
    MissingColumn,
    /// `schema-extra-column`: there is a column of which this tool knows nothing, and which would
    /// be lost.
    ExtraColumn,
    /// `schema-column-type`: a column holds something else than expected.
    ColumnType,
    /// `run-folder`: a file of the run cannot be read or written.
    RunFolder,
    /// `run-busy`: another process works in this folder.
    RunBusy,
    /// `run-exists`: the phase has been done; `--again` does it once more.
    RunExists,
    /// `run-incomplete`: the phase before has not been done.
    RunIncomplete,
    /// `run-changed`: a file is not what its manifest says.
    RunChanged,
    /// `option`: the options contradict the run, or lack something.
    Options,
    /// `table-unreachable`: DynamoDB did not answer, however often it was asked.
    TableUnreachable,
    /// `table-refused`: DynamoDB refused a request: a missing table, a missing permission.
    TableRefused,
    /// `table-not-empty`: the table has items already, and nobody said that it may.
    TableNotEmpty,
    /// `cutover`: a step of the cutover that is not possible now.
    Cutover,
}

impl FailureKind {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceUnreachable => "source-unreachable",
            Self::SourceGone => "source-gone",
            Self::SourceUnreadable => "source-unreadable",
            Self::MissingTable => "schema-missing-table",
            Self::MissingColumn => "schema-missing-column",
            Self::ExtraColumn => "schema-extra-column",
            Self::ColumnType => "schema-column-type",
            Self::RunFolder => "run-folder",
            Self::RunBusy => "run-busy",
            Self::RunExists => "run-exists",
            Self::RunIncomplete => "run-incomplete",
            Self::RunChanged => "run-changed",
            Self::Options => "option",
            Self::TableUnreachable => "table-unreachable",
            Self::TableRefused => "table-refused",
            Self::TableNotEmpty => "table-not-empty",
            Self::Cutover => "cutover",
        }
    }

    /// A failure of this kind.
    pub fn because(self, detail: impl Display) -> Failure {
        Failure { kind: self, detail: detail.to_string() }
    }
}

/// Why a phase could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", kind.as_str())]
pub struct Failure {
    /// What a program acts on.
    pub kind: FailureKind,
    /// What a person reads.
    pub detail: String,
}

impl Failure {
    /// `{"error": {"type", "detail"}}`.
    pub fn json(&self) -> Value {
        json!({ "error": { "type": self.kind.as_str(), "detail": self.detail } })
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Self {
        let kind = if error.is_transient() { FailureKind::TableUnreachable } else { FailureKind::TableRefused };
        kind.because(error)
    }
}
