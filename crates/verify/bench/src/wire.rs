//! SDK clients whose requests pass through the bench, which counts or answers them.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, HttpClient, Region, RuntimeComponents};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

/// What answers a request: the operation (`PutItem`) and its JSON go in, the reply's JSON comes
/// out.
pub(crate) trait Answer: Send + Sync + 'static {
    fn answer(&self, operation: &str, body: &[u8]) -> Reply;
}

/// A reply to come.
pub(crate) type Reply = Pin<Box<dyn Future<Output = anyhow::Result<(u16, Vec<u8>)>> + Send>>;

/// One end of a wire whose other end is `answer`.
struct Wire(Arc<dyn Answer>);

impl Clone for Wire {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit_once('.'));
        let operation = target.map_or("", |(_, operation)| operation);
        let reply = self.0.answer(operation, request.body().bytes().unwrap_or_default());
        HttpConnectorFuture::new(async move {
            let (status, body) = reply.await.map_err(|error| ConnectorError::other(error.into(), None))?;
            let status = status.try_into().map_err(|_| ConnectorError::io("no such status".into()))?;
            Ok(HttpResponse::new(status, SdkBody::from(body)))
        })
    }
}

impl HttpClient for Wire {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// The real SDK, with `answer` in place of the network. Nothing is retried: each request counts.
pub(crate) fn client(answer: Arc<dyn Answer>) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("bench", "bench", None, None, "bench"))
        .endpoint_url("http://table")
        .http_client(Wire(answer))
        .retry_config(RetryConfig::disabled());
    Client::from_conf(config.build())
}

/// What requests have consumed.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Consumed {
    pub(crate) requests: f64,
    /// Write request units, table and index.
    pub(crate) write_units: f64,
    /// Read request units.
    pub(crate) read_units: f64,
}

/// Passes requests on to an engine, which is asked what each has consumed.
pub(crate) struct Meter {
    engine: String,
    http: reqwest::Client,
    consumed: Arc<Mutex<Consumed>>,
}

impl Meter {
    /// A meter in front of the engine at this URL.
    pub(crate) fn new(engine: String) -> Self {
        Self { engine, http: reqwest::Client::new(), consumed: Arc::default() }
    }

    /// The units consumed since the last call.
    pub(crate) fn take(&self) -> Consumed {
        std::mem::take(&mut *self.consumed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Answer for Meter {
    fn answer(&self, operation: &str, body: &[u8]) -> Reply {
        let operation = operation.to_owned();
        let request = serde_json::from_slice::<Value>(body).map(|mut request| {
            request["ReturnConsumedCapacity"] = json!("INDEXES");
            self.http
                .post(&self.engine)
                .header("x-amz-target", format!("DynamoDB_20120810.{operation}"))
                .header("content-type", "application/x-amz-json-1.0")
                .header("x-amz-date", "20251002T103000Z")
                .header(
                    "authorization",
                    "AWS4-HMAC-SHA256 Credential=bench/20251002/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
                )
                .body(request.to_string())
        });
        let consumed = Arc::clone(&self.consumed);
        Box::pin(async move {
            let answer = request?.send().await?;
            let (status, body) = (answer.status().as_u16(), answer.bytes().await?);
            let units = units(&serde_json::from_slice(&body)?);
            let mut consumed = consumed.lock().unwrap_or_else(PoisonError::into_inner);
            consumed.requests += 1.0;
            match operation.as_str() {
                "GetItem" | "BatchGetItem" | "Query" => consumed.read_units += units,
                _ => consumed.write_units += units,
            }
            Ok((status, body.to_vec()))
        })
    }
}

/// The units of a reply: of one table, or of each of some.
fn units(reply: &Value) -> f64 {
    let units = |capacity: &Value| capacity["CapacityUnits"].as_f64().unwrap_or_default();
    match &reply["ConsumedCapacity"] {
        Value::Array(tables) => tables.iter().map(units).sum(),
        table => units(table),
    }
}
