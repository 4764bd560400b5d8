//! The Lambda Runtime API for one instance of a function: its own address, one invocation at a
//! time.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>. Every instance has its
//! own listener: the listener's address identifies the instance, and closes with it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::json;
use tidemark_engine::listener::Listener;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use crate::guard;
use crate::http_api::added_headers::trace_root;

/// Maximum payload of a synchronous invocation, in both directions: 6 MB.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>.
pub const PAYLOAD_BYTES_MAX: usize = 6 * 1024 * 1024;

/// The header of a result that is streamed.
pub(super) const RESPONSE_MODE: &str = "lambda-runtime-function-response-mode";

/// The content type of a streamed result that begins with a prelude: status and headers as JSON.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/configuration-response-streaming.html>.
pub const WITH_PRELUDE: &str = "application/vnd.awslambda.http-integration-response";

/// The number of zero bytes behind a prelude.
pub const PRELUDE_END_BYTES: usize = 8;

/// Parts of a streamed result that wait for the client.
const PARTS_WAITING_MAX: usize = 4;

/// An invocation for an instance.
#[derive(Debug)]
pub struct Delivery {
    /// `Lambda-Runtime-Aws-Request-Id`.
    pub request_id: String,
    /// `Lambda-Runtime-Deadline-Ms`: the function's deadline, milliseconds since the epoch.
    pub deadline_ms: u64,
    /// `Lambda-Runtime-Invoked-Function-Arn`.
    pub function_arn: Arc<str>,
    /// `Lambda-Runtime-Trace-Id`, in X-Ray's format.
    pub trace_id: String,
    /// The event.
    pub payload: Bytes,
    /// The channel for the response. It is dropped without a response if the instance requests the
    /// next invocation instead.
    pub reply: oneshot::Sender<Reply>,
}

/// An instance's response to an invocation.
#[derive(Debug)]
pub enum Reply {
    /// The function's result.
    Response(Bytes),
    /// The function's result, which it is still sending.
    Stream(StreamedReply),
    /// The function's error in the runtime's format: `{"errorType", "errorMessage", ...}`.
    Error(Bytes),
    /// The result exceeds [`PAYLOAD_BYTES_MAX`].
    ResponseTooLarge,
}

/// A result that a function sends part by part.
#[derive(Debug)]
pub struct StreamedReply {
    /// The content type of the request to the Runtime API. It tells whether a prelude comes first.
    pub content_type: Option<HeaderValue>,
    /// The parts. An error, in the runtime's format, is the last one.
    pub parts: mpsc::Receiver<Result<Bytes, Bytes>>,
}

/// The progress of an instance's init phase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not requested an invocation yet.
    Starting,
    /// It has requested an invocation.
    Ready,
    /// It reported an init error, in the runtime's format.
    Failed(Bytes),
}

/// A running Runtime API. Dropping it closes its listener.
#[derive(Debug)]
pub(super) struct RuntimeApi {
    addr: SocketAddr,
    deliveries: mpsc::Sender<Delivery>,
    phase: watch::Receiver<Phase>,
    server: AbortHandle,
}

struct ApiState {
    deliveries: tokio::sync::Mutex<mpsc::Receiver<Delivery>>,
    current: std::sync::Mutex<Option<(String, oneshot::Sender<Reply>)>>,
    phase: watch::Sender<Phase>,
}

