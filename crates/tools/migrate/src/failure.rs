//! Why a phase failed, with a stable type.

use std::fmt::Display;

use serde_json::{Value, json};

/// The type of a failure, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// `source-unreachable`: PostgreSQL refuses the connection or cannot be reached.
    SourceUnreachable,
    /// `source-gone`: the connection to PostgreSQL was lost; an export starts from the beginning
    /// when it is run again.
    SourceGone,
    /// `source-unreadable`: PostgreSQL refused a query, or gave an unexpected answer.
    SourceUnreadable,
    /// `source-behind`: the snapshot of an export lacks the capture, so changes would be lost.
    SourceBehind,
    /// `schema-missing-table`
    MissingTable,
    /// `schema-missing-column`
    MissingColumn,
    /// `schema-extra-column`: this tool does not know a column, whose data would be lost.
    ExtraColumn,
    /// `schema-column-type`: a column has an unexpected type.
    ColumnType,
    /// `mapping`: the mapping file has errors, each with its line.
    Mapping,
    /// `run-folder`: a file of the run cannot be read or written.
    RunFolder,
    /// `run-busy`: another process works in this folder.
    RunBusy,
    /// `run-exists`: the phase was done already; `--again` repeats it.
    RunExists,
    /// `run-incomplete`: an earlier phase was not done.
    RunIncomplete,
    /// `run-changed`: a file differs from its manifest.
    RunChanged,
    /// `option`: an option contradicts the run, or is missing.
    Options,
    /// `table-unreachable`: DynamoDB did not answer, despite retries.
    TableUnreachable,
    /// `table-credentials`: this machine has no credentials for AWS.
    TableCredentials,
    /// `table-refused`: DynamoDB refused a request, for example because of a missing table or
    /// permission.
    TableRefused,
    /// `table-not-empty`: the table already has items, and the options do not allow that.
    TableNotEmpty,
    /// `cutover`: this step of the cutover is not possible now.
    Cutover,
    /// `user-stuck`: one side refuses a change of a user; `repair` sets the change aside.
    UserStuck,
}

impl FailureKind {
    /// The stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SourceUnreachable => "source-unreachable",
            Self::SourceGone => "source-gone",
            Self::SourceUnreadable => "source-unreadable",
            Self::SourceBehind => "source-behind",
            Self::MissingTable => "schema-missing-table",
            Self::MissingColumn => "schema-missing-column",
            Self::ExtraColumn => "schema-extra-column",
            Self::ColumnType => "schema-column-type",
            Self::Mapping => "mapping",
            Self::RunFolder => "run-folder",
            Self::RunBusy => "run-busy",
            Self::RunExists => "run-exists",
            Self::RunIncomplete => "run-incomplete",
            Self::RunChanged => "run-changed",
            Self::Options => "option",
            Self::TableUnreachable => "table-unreachable",
            Self::TableCredentials => "table-credentials",
            Self::TableRefused => "table-refused",
            Self::TableNotEmpty => "table-not-empty",
            Self::Cutover => "cutover",
            Self::UserStuck => "user-stuck",
        }
    }

    /// A failure of this kind.
    pub fn because(self, detail: impl Display) -> Failure {
        Failure { kind: self, detail: detail.to_string() }
    }
}

/// Why a phase failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {detail}", kind.as_str())]
pub struct Failure {
    /// The type, for programs.
    pub kind: FailureKind,
    /// The explanation, for people.
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
        // The SDK reports missing credentials as a failed connection.
        let lacks_credentials = |text: &str| text.contains("credential");
        let kind = match &error {
            store::StoreError::Unavailable(text) if lacks_credentials(text) => FailureKind::TableCredentials,
            error if error.is_transient() => FailureKind::TableUnreachable,
            _ => FailureKind::TableRefused,
        };
        kind.because(error)
    }
}
