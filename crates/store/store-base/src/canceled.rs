//! What a canceled transaction means.

use aws_sdk_dynamodb::types::error::TransactionCanceledException;
use rollup::StoreError;

use crate::table::TransactionOutcome;

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
    } else if codes.iter().any(|code| StoreError::is_busy(code)) {
        Err(StoreError::Busy(codes.join(", ")))
    } else {
        Err(StoreError::Refused(why.message().unwrap_or("canceled").to_owned()))
    }
}
