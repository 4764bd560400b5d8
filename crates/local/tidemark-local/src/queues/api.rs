//! The API of SQS in its JSON protocol.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_Operations.html>.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use serde_json::{Value, json};

use super::batch::{self, BATCH_MAX};
use super::error::{Answer, ApiError, SendError};
use super::queue::MESSAGE_BYTES_MAX;
use super::request::text;
use super::{Queues, attributes, management, receiving, sending};
use crate::actions;
use crate::arn;
use crate::json_protocol;
use crate::policies::{Policies, Request};
use crate::query_protocol;

/// The path of the endpoint on the stack's port.
pub(crate) const PATH: &str = "/_local/sqs";

/// The older protocol, which sends forms and gets XML.
const FORM: &str = "application/x-www-form-urlencoded";
const NAMESPACE: &str = "http://queue.amazonaws.com/doc/2012-11-05/";

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
    if headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(FORM.as_bytes())) {
        let message = "the queues of this machine speak SQS's JSON protocol: use an SDK of 2024 or later";
        return query_protocol::failure(StatusCode::NOT_IMPLEMENTED, NAMESPACE, actions::REFUSED, message);
    }
    match answer(&queues, &policies, &headers, &body).await {
        Ok(value) => ([("content-type", "application/x-amz-json-1.0")], value.to_string()).into_response(),
        Err(error) => error.into_response(),
    }
}

async fn answer(queues: &Queues, policies: &Policies, headers: &HeaderMap, body: &[u8]) -> Answer {
    let target = json_protocol::target(headers);
    let action = target.strip_prefix("AmazonSQS.").unwrap_or_default();
    if let Some(sentence) = actions::SQS.refusal(action) {
        return Err(ApiError::new(actions::REFUSED, actions::REFUSED, sentence));
    }
    let unknown = || ApiError::new("UnknownOperationException", "InvalidAction", actions::SQS.unknown(action));
    if !actions::SQS.has(action) {
        return Err(unknown());
    }
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return Err(ApiError::invalid("the body is not JSON"));
    };
    // A batch needs the permission of its single action.
    let allow = |resource: String| {
        let action = format!("sqs:{}", action.strip_suffix("Batch").unwrap_or(action));
        policies
            .allow_signed(headers, &Request { action, resource, ..Request::default() })
            .map_err(|sentence| ApiError::new("AccessDeniedException", "AccessDenied", sentence))
    };
    match action {
        "ListQueues" => {
            allow(format!("{}:*", arn::of_region("sqs")))?;
            return management::list(queues, &request);
        }
        "CreateQueue" => {
            allow(format!("{}:{}", arn::of_region("sqs"), text(&request, "QueueName").unwrap_or_default()))?;
            return management::create(queues, &request);
        }
        _ => {}
    }
    let id = text(&request, "QueueUrl").or_else(|| text(&request, "QueueName"));
    let queue = &id.and_then(|id| queues.get(id)).ok_or(SendError::NoQueue)?;
    let definition = queue.definition();
    allow(definition.arn.clone())?;
    let now = queues.clock.instant();
    let trace = headers.get("x-amzn-trace-id").and_then(|trace| trace.to_str().ok());
    match action {
        "GetQueueUrl" => Ok(json!({ "QueueUrl": management::url(&definition.name) })),
        "GetQueueAttributes" => Ok(json!({ "Attributes": attributes::wanted(queue, &request, now)? })),
        "SetQueueAttributes" => management::set_attributes(queue, &request),
        "DeleteQueue" => management::delete(queues, queue),
        "TagQueue" => management::tag(queue, &request),
        "UntagQueue" => management::untag(queue, &request),
        "ListQueueTags" => Ok(json!({ "Tags": *queue.tags() })),
        "ListDeadLetterSourceQueues" => management::list_sources(queues, queue, &request),
        "SendMessage" => sending::send(queue, &request, trace, now),
        "SendMessageBatch" => batch::each(&request, |entry| sending::send(queue, entry, trace, now)),
        "ReceiveMessage" => receiving::receive(queues, queue, &request).await,
        "DeleteMessage" => receiving::delete(queue, &request),
        "DeleteMessageBatch" => batch::each(&request, |entry| receiving::delete(queue, entry)),
        "ChangeMessageVisibility" => receiving::change_visibility(queue, &request, now),
        "ChangeMessageVisibilityBatch" => {
            batch::each(&request, |entry| receiving::change_visibility(queue, entry, now))
        }
        "PurgeQueue" => {
            queue.purge();
            Ok(json!({}))
        }
        _ => Err(unknown()),
    }
}
