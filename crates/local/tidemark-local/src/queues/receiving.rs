//! Messages are received, deleted, or made visible again.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::batch::BATCH_MAX;
use super::error::{Answer, ApiError};
use super::queue::{Message, Queue, Received};
use super::request::{number, seconds, text, texts};
use super::sending::TRACE_HEADER;
use super::{Queues, md5};
use crate::arn;

/// The longest time that a request waits for a message.
const WAIT_S_MAX: u64 = 20;

/// The longest visibility time-out: 12 hours.
const VISIBILITY_S_MAX: u64 = 43_200;

pub(super) async fn receive(queues: &Queues, queue: &Arc<Queue>, request: &Value) -> Answer {
    let reason = "Must be between 1 and 10, if provided.";
    let count = number(request, "MaxNumberOfMessages", 1..=BATCH_MAX as u64, reason)?.unwrap_or(1);
    let visibility = seconds(request, "VisibilityTimeout", VISIBILITY_S_MAX)?;
    let wait = seconds(request, "WaitTimeSeconds", WAIT_S_MAX)?.unwrap_or(queue.definition().receive_wait);
    let count = usize::try_from(count).unwrap_or(BATCH_MAX);
    let received = queues.receive_waiting(queue, count, visibility, wait).await;
    let messages: Vec<Value> = received.iter().map(|received| message(received, request)).collect();
    Ok(if messages.is_empty() { json!({}) } else { json!({ "Messages": messages }) })
}

fn message(received: &Received, request: &Value) -> Value {
    let Received { message, receipt } = received;
    let system = [texts(request, "AttributeNames"), texts(request, "MessageSystemAttributeNames")].concat();
    let all = system_attributes(message);
    let own: Map<String, Value> =
        all.into_iter().filter(|(name, _)| system.iter().any(|wanted| *wanted == "All" || wanted == name)).collect();
    let wanted = texts(request, "MessageAttributeNames");
    let is_wanted = |name: &str| {
        wanted.iter().any(|wanted| {
            matches!(*wanted, "All" | ".*")
                || *wanted == name
                || wanted.strip_suffix(".*").is_some_and(|prefix| name.starts_with(prefix))
        })
    };
    let attributes: Map<String, Value> = message
        .attributes
        .iter()
        .filter(|(name, _)| is_wanted(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut answer = json!({
        "MessageId": message.id,
        "ReceiptHandle": receipt,
        "Body": message.body,
        "MD5OfBody": md5::of_body(&message.body),
    });
    if !own.is_empty() {
        answer["Attributes"] = own.into();
    }
    if let Some(sum) = md5::of_attributes(&attributes) {
        answer["MD5OfMessageAttributes"] = sum.into();
        answer["MessageAttributes"] = attributes.into();
    }
    answer
}

/// The attributes that SQS gives a message.
pub(super) fn system_attributes(message: &Message) -> Map<String, Value> {
    let mut attributes = Map::new();
    let mut add = |name: &str, value: String| attributes.insert(name.to_owned(), value.into());
    add("ApproximateReceiveCount", message.receive_count.to_string());
    add("SentTimestamp", message.sent_ms.to_string());
    add("SenderId", arn::account().to_owned());
    add("ApproximateFirstReceiveTimestamp", message.first_received_ms.unwrap_or_default().to_string());
    if let Some(id) = &message.deduplication {
        add("SequenceNumber", format!("{:020}", message.sequence));
        add("MessageDeduplicationId", id.clone());
    }
    let optional = [
        ("MessageGroupId", &message.group),
        (TRACE_HEADER, &message.trace),
        ("DeadLetterQueueSourceArn", &message.dead_letter_source),
    ];
    for (name, value) in optional {
        if let Some(value) = value {
            add(name, value.clone());
        }
    }
    attributes
}

pub(super) fn delete(queue: &Queue, request: &Value) -> Answer {
    queue.delete(receipt(request)?);
    Ok(json!({}))
}

pub(super) fn change_visibility(queue: &Queue, request: &Value, now: Instant) -> Answer {
    let visibility = seconds(request, "VisibilityTimeout", VISIBILITY_S_MAX)?;
    let visibility = visibility.ok_or_else(|| ApiError::missing("VisibilityTimeout"))?;
    if queue.change_visibility(receipt(request)?, visibility, now) {
        return Ok(json!({}));
    }
    let message = "The message referred to is not in flight.";
    Err(ApiError::new("MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", message))
}

fn receipt(request: &Value) -> Result<&str, ApiError> {
    let receipt = text(request, "ReceiptHandle").filter(|receipt| Uuid::parse_str(receipt).is_ok());
    receipt.ok_or_else(|| {
        ApiError::new("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
    })
}
