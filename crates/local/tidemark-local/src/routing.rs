//! The routes of the stack's ports: its own routes, the APIs, the pages and the sockets.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use axum::routing::any;
use tidemark_engine::listener::Client;

use crate::actions;
use crate::admin_routes::{self, AdminState};
use crate::function_api;
use crate::guard;
use crate::http_api::HttpApis;
use crate::invoke_api;
use crate::mail;
use crate::queues;
use crate::secrets::{self, Secrets};
use crate::websocket_api;

/// The routes on the stack's own port.
pub(crate) fn router(shared: &Shared, secrets: Arc<Secrets>, messaging: Router) -> Router {
    let admin = &shared.0;
    let mut own = admin_routes::router(Arc::clone(admin))
        .merge(secrets::router(secrets, Arc::clone(&admin.policies)))
        .merge(mail::router(Arc::clone(&admin.mails), Arc::clone(&admin.policies)))
        .merge(queues::router(Arc::clone(&admin.queues), Arc::clone(&admin.policies)))
        .merge(invoke_api::router(Arc::clone(&admin.functions), Arc::clone(&admin.policies)))
        .merge(function_api::router(Arc::clone(&admin.functions), Arc::clone(&admin.policies)))
        .merge(messaging);
    let mut rest = Router::new().fallback(request);
    if let Some(sockets) = &admin.sockets {
        own = own.merge(websocket_api::management::router(Arc::clone(sockets), Arc::clone(&admin.policies)));
        rest = rest.route(websocket_api::PATH, any(handshake));
    }
    rest.with_state(Arc::clone(shared)).merge(guard::from_this_machine(own))
}

/// The state of the handlers.
pub(crate) type Shared = Arc<(Arc<AdminState>, HttpApis)>;

/// Passes requests that are not for the stack's own routes to the HTTP APIs, once the functions
/// have their tables.
async fn request(
    State(state): State<Shared>,
    ConnectInfo(client): ConnectInfo<Client>,
    request: Request,
) -> Response<Body> {
    let (admin, apis) = &*state;
    if admin.mappings.get().is_none() {
        return starting();
    }
    // Lambda's API is at the root of the port. Its paths begin with a date, so that others need no
    // search in its list.
    let path = request.uri().path();
    let is_dated = path.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    if is_dated && actions::LAMBDA.action_at(request.method().as_str(), path).is_some() {
        return invoke_api::refuse(request.method().clone(), request.uri().clone()).await;
    }
    apis.serve(request, client.address).await
}

/// The routes on the port of the API at `index`.
pub(crate) fn of_api(shared: &Shared, index: usize) -> Router {
    Router::new().fallback(other_request).with_state((Arc::clone(shared), index))
}

/// Passes a request to the API that has this port to itself.
async fn other_request(
    State((state, index)): State<(Shared, usize)>,
    ConnectInfo(client): ConnectInfo<Client>,
    request: Request,
) -> Response<Body> {
    let (admin, apis) = &*state;
    if admin.mappings.get().is_none() {
        return starting();
    }
    apis.serve_api(index, request, client.address).await
}

async fn handshake(
    State(state): State<Shared>,
    ConnectInfo(client): ConnectInfo<Client>,
    request: Request,
) -> Response<Body> {
    match (&state.0.sockets, state.0.mappings.get()) {
        (Some(sockets), Some(_)) => sockets.upgrade(request, client.address).await,
        _ => starting(),
    }
}

fn starting() -> Response<Body> {
    (StatusCode::SERVICE_UNAVAILABLE, "the stack is starting").into_response()
}
