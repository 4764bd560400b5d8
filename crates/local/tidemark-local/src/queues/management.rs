//! Queues are created, listed, changed, tagged and deleted, until the stack stops.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::error::{Answer, ApiError, SendError};
use super::queue::Queue;
use super::request::{number, text, texts};
use super::{Queues, attributes};
use crate::{arn, stack};

/// Limit of this machine; AWS has none.
const QUEUES_MAX: usize = 1_000;

const NAME_LENGTH_MAX: usize = 80;
const TAGS_MAX: usize = 50;
const LIST_MAX: u64 = 1_000;

/// A queue's URL on AWS. Clients send its requests to the endpoint of this stack.
pub(crate) fn url(name: &str) -> String {
    format!("https://sqs.{}.amazonaws.com/{}/{name}", arn::region(), arn::account())
}

fn object(request: &Value, name: &str) -> Map<String, Value> {
    request.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// `CreateQueue`: the same queue once more is no error.
pub(super) fn create(queues: &Queues, request: &Value) -> Answer {
    let name = text(request, "QueueName").unwrap_or_default();
    let attributes = object(request, "Attributes");
    let fifo = attributes.get("FifoQueue").and_then(Value::as_str) == Some("true");
    let base = name.strip_suffix(".fifo").filter(|_| fifo).unwrap_or(name);
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if base.is_empty() || name.len() > NAME_LENGTH_MAX || !base.chars().all(is_valid) || fifo != name.ends_with(".fifo")
    {
        let message = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length. \
                       The name of a FIFO queue, and only of such a queue, ends with .fifo.";
        return Err(ApiError::invalid(message));
    }
    let new = stack::Queue { content_based_deduplication: false, ..stack::Queue::standing_in(name) };
    let definition = attributes::changed(&new, &attributes)?;
    let mut all = queues.write();
    if let Some(existing) = all.get(name) {
        let settings = attributes::settings(&existing.definition());
        let wanted = attributes::settings(&definition);
        let differs = |name: &&str| wanted.iter().any(|setting| setting.0 == *name && !settings.contains(setting));
        if let Some(other) = attributes.keys().map(String::as_str).find(differs) {
            let message =
                format!("A queue already exists with the same name and a different value for attribute {other}");
            return Err(ApiError::new("QueueNameExists", "QueueAlreadyExists", message));
        }
        return Ok(json!({ "QueueUrl": url(name) }));
    }
    if all.len() >= QUEUES_MAX {
        return Err(ApiError::new("OverLimit", "OverLimit", format!("this machine has {QUEUES_MAX} queues at most")));
    }
    let queue = Queue::new(definition);
    tag(&queue, &json!({ "Tags": object(request, "tags") }))?;
    all.insert(name.to_owned(), Arc::new(queue));
    Ok(json!({ "QueueUrl": url(name) }))
}

/// `DeleteQueue`.
pub(super) fn delete(queues: &Queues, queue: &Queue) -> Answer {
    queues.write().remove(&queue.definition().name).map(|_| json!({})).ok_or_else(|| SendError::NoQueue.into())
}

/// `SetQueueAttributes`.
pub(super) fn set_attributes(queue: &Queue, request: &Value) -> Answer {
    queue.redefine(attributes::changed(&queue.definition(), &object(request, "Attributes"))?);
    Ok(json!({}))
}

/// `TagQueue`.
pub(super) fn tag(queue: &Queue, request: &Value) -> Answer {
    let mut tags = queue.tags();
    tags.extend(object(request, "Tags"));
    if tags.len() > TAGS_MAX {
        return Err(ApiError::invalid("Too many tags added for queue. Maximum number of tags allowed is 50."));
    }
    Ok(json!({}))
}

/// `UntagQueue`.
pub(super) fn untag(queue: &Queue, request: &Value) -> Answer {
    let keys = texts(request, "TagKeys");
    queue.tags().retain(|key, _| !keys.contains(&key.as_str()));
    Ok(json!({}))
}

/// `ListQueues`.
pub(super) fn list(queues: &Queues, request: &Value) -> Answer {
    let prefix = text(request, "QueueNamePrefix").unwrap_or_default();
    page("QueueUrls", queues.all().iter().map(|queue| queue.definition().name.clone()), prefix, request)
}

/// `ListDeadLetterSourceQueues`.
pub(super) fn list_sources(queues: &Queues, target: &Queue, request: &Value) -> Answer {
    let arn = &target.definition().arn;
    let definitions = queues.all().into_iter().map(|queue| queue.definition());
    let sources = definitions.filter(|queue| queue.redrive.as_ref().is_some_and(|redrive| redrive.target_arn == *arn));
    page("queueUrls", sources.map(|queue| queue.name.clone()), "", request)
}

/// A page of queues in the order of their names. The token is the last name.
fn page(field: &str, names: impl Iterator<Item = String>, prefix: &str, request: &Value) -> Answer {
    let max = number(request, "MaxResults", 1..=LIST_MAX, "Must be between 1 and 1000, if provided.")?;
    let after = text(request, "NextToken").unwrap_or_default();
    let mut names = names.filter(|name| name.starts_with(prefix) && name.as_str() > after);
    let count = usize::try_from(max.unwrap_or(LIST_MAX)).unwrap_or_default();
    let found: Vec<String> = names.by_ref().take(count).collect();
    let mut answer = json!({ field: found.iter().map(|name| url(name)).collect::<Vec<_>>() });
    // Without MaxResults there is one page, as on AWS.
    if let Some(last) = found.last().filter(|_| max.is_some() && names.next().is_some()) {
        answer["NextToken"] = last.as_str().into();
    }
    Ok(answer)
}
