//! Streams of each view type, and streams that are switched off and on.

use crate::common::{Wire, id, start};
use serde_json::{Value, json};

async fn arn(wire: &Wire, table: &str) -> String {
    let described = wire.ok("DescribeTable", json!({ "TableName": table })).await;
    described["Table"]["LatestStreamArn"].as_str().unwrap().to_owned()
}

/// The stream's status and all of its records.
async fn read(wire: &Wire, arn: &str) -> (String, Vec<Value>) {
    let (status, described) = wire.streams("DescribeStream", json!({ "StreamArn": arn })).await;
    assert_eq!(status, 200, "{described}");
    let described = &described["StreamDescription"];
    let mut records = Vec::new();
    for shard in described["Shards"].as_array().unwrap() {
        let request = json!({ "StreamArn": arn, "ShardId": id(shard), "ShardIteratorType": "TRIM_HORIZON" });
        let (_, iterator) = wire.streams("GetShardIterator", request).await;
        let (_, page) = wire.streams("GetRecords", json!({ "ShardIterator": iterator["ShardIterator"] })).await;
        records.extend(page["Records"].as_array().unwrap().iter().cloned());
    }
    (described["StreamStatus"].as_str().unwrap().to_owned(), records)
}

fn on(view_type: &str) -> Value {
    json!({ "StreamEnabled": true, "StreamViewType": view_type })
}

#[tokio::test]
async fn unchanged_items_give_no_record_in_any_view() {
    let (_engine, wire) = start(1).await;
    for (view_type, images) in [
        ("NEW_AND_OLD_IMAGES", ["NewImage", "OldImage"].as_slice()),
        ("NEW_IMAGE", &["NewImage"]),
        ("OLD_IMAGE", &["OldImage"]),
        ("KEYS_ONLY", &[]),
    ] {
        let table = view_type.to_lowercase();
        wire.create(&table, json!({ "StreamSpecification": on(view_type) })).await;
        let item = |n: &str| json!({ "pk": { "S": "a" }, "n": { "N": n }, "set": { "SS": ["x", "y"] } });
        let put = |n: &str| json!({ "TableName": table, "Item": item(n) });
        let update = json!({
            "TableName": table, "Key": { "pk": { "S": "a" } },
            "UpdateExpression": "SET n = :n", "ExpressionAttributeValues": { ":n": { "N": "1" } },
        });
        let batch = json!({ "RequestItems": { table.clone(): [{ "PutRequest": { "Item": item("1") } }] } });
        for (operation, request) in [
            ("PutItem", put("1")),
            ("PutItem", put("1")),
            ("UpdateItem", update),
            ("TransactWriteItems", json!({ "TransactItems": [{ "Put": put("1") }] })),
            ("BatchWriteItem", batch),
            ("PutItem", put("2")),
        ] {
            wire.ok(operation, request).await;
        }
        let (_, records) = read(&wire, &arn(&wire, &table).await).await;
        let names: Vec<&str> = records.iter().map(|record| record["eventName"].as_str().unwrap()).collect();
        assert_eq!(names, ["INSERT", "MODIFY"], "{view_type}");
        let change = &records[1]["dynamodb"];
        let found: Vec<&str> =
            ["NewImage", "OldImage"].into_iter().filter(|image| change.get(image).is_some()).collect();
        assert_eq!((found.as_slice(), change["StreamViewType"].as_str()), (images, Some(view_type)));
        let described = wire.ok("DescribeTable", json!({ "TableName": table })).await;
        assert_eq!(described["Table"]["StreamSpecification"], on(view_type));
    }
}

#[tokio::test]
async fn a_stream_that_is_switched_off_stays_readable() {
    let (_engine, wire) = start(2).await;
    wire.create("switched", json!({ "StreamSpecification": on("KEYS_ONLY") })).await;
    let switch = |specification: Value| json!({ "TableName": "switched", "StreamSpecification": specification });
    let put = |key: &str| json!({ "TableName": "switched", "Item": { "pk": { "S": key } } });
    wire.ok("PutItem", put("before")).await;
    let old = arn(&wire, "switched").await;
    wire.refused("UpdateTable", switch(on("NEW_IMAGE")), "Table already has an enabled stream: TableName: switched")
        .await;
    let off = wire.ok("UpdateTable", switch(json!({ "StreamEnabled": false }))).await;
    assert!(off["TableDescription"].get("StreamSpecification").is_none(), "{off}");
    wire.refused("UpdateTable", switch(json!({ "StreamEnabled": false })), "Table has no stream to disable").await;
    assert_eq!(arn(&wire, "switched").await, old, "the last stream is still known");
    wire.ok("PutItem", put("between")).await;
    wire.ok("UpdateTable", switch(on("NEW_IMAGE"))).await;
    let new = arn(&wire, "switched").await;
    wire.ok("PutItem", put("after")).await;
    for (arn, status, key, view_type) in
        [(&old, "DISABLED", "before", "KEYS_ONLY"), (&new, "ENABLED", "after", "NEW_IMAGE")]
    {
        let (found, records) = read(&wire, arn).await;
        assert_eq!((found.as_str(), records.len()), (status, 1));
        let change = &records[0]["dynamodb"];
        assert_eq!(
            (change["Keys"]["pk"]["S"].as_str(), change["StreamViewType"].as_str()),
            (Some(key), Some(view_type))
        );
    }
    let (_, list) = wire.streams("ListStreams", json!({ "TableName": "switched" })).await;
    assert_eq!(list["Streams"].as_array().unwrap().len(), 2);
    wire.ok("DeleteTable", json!({ "TableName": "switched" })).await;
    let (status, records) = read(&wire, &new).await;
    assert_eq!((status.as_str(), records.len()), ("DISABLED", 1), "also without its table");
}

#[tokio::test]
async fn stream_settings_that_contradict_themselves_are_refused() {
    let (_engine, wire) = start(1).await;
    wire.create("switched", json!({})).await;
    let without_type = json!({ "StreamEnabled": true });
    let off_with_type = json!({ "StreamEnabled": false, "StreamViewType": "KEYS_ONLY" });
    for (specification, create, update) in [
        (without_type, "UpdateViewType is required", "UpdateViewType is required"),
        (off_with_type, "UpdateViewType should not be specified", "UpdateViewType must not be specified"),
        (on("DOG"), "Member must satisfy enum value set", "Member must satisfy enum value set"),
    ] {
        let created = json!({
            "TableName": "new", "BillingMode": "PAY_PER_REQUEST", "StreamSpecification": specification,
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        });
        wire.refused("CreateTable", created, create).await;
        wire.refused("UpdateTable", json!({ "TableName": "switched", "StreamSpecification": specification }), update)
            .await;
    }
}

#[tokio::test]
async fn a_streams_request_without_a_member_is_invalid() {
    let (_engine, wire) = start(1).await;
    let stream = wire.stream_arn().await;
    let short = json!({ "StreamArn": stream, "ShardId": "shard", "ShardIteratorType": "LATEST" });
    for (operation, request, part) in [
        ("DescribeStream", json!({}), "Value null at 'streamArn'"),
        ("DescribeStream", json!({ "StreamArn": "dog" }), "Invalid StreamArn"),
        ("GetRecords", json!({}), "Value null at 'shardIterator'"),
        ("GetShardIterator", short, "length greater than or equal to 28"),
    ] {
        let (status, answer) = wire.streams(operation, request).await;
        let is_invalid = answer["__type"].as_str().unwrap().ends_with("#ValidationException");
        assert!(status == 400 && is_invalid && answer["message"].as_str().unwrap().contains(part), "{answer}");
    }
}
