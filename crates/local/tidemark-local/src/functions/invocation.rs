//! What becomes of an invocation: a result, or a failure in Lambda's words.

use std::time::Duration;

use axum::http::HeaderValue;
use bytes::{Bytes, BytesMut};
use futures::{Stream, stream};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::instance::InstanceStartError;
use super::runtime_api::PAYLOAD_BYTES_MAX;

/// What is kept of an error's message.
const MESSAGE_CHARS_MAX: usize = 500;

/// The result of an invocation that reached the function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// Its request id.
    pub request_id: String,
    /// The function's result or failure.
    pub outcome: Result<Bytes, FunctionError>,
    /// The end of its log, if the caller wanted it.
    pub log: Option<String>,
}

/// The same for a caller that takes the result part by part.
#[derive(Debug)]
pub struct StreamedInvocation {
    /// Its request id.
    pub request_id: String,
    /// The function's result or failure.
    pub outcome: Result<FunctionResult, FunctionError>,
    /// The end of its log, if the caller wanted it and the result is whole.
    pub log: Option<String>,
}

impl StreamedInvocation {
    /// The invocation with its whole result.
    pub(super) async fn whole(self) -> Invocation {
        let Self { request_id, outcome, log } = self;
        let outcome = match outcome {
            Ok(FunctionResult::Whole(body)) => Ok(body),
            Ok(FunctionResult::Stream(stream)) => stream.joined().await,
            Err(error) => Err(error),
        };
        Invocation { request_id, outcome, log }
    }
}

/// The result of a function.
#[derive(Debug)]
pub enum FunctionResult {
    /// It sent all of it.
    Whole(Bytes),
    /// It is still sending it.
    Stream(ResultStream),
}

/// A result that comes part by part.
#[derive(Debug)]
pub struct ResultStream {
    /// The content type that the function gave it.
    pub content_type: Option<HeaderValue>,
    pub(super) parts: mpsc::Receiver<Bytes>,
    /// How it failed. Apart from the parts, so that a client who does not read them holds up nobody.
    pub(super) failure: oneshot::Receiver<FunctionError>,
}

impl ResultStream {
    /// The next part; `None` at the end. An error is the last part.
    pub async fn next(&mut self) -> Option<Result<Bytes, FunctionError>> {
        match self.parts.recv().await {
            Some(part) => Some(Ok(part)),
            None if self.failure.is_terminated() => None,
            None => (&mut self.failure).await.ok().map(Err),
        }
    }

    /// The parts as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<Bytes, FunctionError>> + Send + 'static {
        stream::unfold(self, async |mut parts| parts.next().await.map(|part| (part, parts)))
    }

    /// Joins what is left of the stream.
    ///
    /// # Errors
    /// The error of the stream, or a result above [`PAYLOAD_BYTES_MAX`].
    pub async fn joined(mut self) -> Result<Bytes, FunctionError> {
        let mut joined = BytesMut::new();
        while let Some(part) = self.next().await {
            joined.extend_from_slice(&part?);
            if joined.len() > PAYLOAD_BYTES_MAX {
                return Err(FunctionError::response_too_large());
            }
        }
        Ok(joined.freeze())
    }
}

/// A failed invocation, which Lambda marks with `X-Amz-Function-Error: Unhandled`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionError {
    /// The kind of failure.
    pub kind: FailureKind,
    /// `{"errorType", "errorMessage"}` in Lambda's format.
    pub body: Bytes,
}

/// How an invocation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The handler returned an error or panicked.
    Function,
    /// The function exceeded its timeout; its instance was killed.
    TimedOut,
    /// The process ended.
    Crashed,
    /// The process did not reach its first invocation.
    Init,
    /// The result exceeds the size limit.
    ResponseTooLarge,
}

/// Why an invocation did not reach the function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    /// `TooManyRequestsException`.
    #[error("Rate Exceeded.")]
    Throttled,
    /// `RequestTooLargeException`.
    #[error("Request must be smaller than {PAYLOAD_BYTES_MAX} bytes for the InvokeFunction operation")]
    TooLarge,
    /// The stack is stopping.
    #[error("the stack is stopping")]
    Stopping,
}

impl FunctionError {
    /// The handler's own error.
    pub(super) fn of_handler(body: Bytes) -> Self {
        Self { kind: FailureKind::Function, body }
    }

    /// The error that a test asked for.
    pub(super) fn injected() -> Self {
        Self::new(FailureKind::Function, "InjectedFault", "the stack was told to let this invocation fail")
    }

    pub(super) fn timeout(request_id: &str, timeout: Duration) -> Self {
        let seconds = timeout.as_secs_f64();
        let message = format!("RequestId: {request_id} Error: Task timed out after {seconds:.2} seconds");
        Self::new(FailureKind::TimedOut, "Sandbox.Timedout", &message)
    }

    /// `exit` says how the process ended.
    pub(super) fn crash(request_id: &str, exit: &str) -> Self {
        let message = format!("RequestId: {request_id} Error: Runtime exited with error: {exit}");
        Self::new(FailureKind::Crashed, "Runtime.ExitError", &message)
    }

    pub(super) fn init(request_id: &str, error: &InstanceStartError) -> Self {
        match error {
            InstanceStartError::Reported { body, .. } => Self { kind: FailureKind::Init, body: body.clone() },
            other => {
                let message = format!("RequestId: {request_id} Error: {other}");
                Self::new(FailureKind::Init, "Runtime.InitError", &message)
            }
        }
    }

    /// The beginning of `errorMessage`, or of the body if it has none.
    pub(crate) fn message(&self) -> String {
        let body = serde_json::from_slice::<Value>(&self.body).unwrap_or_default();
        let whole = body["errorMessage"].as_str().map_or_else(|| String::from_utf8_lossy(&self.body), Into::into);
        whole.chars().take(MESSAGE_CHARS_MAX).collect()
    }

    pub(super) fn response_too_large() -> Self {
        let message =
            format!("Response payload size exceeded maximum allowed payload size ({PAYLOAD_BYTES_MAX} bytes).");
        Self::new(FailureKind::ResponseTooLarge, "Function.ResponseSizeTooLarge", &message)
    }

    fn new(kind: FailureKind, error_type: &str, message: &str) -> Self {
        let body = json!({ "errorType": error_type, "errorMessage": message });
        Self { kind, body: body.to_string().into() }
    }
}
