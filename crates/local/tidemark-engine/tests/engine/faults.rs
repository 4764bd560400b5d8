//! Faults over the wire, and the emulator behaviour that the suite depends on.
use std::collections::BTreeMap;

use crate::common::{Wire, id, item, start};
use serde_json::{Value, json};
use tidemark_engine::{Chance, EngineFaults, FailureReply};

const ONCE: Chance = Chance { next: 1, probability: 0.0 };

fn failing(operation: &str) -> BTreeMap<String, Chance> {
    BTreeMap::from([(operation.to_owned(), ONCE)])
}

async fn stored(wire: &Wire, pk: &str) -> bool {
    let key = json!({ "pk": { "S": pk }, "sk": { "S": "1" } });
    let answer = wire.ok("GetItem", json!({ "TableName": "clicks", "Key": key, "ConsistentRead": true })).await;
    answer.get("Item").is_some()
}

#[tokio::test]
async fn fail_before_applies_no_write_and_fail_after_applies_it() {
    let (engine, wire) = start(1).await;
    engine.faults().set(EngineFaults { fail_before: failing("PutItem"), ..EngineFaults::default() });
    assert_eq!(wire.put("before", "1", 1).await.0, 500);
    assert!(!stored(&wire, "before").await);
    engine.faults().set(EngineFaults { fail_after: failing("*"), ..EngineFaults::default() });
    assert_eq!(wire.put("after", "1", 1).await.0, 500);
    assert!(stored(&wire, "after").await);
    assert_eq!(engine.faults().injected(), BTreeMap::from([("fail_after", 1), ("fail_before", 1)]));
}

#[tokio::test]
async fn a_reply_can_be_lost_with_its_connection() {
    let (engine, wire) = start(1).await;
    let failure_reply = FailureReply::ConnectionClosed;
    engine.faults().set(EngineFaults { fail_after: failing("PutItem"), failure_reply, ..EngineFaults::default() });
    let put = json!({ "TableName": "clicks", "Item": item("lost", "1", 1) });
    assert_eq!(wire.try_call("DynamoDB_20120810.PutItem", &put).await, None);
    assert!(stored(&wire, "lost").await);
}

fn two_puts() -> Value {
    let put = |pk: &str| json!({ "Put": { "TableName": "clicks", "Item": item(pk, "1", 1) } });
    json!({ "TransactItems": [put("a"), put("b")], "ReturnConsumedCapacity": "INDEXES" })
}

#[tokio::test]
async fn a_conflicting_transaction_is_cancelled_and_not_applied() {
    let (engine, wire) = start(1).await;
    engine.faults().set(EngineFaults { transaction_conflicts: ONCE, ..EngineFaults::default() });
    let (name, answer) = wire.error("TransactWriteItems", two_puts()).await;
    assert_eq!(name, "TransactionCanceledException");
    let mut codes: Vec<&str> = answer["CancellationReasons"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| reason["Code"].as_str().unwrap())
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, ["None", "TransactionConflict"]);
    assert!(!stored(&wire, "a").await && !stored(&wire, "b").await);
    wire.ok("TransactWriteItems", two_puts()).await;
}

/// Writes nine seconds' worth of units to one index partition at once, with a different key for
/// each item.
async fn overspend(wire: &Wire, name: &str) {
    let put = |number: u32| {
        let mut item = item(&format!("{name}-{number}"), "1", number);
        item["blob"] = json!({ "S": "x".repeat(390_000) });
        json!({ "PutRequest": { "Item": item } })
    };
    let puts: Vec<Value> = (0..25).map(put).collect();
    wire.ok("BatchWriteItem", json!({ "RequestItems": { "clicks": puts } })).await;
}

