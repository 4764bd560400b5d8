//! DynamoDB's wire format: JSON replies with a checksum, and errors by name.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

/// The protocol's media type.
const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");

/// The checksum header. AWS clients verify it against the reply's body.
pub(crate) const CRC32_HEADER: &str = "x-amz-crc32";

/// An API error: HTTP status and JSON body.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    body: Value,
}

impl ApiError {
    /// A 400 with `name` and `message`.
    pub(crate) fn new(name: &str, message: impl Into<String>) -> Self {
        let body = json!({ "__type": format!("com.amazonaws.dynamodb.v20120810#{name}"), "message": message.into() });
        Self { status: StatusCode::BAD_REQUEST, body }
    }

    /// An internal failure of the engine: a 500, which clients retry. The cause goes to the log
    /// only.
    pub(crate) fn internal(cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "the engine could not answer");
        Self::internal_on_purpose()
    }

    /// The same reply without a log entry, for injected faults.
    pub(crate) fn internal_on_purpose() -> Self {
        Self { status: StatusCode::INTERNAL_SERVER_ERROR, ..Self::new("InternalServerError", "Internal server error") }
    }

    /// The engine does not have the action. Clients do not retry this status.
    pub(crate) fn not_implemented(action: &str) -> Self {
        let message =
            format!("{action} of DynamoDB is not implemented on this machine: docs/aws-actions.md lists what is");
        Self { status: StatusCode::NOT_IMPLEMENTED, ..Self::new("NotImplemented", message) }
    }

    /// The disk is full. AWS has no such error; clients do not retry this status.
    pub(crate) fn storage_full() -> Self {
        let message = "The disk is full. Free some space; no data was lost.";
        Self { status: StatusCode::INSUFFICIENT_STORAGE, ..Self::new("StorageFullException", message) }
    }

    /// The request is larger than DynamoDB accepts.
    pub(crate) fn too_large() -> Self {
        let message = "The request is larger than 16 MB";
        Self { status: StatusCode::PAYLOAD_TOO_LARGE, ..Self::new("RequestEntityTooLargeException", message) }
    }

    /// The request's parameters are invalid.
    pub(crate) fn validation(message: impl Into<String>) -> Self {
        Self::new("ValidationException", message)
    }

    /// A key's value is empty.
    pub(crate) fn empty_key(name: &str) -> Self {
        Self::validation(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty \
             string value. Key: {name}"
        ))
    }

    /// The table, stream or shard does not exist.
    pub(crate) fn not_found(what: impl std::fmt::Display) -> Self {
        Self::new("ResourceNotFoundException", format!("Requested resource not found: {what}"))
    }

    /// The caller lacks the permission; `sentence` is the message to the caller.
    pub(crate) fn denied(sentence: String) -> Self {
        let mut error = Self::new("AccessDeniedException", "");
        // The services' shared authorization code has its own `__type` prefix, unlike DynamoDB's
        // errors.
        error.body = json!({ "__type": "com.amazon.coral.service#AccessDeniedException", "Message": sentence });
        error
    }

    /// A 403: the request comes from a web page of another site, or its `Host` is not this machine.
    pub(crate) fn foreign_page() -> Self {
        let message =
            "this DynamoDB accepts only requests from programs on this machine, sent to localhost or 127.0.0.1";
        Self { status: StatusCode::FORBIDDEN, ..Self::denied(message.to_owned()) }
    }

    /// `TransactionCanceledException`; `reasons` has one entry per action, `None` if that action is
    /// fine.
    pub(crate) fn transaction_cancelled(reasons: &[Option<(&str, &str)>]) -> Self {
        let codes: Vec<&str> = reasons.iter().map(|reason| reason.map_or("None", |(code, _)| code)).collect();
        let list: Vec<Value> = reasons
            .iter()
            .map(|reason| match reason {
                Some((code, message)) => json!({ "Code": code, "Message": message }),
                None => json!({ "Code": "None" }),
            })
            .collect();
        let message = format!(
            "Transaction cancelled, please refer cancellation reasons for specific reasons [{}]",
            codes.join(", ")
        );
        let mut error = Self::new("TransactionCanceledException", "");
        error.body = json!({ "__type": error.body["__type"], "Message": message, "CancellationReasons": list });
        error
    }

    /// Adds a member to the error's body.
    pub(crate) fn with(mut self, member: &str, value: Value) -> Self {
        self.body[member] = value;
        self
    }

    /// The reply.
    pub(crate) fn into_response(self) -> Response {
        reply(self.status, Bytes::from(self.body.to_string()))
    }
}

/// A reply with the protocol's headers.
pub(crate) fn reply(status: StatusCode, body: Bytes) -> Response {
    let checksum = checksum(&body);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, CONTENT_TYPE);
    headers.insert(CRC32_HEADER, checksum);
    headers.insert("x-amzn-requestid", request_id());
    response
}

/// The checksum header's value for `body`.
pub(crate) fn checksum(body: &[u8]) -> HeaderValue {
    HeaderValue::from(crc32fast::hash(body))
}

fn request_id() -> HeaderValue {
    let id: String = std::iter::repeat_with(|| fastrand::alphanumeric().to_ascii_uppercase()).take(52).collect();
    HeaderValue::from_str(&id).unwrap_or(HeaderValue::from_static("0"))
}
