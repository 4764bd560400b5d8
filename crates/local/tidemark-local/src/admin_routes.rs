//! The stack's own routes below `/_local`: health, metrics, environment, faults, expired items, rest
//! and time for tests, and the use of IAM policies. Only this machine may call them.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tidemark_engine::{EngineFaults, Housekeeper};

use crate::api_addresses::ApiAddress;
use crate::event_source_mapping::Mapping;
use crate::eventbridge::Buses;
use crate::faults::{Faults, FunctionFaults, SocketFaults};
use crate::functions::{Functions, Pool};
use crate::mail::Mails;
use crate::metrics::{self, Metrics, Subject};
use crate::policies::Policies;
use crate::problem::problem;
use crate::queues::Queues;
use crate::settle::{self, SettleError};
use crate::waiting_items::WaitingItems;
use crate::websocket_api::WebSocketServer;

/// The addresses that the stack serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Addresses {
    /// The HTTP APIs, the pages and the Invoke API: `http://127.0.0.1:3000`.
    pub http: String,
    /// The same for other machines on the network; `None` if only this machine can connect.
    pub network: Option<String>,
    /// The WebSocket API, if the template has one: `ws://127.0.0.1:3000/ws`.
    pub sockets: Option<String>,
    /// DynamoDB and its streams.
    pub dynamodb: String,
    /// The buckets, if the template has some.
    pub s3: Option<String>,
    /// Each API of the template, in its order.
    pub apis: Vec<ApiAddress>,
}

/// The state that the admin routes show and change.
#[derive(Debug)]
pub struct AdminState {
    /// The addresses.
    pub addresses: Addresses,
    /// The data folder; `None` if the stack stores nothing on disk.
    pub data: Option<PathBuf>,
    /// The functions.
    pub functions: Arc<Functions>,
    /// The WebSocket API, if the template has one.
    pub sockets: Option<Arc<WebSocketServer>>,
    /// The recent metrics of all parts.
    pub metrics: Arc<Metrics>,
    /// The items that wait for a person.
    pub waiting: WaitingItems,
    /// The faults between the stack and functions, and between the stack and clients.
    pub faults: Arc<Faults>,
    /// The functions' permissions and their use.
    pub policies: Arc<Policies>,
    /// The faults of the embedded engine; `None` if the stack runs on another engine.
    pub engine_faults: Option<Arc<tidemark_engine::Faults>>,
    /// Deletes expired items; `None` if the stack runs on another engine.
    pub housekeeper: Option<Housekeeper>,
    /// The queues of the template.
    pub(crate) queues: Arc<Queues>,
    /// The event buses.
    pub(crate) buses: Arc<Buses>,
    /// The mails that functions sent.
    pub(crate) mails: Arc<Mails>,
    /// The mappings; set once they run, when the stack is up.
    pub mappings: OnceLock<Vec<Mapping>>,
}

/// All faults that can be set.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AllFaults {
    /// `null` if the engine is not embedded.
    engine: Option<EngineFaults>,
    functions: FunctionFaults,
    sockets: SocketFaults,
}

/// The admin routes.
pub(crate) fn router(admin: Arc<AdminState>) -> Router {
    Router::new()
        .route("/_local/health", get(health))
        .route("/_local/metrics", get(recent_metrics))
        .route("/_local/environment", get(environment))
        .route("/_local/policies", get(policies))
        .route("/_local/faults", get(faults).put(set_faults))
        .route("/_local/expired", delete(delete_expired))
        .route("/_local/lost", delete(forget_lost))
        .route("/_local/settle", post(settle))
        .route("/_local/advance", post(advance))
        .route("/_local/fail", post(fail))
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
    let mapping = |mapping: &Mapping| {
        let progress = &mapping.progress;
        json!({ "name": mapping.name, "shards": progress.shards(), "lostAt": progress.lost_at() })
    };
    let mut injected = admin.faults.injected();
    injected.extend(admin.engine_faults.iter().flat_map(|engine| engine.injected()));
    let body = json!({
        "status": if mappings.is_some() { "up" } else { "starting" },
        "addresses": admin.addresses,
        "data": admin.data,
        "isStorageFull": admin.housekeeper.as_ref().is_some_and(Housekeeper::is_storage_full),
        "functions": admin.functions.all().iter().map(function).collect::<Vec<_>>(),
        "connections": admin.sockets.as_ref().map(|sockets| sockets.count()),
        "mappings": mappings.into_iter().flatten().map(mapping).collect::<Vec<_>>(),
        "queues": admin.queues.counts(),
        "faultsInjected": injected,
    });
    let status = if mappings.is_some() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(body)).into_response()
}

/// The metrics of the last quarter of an hour (see [`metrics`]), and the items that wait for a
/// person now.
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
            "lastError": pool.last_error(),
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
            "lostAt": mapping.progress.lost_at(),
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

