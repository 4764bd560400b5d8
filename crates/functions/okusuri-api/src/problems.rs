//! The problems of requests.

use domain::okusuri::DateRefusal;
use lambda_kit::problem::{self, Problem, conflict};
use store::StoreError;
use store::okusuri::WriteError;

pub(crate) const NOT_SIGNED_IN: Problem = Problem::new(401, "not-signed-in", "Nobody is signed in");
pub(crate) const INVALID_ENDPOINT: Problem =
    Problem::new(400, "invalid-endpoint", "The endpoint is not a push service's");
pub(crate) const NO_SUBSCRIPTION: Problem = Problem::new(404, "no-subscription", "No browser is notified");
pub(crate) const TOO_MANY_TESTS: Problem = Problem::new(429, "too-many-tests", "A message was sent just now");
pub(crate) const LOG_NOT_FOUND: Problem = Problem::new(404, "log-not-found", "The day has no log");
pub(crate) const MEDICINE_NOT_FOUND: Problem = Problem::new(404, "medicine-not-found", "There is no such medicine");
pub(crate) const DOSE_NOT_FOUND: Problem = Problem::new(404, "dose-not-found", "Nothing is recorded of this dose");
pub(crate) const TOO_MANY_MEDICINES: Problem = Problem::new(409, "too-many-medicines", "There are too many medicines");
pub(crate) const TOO_MANY_ROWS: Problem = Problem::new(400, "too-many-rows", "The file has too many rows");
const DATE_IN_THE_FUTURE: Problem = Problem::new(400, "date-in-the-future", "The day is still to come");
const DATE_TOO_EARLY: Problem = Problem::new(400, "date-too-early", "The day is too long ago");
pub(crate) const CROSS_SITE_REQUEST: Problem =
    Problem::new(403, "cross-site-request", "The request comes from another site");
pub(crate) const SIGN_IN_AGAIN: Problem =
    Problem::new(403, "sign-in-again", "This needs somebody who has just signed in");

pub(crate) const INVALID_EMAIL: Problem = Problem::new(400, "invalid-email", "The e-mail address is not valid");
pub(crate) const INVALID_CODE: Problem = Problem::new(400, "invalid-code", "The code is not six digits");
pub(crate) const TOO_MANY_CODES: Problem = Problem::new(429, "too-many-codes", "Too many codes were sent");
pub(crate) const CODES_LIMITED: Problem = Problem::new(429, "codes-limited", "Too many codes were asked for");
pub(crate) const WRONG_CODE: Problem = Problem::new(401, "wrong-code", "The code is wrong");
pub(crate) const CODE_EXPIRED: Problem = Problem::new(401, "code-expired", "The code has expired, or was used");
pub(crate) const CODE_LOCKED: Problem = Problem::new(429, "code-locked", "There were too many wrong codes");
pub(crate) const MAIL_NOT_SENT: Problem = Problem::new(503, "mail-not-sent", "The mail could not be sent");

pub(crate) const PROVIDER_NOT_FOUND: Problem = Problem::new(404, "provider-not-found", "There is no such provider");

pub(crate) const INVALID_NAME: Problem = Problem::new(400, "invalid-name", "The name is not valid");
pub(crate) const INVALID_TIME_ZONE: Problem = Problem::new(400, "invalid-time-zone", "There is no such time zone");
pub(crate) const INVALID_IMAGE: Problem = Problem::new(400, "invalid-image", "The picture cannot be read");
pub(crate) const IMAGE_NOT_FOUND: Problem = Problem::new(404, "image-not-found", "There is no picture");
pub(crate) const SESSION_NOT_FOUND: Problem = Problem::new(404, "session-not-found", "There is no such session");
pub(crate) const ACCOUNT_NOT_FOUND: Problem = Problem::new(404, "account-not-found", "There is no such login");
pub(crate) const LAST_WAY_IN: Problem = Problem::new(409, "last-way-in", "Nothing would be left to sign in with");

/// What a client learns of a failed request to DynamoDB.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}

/// Why a day cannot be logged.
pub(crate) fn date_problem(refusal: DateRefusal) -> Problem {
    match refusal {
        DateRefusal::Future { today, .. } => DATE_IN_THE_FUTURE.detail(refusal).member("today", today.to_string()),
        DateRefusal::TooEarly(_) => DATE_TOO_EARLY.detail(refusal),
    }
}

/// Why logs did not change.
pub(crate) fn write_problem(error: WriteError) -> Problem {
    match error {
        // Everything of the user has been deleted, or is being, since the session was read.
        WriteError::NoUser => NOT_SIGNED_IN,
        WriteError::Conflict => conflict(),
        WriteError::Store(error) => store_problem(error),
    }
}
