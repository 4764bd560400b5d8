//! The front: every request comes here, is answered here or passed to the emulator, and fails here when it is to fail.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::serve::ListenerExt;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::access::{self, Gate, Shapes};
use crate::api::{self, ApiError};
use crate::database::Database;
use crate::faults::{FailureReply, Faults};
use crate::meter::Meter;
use crate::throttle::{Throttle, Throttled};
use crate::writes::Writes;
use crate::{EngineError, ShardChange, arn, backups, guard, streams, tables};

/// DynamoDB's limit of a request.
const REQUEST_SIZE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What the front works with.
#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) database: Database,
    pub(crate) faults: Arc<Faults>,
    pub(crate) throttle: Throttle,
    /// Who decides on callers, once somebody does.
    pub(crate) gate: OnceLock<Arc<dyn Gate>>,
    shapes: Shapes,
    pub(crate) meter: Arc<Meter>,
    pub(crate) writes: Writes,
    emulator: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// A request to the table or the streams API, read whole.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// `PutItem`; empty when the request names none.
    pub(crate) operation: String,
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Serves until `stop` ends.
pub(crate) async fn serve(listener: TcpListener, front: Arc<Front>, stop: impl Future<Output = ()> + Send + 'static) {
    let router = Router::new().fallback(answer).with_state(front);
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "replies may be delayed");
        }
    });
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stop).await {
        tracing::error!(%error, "the engine stopped serving");
    }
}

async fn answer(State(front): State<Arc<Front>>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    if !guard::admits(&parts.uri, &parts.headers) {
        return ApiError::foreign_page().into_response();
    }
    let body = match Limited::new(body, REQUEST_SIZE_BYTES_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return ApiError::validation(format!("The request cannot be read: {error}")).into_response(),
    };
    let target = parts.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
    let operation = target.and_then(|target| target.rsplit_once('.')).map(|(_, operation)| operation.to_owned());
    let call = Call {
        operation: operation.unwrap_or_default(),
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        body,
    };
    match front.admit(&call).await {
        Ok(()) => front.misbehave(call).await,
        Err(denied) => denied.into_response(),
    }
}

impl Front {
    /// A front of the emulator that listens on `emulator`.
    pub(crate) fn new(database: Database, emulator: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let (faults, throttle, meter, gate, shapes, writes) = Default::default();
        Self { database, faults, throttle, meter, gate, shapes, writes, emulator, client }
    }

    /// Deletes expired items and trims the streams. Gives the number of items deleted.
    pub(crate) fn sweep(&self) -> Result<usize, EngineError> {
        let deleted = self.database.sweep()?;
        if deleted > 0 {
            self.writes.happened_anywhere();
        }
        Ok(deleted)
    }

    /// Closes an open shard and opens its children.
    pub(crate) fn change_shard(
        &self,
        table: &str,
        shard: &str,
        change: ShardChange,
    ) -> Result<Vec<String>, EngineError> {
        let children = self.database.streams.change_shard(table, shard, change)?;
        self.writes.happened_anywhere();
        Ok(children)
    }

    /// Asks the gate, if there is one that knows the caller.
    async fn admit(self: &Arc<Self>, call: &Call) -> Result<(), ApiError> {
        self.shapes.changed_by(&call.operation);
        let Some(gate) = self.gate.get() else { return Ok(()) };
        let Some(caller) = arn::caller(&call.headers).filter(|caller| gate.watches(caller)) else { return Ok(()) };
        let (front, asked) = (Arc::clone(self), call.clone());
        let accesses = tokio::task::spawn_blocking(move || access::accesses(&front.database, &front.shapes, &asked));
        for access in accesses.await.map_err(ApiError::internal)? {
            gate.admit(caller, &access).map_err(ApiError::denied)?;
        }
        Ok(())
    }

    /// Carries the call out, unless a fault comes in between.
    async fn misbehave(self: &Arc<Self>, call: Call) -> Response {
        let delay = self.faults.delay();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let operation = call.operation.clone();
        if let Some(reply) = self.faults.fails_before(&operation) {
            return failure(reply);
        }
        let response = match self.cancelled(&call) {
            Some(conflict) => conflict.into_response(),
            None => self.carry_out(call).await.unwrap_or_else(ApiError::into_response),
        };
        match self.faults.fails_after(&operation) {
            Some(reply) => {
                // The reply is complete before it is thrown away: the request has been applied.
                drop(response.into_body().collect().await);
                failure(reply)
            }
            None => response,
        }
    }

    /// The cancellation of a transaction that is to conflict.
    fn cancelled(&self, call: &Call) -> Option<ApiError> {
        if !matches!(call.operation.as_str(), "TransactWriteItems" | "TransactGetItems") {
            return None;
        }
        let request: Value = serde_json::from_slice(&call.body).ok()?;
        let actions = request["TransactItems"].as_array()?.len();
        let conflicting = self.faults.conflicts(actions)?;
        let mut reasons = vec![None; actions];
        *reasons.get_mut(conflicting)? = Some(("TransactionConflict", "Transaction is ongoing for the item"));
        Some(ApiError::transaction_cancelled(&reasons))
    }

