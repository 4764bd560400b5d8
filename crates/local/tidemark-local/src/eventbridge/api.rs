//! The part of EventBridge's API that functions use, and the page of the newest events.
//!
//! Source: <https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html>.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::entry::Entry;
use super::{Buses, DEFAULT_BUS, bus_arn, bus_name, rule_arn};
use crate::actions;
use crate::event_source_mapping::filter::Filters;
use crate::json_protocol::{self, ApiError};
use crate::policies::{Policies, Request};

/// The path of the endpoint on the stack's port.
pub(crate) const PATH: &str = "/_local/eventbridge";

/// The path of the newest events.
pub(crate) const EVENTS: &str = "/_local/events";

/// Maximum number of entries in a request.
const ENTRIES_MAX: usize = 10;

/// Maximum size of all entries of a request together: 1 MiB since January 2026.
///
/// Source: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html>.
const ENTRIES_BYTES_MAX: usize = 1024 * 1024;

/// Maximum size of a request: JSON within JSON may double the size of its text.
const BODY_BYTES_MAX: usize = 4 * ENTRIES_BYTES_MAX;

type Shared = (Arc<Buses>, Arc<Policies>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PutEvents {
    entries: Vec<Entry>,
}

/// The endpoint: `POST` with `X-Amz-Target`, as all clients of the service send it.
pub(crate) fn router(buses: Arc<Buses>, policies: Arc<Policies>) -> Router {
    Router::new()
        .route(PATH, post(call))
        .route(&format!("{PATH}/"), post(call))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .route(EVENTS, get(recent))
        .with_state((buses, policies))
}

async fn recent(State((buses, _)): State<Shared>) -> Json<Value> {
    Json(buses.recent())
}

async fn call(State((buses, policies)): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let target = json_protocol::target(&headers);
    let allow = |bus: &str| {
        let (action, resource) = (target.replace("AWSEvents.", "events:"), bus_arn(bus));
        let asked = Request { action, resource, ..Request::default() };
        policies.allow_signed(&headers, &asked).map_err(|sentence| ApiError("AccessDeniedException", sentence))
    };
    let operation = json_protocol::operation(&headers);
    if let Err(refusal) = json_protocol::check(&actions::EVENTS, operation) {
        return json_protocol::response(Err(refusal));
    }
    let answer = match target {
        "AWSEvents.PutEvents" => put_events(&buses, &body, allow),
        "AWSEvents.DescribeEventBus" => describe_bus(&buses, &body, allow),
        "AWSEvents.ListEventBuses" => allow("*").map(|()| {
            let bus = |(name, _)| json!({ "Name": name, "Arn": bus_arn(name) });
            json!({ "EventBuses": buses.all().map(bus).collect::<Vec<_>>() })
        }),
        "AWSEvents.ListRules" => list_rules(&buses, &body, allow),
        "AWSEvents.TestEventPattern" => allow("*").and_then(|()| test_pattern(&body)),
        _ => Err(json_protocol::unknown(&actions::EVENTS, operation)),
    };
    json_protocol::response(answer)
}

fn put_events(buses: &Buses, body: &[u8], allow: impl Fn(&str) -> Result<(), ApiError>) -> Result<Value, ApiError> {
    let request: PutEvents =
        serde_json::from_slice(body).map_err(|error| ApiError("SerializationException", error.to_string()))?;
    let entries = request.entries;
    if !(1..=ENTRIES_MAX).contains(&entries.len()) {
        let rule = if entries.is_empty() { "greater than or equal to 1" } else { "less than or equal to 10" };
        let message = format!(
            "1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length {rule}"
        );
        return Err(ApiError("ValidationException", message));
    }
    if entries.iter().map(Entry::bytes).sum::<usize>() >= ENTRIES_BYTES_MAX {
        let message = "Total size of the entries in the request is over the limit.";
        return Err(ApiError("ValidationException", message.to_owned()));
    }
    let bus = |entry: &Entry| bus_name(entry.event_bus_name.as_deref().unwrap_or(DEFAULT_BUS)).to_owned();
    // One entry for a bus that the role does not allow refuses the whole request.
    entries.iter().map(bus).collect::<BTreeSet<_>>().iter().try_for_each(|bus| allow(bus))?;
    let mut failed = 0;
    let results = entries.into_iter().map(|entry| {
        let bus = bus(&entry);
        match entry.event() {
            Ok(event) => json!({ "EventId": buses.put(&bus, event) }),
            Err(error) => {
                failed += 1;
                error.result()
            }
        }
    });
    let results: Vec<Value> = results.collect();
    Ok(json!({ "FailedEntryCount": failed, "Entries": results }))
}

/// A named bus of a request: the default one if the field is absent.
fn requested_bus(body: &[u8], field: &str) -> String {
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    bus_name(request.get(field).and_then(Value::as_str).unwrap_or(DEFAULT_BUS)).to_owned()
}

fn missing(bus: &str) -> ApiError {
    ApiError("ResourceNotFoundException", format!("Event bus {bus} does not exist."))
}

/// The fields that an event must have.
const EVENT_FIELDS: [&str; 7] = ["id", "account", "source", "time", "region", "resources", "detail-type"];

/// Source: <https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_TestEventPattern.html>.
fn test_pattern(body: &[u8]) -> Result<Value, ApiError> {
    let request = json_protocol::request(body)?;
    let parsed = |name: &str| request[name].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let invalid = |reason: String| {
        ApiError("InvalidEventPatternException", format!("Event pattern is not valid. Reason: {reason}"))
    };
    let pattern = parsed("EventPattern").ok_or_else(|| invalid("it is not JSON".to_owned()))?;
    let filters = Filters::compile(std::slice::from_ref(&pattern)).map_err(|error| invalid(error.to_string()))?;
    let has_fields = |event: &Value| EVENT_FIELDS.iter().all(|field| event.get(field).is_some());
    let event = parsed("Event").filter(has_fields);
    let event = event.ok_or_else(|| ApiError("ValidationException", "Parameter Event is not valid.".to_owned()))?;
    Ok(json!({ "Result": filters.pass(&event) }))
}

fn describe_bus(buses: &Buses, body: &[u8], allow: impl Fn(&str) -> Result<(), ApiError>) -> Result<Value, ApiError> {
    let name = requested_bus(body, "Name");
    allow(&name)?;
    let found = buses.all().any(|(other, _)| other == name);
    if found { Ok(json!({ "Name": name, "Arn": bus_arn(&name) })) } else { Err(missing(&name)) }
}

fn list_rules(buses: &Buses, body: &[u8], allow: impl Fn(&str) -> Result<(), ApiError>) -> Result<Value, ApiError> {
    let name = requested_bus(body, "EventBusName");
    allow(&name)?;
    let (_, rules) = buses.all().find(|(other, _)| *other == name).ok_or_else(|| missing(&name))?;
    let rules = rules.map(|rule| {
        json!({
            "Name": rule.name,
            "Arn": rule_arn(rule),
            "EventPattern": rule.pattern.as_ref().map(Value::to_string),
            "State": if rule.enabled { "ENABLED" } else { "DISABLED" },
            "EventBusName": rule.bus,
        })
    });
    Ok(json!({ "Rules": rules.collect::<Vec<_>>() }))
}
