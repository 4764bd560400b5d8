//! A client that speaks the wire format itself, so that tests see the bytes on the wire.

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tidemark_engine::{Engine, Options, Storage};

/// Much longer than any call, so that a hanging test ends.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Wire {
    url: String,
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Wire {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { url: engine.url(), client: Client::builder(TokioExecutor::new()).build_http() }
    }

    /// Status and body of a call, or `None` if the connection closes.
    pub(crate) async fn try_call(&self, target: &str, body: &Value) -> Option<(u16, Value)> {
        self.send(target, body.to_string()).await
    }

    async fn send(&self, target: &str, body: String) -> Option<(u16, Value)> {
        let (parts, body) = self.exchange(target, &[], Bytes::from(body)).await?;
        Some((parts.status.as_u16(), serde_json::from_slice(&body).unwrap()))
    }

    /// The reply to a request with additional headers, as it is on the wire.
    pub(crate) async fn exchange(
        &self,
        target: &str,
        headers: &[(&'static str, &'static str)],
        body: Bytes,
    ) -> Option<(http::response::Parts, Bytes)> {
        let mut request = http::Request::post(&self.url)
            .header("x-amz-target", target)
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-date", "20251002T103000Z")
            .header(
                "authorization",
                "AWS4-HMAC-SHA256 Credential=local/20251002/eu-west-3/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
            )
            .body(Full::new(body))
            .unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, http::HeaderValue::from_static(value));
        }
        let response = tokio::time::timeout(PATIENCE, self.client.request(request)).await.unwrap().ok()?;
        let (parts, body) = response.into_parts();
        let body = tokio::time::timeout(PATIENCE, body.collect()).await.unwrap().ok()?.to_bytes();
        let checksum = crc32fast::hash(&body).to_string();
        assert_eq!(parts.headers["x-amz-crc32"], checksum.as_str(), "clients compare the checksum");
        Some((parts, body))
    }

    pub(crate) async fn call(&self, operation: &str, body: Value) -> (u16, Value) {
        self.try_call(&format!("DynamoDB_20120810.{operation}"), &body).await.unwrap()
    }

    /// The reply to a body that is no [`Value`], for example because it nests too deep.
    pub(crate) async fn raw(&self, operation: &str, body: String) -> (u16, Value) {
        self.send(&format!("DynamoDB_20120810.{operation}"), body).await.unwrap()
    }

    /// The reply of a call that must succeed.
    pub(crate) async fn ok(&self, operation: &str, body: Value) -> Value {
        let (status, answer) = self.call(operation, body).await;
        assert_eq!(status, 200, "{operation}: {answer}");
        answer
    }

    /// The error name and body of a call that must fail.
    pub(crate) async fn error(&self, operation: &str, body: Value) -> (String, Value) {
        let (status, answer) = self.call(operation, body).await;
        assert_ne!(status, 200, "{operation}: {answer}");
        let name = answer["__type"].as_str().unwrap().rsplit('#').next().unwrap().to_owned();
        (name, answer)
    }

    /// Fails unless the call is refused with a `ValidationException` whose message contains `part`.
    pub(crate) async fn refused(&self, operation: &str, body: Value, part: &str) {
        let shown = body.to_string();
        let (status, answer) = self.call(operation, body).await;
        let name = answer["__type"].as_str().unwrap_or_default();
        let message = answer["message"].as_str().unwrap_or_default();
        let refused = status == 400 && name.ends_with("ValidationException") && message.contains(part);
        assert!(refused, "{operation} {shown}: expected {part:?}, got {answer}");
    }

    /// Creates a table with the partition key `pk` and other settings.
    pub(crate) async fn create(&self, table: &str, settings: Value) {
        let mut request = json!({
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        });
        for (name, value) in settings.as_object().unwrap() {
            request[name] = value.clone();
        }
        self.ok("CreateTable", request).await;
    }

    pub(crate) async fn streams(&self, operation: &str, body: Value) -> (u16, Value) {
        self.try_call(&format!("DynamoDBStreams_20120810.{operation}"), &body).await.unwrap()
    }

    pub(crate) async fn create_table(&self) {
        let keys = |hash: &str, range: &str| json!([{ "AttributeName": hash, "KeyType": "HASH" }, { "AttributeName": range, "KeyType": "RANGE" }]);
        let definitions: Vec<Value> =
            ["pk", "sk", "day"].iter().map(|name| json!({ "AttributeName": name, "AttributeType": "S" })).collect();
        self.ok(
            "CreateTable",
            json!({
                "TableName": "clicks",
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": definitions,
                "KeySchema": keys("pk", "sk"),
                "GlobalSecondaryIndexes": [
                    { "IndexName": "ByDay", "KeySchema": keys("day", "sk"), "Projection": { "ProjectionType": "ALL" } },
                ],
                "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" },
            }),
        )
        .await;
    }

    pub(crate) async fn put(&self, pk: &str, sk: &str, value: u32) -> (u16, Value) {
        self.call("PutItem", json!({ "TableName": "clicks", "Item": item(pk, sk, value) })).await
    }

    pub(crate) async fn stream_arn(&self) -> String {
        let table = self.ok("DescribeTable", json!({ "TableName": "clicks" })).await;
        table["Table"]["LatestStreamArn"].as_str().unwrap().to_owned()
    }

    pub(crate) async fn shards(&self) -> Vec<Value> {
        let (_, answer) = self.streams("DescribeStream", json!({ "StreamArn": self.stream_arn().await })).await;
        answer["StreamDescription"]["Shards"].as_array().unwrap().clone()
    }

    pub(crate) async fn iterator(&self, shard: &str, kind: &str, number: Option<&str>) -> (u16, Value) {
        let mut request = json!({ "StreamArn": self.stream_arn().await, "ShardId": shard, "ShardIteratorType": kind });
        if let Some(number) = number {
            request["SequenceNumber"] = number.into();
        }
        self.streams("GetShardIterator", request).await
    }

    /// All records of a shard from the position `kind` on, and whether the shard has ended.
    pub(crate) async fn read(&self, shard: &str, kind: &str, number: Option<&str>) -> (Vec<Value>, bool) {
        let (status, answer) = self.iterator(shard, kind, number).await;
        assert_eq!(status, 200, "{answer}");
        let mut iterator = answer["ShardIterator"].as_str().unwrap().to_owned();
        let mut records = Vec::new();
        loop {
            let (status, page) = self.streams("GetRecords", json!({ "ShardIterator": iterator })).await;
            assert_eq!(status, 200, "{page}");
            let page_records = page["Records"].as_array().unwrap();
            records.extend(page_records.iter().cloned());
            match page["NextShardIterator"].as_str() {
                None => return (records, true),
                Some(_) if page_records.is_empty() => return (records, false),
                Some(next) => next.clone_into(&mut iterator),
            }
        }
    }
}

pub(crate) fn item(pk: &str, sk: &str, value: u32) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": sk }, "day": { "S": "d1" }, "value": { "N": value.to_string() } })
}

pub(crate) fn sort_key(record: &Value) -> &str {
    record["dynamodb"]["Keys"]["sk"]["S"].as_str().unwrap()
}

pub(crate) fn id(shard: &Value) -> &str {
    shard["ShardId"].as_str().unwrap()
}

/// An in-memory engine with the table `clicks`.
pub(crate) async fn start(stream_shards: u16) -> (Engine, Wire) {
    let engine = Engine::start(Options { stream_shards, ..Options::default() }).await.unwrap();
    let wire = Wire::new(&engine);
    wire.create_table().await;
    (engine, wire)
}

/// An engine on a file.
pub(crate) async fn open(file: &Path) -> (Engine, Wire) {
    let storage = Storage::File(file.to_owned());
    let engine = Engine::start(Options { storage, ..Options::default() }).await.unwrap();
    let wire = Wire::new(&engine);
    (engine, wire)
}
