//! The proxy: receives every request, injects faults, and answers the request or forwards it to the
//! emulator.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::adaptation::{Adaptation, index_projection, table_state, update_item};
use crate::api::{self, ApiError};
use crate::authorization::{self, Authorizer, SchemaCache};
use crate::call::Call;
use crate::database::Database;
use crate::faults::{FailureReply, Faults};
use crate::listener::Listener;
use crate::meter::Meter;
use crate::response_encoding::{self, Encoding};
use crate::throttle::{AdmittedCall, Throttle};
use crate::write_notifier::WriteNotifier;
use crate::{
    EngineError, ShardChange, arn, guard, point_in_time_recovery, refused_actions, request_body, streams, tables,
    validation,
};

/// The state of the proxy.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) database: Database,
    pub(crate) faults: Arc<Faults>,
    pub(crate) throttle: Throttle,
    /// Checks the callers that it knows; empty until [`crate::Engine::set_authorizer`].
    pub(crate) authorizer: OnceLock<Arc<dyn Authorizer>>,
    schemas: SchemaCache,
    pub(crate) meter: Arc<Meter>,
    pub(crate) writes: WriteNotifier,
    /// Whether the last write found the disk full.
    pub(crate) is_storage_full: AtomicBool,
    emulator: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// Serves until `stop` completes.
pub(crate) async fn serve(listener: TcpListener, proxy: Arc<Proxy>, stop: impl Future<Output = ()> + Send + 'static) {
    let router = Router::new().fallback(answer).with_state(proxy);
    if let Err(error) = axum::serve(Listener::new(listener), router).with_graceful_shutdown(stop).await {
        tracing::error!(%error, "the engine stopped serving");
    }
}

async fn answer(State(proxy): State<Arc<Proxy>>, request: Request<Body>) -> Response {
    let encoding = Encoding::accepted(request.headers());
    let response = proxy.answer(request).await.unwrap_or_else(ApiError::into_response);
    match encoding {
        Some(encoding) => response_encoding::encoded(response, encoding).await,
        None => response,
    }
}

