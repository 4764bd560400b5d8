//! Restricts the stack's own routes to programs on this machine and the stack's own pages.

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::Response;
use tidemark_engine::listener::Client;

use crate::problem::problem;

/// Rejects callers from the network, and requests that [`tidemark_engine::guard`] rejects.
pub(crate) fn from_this_machine(router: Router) -> Router {
    own_pages_only(router).layer(middleware::from_fn(only_from_here))
}

/// Rejects pages of other sites; for a server that listens on loopback only.
pub(crate) fn own_pages_only(router: Router) -> Router {
    router.layer(middleware::from_fn(no_other_site))
}

async fn only_from_here(ConnectInfo(client): ConnectInfo<Client>, request: Request, next: Next) -> Response {
    if client.address.ip().is_loopback() { next.run(request).await } else { forbidden() }
}

async fn no_other_site(request: Request, next: Next) -> Response {
    if tidemark_engine::guard::admits(request.uri(), request.headers()) { next.run(request).await } else { forbidden() }
}

fn forbidden() -> Response {
    let message = "only programs on this machine and the stack's own pages may call this, at localhost or 127.0.0.1";
    problem(StatusCode::FORBIDDEN, message)
}
