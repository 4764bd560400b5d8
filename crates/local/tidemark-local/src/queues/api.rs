//! The API of SQS in its JSON protocol.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Operations.html>.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::queue::{MESSAGE_BYTES_MAX, Message, NewMessage, Queue, Received, SendError, Sent};
use super::{Queues, md5};
use crate::arn;
use crate::json_protocol;
use crate::policies::{Policies, Request};

/// The path of the endpoint on the stack's port.
pub(crate) const PATH: &str = "/_local/sqs";

/// Maximum number of messages of a batch and of a receipt.
const BATCH_MAX: usize = 10;

/// The longest time that a request waits for a message.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// The longest visibility time-out: 12 hours.
const VISIBILITY_MAX: Duration = Duration::from_secs(43_200);

/// An error with its type and its code in the older protocol.
struct ApiError {
    kind: &'static str,
    code: &'static str,
    message: String,
}

type Answer = Result<Value, ApiError>;

impl ApiError {
    fn new(kind: &'static str, code: &'static str, message: impl Into<String>) -> Self {
        Self { kind, code, message: message.into() }
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new("InvalidParameterValueException", "InvalidParameterValue", message)
    }
}

impl From<SendError> for ApiError {
    fn from(error: SendError) -> Self {
        let message = error.to_string();
        match error {
            SendError::NoQueue => Self::new("QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", message),
            SendError::NoGroup => Self::new("MissingRequiredParameterException", "MissingParameter", message),
            SendError::Full => Self::new("OverLimit", "OverLimit", message),
            SendError::TooLarge(_) | SendError::NoDeduplication => Self::invalid(message),
        }
    }
}

/// The endpoint: `POST` with `X-Amz-Target`.
pub(crate) fn router(queues: Arc<Queues>, policies: Arc<Policies>) -> Router {
    Router::new()
        .route(PATH, post(call))
        .route(&format!("{PATH}/"), post(call))
        // SDKs of other languages append the queue's own path.
        .route(&format!("{PATH}/{{account}}/{{queue}}"), post(call))
        // A batch of ten, with what JSON adds.
        .layer(DefaultBodyLimit::max(2 * MESSAGE_BYTES_MAX * BATCH_MAX))
        .with_state((queues, policies))
}

async fn call(
    State((queues, policies)): State<(Arc<Queues>, Arc<Policies>)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    match answer(&queues, &policies, &headers, &body).await {
        Ok(value) => ([("content-type", "application/x-amz-json-1.0")], value.to_string()).into_response(),
        Err(ApiError { kind, code, message }) => {
            let body = json!({ "__type": format!("com.amazonaws.sqs#{kind}"), "message": message }).to_string();
            let mut response =
                (StatusCode::BAD_REQUEST, [("content-type", "application/x-amz-json-1.0")], body).into_response();
            if let Ok(value) = HeaderValue::from_str(&format!("{code};Sender")) {
                response.headers_mut().insert("x-amzn-query-error", value);
            }
            response
        }
    }
}

