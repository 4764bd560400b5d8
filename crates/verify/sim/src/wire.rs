//! The wire between an instance and the table: it takes time, and faults strike it before and after
//! a request is applied.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Config, HttpClient, Region, RuntimeComponents, StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use rollup::sim::{split_read, take_items};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::history::History;
use crate::table::Database;

/// How long a caller waits for a reply that is late.
const PATIENCE_MS: u64 = 1_000;

/// How much later than that a request may still be applied.
const LATE_MS_MAX: u64 = 8_000;

/// What is behind a wire.
pub(crate) trait Behind: Clone + fmt::Debug + Send + Sync + 'static {
    /// The name of the table.
    const TABLE: &'static str;

    /// One step of the history.
    fn history<T>(&self, step: impl FnOnce(&mut History) -> T) -> T;

    /// Applies a request of an invocation now: the status and the body of the answer.
    fn apply(&self, invocation: u64, operation: &str, body: &Value) -> (u16, Value);

    /// The requests in place of one, by the rule that is weakened. With none, nothing is applied.
    fn weaken(&self, invocation: u64, operation: String, body: Value) -> Vec<(String, Value)>;
}

/// One end of the wire: the requests of one instance.
#[derive(Debug, Clone)]
pub(crate) struct Wire<W> {
    pub(crate) world: W,
    killed: Arc<Notify>,
    /// Which invocation the instance works on.
    invocation: Arc<AtomicU64>,
    /// The harness's own: no time, no faults.
    is_perfect: bool,
}

impl<W: Behind> Wire<W> {
    pub(crate) fn new(world: W) -> Self {
        Self { world, killed: Arc::default(), invocation: Arc::default(), is_perfect: false }
    }

    pub(crate) fn perfect(world: W) -> Self {
        Self { is_perfect: true, ..Self::new(world) }
    }

    /// The table behind this wire, as the store reads and writes it.
    pub(crate) fn table(&self) -> store_base::Table {
        store_base::Table::new(self.client(), W::TABLE)
    }

    pub(crate) fn begin(&self, invocation: u64) {
        self.invocation.store(invocation, Ordering::Relaxed);
    }

    pub(crate) fn invocation(&self) -> u64 {
        self.invocation.load(Ordering::Relaxed)
    }

    /// An SDK client that speaks over this wire, with the SDK's own retries as in a function.
    pub(crate) fn client(&self) -> Client {
        client(self.clone(), !self.is_perfect)
    }

    /// The result of an invocation, unless its instance crashes or Lambda ends it.
    pub(crate) async fn unless_killed<T>(&self, work: impl Future<Output = T>, time_limit: Duration) -> Option<T> {
        let work = async {
            tokio::select! {
                // Chance is the seed's alone.
                biased;
                outcome = work => Some(outcome),
                () = self.killed.notified() => None,
            }
        };
        timeout(time_limit, work).await.unwrap_or_else(|_| {
            self.world.history(|history| *history.faults.entry("timeout").or_default() += 1);
            None
        })
    }

    async fn die(&self) -> Result<HttpResponse, ConnectorError> {
        self.killed.notify_one();
        std::future::pending().await
    }

    async fn send(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit_once('.'));
        // Mails have another protocol.
        let operation = target.map_or("SendEmail", |(_, operation)| operation).to_owned();
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
        let mut requests = self.world.weaken(self.invocation(), operation, body);
        if requests.is_empty() {
            return response(200, &json!({}));
        }
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
            return Ok(self.world.apply(self.invocation(), operation, &body));
        }
        let closed = || Err(ConnectorError::io("the connection was closed".into()));
        let (there, back) = self.world.history(|history| (history.latency(), history.latency()));
        sleep(there / 4).await;
        let is_transaction = operation == "TransactWriteItems";
        let not_applied = ["crash before a request", "lost request", "server error", "throttling"];
        let fault = self.world.history(|history| {
            let fault = not_applied.into_iter().find(|fault| history.strikes(fault));
            let is_conflict = |history: &mut History| is_transaction && history.strikes("transaction conflict");
            fault.or_else(|| is_conflict(history).then_some("transaction conflict"))
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
        if self.world.history(|history| history.strikes("late request")) {
            self.apply_late(operation, body);
            sleep(Duration::from_millis(PATIENCE_MS)).await;
            return Err(ConnectorError::timeout("no reply yet".into()));
        }
        let read_before = match operation {
            "BatchGetItem" => self.read_some(&mut body).await,
            _ => Vec::new(),
        };
        let mut answer = self.world.apply(self.invocation(), operation, &body);
        if let Some(items) = answer.1["Responses"][W::TABLE].as_array_mut() {
            items.extend(read_before);
        }
        let after = ["crash after a request", "lost reply"];
        let fault = self.world.history(|history| after.into_iter().find(|fault| history.strikes(fault)));
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
        let (early, pause) =
            self.world.history(|history| (split_read(body, W::TABLE, &mut history.rng), history.latency()));
        let Some(early) = early else { return Vec::new() };
        let (_, mut answer) = self.world.apply(self.invocation(), "BatchGetItem", &early);
        sleep(pause).await;
        take_items(&mut answer, W::TABLE)
    }

    /// From here on nobody can call the request back.
    fn apply_late(&self, operation: &str, body: Value) {
        let (world, operation, invocation) = (self.world.clone(), operation.to_owned(), self.invocation());
        let late_ms = world.history(|history| {
            history.under_way += 1;
            PATIENCE_MS + history.rng.u64(..LATE_MS_MAX)
        });
        tokio::task::spawn(async move {
            sleep(Duration::from_millis(late_ms)).await;
            world.apply(invocation, &operation, &body);
            world.history(|history| history.under_way -= 1);
        });
    }
}

/// An SDK client that speaks over a wire, with the SDK's own retries or without.
pub(crate) fn client(wire: impl HttpClient + 'static, is_retried: bool) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .allow_no_auth()
        .endpoint_url("http://table")
        .retry_config(if is_retried { RetryConfig::standard() } else { RetryConfig::disabled() })
        .timeout_config(TimeoutConfig::disabled())
        // A quota of its own: the SDK's common one would carry what happened in one history into the
        // next.
        .retry_partition(RetryPartition::custom("sim").build())
        .http_client(wire)
        // It compares real time with virtual.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
    Client::from_conf(config.build())
}

/// Applies a request to a table, and notes it.
pub(crate) fn ask_noted(
    database: &mut dyn Database,
    history: &mut History,
    operation: &str,
    body: &Value,
) -> (u16, Value) {
    let (status, answer) = database.answer(operation, body.to_string().as_bytes());
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    history.note(|| format!("  {operation}: {status} {body} {}", if status == 200 { &Value::Null } else { &answer }));
    (status, answer)
}

fn response(status: u16, body: &Value) -> Result<HttpResponse, ConnectorError> {
    let status = status.try_into().map_err(|_| ConnectorError::io("no such status".into()))?;
    Ok(HttpResponse::new(status, SdkBody::from(body.to_string())))
}

impl<W: Behind> HttpConnector for Wire<W> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        HttpConnectorFuture::new(self.clone().send(request))
    }
}

impl<W: Behind> HttpClient for Wire<W> {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
