//! The wire between a client and the table: an HTTP connector for the real SDK that takes time, and
//! that faults strike.
//!
//! A request that has left its instance is applied whatever becomes of the instance, as it is in
//! the world. All requests are applied one after the other; in which order is for their virtual
//! latencies to say, and so for the seed.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::retry::{RetryConfig, RetryPartition};
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Config, HttpClient, Region, RuntimeComponents, StalledStreamProtectionConfig,
};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};
use tokio::time::sleep;

use super::faults::Fault;
use super::hazards::abroad;
use super::split_read::{split_read, take_items};
use super::table::TABLE;
use super::world::{Moment, Sim, World};
use crate::Table;

/// How long a caller waits for a reply that is late.
const PATIENCE_MS: u64 = 1_000;

/// How much later than that a request may still be applied.
const LATE_MS_MAX: u64 = 8_000;

/// More than a transaction of half the actions has, and less than one of all.
const FULL_BYTES: usize = 25_000;

/// One end of the wire: the requests of one instance.
#[derive(Clone)]
pub(crate) struct Wire {
    sim: Sim,
    killed: Arc<Notify>,
    is_abroad: bool,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

/// The fate of a request.
#[derive(Debug, Clone, Copy)]
enum Fate {
    /// It is applied, and its reply comes, or does not, as the fault says.
    Applied(Option<Fault>),
    /// It is not applied.
    Not(Fault),
}

impl Wire {
    /// The wire of an instance that a fault may kill.
    pub(crate) fn new(sim: Sim) -> Self {
        Self { sim, killed: Arc::default(), is_abroad: false }
    }

    /// The wire of a client that has another region.
    pub(crate) fn abroad(sim: Sim) -> Self {
        Self { is_abroad: true, ..Self::new(sim) }
    }

    /// The table of the statistics.
    pub(crate) fn table(&self) -> Table {
        self.named(TABLE)
    }

    /// The table of the items.
    pub(crate) fn items(&self) -> Table {
        self.named(self.sim.with(|world| world.table.items_name()))
    }

    fn named(&self, name: &str) -> Table {
        let [partition_key, sort_key] = self.sim.with(|world| world.table.keys.clone());
        Table::new(self.client(), name, partition_key, sort_key)
    }

    /// An SDK client that speaks over this wire, with the SDK's own retries as in a function.
    pub(crate) fn client(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .allow_no_auth()
            .endpoint_url("http://table")
            .http_client(self.clone())
            .retry_config(RetryConfig::standard())
            // A quota of its own: the SDK's common one would carry what happened in one history
            // into the next.
            .retry_partition(RetryPartition::custom("sim").build())
            // It compares real time with virtual.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        Client::from_conf(config.build())
    }

    /// A client of the table's stream.
    pub(crate) fn streams_client(&self) -> aws_sdk_dynamodbstreams::Client {
        let config = aws_sdk_dynamodbstreams::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .allow_no_auth()
            .endpoint_url("http://stream")
            .http_client(self.clone())
            .retry_config(RetryConfig::standard())
            .retry_partition(RetryPartition::custom("sim").build())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        aws_sdk_dynamodbstreams::Client::from_conf(config.build())
    }

    /// Returns when the instance dies.
    pub(crate) async fn killed(&self) {
        self.killed.notified().await;
    }

    async fn send(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit_once('.'));
        let operation = target.map_or_else(String::new, |(_, operation)| operation.to_owned());
        let body = request.body().bytes().unwrap_or_default().to_vec();
        let (fate, out_ms, back_ms) = self.sim.with(|world| {
            let fate = fate(world, &operation, &body);
            world.trace(|| format!("{operation} {fate:?} {}", String::from_utf8_lossy(&body)));
            (fate, latency_ms(world), latency_ms(world))
        });
        let fault = match fate {
            Fate::Applied(fault) => {
                let reply = self.put_on_the_wire(operation, body, out_ms, back_ms, fault);
                if fault == Some(Fault::Late) {
                    sleep(Duration::from_millis(PATIENCE_MS)).await;
                    return Err(ConnectorError::timeout("no reply yet".into()));
                }
                let reply = reply.await.map_err(|error| ConnectorError::io(error.into()))?;
                match fault {
                    None => return Ok(reply),
                    Some(fault) => fault,
                }
            }
            Fate::Not(fault) => {
                sleep(Duration::from_millis(out_ms)).await;
                fault
            }
        };
        match fault {
            Fault::CrashBefore | Fault::CrashAfter => {
                self.killed.notify_one();
                std::future::pending().await
            }
            Fault::ServerError => refusal(500, json!({"__type": "InternalServerError", "message": "a bad moment"})),
            Fault::Throttled => refusal(
                400,
                json!({"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
                    "message": "slower, please"}),
            ),
            Fault::Conflict => refusal(
                400,
                json!({"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException", "message": "canceled",
                    "CancellationReasons": [{"Code": "None"}, {"Code": "TransactionConflict", "Message": "busy"}]}),
            ),
            Fault::StaleRead => refusal(200, json!({"Responses": {}, "UnprocessedKeys": {}})),
            _ => Err(ConnectorError::io("the connection was closed".into())),
        }
    }

