//! API Gateway's WebSocket APIs: pass handshakes and messages to functions, and responses to the
//! client.
//!
//! Each connection has one task: `$connect` accepts or refuses the handshake, then both sides
//! exchange messages, then `$disconnect` gets the close status. Functions reach open connections
//! through the [`management`] API.

mod connection;
mod event;
mod integration_response;
mod limits;
pub(crate) mod management;
mod route;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{Response, StatusCode, header};
use hyper::upgrade::OnUpgrade;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use connection::{CloseStatus, Connection};
pub(crate) use limits::ConnectionLimits;

use crate::arn;
use crate::faults::Faults;
use crate::functions::{Functions, Pool};
use crate::http_api::authorizers::{AuthorizerRequest, LambdaDecider, Refusal};
use crate::http_api::errors::GatewayError;
use crate::http_api::event::request_id;
use crate::http_api::integration_response::message;
use crate::http_api::throttle::Bucket;
use crate::stack::{ApiKind, HttpApi, WebSocketApi, WebSocketRoute};
use connection::ClosingConnection;
use event::Client;
use integration_response::IntegrationResponse;

/// The path of the API.
pub(crate) const PATH: &str = "/ws";

/// How long to wait for the connections to end when the stack stops.
const STOP_GRACE: Duration = Duration::from_secs(2);

/// The WebSocket API of a stack, and its connections.
#[derive(Debug)]
pub struct WebSocketServer {
    api: WebSocketApi,
    routes: BTreeMap<String, Route>,
    /// Decides about handshakes before `$connect`.
    authorizer: Option<LambdaDecider>,
    /// For routes without their own throttling.
    bucket: Option<Bucket>,
    limits: ConnectionLimits,
    faults: Arc<Faults>,
    connections: Mutex<HashMap<String, Arc<Connection>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Debug)]
struct Route {
    key: String,
    pool: Arc<Pool>,
    timeout: Duration,
    responds: bool,
    bucket: Option<Bucket>,
}

/// A route whose function does not exist.
#[derive(Debug, thiserror::Error)]
#[error("the route {route_key} leads to {function}, which is not a function")]
pub struct WebSocketRouteError {
    /// The route.
    pub route_key: String,
    /// The logical id in the route.
    pub function: String,
}

impl WebSocketServer {
    /// The API, without connections yet.
    ///
    /// # Errors
    /// [`WebSocketRouteError`] when a route's function is not among `functions`.
    pub fn new(
        api: &WebSocketApi,
        functions: &Functions,
        limits: ConnectionLimits,
        faults: &Arc<Faults>,
    ) -> Result<Arc<Self>, WebSocketRouteError> {
        let mut routes = BTreeMap::new();
        let mut authorizer = None;
        let find = |route: &WebSocketRoute, function: &str| {
            let missing = || WebSocketRouteError { route_key: route.route_key.clone(), function: function.to_owned() };
            functions.get(function).cloned().ok_or_else(missing)
        };
        for route in &api.routes {
            let pool = find(route, &route.function)?;
            if let Some(settings) = &route.authorizer {
                authorizer = Some(LambdaDecider::new(settings.clone(), find(route, &settings.function)?));
            }
            let bucket = route.throttle.map(|throttle| Bucket::new(throttle, Instant::now()));
            let key = route.route_key.clone();
            let route = Route { key, pool, timeout: route.timeout, responds: route.responds, bucket };
            routes.insert(route.key.clone(), route);
        }
        Ok(Arc::new(Self {
            api: api.clone(),
            routes,
            authorizer,
            bucket: api.throttle.map(|throttle| Bucket::new(throttle, Instant::now())),
            limits,
            faults: Arc::clone(faults),
            connections: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }))
    }

    /// The API's logical id, used as its id.
    pub fn logical_id(&self) -> &str {
        &self.api.logical_id
    }

    /// Name of the stage.
    pub fn stage(&self) -> &str {
        &self.api.stage
    }

    /// The active limits.
    pub fn limits(&self) -> &ConnectionLimits {
        &self.limits
    }

    /// The number of open connections.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// The open connection with this id.
    pub fn find(&self, id: &str) -> Option<Arc<Connection>> {
        self.lock().get(id).cloned()
    }

