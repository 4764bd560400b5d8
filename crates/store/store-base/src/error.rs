//! The errors of requests to DynamoDB.

use std::error::Error as StdError;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::error::TransactionCanceledException;

use crate::table::TransactionOutcome;

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
    /// A repeated request would be refused again, for example because a table or a permission is
    /// missing.
    #[error("DynamoDB refused the request: {0}")]
    Refused(String),
    /// An item does not have the attributes that its key requires.
    #[error("an item cannot be read: {0}")]
    Unreadable(String),
}

impl From<rollup::ReadError> for StoreError {
    fn from(error: rollup::ReadError) -> Self {
        match error {
            rollup::ReadError::Store(error) => error.into(),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl From<rollup::StoreError> for StoreError {
    fn from(error: rollup::StoreError) -> Self {
        match error {
            rollup::StoreError::Busy(why) => Self::Busy(why),
            rollup::StoreError::Unavailable(why) => Self::Unavailable(why),
            rollup::StoreError::Refused(why) => Self::Refused(why),
            rollup::StoreError::Unreadable(why) => Self::Unreadable(why),
        }
    }
}

impl StoreError {
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
}

/// The error codes for which DynamoDB asks the client to retry ([error
/// handling](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)).
/// The last three are the reasons in a canceled transaction.
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

/// The outcome or the error that the reasons of a canceled transaction mean.
pub(crate) fn canceled(why: &TransactionCanceledException) -> Result<TransactionOutcome, StoreError> {
    let mut reasons = why.cancellation_reasons().iter();
    let failed = reasons.position(|reason| reason.code() == Some("ConditionalCheckFailed"));
    if let Some(action) = failed {
        return Ok(TransactionOutcome::ConditionFailed {
            action,
            item: why.cancellation_reasons()[action].item.clone(),
        });
    }
    let codes = why.cancellation_reasons().iter().filter_map(|reason| reason.code());
    let codes: Vec<_> = codes.filter(|code| *code != "None").collect();
    if codes.contains(&"TransactionConflict") {
        Ok(TransactionOutcome::Conflict)
    } else if codes.iter().any(|code| BUSY.contains(code)) {
        Err(StoreError::Busy(codes.join(", ")))
    } else {
        Err(StoreError::Refused(why.message().unwrap_or("canceled").to_owned()))
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

/// A request could not be built: a required field is missing.
impl From<BuildError> for StoreError {
    fn from(error: BuildError) -> Self {
        Self::Refused(error.to_string())
    }
}

impl<E> From<SdkError<E, HttpResponse>> for StoreError
where
    E: StdError + ProvideErrorMetadata + Send + Sync + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        rollup::StoreError::from(error).into()
    }
}
