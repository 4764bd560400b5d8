//! Why a phase failed, with a stable type.

use std::fmt::Display;

use serde_json::{Value, json};

/// Declares the kinds with their stable names.
macro_rules! kinds {
    ($($kind:ident $name:literal $about:literal)*) => {
        /// The type of a failure, for programs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FailureKind {
            $(#[doc = $about] $kind,)*
        }

        impl FailureKind {
            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    SourceUnreachable "source-unreachable" "PostgreSQL refuses the connection or cannot be reached."
    SourceGone "source-gone" "The connection to PostgreSQL was lost; an export starts from the beginning when it is run again."
    SourceUnreadable "source-unreadable" "PostgreSQL refused a query, or gave an unexpected answer."
    SourceBehind "source-behind" "The snapshot of an export lacks the capture, so changes would be lost."
    MissingTable "schema-missing-table" "The mapping names a table that there is not."
    MissingColumn "schema-missing-column" "The mapping names a column that there is not."
    ExtraColumn "schema-extra-column" "This tool does not know a column, whose data would be lost."
    ColumnType "schema-column-type" "A column has an unexpected type."
    SchemaChanged "schema-changed" "Tables have changed since the capture began."
    Mapping "mapping" "The mapping file has errors, each with its line."
    RunFolder "run-folder" "A file of the run cannot be read or written."
    RunBusy "run-busy" "Another process works in this folder."
    RunIncomplete "run-incomplete" "An earlier phase was not done."
    RunChanged "run-changed" "A file differs from its manifest."
    Options "option" "An option contradicts the run, or is missing."
    TableUnreachable "table-unreachable" "DynamoDB did not answer, despite retries."
    TableCredentials "table-credentials" "This machine has no valid credentials for AWS, or no region."
    TableRefused "table-refused" "DynamoDB refused a request, for example because of a missing table or permission."
    TableNotEmpty "table-not-empty" "The table already has items, and the options do not allow that."
    Cutover "cutover" "This step of the cutover is not possible now."
    UserStuck "user-stuck" "One side refuses a change of a user; `repair` sets the change aside."
}

impl FailureKind {
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

impl From<store_base::StoreError> for Failure {
    fn from(error: store_base::StoreError) -> Self {
        let text = error.to_string();
        // The SDK reports missing credentials as a failed connection.
        let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
        let (kind, next) = if says(&["Missing Region"]) {
            (FailureKind::TableCredentials, "Set AWS_REGION, or give --endpoint for a DynamoDB other than AWS")
        } else if says(&["credential", "UnrecognizedClient", "InvalidSignature", "ExpiredToken"]) {
            let next = "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; a DynamoDB other than AWS \
                        needs --endpoint";
            (FailureKind::TableCredentials, next)
        } else if says(&["ResourceNotFoundException"]) {
            (FailureKind::TableRefused, "Check --table and the region. `load --create-table` creates a table")
        } else if says(&["dns error", "(Connect)"]) {
            (FailureKind::TableUnreachable, "Check the region, or --endpoint")
        } else if error.is_transient() {
            (FailureKind::TableUnreachable, "")
        } else {
            (FailureKind::TableRefused, "")
        };
        kind.because(if next.is_empty() { text } else { format!("{text}. {next}") })
    }
}

#[cfg(test)]
mod tests {
    use store_base::StoreError;

    use super::*;

    #[test]
    fn an_error_of_the_table_says_what_to_do_next() {
        let unavailable = |text: &str| StoreError::Unavailable(text.to_owned());
        let refused = |text: &str| StoreError::Refused(text.to_owned());
        for (error, kind, next) in [
            (unavailable("an error occurred while loading credentials"), FailureKind::TableCredentials, "AWS_PROFILE"),
            (unavailable("Invalid Configuration: Missing Region"), FailureKind::TableCredentials, "AWS_REGION"),
            (refused("UnrecognizedClientException: The security token"), FailureKind::TableCredentials, "AWS_PROFILE"),
            (refused("ResourceNotFoundException: not found"), FailureKind::TableRefused, "--create-table"),
            (unavailable("client error (Connect): dns error"), FailureKind::TableUnreachable, "region"),
            (unavailable("timeout"), FailureKind::TableUnreachable, "timeout"),
            (refused("AccessDeniedException"), FailureKind::TableRefused, "AccessDenied"),
        ] {
            let failure = Failure::from(error);
            assert_eq!(failure.kind, kind, "{failure}");
            assert!(failure.detail.contains(next), "{failure}");
        }
    }
}
