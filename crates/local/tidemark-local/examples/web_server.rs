//! A web server for tests of the Lambda Web Adapter. It describes the request that it got.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Uri, header};
use axum::routing::{any, get};
use futures::{StreamExt, stream};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).unwrap_or(8080);
    let router = Router::new()
        .route("/things/image", get(|| async { ([(header::CONTENT_TYPE, "image/png")], [137_u8, 80, 255]) }))
        .route("/things/parts", get(parts))
        .fallback(any(describe));
    let listener = tokio::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    axum::serve(listener, router).await
}

async fn describe(method: Method, uri: Uri, headers: HeaderMap, body: String) -> String {
    let has = |name: &str| headers.contains_key(name);
    let contexts = has("x-amzn-request-context") && has("x-amzn-lambda-context");
    format!("{method} {uri} contexts={contexts} {body}")
}

/// Two parts, the second one once a file beside the recording exists, which the test creates.
async fn parts() -> Body {
    let gate = PathBuf::from(std::env::var_os("RECORDING").unwrap_or_default()).with_extension("gate");
    let last = async move {
        while !gate.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok::<_, Infallible>("last")
    };
    Body::from_stream(stream::iter([Ok("first ")]).chain(stream::once(last)))
}