impl RuntimeApi {
    /// Opens a Runtime API on a free loopback port.
    pub(super) async fn open() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let addr = listener.local_addr()?;
        let (deliveries, receiver) = mpsc::channel(1);
        let (phase_sender, phase) = watch::channel(Phase::Starting);
        let state = Arc::new(ApiState {
            deliveries: tokio::sync::Mutex::new(receiver),
            current: std::sync::Mutex::new(None),
            phase: phase_sender,
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            .layer(DefaultBodyLimit::max(PAYLOAD_BYTES_MAX))
            .with_state(state);
        // Otherwise a page of any site could take an invocation away from its function.
        let router = guard::own_pages_only(router);
        let listener = Listener::new(listener);
        let server = tokio::spawn(async move { axum::serve(listener, router).await }).abort_handle();
        Ok(Self { addr, deliveries, phase, server })
    }

    /// The instance's `AWS_LAMBDA_RUNTIME_API`.
    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Queues an invocation; the instance takes it when it requests the next one.
    pub(super) async fn deliver(&self, delivery: Delivery) {
        // The receiver lives as long as the server. If it is gone, the dropped `reply` tells the
        // caller.
        drop(self.deliveries.send(delivery).await);
    }

    /// Observes the init phase.
    pub(super) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.clone()
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn next(State(state): State<Arc<ApiState>>) -> Response {
    state.phase.send_if_modified(|phase| {
        let first = *phase == Phase::Starting;
        if first {
            *phase = Phase::Ready;
        }
        first
    });
    let Some(delivery) = state.deliveries.lock().await.recv().await else {
        // The instance is being ended. As on AWS, it hears nothing before its kill; a runtime would
        // take any answer for an invocation.
        return std::future::pending().await;
    };
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("lambda-runtime-deadline-ms", HeaderValue::from(delivery.deadline_ms));
    for (name, value) in [
        ("lambda-runtime-aws-request-id", delivery.request_id.as_str()),
        ("lambda-runtime-invoked-function-arn", &delivery.function_arn),
        ("lambda-runtime-trace-id", &delivery.trace_id),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    *lock(&state.current) = Some((delivery.request_id, delivery.reply));
    (headers, delivery.payload).into_response()
}

async fn response(State(state): State<Arc<ApiState>>, Path(id): Path<String>, request: Request) -> Response {
    let mode = request.headers().get(RESPONSE_MODE);
    if mode.is_some_and(|mode| mode.as_bytes().eq_ignore_ascii_case(b"streaming")) {
        let content_type = request.headers().get(header::CONTENT_TYPE).cloned();
        let (sender, parts) = mpsc::channel(PARTS_WAITING_MAX);
        let answer = settle(&state, &id, Reply::Stream(StreamedReply { content_type, parts }), StatusCode::ACCEPTED);
        if answer.status() == StatusCode::ACCEPTED {
            pass_on(request.into_body(), &sender).await;
        }
        return answer;
    }
    let (reply, status) = match Bytes::from_request(request, &()).await {
        Ok(body) => (Reply::Response(body), StatusCode::ACCEPTED),
        Err(rejection) => (Reply::ResponseTooLarge, rejection.status()),
    };
    settle(&state, &id, reply, status)
}

/// Passes the parts of a streamed result on, until its end or until nobody wants them.
async fn pass_on(mut body: Body, sender: &mpsc::Sender<Result<Bytes, Bytes>>) {
    while let Some(frame) = body.frame().await {
        let part = match frame.map(http_body::Frame::into_data) {
            Ok(Ok(data)) => Ok(data),
            Ok(Err(frame)) => match frame.trailers_ref().and_then(error_of) {
                Some(error) => Err(error),
                None => continue,
            },
            Err(error) => Err(failure("Runtime.TruncatedResponse", &error.to_string())),
        };
        let is_last = part.is_err();
        if sender.send(part).await.is_err() || is_last {
            return;
        }
    }
}

/// The error that a function reports after a part of its result.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html>.
fn error_of(trailers: &HeaderMap) -> Option<Bytes> {
    let kind = trailers.get("lambda-runtime-function-error-type")?;
    let body = trailers.get("lambda-runtime-function-error-body").and_then(|body| STANDARD.decode(body).ok());
    Some(body.map_or_else(|| failure(&String::from_utf8_lossy(kind.as_bytes()), "the stream failed"), Bytes::from))
}

fn failure(kind: &str, message: &str) -> Bytes {
    json!({ "errorType": kind, "errorMessage": message }).to_string().into()
}

async fn error(State(state): State<Arc<ApiState>>, Path(id): Path<String>, body: Bytes) -> Response {
    settle(&state, &id, Reply::Error(body), StatusCode::ACCEPTED)
}

async fn init_error(State(state): State<Arc<ApiState>>, body: Bytes) -> StatusCode {
    state.phase.send_replace(Phase::Failed(body));
    StatusCode::ACCEPTED
}

fn settle(state: &ApiState, id: &str, reply: Reply, status: StatusCode) -> Response {
    let taken = lock(&state.current).take_if(|(current, _)| current == id);
    match taken {
        Some((_, sender)) => {
            // The caller may have timed out; then nobody receives the reply.
            drop(sender.send(reply));
            status.into_response()
        }
        None => (StatusCode::BAD_REQUEST, failure("InvalidRequestID", "Invalid request ID")).into_response(),
    }
}

/// A trace header in X-Ray's format, never sampled.
pub(super) fn trace_id() -> String {
    format!("{};Parent={:016x};Sampled=0", trace_root(), fastrand::u64(..))
}

/// Locks the mutex and ignores poisoning: no code panics while it holds the lock.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_instance_that_is_ended_hears_nothing_more() {
        let api = RuntimeApi::open().await.expect("a port is free");
        let url = format!("http://{}/2018-06-01/runtime/invocation/next", api.addr());
        let mut phase = api.phase();
        let asked = tokio::spawn(reqwest::get(url));
        phase.wait_for(|phase| *phase == Phase::Ready).await.expect("the instance asks");
        drop(api);
        // No answer at all: the process waits until it is killed.
        assert!(tokio::time::timeout(std::time::Duration::from_millis(200), asked).await.is_err());
    }
}
