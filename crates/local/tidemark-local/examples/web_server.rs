//! A web server for tests of the Lambda Web Adapter. It describes the request that it got.

use std::net::{Ipv4Addr, SocketAddr};

use axum::Router;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::routing::{any, get};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8080);
    let router = Router::new()
        .route("/things/image", get(|| async { ([(header::CONTENT_TYPE, "image/png")], [137_u8, 80, 255]) }))
        .fallback(any(describe));
    let listener = tokio::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    axum::serve(listener, router).await
}

async fn describe(method: Method, uri: Uri, headers: HeaderMap, body: String) -> String {
    let has = |name: &str| headers.contains_key(name);
    let contexts = has("x-amzn-request-context") && has("x-amzn-lambda-context");
    format!("{method} {uri} contexts={contexts} {body}")
}
