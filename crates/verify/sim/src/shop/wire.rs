//! The wire between an instance and the table: it takes time, and faults strike it before and after
//! a request is applied.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Config, Credentials, HttpClient, Region, RuntimeComponents, StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use rollup::sim::{split_read, take_items};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::sleep;

use super::weakness::{is_dropped, weaken};
use super::world::{State, TABLE, World};

/// How long a caller waits for a reply that is late.
const PATIENCE_MS: u64 = 1_000;

/// How much later than that a request may still be applied.
const LATE_MS_MAX: u64 = 8_000;

/// One end of the wire: the requests of one instance.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    world: World,
    killed: Arc<Notify>,
    /// The harness's own: no time, no faults.
    is_perfect: bool,
}

impl Wire {
    pub(super) fn new(world: World) -> Self {
        Self { world, killed: Arc::default(), is_perfect: false }
    }

    pub(super) fn perfect(world: World) -> Self {
        Self { is_perfect: true, ..Self::new(world) }
    }

    /// The table behind this wire, as the store reads and writes it.
    pub(super) fn table(&self) -> store_base::Table {
        store_base::Table::new(self.client(), TABLE)
    }

    /// An SDK client that speaks over this wire, with the SDK's own retries as in a function.
    pub(super) fn client(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("sim", "sim", None, None, "sim"))
            .endpoint_url("http://table")
            .retry_config(if self.is_perfect { RetryConfig::disabled() } else { RetryConfig::standard() })
            .timeout_config(TimeoutConfig::disabled())
            // A quota of its own: the SDK's common one would carry what happened in one history
            // into the next.
            .retry_partition(RetryPartition::custom("shop").build())
            .http_client(self.clone())
            // It compares real time with virtual.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        Client::from_conf(config.build())
    }

    /// Returns when the instance dies.
    pub(super) async fn killed(&self) {
        self.killed.notified().await;
    }

    async fn die(&self) -> Result<HttpResponse, ConnectorError> {
        self.killed.notify_one();
        std::future::pending().await
    }

    async fn send(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit_once('.'));
        let operation = target.map_or_else(String::new, |(_, operation)| operation.to_owned());
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        let weakness = self.world.with(|state| state.weakness);
        if is_dropped(weakness, &operation, &body) {
            return response(200, &json!({}));
        }
        let mut requests = match weakness {
            Some(weakness) if operation == "TransactWriteItems" => weaken(weakness, body),
            _ => vec![(operation, body)],
        };
        // The reply is the first one's, unless a later one fails.
        let mut reply = None;
        for (operation, body) in requests.drain(..) {
            let one = self.send_one(&operation, body).await?;
            let is_refused = one.0 != 200;
            reply.get_or_insert_with(|| one.clone());
            if is_refused {
                reply = Some(one);
                break;
            }
        }
        let (status, body) = reply.ok_or_else(|| ConnectorError::io("nothing was sent".into()))?;
        response(status, &body)
    }

    async fn send_one(&self, operation: &str, mut body: Value) -> Result<(u16, Value), ConnectorError> {
        if self.is_perfect {
            return Ok(self.world.with(|state| apply(state, operation, &body)));
        }
        let closed = || Err(ConnectorError::io("the connection was closed".into()));
        let (there, back) = self.world.with(|state| (state.latency(), state.latency()));
        sleep(there / 4).await;
        let is_transaction = operation == "TransactWriteItems";
        let not_applied = ["crash before a request", "lost request", "server error", "throttling"];
        let fault = self.world.with(|state| {
            let fault = not_applied.into_iter().find(|fault| state.strikes(fault));
            fault
                .or_else(|| (is_transaction && state.strikes("transaction conflict")).then_some("transaction conflict"))
        });
        match fault {
            None => {}
            Some("crash before a request") => return self.die().await.map(|_| (0, Value::Null)),
            Some("lost request") => return closed(),
            Some("server error") => {
                return Ok((500, json!({"__type": "InternalServerError", "message": "a bad moment"})));
            }
            Some("throttling") => {
                let kind = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
                return Ok((400, json!({"__type": kind, "message": "slower, please"})));
            }
            Some(_) => {
                let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
                let reasons = json!([{"Code": "TransactionConflict", "Message": "busy"}, {"Code": "None"}]);
                return Ok((400, json!({"__type": kind, "message": "canceled", "CancellationReasons": reasons})));
            }
        }
        if self.world.with(|state| state.strikes("late request")) {
            self.apply_late(operation, body);
            sleep(Duration::from_millis(PATIENCE_MS)).await;
            return Err(ConnectorError::timeout("no reply yet".into()));
        }
        let read_before = match operation {
            "BatchGetItem" => self.read_some(&mut body).await,
            _ => Vec::new(),
        };
        let (answer, fault) = self.world.with(|state| {
            let mut answer = apply(state, operation, &body);
            if let Some(items) = answer.1["Responses"][TABLE].as_array_mut() {
                items.extend(read_before);
            }
            let fault = ["crash after a request", "lost reply"].into_iter().find(|fault| state.strikes(fault));
            (answer, fault)
        });
        sleep(back / 4).await;
        match fault {
            None => Ok(answer),
            Some("crash after a request") => self.die().await.map(|_| (0, Value::Null)),
            Some(_) => closed(),
        }
    }

    /// Reads some items of a `BatchGetItem` before the others, and removes their keys from the
    /// request.
    async fn read_some(&self, body: &mut Value) -> Vec<Value> {
        let (early, pause) = self.world.with(|state| (split_read(body, TABLE, &mut state.rng), state.latency()));
        let Some(early) = early else { return Vec::new() };
        let (_, mut answer) = self.world.with(|state| apply(state, "BatchGetItem", &early));
        sleep(pause).await;
        take_items(&mut answer, TABLE)
    }

    /// From here on nobody can call the request back.
    fn apply_late(&self, operation: &str, body: Value) {
        let (world, operation) = (self.world.clone(), operation.to_owned());
        let late_ms = world.with(|state| {
            state.under_way += 1;
            PATIENCE_MS + state.rng.u64(..LATE_MS_MAX)
        });
        tokio::task::spawn(async move {
            sleep(Duration::from_millis(late_ms)).await;
            world.with(|state| {
                apply(state, &operation, &body);
                state.under_way -= 1;
            });
        });
    }
}

pub(super) fn apply(state: &mut State, operation: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = state.database.answer(operation, body.to_string().as_bytes());
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    state.note(|| format!("  {operation}: {status} {body} {}", if status == 200 { &Value::Null } else { &answer }));
    (status, answer)
}

fn response(status: u16, body: &Value) -> Result<HttpResponse, ConnectorError> {
    let status = status.try_into().map_err(|_| ConnectorError::io("no such status".into()))?;
    Ok(HttpResponse::new(status, SdkBody::from(body.to_string())))
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().send(request))
    }
}

impl HttpClient for Wire {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
