//! The problems of requests.

use domain::okusuri::DateRefusal;
use lambda_kit::problem::{self, Problem, conflict};
use okusuri_store::WriteError;
use store_base::StoreError;

pub(crate) const NOT_SIGNED_IN: Problem = Problem::new(401, "not-signed-in", "Nobody is signed in");
pub(crate) const INVALID_ENDPOINT: Problem =
    Problem::new(400, "invalid-endpoint", "The endpoint does not belong to a push service");
pub(crate) const NO_SUBSCRIPTION: Problem = Problem::new(404, "no-subscription", "No browser receives notifications");
pub(crate) const TOO_MANY_TESTS: Problem = Problem::new(429, "too-many-tests", "A test message was sent just now");
pub(crate) const LOG_NOT_FOUND: Problem = Problem::new(404, "log-not-found", "The day has no log");
pub(crate) const MEDICINE_NOT_FOUND: Problem = Problem::new(404, "medicine-not-found", "There is no such medicine");
pub(crate) const DOSE_NOT_FOUND: Problem = Problem::new(404, "dose-not-found", "Nothing is recorded for this dose");
pub(crate) const TOO_MANY_MEDICINES: Problem = Problem::new(409, "too-many-medicines", "There are too many medicines");
pub(crate) const MEDICINE_AS_NEEDED: Problem =
    Problem::new(409, "medicine-as-needed", "A medicine as needed is only taken");
pub(crate) const TOO_MANY_DOSES: Problem = Problem::new(409, "too-many-doses", "The day has too many doses");
pub(crate) const NO_STOCK: Problem = Problem::new(409, "no-stock", "The stock of the medicine is not counted");
pub(crate) const PACK_OUT_OF_ORDER: Problem = Problem::new(409, "pack-out-of-order", "This is not the next pack");
pub(crate) const TOO_MANY_ROWS: Problem = Problem::new(400, "too-many-rows", "The file has too many rows");
const DATE_IN_THE_FUTURE: Problem = Problem::new(400, "date-in-the-future", "The day is in the future");
const DATE_TOO_EARLY: Problem = Problem::new(400, "date-too-early", "The day is too long ago");
pub(crate) const CROSS_SITE_REQUEST: Problem =
    Problem::new(403, "cross-site-request", "The request comes from another site");
pub(crate) const SIGN_IN_AGAIN: Problem = Problem::new(403, "sign-in-again", "Sign in again to do this");

pub(crate) const INVALID_EMAIL: Problem = Problem::new(400, "invalid-email", "The e-mail address is not valid");
pub(crate) const INVALID_CODE: Problem = Problem::new(400, "invalid-code", "The code is not six digits");
pub(crate) const TOO_MANY_CODES: Problem = Problem::new(429, "too-many-codes", "Too many codes were sent");
pub(crate) const CODES_LIMITED: Problem = Problem::new(429, "codes-limited", "Too many codes were requested");
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
pub(crate) const LAST_SIGN_IN_METHOD: Problem =
    Problem::new(409, "last-sign-in-method", "This is the last sign-in method");

/// The problem for a failed request to DynamoDB.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}

/// The problem for a day that cannot be logged.
pub(crate) fn date_problem(refusal: DateRefusal) -> Problem {
    match refusal {
        DateRefusal::Future { today, .. } => DATE_IN_THE_FUTURE.detail(refusal).member("today", today.to_string()),
        DateRefusal::TooEarly(_) => DATE_TOO_EARLY.detail(refusal),
    }
}

/// The problem for a failed write.
pub(crate) fn write_problem(error: WriteError) -> Problem {
    match error {
        // The user has been deleted, or is being deleted, since the session was read.
        WriteError::NoUser => NOT_SIGNED_IN,
        WriteError::Conflict => conflict(),
        WriteError::Store(error) => store_problem(error),
    }
}
