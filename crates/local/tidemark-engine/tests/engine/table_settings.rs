//! Settings of a table: time to live, tags and names.

use crate::common::{id, item, start};
use serde_json::{Value, json};

fn expire(enabled: bool, attribute: &str) -> Value {
    let specification = json!({ "Enabled": enabled, "AttributeName": attribute });
    json!({ "TableName": "clicks", "TimeToLiveSpecification": specification })
}

#[tokio::test]
async fn time_to_live_changes_only_from_one_state_to_another() {
    let (_engine, wire) = start(1).await;
    let different = "TimeToLive is active on a different AttributeName: current AttributeName is at";
    wire.refused("UpdateTimeToLive", expire(false, "at"), "TimeToLive is already disabled").await;
    wire.refused("UpdateTimeToLive", expire(true, &"x".repeat(256)), "length less than or equal to 255").await;
    wire.ok("UpdateTimeToLive", expire(true, "at")).await;
    wire.refused("UpdateTimeToLive", expire(true, "at"), "TimeToLive is already enabled").await;
    wire.refused("UpdateTimeToLive", expire(true, "other"), different).await;
    wire.refused("UpdateTimeToLive", expire(false, "other"), different).await;
    wire.ok("UpdateTimeToLive", expire(false, "at")).await;
}

#[tokio::test]
async fn a_time_with_a_fraction_expires_its_item() {
    let (engine, wire) = start(1).await;
    wire.ok("UpdateTimeToLive", expire(true, "at")).await;
    for (key, time) in [
        ("integer", json!({ "N": "1700000000" })),
        ("fraction", json!({ "N": "1700000000.25" })),
        ("exponent", json!({ "N": "17e8" })),
        ("future", json!({ "N": "99999999999.5" })),
        ("text", json!({ "S": "1700000000" })),
    ] {
        let item = json!({ "pk": { "S": key }, "sk": { "S": "1" }, "at": time });
        wire.ok("PutItem", json!({ "TableName": "clicks", "Item": item })).await;
    }
    assert_eq!(engine.housekeeper().sweep().await.unwrap(), 3);
    let left = wire.ok("Scan", json!({ "TableName": "clicks", "Select": "COUNT" })).await;
    assert_eq!(left["Count"], 2);
    wire.ok("DeleteItem", json!({ "TableName": "clicks", "Key": { "pk": { "S": "text" }, "sk": { "S": "1" } } })).await;
    let (records, _) = wire.read(id(&wire.shards().await[0]), "TRIM_HORIZON", None).await;
    let removes = records.iter().filter(|record| record["eventName"] == "REMOVE");
    let by_service: Vec<bool> = removes.map(|record| record["userIdentity"]["Type"] == "Service").collect();
    assert_eq!(by_service, [true, true, true, false]);
}

#[tokio::test]
async fn a_tag_outside_the_limits_is_refused() {
    let (_engine, wire) = start(1).await;
    let described = wire.ok("DescribeTable", json!({ "TableName": "clicks" })).await;
    let arn = described["Table"]["TableArn"].as_str().unwrap();
    let tag = |key: &str, value: &str| json!({ "Key": key, "Value": value });
    for (tags, part) in [
        (vec![tag("", "v")], "The Tag Key provided is invalid"),
        (vec![tag(&"k".repeat(129), "v")], "The Tag Key provided is invalid"),
        (vec![tag("->>;-)])", "v")], "The Tag Key provided is invalid, Key: ->>;-)])"),
        (vec![tag("k", "#!%%^$$&")], "The Tag Value provided is invalid, Value: #!%%^$$&"),
        (vec![tag("k", &"v".repeat(257))], "The Tag Value provided is invalid"),
        (vec![tag("AWS:k", "v")], "Tag Key cannot be prefixed with aws:"),
        (vec![tag("k", "v"), tag("k", "w")], "Duplicate Tag Keys provided as input"),
        ((0..51).map(|number| tag(&number.to_string(), "v")).collect(), "Number of Tags exceed the current limit"),
    ] {
        wire.refused("TagResource", json!({ "ResourceArn": arn, "Tags": tags }), part).await;
        let create = json!({
            "TableName": "new", "BillingMode": "PAY_PER_REQUEST", "Tags": tags,
            "AttributeDefinitions": [{ "AttributeName": "pk", "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": "pk", "KeyType": "HASH" }],
        });
        wire.refused("CreateTable", create, part).await;
    }
    let (status, _) = wire
        .exchange(
            "DynamoDB_20120810.TagResource",
            &[],
            json!({ "ResourceArn": arn, "Tags": [tag(&"é".repeat(60), "日本 +-=._:/@")] }).to_string().into(),
        )
        .await
        .map(|(parts, _)| (parts.status.as_u16(), ()))
        .unwrap();
    assert_eq!(status, 200);
}

