//! What can be wrong with a request.

use domain::okusuri::DateRefusal;
use lambda_kit::problem::{self, Problem, conflict};
use store::StoreError;
use store::okusuri::WriteError;

pub(crate) const NOT_SIGNED_IN: Problem = Problem::new(401, "not-signed-in", "Nobody is signed in");
pub(crate) const LOG_NOT_FOUND: Problem = Problem::new(404, "log-not-found", "The day has no log");
pub(crate) const MEDICINE_NOT_FOUND: Problem = Problem::new(404, "medicine-not-found", "There is no such medicine");
pub(crate) const DOSE_NOT_FOUND: Problem = Problem::new(404, "dose-not-found", "Nothing is recorded of this dose");
pub(crate) const TOO_MANY_MEDICINES: Problem = Problem::new(409, "too-many-medicines", "There are too many medicines");
pub(crate) const TOO_MANY_ROWS: Problem = Problem::new(400, "too-many-rows", "The file has too many rows");
const DATE_IN_THE_FUTURE: Problem = Problem::new(400, "date-in-the-future", "The day is still to come");
const DATE_TOO_EARLY: Problem = Problem::new(400, "date-too-early", "The day is too long ago");

/// What a client learns of a failed request to DynamoDB.
pub(crate) fn failed(error: StoreError) -> Problem {
    tracing::error!(%error, "a request to DynamoDB failed");
    problem::failed(error.is_transient())
}

/// Why a day cannot be logged.
pub(crate) fn unloggable(refusal: DateRefusal) -> Problem {
    match refusal {
        DateRefusal::Future { today, .. } => DATE_IN_THE_FUTURE.detail(refusal).member("today", today.to_string()),
        DateRefusal::TooEarly(_) => DATE_TOO_EARLY.detail(refusal),
    }
}

/// Why logs did not change.
pub(crate) fn unwritten(error: WriteError) -> Problem {
    match error {
        // Everything of the user has been deleted, or is being, since the session was read.
        WriteError::NoUser => NOT_SIGNED_IN,
        WriteError::Conflict => conflict(),
        WriteError::Store(error) => failed(error),
    }
}