#[tokio::test]
async fn hot_index_partition_throttles_writes_of_all_its_keys() {
    let (engine, wire) = start(1).await;
    engine.throttle_clock().hold();
    overspend(&wire, "unwatched").await;
    assert_eq!(wire.put("a", "0", 1).await.0, 200, "off by default");
    engine.faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    overspend(&wire, "watched").await;
    let put = json!({ "TableName": "clicks", "Item": item("another", "1", 1) });
    let (name, refusal) = wire.error("PutItem", put).await;
    assert_eq!(name, "ThrottlingException");
    assert_eq!(refusal["ThrottlingReasons"][0]["reason"], "IndexWriteKeyRangeThroughputExceeded");
    assert!(refusal["ThrottlingReasons"][0]["resource"].as_str().unwrap().ends_with("table/clicks/index/ByDay"));
    let (name, answer) = wire.error("TransactWriteItems", two_puts()).await;
    let code = &answer["CancellationReasons"][0]["Code"];
    assert_eq!((name.as_str(), code), ("TransactionCanceledException", &json!("ThrottlingError")));
    let elsewhere = json!({ "pk": { "S": "cold" }, "sk": { "S": "1" } });
    let puts = [elsewhere, item("hot", "1", 1)].map(|item| json!({ "PutRequest": { "Item": item } }));
    let answer = wire.ok("BatchWriteItem", json!({ "RequestItems": { "clicks": puts } })).await;
    assert_eq!(answer["UnprocessedItems"]["clicks"], json!([puts[1]]));
    assert!(stored(&wire, "cold").await && !stored(&wire, "hot").await);
}

#[tokio::test]
async fn throttling_does_not_change_the_reply_of_a_query() {
    let (engine, wire) = start(1).await;
    wire.put("a", "1", 1).await;
    let query = json!({ "TableName": "clicks", "KeyConditionExpression": "#p=:p", "ExpressionAttributeNames": { "#p": "pk" },
        "ExpressionAttributeValues": { ":p": { "S": "a" } } });
    let plain = wire.ok("Query", query.clone()).await;
    engine.faults().set(EngineFaults { throttle: true, ..EngineFaults::default() });
    assert_eq!(wire.ok("Query", query).await, plain);
}

#[tokio::test]
async fn a_failed_condition_returns_the_existing_item() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "1", 1).await;
    let put = json!({ "TableName": "clicks", "Item": item("a", "1", 2), "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD" });
    let (name, answer) = wire.error("PutItem", put.clone()).await;
    assert_eq!((name.as_str(), &answer["Item"]), ("ConditionalCheckFailedException", &item("a", "1", 1)));
    let (_, answer) = wire.error("TransactWriteItems", json!({ "TransactItems": [{ "Put": put }] })).await;
    let reason = &answer["CancellationReasons"][0];
    assert_eq!((&reason["Code"], &reason["Item"]), (&json!("ConditionalCheckFailed"), &item("a", "1", 1)));
}

/// The units of a reply: of the table and of its index.
fn indexes(answer: &Value) -> (f64, f64) {
    let capacity = if answer["ConsumedCapacity"].is_array() {
        &answer["ConsumedCapacity"][0]
    } else {
        &answer["ConsumedCapacity"]
    };
    let (table, index) = (&capacity["Table"], &capacity["GlobalSecondaryIndexes"]["ByDay"]);
    let units = |part: &Value| part["CapacityUnits"].as_f64().unwrap_or_default();
    assert_eq!(units(capacity), units(table) + units(index), "{capacity}");
    (units(table), units(index))
}

