//! Batches: each entry is done by itself.

use serde_json::{Value, json};

use super::error::{Answer, ApiError};
use super::queue::MESSAGE_BYTES_MAX;
use super::request::text;
use super::sending;

/// Maximum number of messages of a batch and of a receipt.
pub(super) const BATCH_MAX: usize = 10;

const ID_LENGTH_MAX: usize = 80;

/// Does each entry of a batch.
pub(super) fn each(request: &Value, one: impl Fn(&Value) -> Answer) -> Answer {
    let entries = request.get("Entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    check(entries)?;
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in entries {
        let id = entry.get("Id").cloned().unwrap_or_default();
        match one(entry) {
            Ok(mut answer) => {
                answer["Id"] = id;
                successful.push(answer);
            }
            Err(ApiError { code, message, .. }) => {
                failed.push(json!({ "Id": id, "SenderFault": true, "Code": code, "Message": message }));
            }
        }
    }
    Ok(json!({ "Successful": successful, "Failed": failed }))
}

fn check(entries: &[Value]) -> Result<(), ApiError> {
    if entries.is_empty() {
        let message = "There should be at least one SendMessageBatchRequestEntry in the request.";
        return Err(ApiError::new("EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", message));
    }
    if entries.len() > BATCH_MAX {
        let message = format!("Maximum number of entries per request are 10. You have sent {}.", entries.len());
        let code = "AWS.SimpleQueueService.TooManyEntriesInBatchRequest";
        return Err(ApiError::new("TooManyEntriesInBatchRequest", code, message));
    }
    let ids: Vec<&str> = entries.iter().map(|entry| text(entry, "Id").unwrap_or_default()).collect();
    let is_valid = |id: &str| {
        (1..=ID_LENGTH_MAX).contains(&id.len())
            && id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    if !ids.iter().all(|id| is_valid(id)) {
        let message = "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
                       It can be at most 80 letters long.";
        return Err(ApiError::new("InvalidBatchEntryId", "AWS.SimpleQueueService.InvalidBatchEntryId", message));
    }
    if let Some((_, id)) = ids.iter().enumerate().find(|(index, id)| ids[..*index].contains(id)) {
        let code = "AWS.SimpleQueueService.BatchEntryIdsNotDistinct";
        return Err(ApiError::new("BatchEntryIdsNotDistinct", code, format!("Id {id} repeated.")));
    }
    let sum: usize = entries.iter().map(sending::entry_size).sum();
    if sum > MESSAGE_BYTES_MAX {
        let message =
            format!("Batch requests cannot be longer than {MESSAGE_BYTES_MAX} bytes. You have sent {sum} bytes.");
        return Err(ApiError::new("BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", message));
    }
    Ok(())
}
