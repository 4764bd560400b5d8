//! Reminds whoever has not logged the day, once a day and user at most.

use jiff::Timestamp;
use lambda_runtime::Diagnostic;
use serde_json::{Value, json};
use store::StoreError;

/// What the function works with.
#[derive(Debug, Clone)]
pub struct Reminders {
    #[allow(dead_code)]
    table: String,
}

impl Reminders {
    /// The reminders in `table`.
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }
}

/// Why nobody could be reminded. The schedule comes again.
#[derive(Debug, thiserror::Error)]
pub enum RemindError {
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<RemindError> for Diagnostic {
    fn from(error: RemindError) -> Self {
        Self { error_type: "store".to_owned(), error_message: error.to_string() }
    }
}

/// Reminds of what is due at `now`.
pub async fn handle(_reminders: &Reminders, _now: Timestamp) -> Result<Value, RemindError> {
    Ok(json!({ "reminded": 0 }))
}
