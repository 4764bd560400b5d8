//! The part of Lambda's API that describes functions.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/api/API_GetFunction.html>.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arn;
use crate::functions::Functions;
use crate::invoke_api::{FunctionName, allow, function, refuse};
use crate::policies::Policies;
use crate::rest_protocol::error;
use crate::stack::Function;

const PATH: &str = "/2015-03-31/functions";

/// Maximum number of functions in a page.
const PAGE_MAX: usize = 50;

#[derive(Debug)]
struct Shared {
    functions: Arc<Functions>,
    policies: Arc<Policies>,
    started: Timestamp,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Page {
    marker: String,
    max_items: Option<usize>,
}

/// The API's routes.
pub(crate) fn router(functions: Arc<Functions>, policies: Arc<Policies>) -> Router {
    Router::new()
        .route(PATH, get(list))
        .route(&format!("{PATH}/"), get(list))
        .route(&format!("{PATH}/{{name}}"), get(with_code))
        .route(&format!("{PATH}/{{name}}/configuration"), get(configuration))
        .method_not_allowed_fallback(refuse)
        .with_state(Arc::new(Shared { functions, policies, started: Timestamp::now() }))
}

async fn list(
    State(shared): State<Arc<Shared>>,
    headers: HeaderMap,
    page: Result<Query<Page>, QueryRejection>,
) -> Response {
    if let Err(refusal) = allow(&shared.policies, &headers, "ListFunctions", "*".to_owned()) {
        return *refusal;
    }
    let page = page.ok().filter(|Query(page)| page.max_items != Some(0));
    let Some(Query(Page { marker, max_items })) = page else {
        let message = "MaxItems must be 1 to 10000";
        return error(StatusCode::BAD_REQUEST, "InvalidParameterValueException", message);
    };
    let max = max_items.unwrap_or(PAGE_MAX).min(PAGE_MAX);
    let mut functions: Vec<&Function> = shared.functions.all().iter().map(|pool| pool.function()).collect();
    functions.sort_by_key(|function| &function.name);
    let mut later = functions.into_iter().filter(|function| function.name > marker);
    let shown: Vec<&Function> = later.by_ref().take(max).collect();
    let next = shown.last().filter(|_| later.next().is_some()).map(|last| &last.name);
    let shown: Vec<Value> = shown.iter().map(|function| described(function, shared.started)).collect();
    Json(json!({ "Functions": shown, "NextMarker": next })).into_response()
}

async fn configuration(
    State(shared): State<Arc<Shared>>,
    FunctionName(name): FunctionName,
    headers: HeaderMap,
) -> Response {
    match function(&shared.functions, &shared.policies, &name, &headers, "GetFunctionConfiguration") {
        Ok(pool) => Json(described(pool.function(), shared.started)).into_response(),
        Err(refusal) => *refusal,
    }
}

async fn with_code(
    State(shared): State<Arc<Shared>>,
    FunctionName(name): FunctionName,
    headers: HeaderMap,
) -> Response {
    match function(&shared.functions, &shared.policies, &name, &headers, "GetFunction") {
        Ok(pool) => {
            let location = pool.function().code_uri.display().to_string();
            let configuration = described(pool.function(), shared.started);
            let code = json!({ "RepositoryType": "local", "Location": location });
            Json(json!({ "Configuration": configuration, "Code": code, "Tags": {} })).into_response()
        }
        Err(refusal) => *refusal,
    }
}

/// A function's configuration. There is no package, so that its size is 0.
fn described(function: &Function, started: Timestamp) -> Value {
    let architecture = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x86_64" };
    json!({
        "FunctionName": function.name,
        "FunctionArn": arn::function(&function.name),
        "Runtime": "provided.al2023",
        "Role": function.role,
        "Handler": function.handler,
        "CodeSize": 0,
        "Description": "",
        "Timeout": function.timeout.as_secs(),
        "MemorySize": function.memory_size_mib,
        "LastModified": started.strftime("%Y-%m-%dT%H:%M:%S%.3f+0000").to_string(),
        "Version": "$LATEST",
        "Environment": { "Variables": function.environment },
        "TracingConfig": { "Mode": "PassThrough" },
        "State": "Active",
        "LastUpdateStatus": "Successful",
        "PackageType": "Zip",
        "Architectures": [architecture],
        "EphemeralStorage": { "Size": 512 },
    })
}