#[tokio::test]
async fn consumed_capacity_follows_the_rules_of_aws() {
    let (_engine, wire) = start(1).await;
    let put = json!({ "TableName": "clicks", "Item": item("a", "1", 1), "ReturnConsumedCapacity": "INDEXES" });
    assert_eq!(indexes(&wire.ok("PutItem", put).await), (1.0, 1.0), "one for the table, one for the index");
    let update = json!({ "TableName": "clicks", "Key": { "pk": { "S": "a" }, "sk": { "S": "1" } }, "UpdateExpression": "ADD #v :one",
        "ExpressionAttributeNames": { "#v": "value" }, "ExpressionAttributeValues": { ":one": { "N": "1" } }, "ReturnConsumedCapacity": "INDEXES" });
    assert_eq!(indexes(&wire.ok("UpdateItem", update).await), (1.0, 1.0), "the index entry is written once");
    let transaction = json!({ "TransactItems": [{ "Put": { "TableName": "clicks", "Item": item("t", "1", 1) } }], "ReturnConsumedCapacity": "INDEXES" });
    let transacted = indexes(&wire.ok("TransactWriteItems", transaction).await);
    assert_eq!(transacted, (2.0, 1.0), "twice for the table, once for the index");
    let plain = json!({ "TableName": "clicks", "Item": { "pk": { "S": "m" }, "sk": { "S": "1" } }, "ReturnConsumedCapacity": "INDEXES" });
    assert_eq!(
        indexes(&wire.ok("PutItem", plain).await),
        (1.0, 0.0),
        "an item without the index's keys costs nothing in it"
    );
}

#[tokio::test]
async fn index_update_costs_one_unit_and_two_for_a_move() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "1", 1).await;
    let set = |name: &str, value: Value| {
        json!({ "TableName": "clicks", "Key": { "pk": { "S": "a" }, "sk": { "S": "1" } }, "UpdateExpression": "SET #n = :v",
            "ExpressionAttributeNames": { "#n": name }, "ExpressionAttributeValues": { ":v": value } })
    };
    let update = async |name: &str, value: Value| {
        let mut request = set(name, value);
        request["ReturnConsumedCapacity"] = "INDEXES".into();
        indexes(&wire.ok("UpdateItem", request).await)
    };
    assert_eq!(update("value", json!({ "N": "2" })).await, (1.0, 1.0));
    assert_eq!(update("day", json!({ "S": "d2" })).await, (1.0, 2.0), "one entry is deleted and another is added");
    let transaction = json!({ "TransactItems": [{ "Update": set("value", json!({ "N": "3" })) }], "ReturnConsumedCapacity": "INDEXES" });
    assert_eq!(indexes(&wire.ok("TransactWriteItems", transaction).await), (2.0, 1.0));
    assert_eq!(update("value", json!({ "S": "x".repeat(1_100) })).await, (2.0, 2.0), "rounded up to whole kilobytes");
    assert_eq!(update("value", json!({ "N": "4" })).await, (2.0, 2.0), "by the larger of the old and the new item");
}

#[tokio::test]
async fn read_costs_half_a_unit_when_eventually_consistent() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "1", 1).await;
    let key = |pk: &str| json!({ "pk": { "S": pk }, "sk": { "S": "1" } });
    let get = async |consistent: bool| {
        let request = json!({ "TableName": "clicks", "Key": key("a"), "ConsistentRead": consistent, "ReturnConsumedCapacity": "INDEXES" });
        indexes(&wire.ok("GetItem", request).await).0
    };
    assert_eq!((get(false).await, get(true).await), (0.5, 1.0));
    let keys = json!({ "clicks": { "Keys": [key("a"), key("none"), key("neither")] } });
    let batch = json!({ "RequestItems": keys, "ReturnConsumedCapacity": "INDEXES" });
    assert_eq!(indexes(&wire.ok("BatchGetItem", batch).await).0, 1.5, "a read that finds no item also costs");
}

#[tokio::test]
async fn the_error_names_the_address_in_use() {
    let (engine, wire) = start(1).await;
    assert_eq!(wire.shards().await.iter().map(id).count(), 1);
    let options = tidemark_engine::Options { listen: engine.addr(), ..tidemark_engine::Options::default() };
    let error = tidemark_engine::Engine::start(options).await.unwrap_err().to_string();
    assert!(error.contains(&engine.addr().to_string()), "{error}");
}