    /// From here on nobody can call the request back.
    fn put_on_the_wire(
        &self,
        operation: String,
        body: Vec<u8>,
        mut out_ms: u64,
        back_ms: u64,
        fault: Option<Fault>,
    ) -> oneshot::Receiver<HttpResponse> {
        let (answer, reply) = oneshot::channel();
        let (sim, is_abroad) = (self.sim.clone(), self.is_abroad);
        sim.with(|world| {
            world.under_way += 1;
            if fault == Some(Fault::Late) {
                out_ms = PATIENCE_MS + world.rng.u64(..LATE_MS_MAX);
            }
        });
        tokio::task::spawn_local(async move {
            sleep(Duration::from_millis(out_ms)).await;
            let (early, body) = match operation.as_str() {
                "BatchGetItem" => read_some(&sim, body).await,
                _ => (Vec::new(), body),
            };
            let (status, reply) = sim.with(|world| {
                let mut answer = world.answer(&operation, &body);
                if !early.is_empty()
                    && let Ok(mut reply) = serde_json::from_slice::<Value>(&answer.1)
                    && let Some(items) = reply["Responses"][TABLE].as_array_mut()
                {
                    items.extend(early);
                    answer.1 = reply.to_string().into_bytes();
                }
                if is_abroad && operation == "DescribeTable" {
                    answer.1 = abroad(&String::from_utf8_lossy(&answer.1)).into_bytes();
                }
                world.trace(|| format!("applied {operation}: {}", answer.0));
                world.may_go_out(moment(&operation, &body));
                answer
            });
            sleep(Duration::from_millis(back_ms)).await;
            sim.with(|world| world.under_way -= 1);
            if let Ok(response) = response(status, reply) {
                // Nobody waits any more for the reply of an instance that has died.
                let _ = answer.send(response);
            }
        });
        reply
    }
}

/// Reads some items of a `BatchGetItem` before the others. Returns them, and the request for the
/// rest.
async fn read_some(sim: &Sim, body: Vec<u8>) -> (Vec<Value>, Vec<u8>) {
    let Ok(mut rest) = serde_json::from_slice::<Value>(&body) else { return (Vec::new(), body) };
    let (early, pause_ms) = sim.with(|world| (split_read(&mut rest, TABLE, &mut world.rng), latency_ms(world)));
    let Some(early) = early else { return (Vec::new(), body) };
    let (_, reply) = sim.with(|world| world.answer("BatchGetItem", early.to_string().as_bytes()));
    sleep(Duration::from_millis(pause_ms)).await;
    let mut reply: Value = serde_json::from_slice(&reply).unwrap_or_default();
    (take_items(&mut reply, TABLE), rest.to_string().into_bytes())
}

/// What an outage may begin after.
fn moment(operation: &str, body: &[u8]) -> Moment {
    match operation {
        "TransactWriteItems" if body.len() > FULL_BYTES => Moment::FullTransaction,
        "TransactWriteItems" => Moment::Transaction,
        _ => Moment::Request,
    }
}

/// Decides what becomes of a request. The dice are thrown in the same order each time.
fn fate(world: &mut World, operation: &str, body: &[u8]) -> Fate {
    if world.is_out() {
        return Fate::Not(Fault::Outage);
    }
    let is_transaction = operation == "TransactWriteItems";
    let is_consistent = String::from_utf8_lossy(body).contains(r#""ConsistentRead":true"#);
    let is_batch_read = operation == "BatchGetItem" && !is_consistent;
    let not = [Fault::CrashBefore, Fault::Refused, Fault::ServerError, Fault::Throttled];
    let also_not = [(Fault::Conflict, is_transaction), (Fault::StaleRead, is_batch_read)];
    let also_not = also_not.into_iter().filter_map(|(fault, can)| can.then_some(fault));
    if let Some(fault) = not.into_iter().chain(also_not).find(|fault| world.strikes(*fault)) {
        return Fate::Not(fault);
    }
    Fate::Applied([Fault::CrashAfter, Fault::LostReply, Fault::Late].into_iter().find(|fault| world.strikes(*fault)))
}

/// Mostly a few milliseconds, now and then a few hundred, so that requests overtake each other.
fn latency_ms(world: &mut World) -> u64 {
    let ms_max = if world.rng.u8(..10) == 0 { 300 } else { 8 };
    world.rng.u64(1..ms_max)
}

fn response(status: u16, body: Vec<u8>) -> Result<HttpResponse, ConnectorError> {
    let status = status.try_into().map_err(|_| ConnectorError::io("no such status".into()))?;
    Ok(HttpResponse::new(status, SdkBody::from(body)))
}

fn refusal(status: u16, body: Value) -> Result<HttpResponse, ConnectorError> {
    response(status, body.to_string().into_bytes())
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
