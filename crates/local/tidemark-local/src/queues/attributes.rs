//! The attributes of a queue: read, and set by `CreateQueue` and `SetQueueAttributes`.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>.

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::queue::Queue;
use super::request::texts;
use crate::stack::{self, Redrive};

/// Attributes that are accepted, and neither have an effect on this machine nor are kept.
const CLOUD_ONLY: [&str; 5] =
    ["KmsDataKeyReusePeriodSeconds", "KmsMasterKeyId", "Policy", "RedriveAllowPolicy", "SqsManagedSseEnabled"];

/// The attributes that a request names.
pub(super) fn wanted(queue: &Queue, request: &Value, now: Instant) -> Result<Map<String, Value>, ApiError> {
    let (visible, in_flight, delayed) = queue.counts(now);
    let mut all = settings(&queue.definition());
    all.extend([
        ("ApproximateNumberOfMessages", visible.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", in_flight.to_string()),
        ("ApproximateNumberOfMessagesDelayed", delayed.to_string()),
        ("CreatedTimestamp", queue.created.as_second().to_string()),
        ("LastModifiedTimestamp", queue.created.as_second().to_string()),
        ("QueueArn", queue.definition().arn.clone()),
        ("SqsManagedSseEnabled", "true".to_owned()),
    ]);
    let names = texts(request, "AttributeNames");
    let is_known = |name: &&&str| {
        let fifo = ["FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"];
        **name == "All"
            || **name == "RedrivePolicy"
            || fifo.contains(*name)
            || CLOUD_ONLY.contains(*name)
            || all.iter().any(|(known, _)| known == *name)
    };
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        return Err(unknown_name(unknown));
    }
    let is_wanted = |name: &str| names.iter().any(|wanted| *wanted == "All" || *wanted == name);
    Ok(all
        .into_iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect())
}

/// The attributes that can be set.
pub(super) fn settings(queue: &stack::Queue) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("DelaySeconds", queue.delay.as_secs().to_string()),
        ("MaximumMessageSize", queue.message_bytes_max.to_string()),
        ("MessageRetentionPeriod", queue.retention.as_secs().to_string()),
        ("ReceiveMessageWaitTimeSeconds", queue.receive_wait.as_secs().to_string()),
        ("VisibilityTimeout", queue.visibility_timeout.as_secs().to_string()),
    ];
    if queue.fifo {
        let (scope, limit) = (queue.deduplicates_groups, queue.limits_groups);
        all.extend([
            ("FifoQueue", "true".to_owned()),
            ("ContentBasedDeduplication", queue.content_based_deduplication.to_string()),
            ("DeduplicationScope", if scope { "messageGroup" } else { "queue" }.to_owned()),
            ("FifoThroughputLimit", if limit { "perMessageGroupId" } else { "perQueue" }.to_owned()),
        ]);
    }
    if let Some(redrive) = &queue.redrive {
        let policy = json!({ "deadLetterTargetArn": redrive.target_arn, "maxReceiveCount": redrive.receive_count_max });
        all.push(("RedrivePolicy", policy.to_string()));
    }
    all
}

/// A queue with other attributes.
pub(super) fn changed(queue: &stack::Queue, attributes: &Map<String, Value>) -> Result<stack::Queue, ApiError> {
    let mut queue = queue.clone();
    for (name, value) in attributes {
        let value = value.as_str().unwrap_or_default();
        let invalid = || {
            let message = format!("Invalid value for the parameter {name}.");
            ApiError::new("InvalidAttributeValue", "InvalidAttributeValue", message)
        };
        let number = |limits: RangeInclusive<u64>| {
            value.parse().ok().filter(|number| limits.contains(number)).ok_or_else(invalid)
        };
        let seconds = |low, high| number(low..=high).map(Duration::from_secs);
        let one_of = |yes: &str, no: &str| match value {
            value if value == yes => Ok(true),
            value if value == no => Ok(false),
            _ => Err(invalid()),
        };
        match name.as_str() {
            "DelaySeconds" => queue.delay = seconds(0, 900)?,
            "MaximumMessageSize" => {
                queue.message_bytes_max = usize::try_from(number(1_024..=1_048_576)?).map_err(|_| invalid())?;
            }
            "MessageRetentionPeriod" => queue.retention = seconds(60, 1_209_600)?,
            "ReceiveMessageWaitTimeSeconds" => queue.receive_wait = seconds(0, 20)?,
            "VisibilityTimeout" => queue.visibility_timeout = seconds(0, 43_200)?,
            "RedrivePolicy" if value.is_empty() => queue.redrive = None,
            "RedrivePolicy" => queue.redrive = Some(redrive(value).ok_or_else(invalid)?),
            "FifoQueue" if one_of("true", "false")? == queue.fifo => {}
            "FifoQueue" => return Err(unknown_name(name)),
            "ContentBasedDeduplication" if queue.fifo => queue.content_based_deduplication = one_of("true", "false")?,
            "DeduplicationScope" if queue.fifo => queue.deduplicates_groups = one_of("messageGroup", "queue")?,
            "FifoThroughputLimit" if queue.fifo => queue.limits_groups = one_of("perMessageGroupId", "perQueue")?,
            known if CLOUD_ONLY.contains(&known) => {}
            _ => return Err(unknown_name(name)),
        }
    }
    if queue.limits_groups && !queue.deduplicates_groups {
        return Err(ApiError::new("InvalidAttributeValue", "InvalidAttributeValue", GROUP_LIMIT_WITHOUT_GROUPS));
    }
    Ok(queue)
}

/// What SQS says to a throughput limit for each group without deduplication in each group.
pub(crate) const GROUP_LIMIT_WITHOUT_GROUPS: &str = "Invalid value for the parameter FifoThroughputLimit. Reason: The \
     perMessageGroupId value is allowed only when the value for DeduplicationScope is messageGroup.";

fn redrive(policy: &str) -> Option<Redrive> {
    let policy: Value = serde_json::from_str(policy).ok()?;
    let count = policy.get("maxReceiveCount")?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok())?;
    Some(Redrive {
        target_arn: policy.get("deadLetterTargetArn")?.as_str()?.to_owned(),
        receive_count_max: u32::try_from(count).ok().filter(|count| (1..=1_000).contains(count))?,
    })
}

fn unknown_name(name: &str) -> ApiError {
    ApiError::new("InvalidAttributeName", "InvalidAttributeName", format!("Unknown Attribute {name}."))
}
