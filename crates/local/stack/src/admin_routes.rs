//! The stack's own routes below `/_local`: health, metrics, faults, and what functions needed of their roles. Only this machine may use them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use engine::EngineFaults;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::event_source_mapping::Mapping;
use crate::faults::{Faults, FunctionFaults, SocketFaults};
use crate::functions::{Functions, Pool};
use crate::metrics::{self, Metrics, Subject};
use crate::policies::Policies;
use crate::waiting_items::WaitingItems;
use crate::websocket_api::WebSocketServer;

/// What the stack tells about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Addresses {
    /// The HTTP APIs, the pages, the Invoke API: `http://127.0.0.1:3000`.
    pub http: String,
    /// The same for others on the network; `None`: only this machine is let in.
    pub network: Option<String>,
    /// The WebSocket API, where there is one: `ws://127.0.0.1:3000/ws`.
    pub sockets: Option<String>,
    /// DynamoDB and its streams.
    pub dynamodb: String,
}

/// What the admin routes look at.
#[derive(Debug)]
pub struct AdminState {
    /// The addresses.
    pub addresses: Addresses,
    /// Where the data lies; `None`: nowhere.
    pub data: Option<PathBuf>,
    /// The functions.
    pub functions: Arc<Functions>,
    /// The WebSocket API, where there is one.
    pub sockets: Option<Arc<WebSocketServer>>,
    /// What all of it did lately.
    pub metrics: Arc<Metrics>,
    /// What waits for a person.
    pub waiting: WaitingItems,
    /// The faults between stack and functions, and between stack and clients.
    pub faults: Arc<Faults>,
    /// What functions may do, and have done.
    pub policies: Arc<Policies>,
    /// The faults of the embedded engine; `None` when the stack runs on another one.
    pub engine_faults: Option<Arc<engine::Faults>>,
    /// The mappings, once they run: then the stack is up.
    pub mappings: OnceLock<Vec<Mapping>>,
}

/// Every fault that can be set.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AllFaults {
    /// `null` on an engine that is not embedded.
    engine: Option<EngineFaults>,
    functions: FunctionFaults,
    sockets: SocketFaults,
}

/// The routes.
pub(crate) fn router(admin: Arc<AdminState>) -> Router {
    Router::new()
        .route("/_local/health", get(health))
        .route("/_local/metrics", get(recent_metrics))
        .route("/_local/environment", get(environment))
        .route("/_local/policies", get(policies))
        .route("/_local/faults", get(faults).put(set_faults))
        .with_state(admin)
}

async fn health(State(admin): State<Arc<AdminState>>) -> Response {
    let mappings = admin.mappings.get();
    let function = |pool: &Arc<Pool>| {
        let ((invocations, errors), [binary, name]) = (pool.counts(), pool.names());
        json!({
            "binary": binary,
            "name": name,
            "invocations": invocations,
            "errors": errors,
            "idleInstances": pool.idle_instances(),
        })
    };
    let mapping = |mapping: &Mapping| json!({ "name": mapping.name, "shards": mapping.progress.shards() });
    let mut injected = admin.faults.injected();
    injected.extend(admin.engine_faults.iter().flat_map(|engine| engine.injected()));
    let body = json!({
        "status": if mappings.is_some() { "up" } else { "starting" },
        "addresses": admin.addresses,
        "data": admin.data,
        "functions": admin.functions.all().iter().map(function).collect::<Vec<_>>(),
        "connections": admin.sockets.as_ref().map(|sockets| sockets.count()),
        "mappings": mappings.into_iter().flatten().map(mapping).collect::<Vec<_>>(),
        "faultsInjected": injected,
    });
    let status = if mappings.is_some() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(body)).into_response()
}

/// What the stack did in the last quarter of an hour: see [`metrics`]; and what waits for a person now.
async fn recent_metrics(State(admin): State<Arc<AdminState>>) -> Response {
    let metrics = &admin.metrics;
    let function = |pool: &Arc<Pool>| {
        let ((invocations, errors), [binary, name]) = (pool.counts(), pool.names());
        let (idle, busy) = (pool.idle_instances(), pool.busy_instances());
        json!({
            "binary": binary,
            "name": name,
            "invocations": invocations,
            "errors": errors,
            "instances": { "running": idle + busy, "busy": busy },
            "metrics": metrics.of(pool.subject()),
        })
    };
    let mapping = |mapping: &Mapping| {
        let shards = mapping.progress.shards();
        let queue = mapping.failure_queue().map(|(name, messages)| json!({ "name": name, "messages": messages }));
        json!({
            "name": mapping.name,
            "function": mapping.function,
            "table": mapping.stream_arn.split('/').nth(1),
            "shards": shards.len(),
            "waitingRecords": shards.values().map(|shard| shard.waiting_records).sum::<usize>(),
            "iteratorAgeMs": shards.values().map(|shard| shard.iterator_age_ms).max().unwrap_or_default(),
            "failureQueue": queue,
            "metrics": metrics.of(&Subject::Mapping(mapping.name.clone())),
        })
    };
    let tables = metrics.tables().into_iter().map(|(table, index)| {
        let of = metrics.of(&Subject::Table(table.clone(), index.clone()));
        json!({ "table": table, "index": index, "metrics": of })
    });
    Json(json!({
        "slotSeconds": metrics::SLOT.as_secs(),
        "slots": metrics::SLOTS,
        "api": { "metrics": metrics.of(&Subject::Api) },
        "functions": admin.functions.all().iter().map(function).collect::<Vec<_>>(),
        "mappings": admin.mappings.get().into_iter().flatten().map(mapping).collect::<Vec<_>>(),
        "tables": tables.collect::<Vec<_>>(),
        "waiting": admin.waiting.count().await,
    }))
    .into_response()
}

/// The functions' variables, a line each: what an `--env-file` of `cargo lambda watch` takes.
async fn environment(State(admin): State<Arc<AdminState>>) -> String {
    let variables = admin.functions.environment().into_iter();
    variables.map(|(name, value)| format!("{name}={value}\n")).collect()
}

/// For each function what its role refused, and how often each of its grants was needed.
async fn policies(State(admin): State<Arc<AdminState>>) -> Response {
    Json(json!({ "functions": admin.policies.usage() })).into_response()
}

async fn faults(State(admin): State<Arc<AdminState>>) -> Response {
    let engine = admin.engine_faults.as_ref().map(|faults| faults.get());
    let (functions, sockets) = (admin.faults.get(), admin.faults.sockets());
    Json(AllFaults { engine, functions, sockets }).into_response()
}

/// Replaces all faults; what is left out is off.
async fn set_faults(State(admin): State<Arc<AdminState>>, body: String) -> Response {
    let wanted: AllFaults = match serde_json::from_str(&body) {
        Ok(wanted) => wanted,
        Err(error) => return (StatusCode::BAD_REQUEST, Json(json!({ "message": error.to_string() }))).into_response(),
    };
    match (&admin.engine_faults, &wanted.engine) {
        (Some(engine), wanted) => engine.set(wanted.clone().unwrap_or_default()),
        (None, None) => {}
        (None, Some(_)) => {
            let message = "the stack runs on another engine: it has only the faults of functions";
            return (StatusCode::BAD_REQUEST, Json(json!({ "message": message }))).into_response();
        }
    }
    admin.faults.set(wanted.functions);
    admin.faults.set_sockets(wanted.sockets);
    faults(State(admin)).await
}
