//! Kinesis streams: records from the service's own protocol to the function.

use crate::support::Stage;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Client;
use serde_json::{Value, json};
use tidemark_local::startup::RunningStack;

const STREAM: &str = "
  Orders:
    Type: AWS::Kinesis::Stream
    Properties: { Name: orders, ShardCount: 2, RetentionPeriodHours: 48 }
";

/// A stack whose test function reads the stream, with these settings of the mapping.
fn stage(settings: &str) -> Stage {
    let mapping = format!("Stream: !GetAtt Orders.Arn, StartingPosition: TRIM_HORIZON{settings}");
    let stage = Stage::new("", &format!("Change: {{ Type: Kinesis, Properties: {{ {mapping} }} }}"));
    stage.add_resources(STREAM.trim_matches('\n'));
    stage
}

/// Calls the service as the caller with this access key.
async fn call(running: &RunningStack, caller: &str, operation: &str, request: &Value) -> (u16, Value) {
    let signature = format!(
        "AWS4-HMAC-SHA256 Credential={caller}/20261124/us-east-1/kinesis/aws4_request, SignedHeaders=host, Signature=0"
    );
    let response = Client::new()
        .post(format!("{}/_local/kinesis/", running.admin.addresses.http))
        .header("content-type", "application/x-amz-json-1.1")
        .header("x-amz-target", format!("Kinesis_20131202.{operation}"))
        .header("x-amz-date", "20261124T000000Z")
        .header("authorization", signature)
        .body(request.to_string())
        .send()
        .await
        .unwrap();
    (response.status().as_u16(), response.json().await.unwrap_or_default())
}

fn record(key: &str, data: &Value) -> Value {
    json!({ "PartitionKey": key, "Data": STANDARD.encode(data.to_string()) })
}

async fn put(running: &RunningStack, records: &[Value]) {
    let request = json!({ "StreamName": "orders", "Records": records });
    let (status, answer) = call(running, "local", "PutRecords", &request).await;
    assert_eq!((status, &answer["FailedRecordCount"]), (200, &json!(0)), "{answer}");
}

/// The data of the records that the function has seen.
fn seen(stage: &Stage) -> Vec<Value> {
    let events = stage.recording();
    let records = events.iter().flat_map(|event| event["Records"].as_array().unwrap());
    let data = |record: &Value| STANDARD.decode(record["kinesis"]["data"].as_str().unwrap()).unwrap();
    records.map(|record| serde_json::from_slice(&data(record)).unwrap()).collect()
}

#[tokio::test]
async fn kinesis_records_arrive_in_order_of_their_partition_key() {
    let stage = stage("");
    let running = stage.start().await;
    for batch in 0..5 {
        let records: Vec<_> = (0..20).map(|n| record("one", &json!({ "n": batch * 20 + n }))).collect();
        put(&running, &records).await;
    }
    stage.until("seeing all records", |stage| seen(stage).len() >= 100).await;
    let numbers: Vec<_> = seen(&stage).iter().map(|data| data["n"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
    let event: aws_lambda_events::kinesis::KinesisEvent = serde_json::from_value(stage.recording().remove(0)).unwrap();
    let first = &event.records[0];
    assert_eq!(first.event_source.as_deref(), Some("aws:kinesis"));
    assert_eq!(first.event_source_arn.as_deref(), Some("arn:aws:kinesis:us-east-1:000000000000:stream/orders"));
    let times = stage.recording().into_iter().flat_map(|event| event["Records"].as_array().cloned().unwrap());
    let times: Vec<f64> =
        times.map(|record| record["kinesis"]["approximateArrivalTimestamp"].as_f64().unwrap()).collect();
    // Five batches do not all arrive at the beginning of a second.
    assert!(times.iter().any(|time| time.fract() != 0.0), "{times:?}");
    let sequence_number = &first.kinesis.sequence_number;
    assert!(first.event_id.as_deref().is_some_and(|id| id.starts_with("shardId-") && id.ends_with(sequence_number)));
}

#[tokio::test]
async fn filters_see_the_data_as_json_and_failures_bisect() {
    let pattern = r#", FilterCriteria: { Filters: [{ Pattern: '{"data":{"kind":["paid"]}}' }] }"#;
    let stage = stage(&format!("{pattern}, BatchSize: 10, BisectBatchOnFunctionError: true, MaximumRetryAttempts: 1"));
    let running = stage.start().await;
    let kinds = ["paid", "sent", "paid", "paid"];
    let records: Vec<_> = kinds.iter().map(|kind| record("one", &json!({ "kind": kind }))).collect();
    put(&running, &records).await;
    stage.until("seeing three records", |stage| seen(stage).len() == 3).await;
    stage.until_caught_up(&running).await;
    assert!(seen(&stage).iter().all(|data| data["kind"] == "paid"));
}

#[tokio::test]
async fn the_children_of_a_split_shard_follow_their_parent() {
    let stage = stage("");
    let running = stage.start().await;
    put(&running, &[record("one", &json!({ "n": 1 }))]).await;
    let shards = call(&running, "local", "ListShards", &json!({ "StreamName": "orders" })).await.1;
    for shard in shards["Shards"].as_array().unwrap() {
        let range = |end: &str| shard["HashKeyRange"][end].as_str().unwrap().parse::<u128>().unwrap();
        let middle = range("StartingHashKey") / 2 + range("EndingHashKey") / 2;
        let request = json!({ "StreamName": "orders", "ShardToSplit": shard["ShardId"], "NewStartingHashKey": middle.to_string() });
        let (status, answer) = call(&running, "local", "SplitShard", &request).await;
        assert_eq!(status, 200, "{answer}");
        // The next split needs an active stream.
        let summary = json!({ "StreamName": "orders" });
        while call(&running, "local", "DescribeStreamSummary", &summary).await.1["StreamDescriptionSummary"]["StreamStatus"]
            != "ACTIVE"
        {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    put(&running, &[record("one", &json!({ "n": 2 }))]).await;
    stage.until("seeing both records", |stage| seen(stage).len() == 2).await;
    assert_eq!(seen(&stage), [json!({ "n": 1 }), json!({ "n": 2 })]);
}

#[tokio::test]
async fn a_function_needs_the_permission_for_the_stream() {
    let stage = stage("");
    let policies =
        "Policies: [{ Statement: [{ Effect: Allow, Action: kinesis:PutRecord, Resource: !GetAtt Orders.Arn }] }]";
    stage.replace("Policies: AdministratorAccess", policies);
    let running = stage.start().await;
    let name = &running.stack.functions[0].name;
    let put = |stream: &str| json!({ "StreamName": stream, "PartitionKey": "a", "Data": "e30=" });
    assert_eq!(call(&running, name, "PutRecord", &put("orders")).await.0, 200);
    let (status, refusal) = call(&running, name, "PutRecord", &put("others")).await;
    assert_eq!((status, &refusal["__type"]), (400, &json!("AccessDeniedException")), "{refusal}");
    assert_eq!(call(&running, name, "DeleteStream", &json!({ "StreamName": "orders" })).await.0, 400);
}
