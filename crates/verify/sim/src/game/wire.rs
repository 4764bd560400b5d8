//! The wire between an instance and the table: it takes time, and faults strike it.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::{HttpRequest, HttpResponse};
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::world::{TABLE, World};
use crate::wire::client;

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
        let is_retried = !self.is_perfect;
        client(self, is_retried)
    }

    async fn send(self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let target = request.headers().get("x-amz-target").and_then(|target| target.rsplit_once('.'));
        let operation = target.map_or_else(String::new, |(_, operation)| operation.to_owned());
        let body = request.body().bytes().unwrap_or_default().to_vec();
        if self.is_perfect {
            let (status, body) = self.world.with(|state| state.database.answer(&operation, &body));
            return response(status, body);
        }
        let (there, back) = self.world.with(|state| (state.history.latency() / 4, state.history.latency() / 4));
        sleep(there.max(Duration::from_millis(1))).await;
        let is_transaction = operation == "TransactWriteItems";
        let answer = self.world.with(|state| {
            if state.history.strikes("request lost") {
                return Err(ConnectorError::io("the connection was closed".into()));
            }
            if state.history.strikes("throttled") {
                let kind = "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
                return Ok((400, json!({"__type": kind, "message": "slower, please"}).to_string().into_bytes()));
            }
            if is_transaction && state.history.strikes("conflict") {
                let kind = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
                let reasons = json!([{"Code": "TransactionConflict", "Message": "busy"}]);
                let body = json!({"__type": kind, "message": "canceled", "CancellationReasons": reasons});
                return Ok((400, body.to_string().into_bytes()));
            }
            let answer = state.database.answer(&operation, &body);
            let question: Value = serde_json::from_slice(&body).unwrap_or_default();
            let is_weak = ["GetItem", "BatchGetItem", "Query"].contains(&operation.as_str())
                && !question.to_string().contains("\"ConsistentRead\":true");
            // The SDK writes maps in any order, and a parsed map is sorted. Without this, one seed would
            // give several histories.
            let answer = match is_weak {
                true => state.history.eventually(format!("{operation} {question}"), answer),
                false => answer,
            };
            state.history.note(|| format!("{operation}: {}", answer.0));
            if state.history.strikes("reply lost") {
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
