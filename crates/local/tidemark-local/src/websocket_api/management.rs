//! The `@connections` API, with which functions reach open connections.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-how-to-call-websocket-api-connections.html>.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use serde_json::json;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::connection::{Connection, PostError};
use super::{WebSocketServer, event};
use crate::arn;
use crate::policies::{self, Policies};

/// The API's routes, with and without the stage in the path, because clients use both addresses.
pub(crate) fn router(sockets: Arc<WebSocketServer>, policies: Arc<Policies>) -> Router {
    let stage = format!("/{}", sockets.stage());
    let connection = || get(describe).post(send).delete(close);
    let mut router = Router::new();
    for stage in ["", &stage] {
        // Some clients percent-encode the @.
        for connections in ["@connections", "%40connections"] {
            router = router.route(&format!("{stage}/{connections}/{{id}}"), connection());
        }
    }
    router
        .layer(DefaultBodyLimit::max(sockets.limits().message_bytes_max))
        .layer(middleware::from_fn_with_state((Arc::clone(&sockets), policies), require_permission))
        .with_state(sockets)
}

/// Requires `execute-api:ManageConnections` for the method and the connection.
async fn require_permission(
    State((sockets, policies)): State<(Arc<WebSocketServer>, Arc<Policies>)>,
    request: Request,
    next: Next,
) -> Response {
    let api = format!("{}:{}", arn::of_region("execute-api"), sockets.logical_id());
    let id = request.uri().path().rsplit('/').next().unwrap_or_default();
    let resource = format!("{api}/{}/{}/@connections/{id}", sockets.stage(), request.method());
    let asked = policies::Request {
        action: "execute-api:ManageConnections".to_owned(),
        resource,
        ..policies::Request::default()
    };
    match policies.allow_signed(request.headers(), &asked) {
        Ok(()) => next.run(request).await,
        Err(sentence) => error(StatusCode::FORBIDDEN, "AccessDeniedException", &sentence),
    }
}

async fn send(
    State(sockets): State<Arc<WebSocketServer>>,
    Path(id): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Ok(body) = body else {
        return error(StatusCode::PAYLOAD_TOO_LARGE, "PayloadTooLargeException", "Message too long");
    };
    let connection = match find(&sockets, &id) {
        Ok(connection) => connection,
        Err(refusal) => return refusal,
    };
    // WebSocket messages are sent as text frames only.
    let Ok(text) = Utf8Bytes::try_from(body) else {
        return error(StatusCode::BAD_REQUEST, "BadRequestException", "The data is not UTF-8");
    };
    sockets.inject_cut(&connection);
    match connection.post(text) {
        Ok(()) => StatusCode::OK.into_response(),
        Err(PostError::Gone) => gone(),
        Err(PostError::Full) => {
            error(StatusCode::TOO_MANY_REQUESTS, "LimitExceededException", "The client does not read fast enough")
        }
    }
}

async fn describe(State(sockets): State<Arc<WebSocketServer>>, Path(id): Path<String>) -> Response {
    match find(&sockets, &id) {
        Ok(connection) => axum::Json(json!({
            "connectedAt": connection.client.connected_at.to_string(),
            "identity": connection.client.identity(),
            "lastActiveAt": connection.last_active().to_string(),
        }))
        .into_response(),
        Err(refusal) => refusal,
    }
}

async fn close(State(sockets): State<Arc<WebSocketServer>>, Path(id): Path<String>) -> Response {
    match find(&sockets, &id) {
        Ok(connection) => {
            sockets.forget(&id);
            connection.close();
            StatusCode::NO_CONTENT.into_response()
        }
        Err(refusal) => refusal,
    }
}

#[expect(clippy::result_large_err, reason = "the refusal is sent as it is")]
fn find(sockets: &WebSocketServer, id: &str) -> Result<Arc<Connection>, Response> {
    if !event::is_connection_id(id) {
        let message = format!("Invalid connectionId: {id}");
        return Err(error(StatusCode::BAD_REQUEST, "BadRequestException", &message));
    }
    sockets.find(id).ok_or_else(gone)
}

fn gone() -> Response {
    error(StatusCode::GONE, "GoneException", "Gone")
}

fn error(status: StatusCode, kind: &'static str, message: &str) -> Response {
    let body = json!({ "message": message }).to_string();
    (status, [("x-amzn-errortype", kind), ("content-type", "application/json")], body).into_response()
}