#[tokio::test]
async fn a_name_that_is_too_long_or_double_is_refused() {
    let (_engine, wire) = start(1).await;
    let long = "k".repeat(256);
    let create = |key: &str, extra: Value| {
        let mut request = json!({
            "TableName": "new", "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{ "AttributeName": key, "AttributeType": "S" }],
            "KeySchema": [{ "AttributeName": key, "KeyType": "HASH" }],
        });
        if extra.is_object() {
            request["GlobalSecondaryIndexes"] =
                json!([{ "IndexName": "index", "KeySchema": request["KeySchema"], "Projection": extra }]);
        }
        request
    };
    let included = json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": [long] });
    wire.refused("CreateTable", create(&long, Value::Null), "length less than or equal to 255").await;
    wire.refused("CreateTable", create("", Value::Null), "length greater than or equal to 1").await;
    let twice = json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "a"] });
    wire.refused("CreateTable", create("pk", included), "length less than or equal to 255").await;
    wire.refused("CreateTable", create("pk", twice), "Duplicate element in NonKeyAttributes: a").await;
    wire.ok("CreateTable", create(&long[1..], Value::Null)).await;
    let name = "n".repeat(65_536);
    let key = json!({ "pk": { "S": "a" }, "sk": { "S": "1" } });
    let mut item = key.clone();
    item[name.as_str()] = json!({ "N": "1" });
    let get = json!({
        "TableName": "clicks", "Key": key, "ProjectionExpression": "#n", "ExpressionAttributeNames": { "#n": name },
    });
    wire.refused("PutItem", json!({ "TableName": "clicks", "Item": item }), "65536").await;
    wire.refused("GetItem", get, "65536").await;
}

#[tokio::test]
async fn one_request_changes_at_most_one_index() {
    let (_engine, wire) = start(1).await;
    let create = |name: &str| {
        let keys = json!([{ "AttributeName": "day", "KeyType": "HASH" }]);
        json!({ "Create": { "IndexName": name, "KeySchema": keys, "Projection": { "ProjectionType": "ALL" } } })
    };
    let request = json!({
        "TableName": "clicks", "GlobalSecondaryIndexUpdates": [create("one"), create("two")],
        "AttributeDefinitions": [{ "AttributeName": "day", "AttributeType": "S" }],
    });
    let (name, answer) = wire.error("UpdateTable", request).await;
    assert_eq!(name, "LimitExceededException", "{answer}");
}

#[tokio::test]
async fn an_arn_stands_for_the_tables_name() {
    let (_engine, wire) = start(1).await;
    let described = wire.ok("DescribeTable", json!({ "TableName": "clicks" })).await;
    let arn = &described["Table"]["TableArn"];
    wire.ok("PutItem", json!({ "TableName": arn, "Item": item("a", "1", 1) })).await;
    wire.ok(
        "TransactWriteItems",
        json!({ "TransactItems": [{ "Put": { "TableName": arn, "Item": item("a", "2", 1) } }] }),
    )
    .await;
    assert_eq!(wire.ok("Scan", json!({ "TableName": arn })).await["Count"], 2);
    assert_eq!(wire.ok("DescribeTable", json!({ "TableName": arn })).await["Table"]["TableName"], "clicks");
}

#[tokio::test]
async fn an_on_demand_table_says_since_when() {
    let (_engine, wire) = start(1).await;
    let table = &wire.ok("DescribeTable", json!({ "TableName": "clicks" })).await["Table"];
    let since = &table["BillingModeSummary"]["LastUpdateToPayPerRequestDateTime"];
    assert!(since.is_number() && *since == table["CreationDateTime"], "{table}");
}