async fn answer(queues: &Queues, policies: &Policies, headers: &HeaderMap, body: &[u8]) -> Answer {
    let target = json_protocol::target(headers);
    let Some(action) = target.strip_prefix("AmazonSQS.") else {
        let message = "the queues of this machine speak SQS's JSON protocol: use an SDK of 2024 or later";
        return Err(ApiError::new("InvalidAction", "InvalidAction", message));
    };
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return Err(ApiError::new("InvalidParameterValueException", "InvalidParameterValue", "the body is not JSON"));
    };
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    // A batch needs the permission of its single action.
    let allow = |resource: String| {
        let action = format!("sqs:{}", action.strip_suffix("Batch").unwrap_or(action));
        policies
            .allow_signed(headers, &Request { action, resource, ..Request::default() })
            .map_err(|sentence| ApiError::new("AccessDeniedException", "AccessDenied", sentence))
    };
    if action == "ListQueues" {
        allow(format!("{}:*", arn::of_region("sqs")))?;
        let prefix = text("QueueNamePrefix").unwrap_or_default();
        let urls: Vec<_> = queues.0.keys().filter(|name| name.starts_with(prefix)).map(|name| url(name)).collect();
        return Ok(json!({ "QueueUrls": urls }));
    }
    let queue = text("QueueUrl").or_else(|| text("QueueName")).and_then(|id| queues.get(id));
    let queue = queue.ok_or(SendError::NoQueue)?;
    allow(queue.definition.arn.clone())?;
    let now = Instant::now();
    match action {
        "GetQueueUrl" => Ok(json!({ "QueueUrl": url(&queue.definition.name) })),
        "GetQueueAttributes" => Ok(json!({ "Attributes": attributes(queue, &request, now) })),
        "SendMessage" => send(queue, &request, now),
        "SendMessageBatch" => batch(&request, |entry| send(queue, entry, now)),
        "ReceiveMessage" => receive(queues, queue, &request).await,
        "DeleteMessage" => delete(queue, &request),
        "DeleteMessageBatch" => batch(&request, |entry| delete(queue, entry)),
        "ChangeMessageVisibility" => change_visibility(queue, &request, now),
        "ChangeMessageVisibilityBatch" => batch(&request, |entry| change_visibility(queue, entry, now)),
        "PurgeQueue" => {
            queue.purge();
            Ok(json!({}))
        }
        other => {
            let message =
                format!("{other} is not supported on this machine: queues and their settings come from the template");
            Err(ApiError::new("UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation", message))
        }
    }
}

/// A queue's URL on AWS. Clients send its requests to the endpoint of this stack.
fn url(name: &str) -> String {
    format!("https://sqs.{}.amazonaws.com/{}/{name}", arn::REGION, arn::ACCOUNT)
}

fn send(queue: &Queue, request: &Value, now: Instant) -> Answer {
    let text = |name: &str| request.get(name).and_then(Value::as_str).map(str::to_owned);
    let body = text("MessageBody").filter(|body| !body.is_empty());
    let body = body.ok_or_else(|| {
        ApiError::new(
            "MissingRequiredParameterException",
            "MissingParameter",
            "The request must contain the parameter MessageBody.",
        )
    })?;
    let attributes = request.get("MessageAttributes").and_then(Value::as_object).cloned().unwrap_or_default();
    if attributes.len() > BATCH_MAX {
        return Err(ApiError::invalid("Number of message attributes [more than 10] exceeds the allowed maximum [10]."));
    }
    let delay = seconds(request, "DelaySeconds", Duration::from_secs(900))?;
    let (body_sum, attributes_sum) = (md5::of_body(&body), md5::of_attributes(&attributes));
    let new = NewMessage {
        body,
        attributes,
        delay,
        group: text("MessageGroupId"),
        deduplication: text("MessageDeduplicationId"),
    };
    let Sent { id, sequence } = queue.send(new, now)?;
    let mut answer = json!({ "MessageId": id, "MD5OfMessageBody": body_sum });
    if let Some(sum) = attributes_sum {
        answer["MD5OfMessageAttributes"] = sum.into();
    }
    if queue.definition.fifo {
        answer["SequenceNumber"] = format!("{sequence:020}").into();
    }
    Ok(answer)
}

async fn receive(queues: &Queues, queue: &Arc<Queue>, request: &Value) -> Answer {
    let count = request.get("MaxNumberOfMessages").and_then(Value::as_u64).unwrap_or(1);
    let count = usize::try_from(count).ok().filter(|count| (1..=BATCH_MAX).contains(count));
    let count = count.ok_or_else(|| ApiError::invalid("MaxNumberOfMessages must be 1 to 10"))?;
    let visibility = seconds(request, "VisibilityTimeout", VISIBILITY_MAX)?;
    let wait = seconds(request, "WaitTimeSeconds", WAIT_MAX)?.unwrap_or(queue.definition.receive_wait);
    let received = queues.receive_waiting(queue, count, visibility, wait).await;
    let messages: Vec<Value> = received.iter().map(|received| message(received, request)).collect();
    Ok(if messages.is_empty() { json!({}) } else { json!({ "Messages": messages }) })
}

