//! The errors of requests to DynamoDB.

use std::error::Error as StdError;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use serde_json::Value;

/// Why a request failed, in the categories that matter to the caller.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// DynamoDB throttles the request, or another transaction holds an item. The same request may
    /// succeed later.
    #[error("DynamoDB asks to try again later: {0}")]
    Busy(String),
    /// There was no answer, or none that tells whether the request took effect.
    #[error("no answer from DynamoDB: {0}")]
    Unavailable(String),
    /// The request would be refused again, for example because a permission is missing.
    #[error("DynamoDB refused the request: {0}")]
    Refused(String),
    /// An item does not have the attributes that its key requires.
    #[error("an item cannot be read: {0}")]
    Unreadable(String),
}

impl StoreError {
    /// The local engine's error code for a full disk.
    pub const STORAGE_FULL: &str = "StorageFullException";

    /// Whether the same request may succeed soon.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Unavailable(_))
    }

    /// Whether an item is unreadable. Reading it again would fail again.
    pub fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable(_))
    }

    /// Another transaction held an item in each try.
    pub fn conflict() -> Self {
        Self::Busy("TransactionConflict".to_owned())
    }

    /// An item that is not what its key promises.
    pub fn unreadable(what: impl std::fmt::Display) -> Self {
        Self::Unreadable(what.to_string())
    }

    /// Whether DynamoDB asks the client to retry with this error code ([error
    /// handling](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)),
    /// or with this reason in a canceled transaction.
    pub fn is_busy(code: &str) -> bool {
        BUSY.contains(&code)
    }
}

/// How many causes of an error are in its text: those of the SDK, the HTTP client, the connection
/// and the system, and some more.
const CAUSES_MAX: usize = 8;

/// The codes of [`StoreError::is_busy`]. The last three are reasons in a canceled transaction.
const BUSY: [&str; 9] = [
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "LimitExceededException",
    "TransactionInProgressException",
    "TransactionConflictException",
    "ProvisionedThroughputExceeded",
    "ThrottlingError",
    "TransactionConflict",
];

impl From<BuildError> for StoreError {
    fn from(error: BuildError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// The error and its causes, separated by colons. The SDK's own text for all of it ends in a debug
/// print of its internals.
fn text<E>(error: &SdkError<E, HttpResponse>) -> String
where
    E: StdError + ProvideErrorMetadata + Send + Sync + 'static,
{
    if let SdkError::ServiceError(context) = error
        && let (Some(code), Some(message)) = (context.err().code(), context.err().message())
    {
        // The body of a throttled request also has the reasons, such as a key range that is full.
        // The message does not have them.
        let body = context.raw().body().bytes().and_then(|body| serde_json::from_slice::<Value>(body).ok());
        let reasons = body
            .as_ref()
            .and_then(|body| body["ThrottlingReasons"].as_array().or(body["throttlingReasons"].as_array()));
        let reasons = reasons.into_iter().flatten().filter_map(|reason| reason["reason"].as_str());
        return reasons.fold(format!("{code}: {message}"), |text, reason| format!("{text} ({reason})"));
    }
    let mut causes = vec![error.to_string()];
    let mut source = error.source();
    while let Some(cause) = source.filter(|_| causes.len() < CAUSES_MAX) {
        causes.push(cause.to_string());
        source = cause.source();
    }
    causes.dedup();
    causes.join(": ")
}

impl<E> From<SdkError<E, HttpResponse>> for StoreError
where
    E: StdError + ProvideErrorMetadata + Send + Sync + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        let text = text(&error);
        match &error {
            SdkError::ServiceError(context) => match context.err().code() {
                Some(code) if BUSY.contains(&code) => Self::Busy(text),
                // Only the local engine says that. It stays so until somebody frees some space.
                Some(StoreError::STORAGE_FULL) => Self::Refused(text),
                _ if context.raw().status().is_server_error() => Self::Unavailable(text),
                _ => Self::Refused(text),
            },
            SdkError::ConstructionFailure(_) => Self::Refused(text),
            _ => Self::Unavailable(text),
        }
    }
}

/// The answer to a conditional write; `None` when its condition did not hold.
pub fn unless_condition_failed<T, E>(answer: Result<T, SdkError<E, HttpResponse>>) -> Result<Option<T>, StoreError>
where
    E: StdError + ProvideErrorMetadata + Send + Sync + 'static,
{
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.code() == Some("ConditionalCheckFailedException") => Ok(None),
        Err(error) => Err(error.into()),
    }
}
