//! The errors of SQS.

use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::queue::{STORED_BYTES_MAX, STORED_MAX};
use crate::actions;

/// Why a message was not sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendError {
    /// There is no queue of this name.
    #[error("The specified queue does not exist.")]
    NoQueue,
    /// The message is too large.
    #[error("One or more parameters are invalid. Reason: Message must be shorter than {0} bytes.")]
    TooLarge(usize),
    /// A message of a FIFO queue has no group.
    #[error("The request must contain the parameter MessageGroupId.")]
    NoGroup,
    /// A message of a FIFO queue cannot be recognized again.
    #[error(
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )]
    NoDeduplication,
    /// The queue's memory is full.
    #[error("the queue has {STORED_MAX} messages or {STORED_BYTES_MAX} bytes, which is the most on this machine")]
    Full,
}

/// An error with its type, and its code in the older protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) kind: &'static str,
    pub(super) code: &'static str,
    pub(super) message: String,
}

pub(super) type Answer = Result<Value, ApiError>;

impl ApiError {
    pub(super) fn new(kind: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, code, message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new("InvalidParameterValueException", "InvalidParameterValue", message)
    }

    /// The error for a parameter whose value is not allowed.
    pub(super) fn value(name: &str, value: &str, reason: &str) -> Self {
        Self::invalid(format!("Value {value} for parameter {name} is invalid. Reason: {reason}"))
    }

    pub(super) fn missing(name: &str) -> Self {
        let message = format!("The request must contain the parameter {name}.");
        Self::new("MissingRequiredParameterException", "MissingParameter", message)
    }
}

impl From<SendError> for ApiError {
    fn from(error: SendError) -> Self {
        let message = error.to_string();
        match error {
            SendError::NoQueue => Self::new("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", message),
            SendError::NoGroup => Self::missing("MessageGroupId"),
            SendError::Full => Self::new("OverLimit", "OverLimit", message),
            SendError::TooLarge(_) | SendError::NoDeduplication => Self::invalid(message),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Self { kind, code, message } = self;
        let body = json!({ "__type": format!("com.amazonaws.sqs#{kind}"), "message": message }).to_string();
        let content_type = [("content-type", "application/x-amz-json-1.0")];
        let is_refused = kind == actions::REFUSED;
        let status = if is_refused { StatusCode::NOT_IMPLEMENTED } else { StatusCode::BAD_REQUEST };
        let mut response = (status, content_type, body).into_response();
        if let Ok(value) = HeaderValue::from_str(&format!("{code};Sender")) {
            response.headers_mut().insert("x-amzn-query-error", value);
        }
        response
    }
}
