//! The endpoint of the Kinesis API: checks the caller's role, then passes the request on.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Request, Response, Uri};
use axum::routing::post;
use jiff::Timestamp;
use serde_json::Value;
use tower::ServiceExt as _;

use super::Kinesis;
use crate::actions;
use crate::arn::{self, kinesis_stream_name};
use crate::json_protocol::{self, ApiError};
use crate::policies::{self, Policies};

/// The path of the endpoint on the stack's port.
pub(crate) const PATH: &str = "/_local/kinesis";

/// Maximum size of a request: 500 records of together 10 MiB, in base64.
const REQUEST_BYTES_MAX: usize = 15 * 1024 * 1024;

/// The calls that write records.
const WRITES: [&str; 2] = ["PutRecord", "PutRecords"];

/// The endpoint: `POST` with `X-Amz-Target`.
pub(crate) fn router(kinesis: Arc<Kinesis>, policies: Arc<Policies>) -> Router {
    Router::new()
        .route(PATH, post(call))
        .route(&format!("{PATH}/"), post(call))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state((kinesis, policies))
}

async fn call(
    State((kinesis, policies)): State<(Arc<Kinesis>, Arc<Policies>)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let operation = json_protocol::operation(&headers).to_owned();
    if let Err(refusal) = json_protocol::check(&actions::KINESIS, &operation) {
        return json_protocol::response(Err(refusal));
    }
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let stream = stream_of(&request);
    let resource = match &stream {
        Some(name) => format!("{}:stream/{name}", arn::of_region("kinesis")),
        None => "*".to_owned(),
    };
    let asked = policies::Request { action: format!("kinesis:{operation}"), resource, ..policies::Request::default() };
    if let Err(sentence) = policies.allow_signed(&headers, &asked) {
        return json_protocol::response(Err(ApiError("AccessDeniedException", sentence)));
    }
    let mut passed = Request::new(Body::from(body));
    *passed.method_mut() = axum::http::Method::POST;
    *passed.uri_mut() = Uri::from_static("/");
    *passed.headers_mut() = headers;
    let now_ms = Timestamp::now().as_millisecond();
    let Ok(response) = kinesis.router.clone().oneshot(passed).await;
    let Some(stream) = stream.filter(|_| WRITES.contains(&operation.as_str())) else { return response };
    let (parts, body) = response.into_parts();
    let Ok(body) = axum::body::to_bytes(body, REQUEST_BYTES_MAX).await else {
        let message = "the answer is too large".to_owned();
        return json_protocol::response(Err(ApiError("InternalFailure", message)));
    };
    kinesis.arrivals.keep(&stream, &body, now_ms);
    if let Some(writes) = kinesis.writes.get(&stream) {
        writes.send_replace(());
    }
    Response::from_parts(parts, Body::from(body))
}

/// The stream's name in a request.
fn stream_of(request: &Value) -> Option<String> {
    let text = |name: &str| request.get(name).and_then(Value::as_str);
    let arn = text("StreamARN").or_else(|| text("ConsumerARN")).or_else(|| text("ResourceARN"));
    let in_iterator = || {
        let (_, stream, ..) = ferrokinesis::shard_iterator::decode_shard_iterator(text("ShardIterator")?).ok()?;
        Some(stream)
    };
    text("StreamName")
        .map(str::to_owned)
        .or_else(|| arn.map(|arn| kinesis_stream_name(arn).to_owned()))
        .or_else(in_iterator)
}
