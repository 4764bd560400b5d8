//! The parts that AWS's JSON protocols share: the operation in a header, and the errors.

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::actions::{self, Service};

/// The media type of most services.
const JSON_1_1: [(&str, &str); 1] = [("content-type", "application/x-amz-json-1.1")];

/// An error of a request: its type and its message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError(pub(crate) &'static str, pub(crate) String);

/// `X-Amz-Target`: the service's name, a dot, and the operation.
pub(crate) fn target(headers: &HeaderMap) -> &str {
    headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default()
}

/// The operation in `X-Amz-Target`.
pub(crate) fn operation(headers: &HeaderMap) -> &str {
    let target = target(headers);
    target.split_once('.').map_or(target, |(_, operation)| operation)
}

/// Refuses an action that this machine does not have.
pub(crate) fn check(service: &Service, operation: &str) -> Result<(), ApiError> {
    service.refusal(operation).map_or(Ok(()), |sentence| Err(ApiError(actions::REFUSED, sentence)))
}

/// The error for an operation that the service does not have.
pub(crate) fn unknown(service: &Service, operation: &str) -> ApiError {
    ApiError("UnknownOperationException", service.unknown(operation))
}

/// The request in a body.
pub(crate) fn request(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|_| ApiError("SerializationException", "the body is not JSON".to_owned()))
}

/// The response to a request.
pub(crate) fn response(answer: Result<Value, ApiError>) -> Response {
    match answer {
        Ok(answer) => (JSON_1_1, answer.to_string()).into_response(),
        Err(ApiError(kind, message)) => {
            let body = json!({ "__type": kind, "message": message, "Message": message }).to_string();
            let is_refused = kind == actions::REFUSED;
            let status = if is_refused { StatusCode::NOT_IMPLEMENTED } else { StatusCode::BAD_REQUEST };
            (status, JSON_1_1, body).into_response()
        }
    }
}
