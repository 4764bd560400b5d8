//! The handler that is usually written for a stream, run beside a function for comparison: for
//! each record it adds a number to a counter in a table.
//!
//! It gets each delivery that reaches an instance of the function. Its requests to DynamoDB meet
//! the same faults, and are repeated by the same SDK. When one fails for good, it handles the batch
//! again from the start, as its mapping would make it do.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::ScalarAttributeType;
use aws_sdk_dynamodb::types::{AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::faults::Faults;
use crate::problem::problem;

/// The table of the counter. It exists from the first start on.
const TABLE: &str = "UsualHandler";
/// Deliveries that may wait; further ones are dropped and counted.
const DELIVERIES_MAX: usize = 1_000;
/// How often a batch is handled, and the pause before it is handled again.
const TRIES_MAX: u32 = 100;
const PAUSE: Duration = Duration::from_millis(200);

/// What it counts, and from where.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    /// The function beside which it runs, by the name of its binary or its own.
    function: String,
    /// The number of a new item that it adds.
    sums: String,
    /// The counter at the start.
    from: u64,
}

/// The task that counts, and what stops it.
type Running = (CancellationToken, JoinHandle<()>);

/// What the routes share.
#[derive(Clone)]
struct Handler {
    client: Client,
    faults: Arc<Faults>,
    running: Arc<Mutex<Option<Running>>>,
}

/// The routes: `PUT` starts it anew, `GET` reads its counter.
pub(crate) fn router(client: Client, faults: Arc<Faults>) -> Router {
    let handler = Handler { client, faults, running: Arc::default() };
    Router::new().route("/_local/usual-handler", get(read).put(start)).with_state(handler)
}

async fn start(State(handler): State<Handler>, body: String) -> Response {
    let wanted: Start = match serde_json::from_str(&body) {
        Ok(wanted) => wanted,
        Err(error) => return problem(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let mut running = handler.running.lock().await;
    if let Some((stop, task)) = running.take() {
        // Its last update ends before the reset, or it would be added to the new counter.
        stop.cancel();
        drop(task.await);
    }
    if let Err(error) = reset(&handler.client, wanted.from).await {
        return problem(StatusCode::INTERNAL_SERVER_ERROR, &error);
    }
    let (sender, deliveries) = mpsc::channel(DELIVERIES_MAX);
    handler.faults.watch(wanted.function, sender);
    let stop = CancellationToken::new();
    let task = tokio::spawn(run(handler.client.clone(), wanted.sums, deliveries, stop.clone()));
    *running = Some((stop, task));
    drop(running);
    read(State(handler)).await
}

async fn read(State(Handler { client, faults, .. }): State<Handler>) -> Response {
    let counter = client.get_item().table_name(TABLE).key("id", counter_id()).consistent_read(true);
    match counter.send().await {
        Ok(found) => match found.item().and_then(|item| item.get("total")?.as_n().ok()?.parse::<u64>().ok()) {
            Some(total) => Json(json!({ "total": total, "dropped": faults.dropped_deliveries() })).into_response(),
            None => problem(StatusCode::NOT_FOUND, "it has not been started"),
        },
        Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) => {
            problem(StatusCode::NOT_FOUND, "it has not been started")
        }
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &DisplayErrorContext(error).to_string()),
    }
}

/// Creates the table, if it does not exist, and sets the counter.
async fn reset(client: &Client, from: u64) -> Result<(), String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build();
    let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S).build();
    let create = client.create_table().table_name(TABLE).billing_mode(BillingMode::PayPerRequest);
    let create = create.key_schema(key.map_err(|error| text(&error))?);
    match create.attribute_definitions(id.map_err(|error| text(&error))?).send().await {
        Err(error) if !matches!(error.as_service_error(), Some(CreateTableError::ResourceInUseException(_))) => {
            return Err(DisplayErrorContext(error).to_string());
        }
        _ => {}
    }
    let put = client.put_item().table_name(TABLE).item("id", counter_id());
    let put = put.item("total", AttributeValue::N(from.to_string())).send().await;
    put.map(drop).map_err(|error| DisplayErrorContext(error).to_string())
}

async fn run(client: Client, sums: String, mut deliveries: mpsc::Receiver<Bytes>, stop: CancellationToken) {
    while let Some(Some(payload)) = stop.run_until_cancelled(deliveries.recv()).await {
        let numbers = numbers(&payload, &sums);
        for _ in 0..TRIES_MAX {
            match handle(&client, &numbers, &stop).await {
                Ok(()) => break,
                Err(error) => tracing::debug!("the usual handler counts its batch again: {error}"),
            }
            if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                return;
            }
        }
    }
}

/// The numbers to add, one for each new item of a stream event.
fn numbers(payload: &[u8], sums: &str) -> Vec<String> {
    let event: Value = serde_json::from_slice(payload).unwrap_or_default();
    let records = event["Records"].as_array().map(Vec::as_slice).unwrap_or_default();
    records.iter().filter_map(|record| Some(record["dynamodb"]["NewImage"][sums]["N"].as_str()?.to_owned())).collect()
}

/// Adds the numbers. When it is stopped, it finishes the update that has begun.
async fn handle(client: &Client, numbers: &[String], stop: &CancellationToken) -> Result<(), String> {
    for number in numbers.iter().take_while(|_| !stop.is_cancelled()) {
        let update = client.update_item().table_name(TABLE).key("id", counter_id());
        let update = update.update_expression("ADD #total :number").expression_attribute_names("#total", "total");
        let update = update.expression_attribute_values(":number", AttributeValue::N(number.clone()));
        update.send().await.map_err(|error| DisplayErrorContext(error).to_string())?;
    }
    Ok(())
}

fn counter_id() -> AttributeValue {
    AttributeValue::S("counter".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_items_with_the_number_are_added() {
        let event = json!({ "Records": [
            { "eventName": "INSERT", "dynamodb": { "NewImage": { "clickCount": { "N": "2" } } } },
            { "eventName": "INSERT", "dynamodb": { "NewImage": { "other": { "N": "5" } } } },
            { "eventName": "REMOVE", "dynamodb": { "OldImage": { "clickCount": { "N": "7" } } } },
        ] });
        assert_eq!(numbers(event.to_string().as_bytes(), "clickCount"), ["2"]);
        assert!(numbers(b"not JSON", "clickCount").is_empty());
    }
}