/// The functions' variables, one per line: the `--env-file` of `cargo lambda watch`.
async fn environment(State(admin): State<Arc<AdminState>>, Query(of): Query<EnvironmentOf>) -> Response {
    let pools = match of.function.as_deref().map(|name| admin.functions.get(name)) {
        None => admin.functions.all(),
        Some(Some(pool)) => std::slice::from_ref(pool),
        Some(None) => return bad_request("no function has this name"),
    };
    let variables = admin.functions.environment(pools).into_iter();
    variables.map(|(name, value)| format!("{name}={value}\n")).collect::<String>().into_response()
}

/// Whose variables are shown.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvironmentOf {
    /// One function; without it, all of them together.
    function: Option<String>,
}

/// For each function: the requests that its role refused, how often each of its grants was used,
/// and the least policy for its calls.
async fn policies(State(admin): State<Arc<AdminState>>) -> Response {
    Json(json!({ "functions": admin.policies.usage(), "suggested": admin.policies.suggestions() })).into_response()
}

async fn faults(State(admin): State<Arc<AdminState>>) -> Response {
    let engine = admin.engine_faults.as_ref().map(|faults| faults.get());
    let (functions, sockets) = (admin.faults.get(), admin.faults.sockets());
    Json(AllFaults { engine, functions, sockets }).into_response()
}

/// How long faults are active.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultsFor {
    /// After this time all are off, unless others were set; absent: until others are set.
    seconds: Option<u16>,
}

/// Replaces all faults; a fault that the request omits is switched off.
async fn set_faults(State(admin): State<Arc<AdminState>>, Query(lasting): Query<FaultsFor>, body: String) -> Response {
    let wanted: AllFaults = match serde_json::from_str(&body) {
        Ok(wanted) => wanted,
        Err(error) => return bad_request(&error.to_string()),
    };
    match (&admin.engine_faults, &wanted.engine) {
        (Some(engine), wanted) => engine.set(wanted.clone().unwrap_or_default()),
        (None, None) => {}
        (None, Some(_)) => {
            return bad_request(
                "the stack runs on another DynamoDB: only faults of functions and connections can be set",
            );
        }
    }
    admin.faults.set(wanted.functions);
    let change = admin.faults.set_sockets(wanted.sockets);
    if let Some(seconds) = lasting.seconds {
        let admin = Arc::clone(&admin);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(seconds.into())).await;
            if admin.faults.changes() == change {
                if let Some(engine) = &admin.engine_faults {
                    engine.set(EngineFaults::default());
                }
                admin.faults.set(FunctionFaults::default());
                admin.faults.set_sockets(SocketFaults::default());
            }
        });
    }
    faults(State(admin)).await
}

/// Deletes the expired items of all tables now, not within the next minute.
async fn delete_expired(State(admin): State<Arc<AdminState>>) -> Response {
    let Some(housekeeper) = &admin.housekeeper else {
        return bad_request("the stack runs on another DynamoDB, which deletes expired items itself");
    };
    match housekeeper.sweep_at(admin.functions.clock().now()).await {
        Ok(items) => Json(json!({ "expiredItems": items })).into_response(),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Answers once everything is at rest.
async fn settle(State(admin): State<Arc<AdminState>>) -> Response {
    settled(settle::settle(&admin, settle::PATIENCE).await)
}

/// Moves the stack's clock.
async fn advance(State(admin): State<Arc<AdminState>>, Query(by): Query<Advance>) -> Response {
    settled(settle::advance(&admin, Duration::from_secs(by.seconds), settle::PATIENCE).await)
}

/// How far the clock moves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    seconds: u64,
}

fn settled(outcome: Result<(), SettleError>) -> Response {
    let status = match &outcome {
        Ok(()) => return StatusCode::NO_CONTENT.into_response(),
        Err(SettleError::NotAtRest(_)) => StatusCode::GATEWAY_TIMEOUT,
        Err(SettleError::TooFar) => StatusCode::BAD_REQUEST,
        Err(SettleError::Engine(_)) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let message = outcome.err().map(|error| error.to_string());
    (status, Json(json!({ "message": message }))).into_response()
}

/// Lets the next invocations of a function fail.
async fn fail(State(admin): State<Arc<AdminState>>, Query(wanted): Query<Failures>) -> Response {
    let Some(pool) = admin.functions.get(&wanted.function) else { return bad_request("no function has this name") };
    admin.faults.fail(&pool.function().name, wanted.times);
    StatusCode::NO_CONTENT.into_response()
}

/// Which invocations fail.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failures {
    function: String,
    times: u32,
}

/// Forgets the lost records of one mapping or of all, after a repair.
async fn forget_lost(State(admin): State<Arc<AdminState>>, Query(of): Query<LostOf>) -> Response {
    let all = admin.mappings.get().into_iter().flatten();
    let mut chosen = all.filter(|mapping| of.mapping.as_ref().is_none_or(|name| *name == mapping.name)).peekable();
    if of.mapping.is_some() && chosen.peek().is_none() {
        return bad_request("no mapping has this name");
    }
    match chosen.try_for_each(Mapping::forget_lost) {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// Whose losses are forgotten.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LostOf {
    /// One mapping; without it, all of them.
    mapping: Option<String>,
}

fn bad_request(message: &str) -> Response {
    problem(StatusCode::BAD_REQUEST, message)
}
