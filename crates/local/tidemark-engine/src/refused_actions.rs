//! The actions of DynamoDB that this engine does not have.
//!
//! `scripts/actions` writes the list.

use crate::api::ApiError;

/// A line has `done` or `refused`, and the name of an action.
const ACTIONS: &str = include_str!("dynamodb_actions.txt");

/// Refuses an action with its name. A request without one is the emulator's to judge.
pub(crate) fn check(operation: &str) -> Result<(), ApiError> {
    let mark = ACTIONS.lines().find_map(|line| line.strip_suffix(operation)?.strip_suffix(' '));
    match mark {
        Some("done") => Ok(()),
        Some(_) => Err(ApiError::not_implemented(operation)),
        None if operation.is_empty() => Ok(()),
        None => {
            let message = format!("DynamoDB has no action `{operation}`");
            Err(ApiError::new("UnknownOperationException", message))
        }
    }
}
