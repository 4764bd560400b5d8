//! `UpdateItem` where the emulator differs from DynamoDB.
//!
//! The emulator does not tell whether the item existed. So a request that depends on it is sent
//! with the condition that the item exists; only if that fails, it is sent again with the opposite
//! condition. Each step is atomic.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};

use crate::api::ApiError;
use crate::call::Call;
use crate::proxy::{self, Proxy};
use crate::validation::{Checked, Path, project, retain_used};

/// The name of a key attribute in the added condition.
const KEY_NAME: &str = "#tidemark_key";

/// The most steps of one request: each beyond the second means that another writer created or
/// deleted the item in between.
const STEPS_MAX: usize = 16;

/// How to execute an `UpdateItem`.
#[derive(Debug, Clone)]
pub(crate) struct UpdatePlan {
    /// The update only takes something away, so it creates no item.
    creates_nothing: bool,
    /// The paths to return, if the emulator returns too much.
    returned: Vec<Path>,
    has_outer_or: bool,
}

/// Executes the request in one or more steps.
pub(crate) async fn execute(proxy: &Proxy, call: Call, plan: UpdatePlan) -> Result<Response, ApiError> {
    // The meter and the throttle may have changed the request since the plan was made.
    let request: Map<String, Value> = serde_json::from_slice(&call.body).map_err(ApiError::internal)?;
    if !plan.asks_for_presence(&request) {
        let response = proxy.send(call).await?;
        return proxy::edited(response, |body| plan.reply(&request, None, body)).await;
    }
    let mut presence = Presence::Exists;
    for _ in 0..STEPS_MAX {
        let (operation, body) = plan.step(&request, presence);
        let mut step = Call { operation: operation.to_owned(), body, ..call.clone() };
        let target = HeaderValue::from_str(&format!("DynamoDB_20120810.{operation}")).map_err(ApiError::internal)?;
        step.headers.insert("x-amz-target", target);
        let (parts, body) = proxy.send(step).await?.into_parts();
        let body = body.collect().await.map_err(ApiError::internal)?.to_bytes();
        if UpdatePlan::is_in_other_state(&body, presence) {
            presence = if presence == Presence::Exists { Presence::Missing } else { Presence::Exists };
            continue;
        }
        let response = Response::from_parts(parts, Body::from(body));
        return proxy::edited(response, |body| plan.reply(&request, Some(presence), body)).await;
    }
    Err(ApiError::internal("the item appeared and vanished at each step of an update"))
}

/// The state of the item that a step requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Exists,
    Missing,
}

impl UpdatePlan {
    /// The plan, if the emulator would not do as DynamoDB does.
    pub(super) fn of(checked: Checked) -> Option<Self> {
        let Checked { request, expressions, .. } = checked;
        let legacy = request.get("AttributeUpdates").and_then(Value::as_object);
        let only_deletes = legacy
            .is_some_and(|updates| !updates.is_empty() && updates.values().all(|update| update["Action"] == "DELETE"));
        let creates_nothing = expressions.only_removes && !expressions.updated.is_empty() || only_deletes;
        let returned = request.get("ReturnValues").and_then(Value::as_str).unwrap_or("NONE");
        let is_part = matches!(returned, "UPDATED_OLD" | "UPDATED_NEW");
        let is_nested = expressions.updated.iter().any(Path::is_nested);
        if !creates_nothing && returned != "ALL_OLD" && !(is_part && is_nested) {
            return None;
        }
        let returned = if is_part && is_nested { expressions.updated } else { Vec::new() };
        Some(Self { creates_nothing, returned, has_outer_or: expressions.has_outer_or })
    }

    /// Whether the steps depend on the item's existence.
    fn asks_for_presence(&self, request: &Map<String, Value>) -> bool {
        let is_conditional_by_older_api = request.contains_key("Expected");
        let wants_old = request.get("ReturnValues").is_some_and(|wanted| wanted == "ALL_OLD");
        (self.creates_nothing || wants_old) && !is_conditional_by_older_api
    }

    /// The operation and the body of a step. A missing item, of which nothing can be taken away, is
    /// "deleted" instead: that checks the caller's condition and writes nothing.
    fn step(&self, request: &Map<String, Value>, presence: Presence) -> (&'static str, Bytes) {
        let deletes = presence == Presence::Missing && self.creates_nothing;
        let mut request = request.clone();
        if deletes {
            for member in ["UpdateExpression", "AttributeUpdates", "ReturnValues"] {
                request.remove(member);
            }
        }
        self.require(&mut request, presence);
        if deletes {
            retain_used(&mut request, "ExpressionAttributeNames");
            retain_used(&mut request, "ExpressionAttributeValues");
        }
        (if deletes { "DeleteItem" } else { "UpdateItem" }, Bytes::from(Value::from(request).to_string()))
    }

    fn require(&self, request: &mut Map<String, Value>, presence: Presence) {
        let key = request.get("Key").and_then(Value::as_object).and_then(|key| key.keys().next().cloned());
        let Some(key) = key else { return };
        request.insert("ReturnValuesOnConditionCheckFailure".to_owned(), json!("ALL_OLD"));
        if request.contains_key("AttributeUpdates") {
            // The older API cannot be mixed with expressions.
            let value = request["Key"][&key].clone();
            let expected = match presence {
                Presence::Exists => json!({ key: { "Value": value } }),
                Presence::Missing => json!({ key: { "Exists": false } }),
            };
            request.insert("Expected".to_owned(), expected);
            return;
        }
        let function = if presence == Presence::Exists { "attribute_exists" } else { "attribute_not_exists" };
        let required = format!("{function}({KEY_NAME})");
        let condition = match request.get("ConditionExpression").and_then(Value::as_str) {
            None => required,
            Some(condition) if self.has_outer_or => format!("{required} AND ({condition})"),
            Some(condition) => format!("{required} AND {condition}"),
        };
        request.insert("ConditionExpression".to_owned(), json!(condition));
        if let Some(names) = request.entry("ExpressionAttributeNames").or_insert_with(|| json!({})).as_object_mut() {
            names.insert(KEY_NAME.to_owned(), json!(key));
        }
    }

    /// Whether a failed condition says that the item was not in the required state.
    fn is_in_other_state(body: &[u8], presence: Presence) -> bool {
        let reply: Value = serde_json::from_slice(body).unwrap_or_default();
        let failed = reply["__type"].as_str().is_some_and(|name| name.ends_with("ConditionalCheckFailedException"));
        failed && reply["Item"].is_object() == (presence == Presence::Missing)
    }

    /// The reply for the caller.
    fn reply(&self, request: &Map<String, Value>, presence: Option<Presence>, body: Bytes) -> Bytes {
        let Ok(Value::Object(mut reply)) = serde_json::from_slice(&body) else { return body };
        if request.get("ReturnValuesOnConditionCheckFailure").is_none_or(|wanted| wanted != "ALL_OLD") {
            reply.remove("Item");
        }
        let attributes = reply.remove("Attributes").filter(|_| presence != Some(Presence::Missing));
        if let Some(Value::Object(attributes)) = attributes {
            let returned = if self.returned.is_empty() { attributes } else { project(&attributes, &self.returned) };
            if !returned.is_empty() {
                reply.insert("Attributes".to_owned(), returned.into());
            }
        }
        Bytes::from(Value::from(reply).to_string())
    }
}
