//! The wire between an instance and the table: it takes time, and faults strike it.

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
use serde_json::json;
use tokio::time::sleep;

use super::world::{TABLE, World};

/// One end of the wire.
#[derive(Debug, Clone)]
pub(super) struct Wire {
    world: World,
    /// The harness's own: no time, no faults.
    is_perfect: bool,
}

impl Wire {
    pub(super) fn new(world: World) -> Self {
        Self { world, is_perfect: false }
    }

    pub(super) fn perfect(world: World) -> Self {
        Self { world, is_perfect: true }
    }

    /// The table behind this wire, as the store reads and writes it.
    pub(super) fn table(self) -> store_base::Table {
        store_base::Table::new(self.client(), TABLE)
    }

    /// An SDK client that speaks over this wire, with the SDK's own retries as in a function.
    pub(super) fn client(self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("sim", "sim", None, None, "sim"))
            .endpoint_url("http://table")
            .retry_config(if self.is_perfect { RetryConfig::disabled() } else { RetryConfig::standard() })
            .timeout_config(TimeoutConfig::disabled())
            // A quota of its own: the SDK's common one would carry what happened in one game into
            // the next.
            .retry_partition(RetryPartition::custom("game").build())
            .http_client(self)
            // It compares real time with virtual.
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        Client::from_conf(config.build())
    }

    async fn send(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit_once('.'));
        let operation = target.map_or_else(String::new, |(_, operation)| operation.to_owned());
        let body = request.body().bytes().unwrap_or_default().to_vec();
        if self.is_perfect {
            let (status, body) = self.world.with(|state| state.database.answer(&operation, &body));
            return response(status, body);
        }
        let (there, back) = self.world.with(|state| (state.latency() / 4, state.latency() / 4));
        sleep(there.max(Duration::from_millis(1))).await;
        let is_transaction = operation == "TransactWriteItems";
        let answer = self.world.with(|state| {
            if state.strikes("request lost") {
                return Err(ConnectorError::io("the connection was closed".into()));
            }
            if state.strikes("throttled") {
                let kind = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
                return Ok((400, json!({"__type": kind, "message": "slower, please"}).to_string().into_bytes()));
            }
            if is_transaction && state.strikes("conflict") {
                let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
                let reasons = json!([{"Code": "TransactionConflict", "Message": "busy"}]);
                let body = json!({"__type": kind, "message": "canceled", "CancellationReasons": reasons});
                return Ok((400, body.to_string().into_bytes()));
            }
            let answer = state.database.answer(&operation, &body);
            state.note(|| format!("{operation}: {}", answer.0));
            if state.strikes("reply lost") {
                return Err(ConnectorError::io("the connection was closed".into()));
            }
            Ok(answer)
        });
        sleep(back.max(Duration::from_millis(1))).await;
        let (status, body) = answer?;
        response(status, body)
    }
}

fn response(status: u16, body: Vec<u8>) -> Result<HttpResponse, ConnectorError> {
    let status = status.try_into().map_err(|_| ConnectorError::io("no such status".into()))?;
    Ok(HttpResponse::new(status, SdkBody::from(body)))
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