fn message(received: &Received, request: &Value) -> Value {
    let Received { message, receipt } = received;
    let names = |field: &str| -> Vec<&str> {
        request.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    };
    let system = [names("AttributeNames"), names("MessageSystemAttributeNames")].concat();
    let all = system_attributes(message);
    let own: Map<String, Value> =
        all.into_iter().filter(|(name, _)| system.iter().any(|wanted| *wanted == "All" || wanted == name)).collect();
    let wanted = names("MessageAttributeNames");
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
    add("SenderId", arn::ACCOUNT.to_owned());
    add("ApproximateFirstReceiveTimestamp", message.first_received_ms.unwrap_or_default().to_string());
    if let Some(group) = &message.group {
        add("MessageGroupId", group.clone());
    }
    if let Some(id) = &message.deduplication {
        add("SequenceNumber", format!("{:020}", message.sequence));
        add("MessageDeduplicationId", id.clone());
    }
    attributes
}

fn attributes(queue: &Queue, request: &Value, now: Instant) -> Map<String, Value> {
    let (visible, in_flight, delayed) = queue.counts(now);
    let definition = &queue.definition;
    let mut all = vec![
        ("ApproximateNumberOfMessages", visible.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", in_flight.to_string()),
        ("ApproximateNumberOfMessagesDelayed", delayed.to_string()),
        ("DelaySeconds", definition.delay.as_secs().to_string()),
        ("MaximumMessageSize", definition.message_bytes_max.to_string()),
        ("MessageRetentionPeriod", definition.retention.as_secs().to_string()),
        ("QueueArn", definition.arn.clone()),
        ("ReceiveMessageWaitTimeSeconds", definition.receive_wait.as_secs().to_string()),
        ("VisibilityTimeout", definition.visibility_timeout.as_secs().to_string()),
    ];
    if definition.fifo {
        all.push(("FifoQueue", "true".to_owned()));
        all.push(("ContentBasedDeduplication", definition.content_based_deduplication.to_string()));
    }
    if let Some(redrive) = &definition.redrive {
        let policy = json!({ "deadLetterTargetArn": redrive.target_arn, "maxReceiveCount": redrive.receive_count_max });
        all.push(("RedrivePolicy", policy.to_string()));
    }
    let names: Vec<&str> = request
        .get("AttributeNames")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let wanted = |name: &str| names.iter().any(|wanted| *wanted == "All" || *wanted == name);
    all.into_iter().filter(|(name, _)| wanted(name)).map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn delete(queue: &Queue, request: &Value) -> Answer {
    queue.delete(receipt(request)?);
    Ok(json!({}))
}

fn change_visibility(queue: &Queue, request: &Value, now: Instant) -> Answer {
    let visibility = seconds(request, "VisibilityTimeout", VISIBILITY_MAX)?
        .ok_or_else(|| ApiError::invalid("VisibilityTimeout is missing"))?;
    if queue.change_visibility(receipt(request)?, visibility, now) {
        return Ok(json!({}));
    }
    let message = "The message referred to is not in flight.";
    Err(ApiError::new("MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight", message))
}

fn receipt(request: &Value) -> Result<&str, ApiError> {
    let receipt =
        request.get("ReceiptHandle").and_then(Value::as_str).filter(|receipt| Uuid::parse_str(receipt).is_ok());
    receipt.ok_or_else(|| {
        ApiError::new("ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
    })
}

/// Does each entry of a batch by itself.
fn batch(request: &Value, one: impl Fn(&Value) -> Answer) -> Answer {
    let entries = request.get("Entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if entries.is_empty() {
        let message = "There should be at least one entry in the request.";
        return Err(ApiError::new("EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest", message));
    }
    if entries.len() > BATCH_MAX {
        let message = "Maximum number of entries per request are 10.";
        return Err(ApiError::new(
            "TooManyEntriesInBatchRequest",
            "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
            message,
        ));
    }
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

fn seconds(request: &Value, name: &str, max: Duration) -> Result<Option<Duration>, ApiError> {
    let Some(value) = request.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let seconds = value.as_u64().map(Duration::from_secs).filter(|seconds| *seconds <= max);
    seconds.map(Some).ok_or_else(|| ApiError::invalid(format!("{name} must be 0 to {}", max.as_secs())))
}