    /// Responds to a handshake after `$connect` has decided.
    pub async fn upgrade(self: &Arc<Self>, mut request: Request, peer: SocketAddr) -> Response<Body> {
        let accepted = match create_response_with_body(&request, Body::empty) {
            Ok(accepted) => accepted,
            Err(error) => return message(StatusCode::BAD_REQUEST, &format!("not a WebSocket handshake: {error}")),
        };
        if self.stop.is_cancelled() {
            return message(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable");
        }
        let upgrade = hyper::upgrade::on(&mut request);
        let (parts, _) = request.into_parts();
        let client = Client::new(&parts, peer.ip(), Timestamp::now());
        let (answer, answered) = oneshot::channel();
        // A separate task: it continues if the client disconnects during the handshake, so that
        // `$disconnect` always follows `$connect`.
        self.tasks.spawn(Arc::clone(self).run_connection(client, parts, accepted, upgrade, answer));
        answered.await.unwrap_or_else(|_| message(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"))
    }

    /// Closes every connection, and waits until the functions have handled it.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        if tokio::time::timeout(STOP_GRACE, self.tasks.wait()).await.is_err() {
            tracing::warn!("{} connections have not ended in time", self.count());
        }
    }

    /// Removes a connection: from now on it counts as gone.
    fn forget(&self, id: &str) {
        self.lock().remove(id);
    }

    /// Injects the fault of a cut connection, if it is due.
    fn inject_cut(&self, connection: &Connection) {
        if self.faults.cuts_connection() {
            self.forget(&connection.client.id);
            connection.cut();
        }
    }

    /// Runs a connection from the handshake to its end.
    async fn run_connection(
        self: Arc<Self>,
        mut client: Client,
        parts: Parts,
        mut accepted: Response<Body>,
        upgrade: OnUpgrade,
        answer: oneshot::Sender<Response<Body>>,
    ) {
        match self.authorize(&client, &parts).await {
            Ok(authorizer) => client.authorizer = authorizer,
            Err(refusal) => {
                // The client may have disconnected; the refusal is the same.
                let api = HttpApi::new(&self.api.logical_id, ApiKind::Rest);
                drop(answer.send(GatewayError::Refused(refusal).response(&api)));
                return;
            }
        }
        match self.admit(&client, &parts).await {
            Ok(Some(IntegrationResponse { protocol: Some(protocol), .. })) => {
                accepted.headers_mut().insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
            }
            Ok(_) => {}
            Err((status, text)) => {
                // The client may have disconnected; the refusal is the same.
                drop(answer.send(message(status, text)));
                return;
            }
        }
        drop(parts);
        let (connection, outbound) = Connection::new(client);
        self.lock().insert(connection.client.id.clone(), Arc::clone(&connection));
        let upgraded = match answer.send(accepted) {
            Ok(()) => upgrade.await.ok(),
            Err(_) => None,
        };
        let parting = match upgraded {
            Some(io) => {
                let receive = |text| self.receive(&connection, text);
                Some(connection.run(io, outbound, &self.limits, &self.stop, receive).await)
            }
            None => None,
        };
        self.forget(&connection.client.id);
        let end = parting.as_ref().map_or_else(CloseStatus::lost, ClosingConnection::end);
        let hang_up = futures::future::OptionFuture::from(parting.map(ClosingConnection::finish_close));
        // `$disconnect` begins before the client can see that the connection is closed.
        tokio::join!(self.disconnect(&connection.client, &end), hang_up);
    }

    /// Invokes `$disconnect` once, best effort as on AWS. The pool logs failures.
    async fn disconnect(&self, client: &Client, end: &CloseStatus) {
        let Some(route) = self.routes.get("$disconnect") else { return };
        let event = event::disconnect(&self.api, client, end, Timestamp::now());
        call(route, &event).await;
    }

    /// The context of the authorizer, if there is one. An error refuses the handshake.
    async fn authorize(&self, client: &Client, parts: &Parts) -> Result<Option<Value>, Refusal> {
        let Some(authorizer) = &self.authorizer else { return Ok(None) };
        let arn = format!("{}:{}/{}/$connect", arn::of_region("execute-api"), self.api.logical_id, self.api.stage);
        // An authorizer of a WebSocket API gets the event of a REST API's authorizer.
        let api = HttpApi { stage: self.api.stage.clone(), ..HttpApi::new(&self.api.logical_id, ApiKind::Rest) };
        let event = |_| event::connect(&self.api, client, parts);
        let request = AuthorizerRequest { parts, api: &api, arn: &arn, scopes: &[], event: &event };
        authorizer.decide(request).await.map(|grant| Some(grant.into_text()))
    }

    /// The response of `$connect` to a handshake; `None` if there is no such route. An error
    /// refuses the handshake.
    async fn admit(
        &self,
        client: &Client,
        parts: &Parts,
    ) -> Result<Option<IntegrationResponse>, (StatusCode, &'static str)> {
        let Some(route) = self.routes.get("$connect") else { return Ok(None) };
        if !self.within_rate_limit(route) {
            return Err((StatusCode::TOO_MANY_REQUESTS, "Too Many Requests"));
        }
        let event = event::connect(&self.api, client, parts);
        match call(route, &event).await {
            Some(answer) if answer.status.is_success() => Ok(Some(answer)),
            Some(answer) => Err((answer.status, answer.status.canonical_reason().unwrap_or("Refused"))),
            None => Err((StatusCode::BAD_GATEWAY, "Internal server error")),
        }
    }

    /// Passes a client's message to its route's function. Messages may overtake each other, because
    /// each is handled by its own task.
    fn receive(self: &Arc<Self>, connection: &Arc<Connection>, text: Utf8Bytes) {
        connection.touch();
        self.inject_cut(connection);
        let request_id = request_id();
        let key = route::key(&self.api.selection, &text);
        // A message cannot select a predefined route of API Gateway.
        let named = key.filter(|key| !key.starts_with('$')).and_then(|key| self.routes.get(&key));
        let Some(route) = named.or_else(|| self.routes.get(route::DEFAULT)) else {
            return send_gateway_error(connection, "Forbidden", &request_id);
        };
        let permit = Arc::clone(&connection.under_way).try_acquire_owned();
        let (true, Ok(permit)) = (self.within_rate_limit(route), permit) else {
            return send_gateway_error(connection, "Too Many Requests", &request_id);
        };
        let event = event::message(&self.api, &connection.client, &route.key, &request_id, &text, Timestamp::now());
        let (sockets, connection, key) = (Arc::clone(self), Arc::clone(connection), route.key.clone());
        let work = route.pool.clock().begin(format!("a message of the route {key}"));
        self.tasks.spawn(async move {
            let delay = sockets.faults.message_delay();
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let Some(route) = sockets.routes.get(&key) else { return };
            match call(route, &event).await {
                Some(IntegrationResponse { body: Some(body), .. }) if route.responds => {
                    connection.post(body.into()).ok();
                }
                Some(_) => {}
                None => send_gateway_error(&connection, "Internal server error", &request_id),
            }
            drop((permit, work));
        });
    }

    fn within_rate_limit(&self, route: &Route) -> bool {
        route.bucket.as_ref().or(self.bucket.as_ref()).is_none_or(|bucket| bucket.take(Instant::now()))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Connection>>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The function's response; `None` if it fails, exceeds its timeout, or has an invalid result.
async fn call(route: &Route, event: &Value) -> Option<IntegrationResponse> {
    let invocation = route.pool.invoke(event.to_string().into());
    let function = route.pool.function();
    let invocation = tokio::time::timeout(function.time_limit(route.timeout), invocation).await.ok()?.ok()?;
    let read = integration_response::read(&invocation.outcome.ok()?);
    let function = &function.logical_id;
    read.inspect_err(|why| tracing::error!("{function} | its result is no response of a WebSocket API: {why}")).ok()
}

/// Sends API Gateway's own error message.
fn send_gateway_error(connection: &Connection, message: &str, request_id: &str) {
    let id = &connection.client.id;
    let text = json!({ "message": message, "connectionId": id, "requestId": request_id }).to_string();
    // An error means that the client is gone or does not read; it cannot get the message.
    connection.post(text.into()).ok();
}