    async fn carry_out(self: &Arc<Self>, mut call: Call) -> Result<Response, ApiError> {
        let region = arn::region(&call.headers).to_owned();
        if let Some(operation) = streams::Operation::named(&call.operation) {
            let front = Arc::clone(self);
            return blocking(move || streams::answer(&front.database.streams, operation, &call.body, &region)).await;
        }
        if backups::answers(&call.operation) {
            let front = Arc::clone(self);
            return blocking(move || front.database.streams.recovery(&call.operation, &call.body)).await;
        }
        let metered = self.meter.ask(&mut call);
        let response =
            if self.faults.throttles() { self.throttled(call, region).await? } else { self.forward(call).await? };
        match metered.filter(|_| response.status() == StatusCode::OK) {
            Some(metered) => edited(response, |body| self.meter.take(metered, body)).await,
            None => Ok(response),
        }
    }

    /// Carries the call out within the limits of its partition keys.
    async fn throttled(self: &Arc<Self>, call: Call, region: String) -> Result<Response, ApiError> {
        let (front, request) = (Arc::clone(self), call.body.clone());
        let throttled = tokio::task::spawn_blocking(move || {
            let throttled = front.throttle.admit(&front.database.tables, call, &region)?;
            Ok::<_, ApiError>(throttled)
        });
        let Throttled { call, debts, merge, refused } = match throttled.await.map_err(ApiError::internal)? {
            Ok(throttled) => throttled,
            Err(error) => {
                self.faults.count_throttled();
                self.meter.throttled(&request, 1);
                return Err(error);
            }
        };
        for _ in 0..refused {
            self.faults.count_throttled();
        }
        self.meter.throttled(&request, refused);
        let response = self.forward(call).await?;
        if response.status() != StatusCode::OK {
            return Ok(response);
        }
        let (mut parts, body) = response.into_parts();
        let body = body.collect().await.map_err(ApiError::internal)?.to_bytes();
        let front = Arc::clone(self);
        let body = tokio::task::spawn_blocking(move || {
            front.throttle.charge(&front.database.tables, debts, &body);
            merge.apply(body)
        });
        let body = body.await.map_err(ApiError::internal)?;
        replaced(&mut parts.headers, &body);
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    /// Passes the call to the emulator, and its reply back as it is, except for ARNs in table descriptions.
    async fn forward(&self, call: Call) -> Result<Response, ApiError> {
        // Dropped at the end, also when the caller has hung up by then: the write may have been done.
        let _notice = self.writes.notice(&call);
        let Call { operation, method, uri, mut headers, body } = call;
        let region = tables::describes_a_table(&operation).then(|| arn::region(&headers).to_owned());
        // What concerns one connection is said anew on the other.
        for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::EXPECT, header::CONTENT_LENGTH] {
            headers.remove(name);
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = format!("http://{}{path}", self.emulator).parse().map_err(ApiError::internal)?;
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let response = self.client.request(request).await.map_err(ApiError::internal)?;
        let response = response.map(Body::new);
        let Some(region) = region else { return Ok(response) };
        edited(response, |body| tables::in_region(&body, &region).map_or(body, Bytes::from)).await
    }
}

/// The response with another body.
async fn edited(response: Response, edit: impl FnOnce(Bytes) -> Bytes) -> Result<Response, ApiError> {
    let (mut parts, body) = response.into_parts();
    let body = edit(body.collect().await.map_err(ApiError::internal)?.to_bytes());
    replaced(&mut parts.headers, &body);
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// Corrects the headers that describe a body that has been replaced.
fn replaced(headers: &mut HeaderMap, body: &[u8]) {
    headers.insert(api::CRC32_HEADER, api::checksum(body));
    headers.insert(header::CONTENT_LENGTH, body.len().into());
}

fn failure(reply: FailureReply) -> Response {
    match reply {
        FailureReply::InternalServerError => ApiError::internal_on_purpose().into_response(),
        FailureReply::ConnectionClosed => {
            let end = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
            Response::new(Body::from_stream(futures::stream::iter([Err::<Bytes, _>(end)])))
        }
        FailureReply::Throttled => {
            ApiError::new("ThrottlingException", "Throughput exceeds the current capacity of your table or index.")
                .into_response()
        }
    }
}

/// Answers with what `work`, which waits for SQLite, gives.
async fn blocking(work: impl FnOnce() -> Result<String, ApiError> + Send + 'static) -> Result<Response, ApiError> {
    let body = tokio::task::spawn_blocking(work).await.map_err(ApiError::internal)??;
    Ok(api::reply(StatusCode::OK, Bytes::from(body)))
}
