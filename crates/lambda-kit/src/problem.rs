//! Errors that clients see: [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problem details.
//!
//! A problem's `type` is `urn:tidemark:problem:<name>` and never changes; `docs/problems.md` lists
//! them all. A problem never carries a secret, a whole request or the text of an internal error;
//! those details belong in the log, if anywhere.

use rollup::StoreError;
use serde_json::{Value, json};

/// The beginning of a problem's `type`.
pub const TYPE_PREFIX: &str = "urn:tidemark:problem:";

/// An answer that says what went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub(crate) status: u16,
    name: &'static str,
    title: &'static str,
    detail: Option<String>,
    members: Vec<(&'static str, Value)>,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
}

impl Problem {
    /// A kind of problem. `name` is the stable end of its type; `title` is the same for all
    /// problems of the kind.
    pub const fn new(status: u16, name: &'static str, title: &'static str) -> Self {
        Self { status, name, title, detail: None, members: Vec::new(), headers: Vec::new() }
    }

    /// Explains this case to people.
    pub fn detail(mut self, detail: impl ToString) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    /// Adds a member for programs, beside the members that every problem has.
    pub fn member(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.members.push((name, value.into()));
        self
    }

    /// Adds a header to the answer.
    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The last part of the type.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The whole type.
    pub fn type_uri(&self) -> String {
        format!("{TYPE_PREFIX}{}", self.name)
    }

    /// The title of all problems of this kind.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// The explanation of this case, if there is one.
    pub fn detail_text(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// The problem as a JSON object.
    pub fn to_json(&self) -> Value {
        let mut body = json!({
            "type": self.type_uri(),
            "title": self.title,
            "status": self.status,
        });
        if let Some(detail) = &self.detail {
            body["detail"] = json!(detail);
        }
        for (name, value) in &self.members {
            body[name] = value.clone();
        }
        body
    }
}

/// No route of the API matches.
pub const NOT_FOUND: Problem = Problem::new(404, "not-found", "No such resource");
/// A header, the path or the query is not text.
pub const INVALID_REQUEST: Problem = Problem::new(400, "invalid-request", "The request cannot be read");
/// The body is larger than the route allows.
pub const BODY_TOO_LARGE: Problem = Problem::new(413, "body-too-large", "The body is too large");
/// The body is not JSON, or not of the documented shape.
pub const INVALID_BODY: Problem = Problem::new(400, "invalid-body", "The body cannot be read");
/// A parameter of the path or the query cannot be read.
pub const INVALID_PARAMETER: Problem = Problem::new(400, "invalid-parameter", "A parameter is not valid");
/// The cursor was not made for this query.
pub const INVALID_CURSOR: Problem = Problem::new(400, "invalid-cursor", "The cursor is not valid");
/// The cursor was valid before.
pub const EXPIRED_CURSOR: Problem = Problem::new(400, "expired-cursor", "The cursor has expired");
/// The request has no idempotency key, so sending it again might change something twice.
pub const MISSING_IDEMPOTENCY_KEY: Problem =
    Problem::new(400, "missing-idempotency-key", "An idempotency key is needed");
/// The idempotency key has a wrong format.
pub const INVALID_IDEMPOTENCY_KEY: Problem =
    Problem::new(400, "invalid-idempotency-key", "The idempotency key is not valid");
/// The idempotency key is a UUIDv7 of another time than the request's.
pub const IDEMPOTENCY_KEY_TIME: Problem =
    Problem::new(400, "idempotency-key-time", "The idempotency key is not of this time");
/// The idempotency key belongs to another request.
pub const IDEMPOTENCY_KEY_REUSED: Problem =
    Problem::new(409, "idempotency-key-reused", "The idempotency key was used for another request");
/// Other writers were faster on each attempt.
pub const CONFLICT: Problem = Problem::new(409, "conflict", "Others are changing the same item, try again");
/// The route needs a token, and the request has none.
pub const MISSING_TOKEN: Problem = Problem::new(401, "missing-token", "A bearer token is needed");
/// The token is not the right one.
pub const INVALID_TOKEN: Problem = Problem::new(401, "invalid-token", "The bearer token is not valid");
/// DynamoDB throttles requests; the client can send the same request again.
pub const BUSY: Problem = Problem::new(503, "busy", "Too busy at the moment, try again");
/// The disk of the machine is full. Only the local engine says that.
pub const STORAGE_FULL: Problem = Problem::new(503, "storage-full", "The disk is full");

/// Logs a failed request to DynamoDB. The client learns only whether it may try again.
pub fn store_problem(error: &dyn std::error::Error, is_transient: bool) -> Problem {
    tracing::error!(%error, "a request to DynamoDB failed");
    match is_transient {
        true => busy(),
        false if error.to_string().contains(StoreError::STORAGE_FULL) => STORAGE_FULL,
        false => INTERNAL,
    }
}

/// [`BUSY`] with a `Retry-After`.
pub fn busy() -> Problem {
    BUSY.header("retry-after", "1")
}

/// [`CONFLICT`] with a `Retry-After`.
pub fn conflict() -> Problem {
    CONFLICT.header("retry-after", "1")
}

/// A fault on our side; the log has the details.
pub const INTERNAL: Problem = Problem::new(500, "internal", "Something went wrong on our side");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_has_its_own_problem() {
        let name = |error: StoreError| store_problem(&error, error.is_transient()).name();
        assert_eq!(name(StoreError::Refused("StorageFullException: The disk is full.".to_owned())), "storage-full");
        assert_eq!(name(StoreError::Busy("ThrottlingException".to_owned())), "busy");
        assert_eq!(name(StoreError::Refused("ValidationException".to_owned())), "internal");
    }
}
