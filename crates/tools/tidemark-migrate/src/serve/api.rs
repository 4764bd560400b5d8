//! The routes, their answers and their errors.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::connections::Connections;
use crate::cutover::{Phase, Reader, Side, Sides, WriteError, Writer};
use crate::item::dynamo_json;
use crate::row::Row;
use crate::{Failure, FailureKind};

/// The most bytes of a request's body: a row, of which DynamoDB takes 400 KB.
const BODY_BYTES_MAX: usize = 1024 * 1024;

/// How long a request may take. A write waits fifteen seconds for a move at most.
const REQUEST_MAX: Duration = Duration::from_secs(30);

/// How long `/health` may take.
const HEALTH_MAX: Duration = Duration::from_secs(3);

struct Shared {
    connections: Arc<Connections>,
    token: SecretString,
}

/// An answer that is not a success: its status, its stable type, and a text for people.
struct Refusal(StatusCode, &'static str, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(status, kind, detail) = self;
        let mut response = (status, Json(json!({ "error": { "type": kind, "detail": detail } }))).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let status = match failure.kind {
            FailureKind::RunBusy => return Self(StatusCode::SERVICE_UNAVAILABLE, "busy", failure.detail),
            FailureKind::Options => return Self(StatusCode::BAD_REQUEST, "bad-row", failure.detail),
            FailureKind::SourceUnreachable | FailureKind::SourceGone | FailureKind::TableUnreachable => {
                StatusCode::BAD_GATEWAY
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self(status, failure.kind.as_str(), failure.detail)
    }
}

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        let detail = error.to_string();
        match error {
            WriteError::Moving(_) => Self(StatusCode::SERVICE_UNAVAILABLE, "moving", detail),
            WriteError::Taken(_) => Self(StatusCode::CONFLICT, "taken", detail),
            WriteError::Refused(_) => Self(StatusCode::UNPROCESSABLE_ENTITY, "refused", detail),
            WriteError::Failed(failure) => failure.into(),
        }
    }
}

pub(super) fn router(connections: Arc<Connections>, token: SecretString) -> Router {
    let shared = Arc::new(Shared { connections, token });
    Router::new()
        .route("/rows/{table}", put(put_row).delete(delete_row))
        .route("/owners/{owner}/items/{kind}", get(items))
        .route("/health", get(health))
        .fallback(async || Refusal(StatusCode::NOT_FOUND, "unknown-route", "there is no such route".to_owned()))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guard))
        .with_state(shared)
}

/// Checks the token, and limits the time.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    if !shared.admits(&request) {
        let detail = "the token is missing or wrong".to_owned();
        return Refusal(StatusCode::UNAUTHORIZED, "unauthorized", detail).into_response();
    }
    timeout(REQUEST_MAX, next.run(request)).await.unwrap_or_else(|_| {
        let detail = "the request took too long; whether it was done is unknown".to_owned();
        Refusal(StatusCode::GATEWAY_TIMEOUT, "timeout", detail).into_response()
    })
}

impl Shared {
    fn admits(&self, request: &Request) -> bool {
        let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let given = given.and_then(|value| value.strip_prefix("Bearer "));
        // Hashes take the same time to compare for every wrong token.
        given.is_some_and(|given| Sha256::digest(given) == Sha256::digest(self.token.expose_secret()))
    }
}

async fn put_row(
    State(shared): State<Arc<Shared>>,
    Path(table): Path<String>,
    body: Result<Bytes, axum::extract::rejection::BytesRejection>,
) -> Result<Json<Value>, Refusal> {
    let body = body.map_err(|error| Refusal(error.status(), "bad-row", error.body_text()))?;
    let json = std::str::from_utf8(&body);
    let json = json.map_err(|error| Refusal(StatusCode::BAD_REQUEST, "bad-row", error.to_string()))?;
    write(&shared, &table, json, false).await
}

async fn delete_row(
    State(shared): State<Arc<Shared>>,
    Path(table): Path<String>,
    Query(columns): Query<Vec<(String, String)>>,
) -> Result<Json<Value>, Refusal> {
    // As it stands, so that a column that is given twice is refused.
    let columns = columns.iter().map(|(name, value)| format!("{}:{}", json!(name), json!(value)));
    write(&shared, &table, &format!("{{{}}}", columns.collect::<Vec<_>>().join(",")), true).await
}

async fn write(shared: &Shared, table: &str, json: &str, is_gone: bool) -> Result<Json<Value>, Refusal> {
    let taken = shared.connections.take().await?;
    let sides = taken.sides()?;
    let written = row(sides, table, json);
    let written = match written {
        Ok(row) => {
            let writer = Writer::new(sides.clone());
            let written = if is_gone { writer.delete(&row).await } else { writer.put(&row).await };
            written.map_err(Refusal::from)
        }
        Err(refusal) => Err(refusal),
    };
    taken.give_back();
    let side = match written? {
        Side::Postgres => "postgres",
        Side::Dynamo => "dynamo",
    };
    Ok(Json(json!({ "side": side })))
}

fn row(sides: &Sides, table: &str, json: &str) -> Result<Row, Refusal> {
    let mapping = sides.mapping();
    if mapping.table(table).is_none() {
        let detail = format!("the mapping has no table {table:?}");
        return Err(Refusal(StatusCode::NOT_FOUND, "unknown-table", detail));
    }
    Ok(mapping.row(table, json)?)
}

async fn items(
    State(shared): State<Arc<Shared>>,
    Path((owner, kind)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let taken = shared.connections.take().await?;
    let sides = taken.sides()?;
    // Without PostgreSQL, the owner's id is taken as it is.
    let owner = match sides.postgres().normalised_owner(&owner).await {
        Err(WriteError::Failed(_)) => owner,
        normalised => normalised?,
    };
    let found = Reader::new(sides.clone()).items(&owner, &kind).await;
    taken.give_back();
    let items: Vec<_> = found?.values().map(dynamo_json).collect();
    let body = format!("{{\"items\":[{}]}}", items.join(","));
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

async fn health(State(shared): State<Arc<Shared>>) -> Result<Json<Value>, Refusal> {
    let answers = async {
        let taken = shared.connections.take().await?;
        let answer = taken.sides()?.answer().await;
        taken.give_back();
        answer
    };
    match timeout(HEALTH_MAX, answers).await {
        Ok(answer) => {
            let (phase, table) = answer?;
            table?;
            Ok(Json(json!({ "phase": phase.map(Phase::name) })))
        }
        Err(_) => Err(Refusal(StatusCode::GATEWAY_TIMEOUT, "timeout", "a side does not answer".to_owned())),
    }
}