impl Proxy {
    /// A proxy for the emulator that listens on the address `emulator`.
    pub(crate) fn new(database: Database, emulator: SocketAddr) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let (faults, throttle, meter, authorizer, schemas, writes) = Default::default();
        let is_storage_full = AtomicBool::new(false);
        Self { database, faults, throttle, meter, authorizer, schemas, writes, is_storage_full, emulator, client }
    }

    /// Deletes the items that have expired at a time, and trims the streams. Returns the number of deleted items.
    pub(crate) fn sweep(&self, now: Timestamp) -> Result<usize, EngineError> {
        let deleted = self.database.sweep(now)?;
        if deleted > 0 {
            self.writes.notify_all();
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
        self.writes.notify_all();
        Ok(children)
    }

    async fn answer(self: Arc<Self>, request: Request<Body>) -> Result<Response, ApiError> {
        let (mut parts, body) = request.into_parts();
        if !guard::admits(&parts.uri, &parts.headers) {
            return Err(ApiError::foreign_page());
        }
        let body = request_body::read(&mut parts.headers, body).await?;
        let target = parts.headers.get("x-amz-target").and_then(|target| target.to_str().ok());
        let operation = target.and_then(|target| target.rsplit_once('.')).map(|(_, operation)| operation.to_owned());
        let call = Call {
            operation: operation.unwrap_or_default(),
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            body,
            adaptation: Adaptation::None,
        };
        self.authorize(&call).await?;
        Ok(self.execute_with_faults(call).await)
    }

    /// Asks the authorizer, if there is one and it knows the caller.
    async fn authorize(self: &Arc<Self>, call: &Call) -> Result<(), ApiError> {
        self.schemas.changed_by(&call.operation);
        let Some(authorizer) = self.authorizer.get() else { return Ok(()) };
        let Some(caller) = arn::caller(&call.headers).filter(|caller| authorizer.applies_to(caller)) else {
            return Ok(());
        };
        let accesses = match authorization::accesses_at_once(&self.schemas, call) {
            Some(accesses) => accesses,
            None => {
                let (proxy, asked) = (Arc::clone(self), call.clone());
                let read = move || authorization::accesses(&proxy.database, &proxy.schemas, &asked);
                tokio::task::spawn_blocking(read).await.map_err(ApiError::internal)?
            }
        };
        for access in accesses {
            authorizer.authorize(caller, &access).map_err(ApiError::denied)?;
        }
        Ok(())
    }

    /// Executes the call, unless a fault replaces it.
    async fn execute_with_faults(self: &Arc<Self>, call: Call) -> Response {
        let delay = self.faults.delay();
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        let operation = call.operation.clone();
        if let Some(reply) = self.faults.fails_before(&operation) {
            return failure(reply);
        }
        let response = match self.injected_conflict(&call) {
            Some(conflict) => conflict.into_response(),
            None => self.execute(call).await.unwrap_or_else(ApiError::into_response),
        };
        match self.faults.fails_after(&operation) {
            Some(reply) => {
                // Reads the reply to its end first, so that the request is fully applied.
                drop(response.into_body().collect().await);
                failure(reply)
            }
            None => response,
        }
    }

    /// The cancellation of a transaction, if a conflict is due.
    fn injected_conflict(&self, call: &Call) -> Option<ApiError> {
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

    async fn execute(self: &Arc<Self>, mut call: Call) -> Result<Response, ApiError> {
        let region = arn::region(&call.headers).to_owned();
        if let Some(operation) = streams::Operation::named(&call.operation) {
            let proxy = Arc::clone(self);
            return blocking(move || streams::answer(&proxy.database.streams, operation, &call.body, &region)).await;
        }
        if point_in_time_recovery::answers(&call.operation) {
            let proxy = Arc::clone(self);
            return blocking(move || proxy.database.streams.recovery(&call.operation, &call.body)).await;
        }
        if call.operation == "DescribeEndpoints" {
            return Ok(describe_endpoints(&call.headers));
        }
        refused_actions::check(&call.operation)?;
        self.check(&mut call).await?;
        let metered = self.meter.request_capacity(&mut call);
        let response =
            if self.faults.throttles() { self.throttled(call, region).await? } else { self.forward(call).await? };
        match metered.filter(|_| response.status() == StatusCode::OK) {
            Some(metered) => edited(response, |body| self.meter.record_reply(metered, body)).await,
            None => Ok(response),
        }
    }

    /// Checks the call, and decides how it differs from the emulator's.
    async fn check(self: &Arc<Self>, call: &mut Call) -> Result<(), ApiError> {
        let Some(checked) = validation::check(&call.operation, &call.body)? else { return Ok(()) };
        if checked.is_rewritten {
            call.body = Bytes::from(serde_json::to_vec(&checked.request).map_err(ApiError::internal)?);
        }
        let proxy = Arc::clone(self);
        if index_projection::is_needed(&checked) {
            let read = move || index_projection::adapt(&proxy.database.tables, checked);
            let adapted = tokio::task::spawn_blocking(read).await.map_err(ApiError::internal)??;
            if let Some((adaptation, body)) = adapted {
                (call.adaptation, call.body) = (adaptation, body);
            }
        } else if table_state::is_needed(&call.operation) {
            let operation = call.operation.clone();
            let read = move || {
                table_state::check(&proxy.database.tables, &operation, &checked.request).map(|()| checked.request)
            };
            let request = tokio::task::spawn_blocking(read).await.map_err(ApiError::internal)??;
            if request.contains_key("GlobalSecondaryIndexUpdates") {
                call.adaptation = Adaptation::NewIndexes(request);
            }
        } else {
            call.adaptation = Adaptation::of(&call.operation, checked);
        }
        Ok(())
    }

    /// Executes the call within the limits of its partition keys.
    async fn throttled(self: &Arc<Self>, call: Call, region: String) -> Result<Response, ApiError> {
        let (proxy, request) = (Arc::clone(self), call.body.clone());
        let throttled = tokio::task::spawn_blocking(move || {
            let throttled = proxy.throttle.admit(&proxy.database.tables, call, &region)?;
            Ok::<_, ApiError>(throttled)
        });
        let AdmittedCall { call, charges, reply_edit, refused } = match throttled.await.map_err(ApiError::internal)? {
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
        let proxy = Arc::clone(self);
        let body = tokio::task::spawn_blocking(move || {
            proxy.throttle.charge(&proxy.database.tables, charges, &body);
            reply_edit.apply(body)
        });
        let body = body.await.map_err(ApiError::internal)?;
        replaced(&mut parts.headers, &body);
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    /// The reply, unless it says that SQLite found the disk full.
    async fn unless_storage_full(&self, operation: &str, response: Response) -> Result<Response, ApiError> {
        if response.status() != StatusCode::INTERNAL_SERVER_ERROR {
            let is_write = ["Put", "Update", "Write"].iter().any(|part| operation.contains(part));
            if is_write && response.status() == StatusCode::OK {
                self.is_storage_full.store(false, Ordering::Relaxed);
            }
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(ApiError::internal)?.to_bytes();
        if says_storage_full(&body) {
            self.is_storage_full.store(true, Ordering::Relaxed);
            return Err(ApiError::storage_full());
        }
        Ok(Response::from_parts(parts, Body::from(body)))
    }

    /// Forwards the call to the emulator, and adapts it where the emulator is not like DynamoDB.
    async fn forward(&self, mut call: Call) -> Result<Response, ApiError> {
        match std::mem::take(&mut call.adaptation) {
            Adaptation::None => self.send(call).await,
            Adaptation::Update(plan) => update_item::execute(self, call, plan).await,
            Adaptation::NewIndexes(request) => {
                let response = self.send(call).await?;
                if response.status() == StatusCode::OK {
                    let streams = Arc::clone(&self.database.streams);
                    let exclude = tokio::task::spawn_blocking(move || streams.exclude_misfits(&request));
                    exclude.await.map_err(ApiError::internal)??;
                }
                Ok(response)
            }
            adaptation => edited(self.send(call).await?, |body| adaptation.reply(body)).await,
        }
    }

    /// Sends the call to the emulator. The reply is unchanged, except for table descriptions.
    pub(crate) async fn send(&self, call: Call) -> Result<Response, ApiError> {
        // Notifies when dropped, even if the caller disconnected: the write may have been applied.
        let _notice = self.writes.notify_when_done(&call);
        let Call { operation, method, uri, mut headers, body, .. } = call;
        let region = tables::describes_a_table(&operation).then(|| arn::region(&headers).to_owned());
        // These headers belong to one connection; the client sets its own.
        for name in [header::CONNECTION, header::TRANSFER_ENCODING, header::EXPECT, header::CONTENT_LENGTH] {
            headers.remove(name);
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::new(Full::new(body));
        *request.uri_mut() = format!("http://{}{path}", self.emulator).parse().map_err(ApiError::internal)?;
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let response = self.client.request(request).await.map_err(ApiError::internal)?;
        let response = self.unless_storage_full(&operation, response.map(Body::new)).await?;
        let Some(region) = region else { return Ok(response) };
        let (mut parts, body) = response.into_parts();
        let body = body.collect().await.map_err(ApiError::internal)?.to_bytes();
        let streams = Arc::clone(&self.database.streams);
        let body = tokio::task::spawn_blocking(move || tables::described(&streams, body, &region));
        let body = body.await.map_err(ApiError::internal)?;
        replaced(&mut parts.headers, &body);
        Ok(Response::from_parts(parts, Body::from(body)))
    }
}

/// Whether an error of the emulator is SQLite's for a full disk.
fn says_storage_full(body: &[u8]) -> bool {
    std::str::from_utf8(body).is_ok_and(|body| body.contains("database or disk is full"))
}

/// The response with an edited body.
pub(crate) async fn edited(response: Response, edit: impl FnOnce(Bytes) -> Bytes) -> Result<Response, ApiError> {
    let (mut parts, body) = response.into_parts();
    let body = edit(body.collect().await.map_err(ApiError::internal)?.to_bytes());
    replaced(&mut parts.headers, &body);
    Ok(Response::from_parts(parts, Body::from(body)))
}

/// The address that the client uses already.
fn describe_endpoints(headers: &HeaderMap) -> Response {
    let address = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    let endpoints = json!({ "Endpoints": [{ "Address": address, "CachePeriodInMinutes": 1440 }] });
    api::reply(StatusCode::OK, Bytes::from(endpoints.to_string()))
}

/// Sets the headers that describe the body.
pub(crate) fn replaced(headers: &mut HeaderMap, body: &[u8]) {
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

/// Answers with the result of blocking SQLite work.
async fn blocking(work: impl FnOnce() -> Result<String, ApiError> + Send + 'static) -> Result<Response, ApiError> {
    let body = tokio::task::spawn_blocking(work).await.map_err(ApiError::internal)??;
    Ok(api::reply(StatusCode::OK, Bytes::from(body)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sqlites_error_for_a_full_disk_is_recognised() {
        let database = rusqlite::Connection::open_in_memory().expect("a database");
        database.execute_batch("CREATE TABLE t (x); PRAGMA max_page_count = 2").expect("a table");
        let full = database.execute("INSERT INTO t VALUES (zeroblob(100000))", []).expect_err("a full database");
        assert!(says_storage_full(full.to_string().as_bytes()), "{full}");
    }
}
