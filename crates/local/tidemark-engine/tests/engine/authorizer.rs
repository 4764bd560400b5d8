//! Each request is authorized before it has an effect, with the names that IAM policies use.
use std::sync::{Arc, Mutex};

use crate::common::{self, Wire, item, start};
use serde_json::{Value, json};
use tidemark_engine::{Access, Authorizer, Engine};

/// Records each check, and refuses every access with the leading key `forbidden`.
#[derive(Debug, Default)]
struct RecordingAuthorizer(Mutex<Vec<(String, String, Vec<String>)>>);

impl Authorizer for RecordingAuthorizer {
    fn applies_to(&self, caller: &str) -> bool {
        caller == "local"
    }

    fn authorize(&self, caller: &str, access: &Access) -> Result<(), String> {
        let Access { action, resource, leading_keys } = access.clone();
        let refused = leading_keys.iter().any(|key| key == "forbidden");
        let resource = resource.split_once(":table/").map_or(resource.clone(), |(_, table)| table.to_owned());
        self.0.lock().unwrap().push((action, resource, leading_keys));
        if refused { Err(format!("{caller} may not")) } else { Ok(()) }
    }
}

async fn engine_with_authorizer() -> (Engine, Wire, Arc<RecordingAuthorizer>) {
    let (engine, wire) = start(1).await;
    let authorizer = Arc::new(RecordingAuthorizer::default());
    engine.set_authorizer(Arc::clone(&authorizer) as Arc<dyn Authorizer>);
    (engine, wire, authorizer)
}

fn key(pk: &str) -> Value {
    json!({ "pk": { "S": pk }, "sk": { "S": "1" } })
}

#[tokio::test]
async fn each_request_is_checked_by_action_resource_and_partition_keys() {
    let (_engine, wire, authorizer) = engine_with_authorizer().await;
    let table = "clicks";
    let put = |pk: &str| json!({ "Put": { "TableName": table, "Item": item(pk, "9", 1) } });
    let check = json!({ "ConditionCheck": { "TableName": table, "Key": key("c"), "ConditionExpression": "attribute_not_exists(pk)" } });
    let update = json!({ "Update": { "TableName": table, "Key": key("u"), "UpdateExpression": "SET a = :a", "ExpressionAttributeValues": { ":a": { "N": "1" } } } });
    let values = json!({ ":key": { "S": "d1" }, ":sort": { "S": "0" } });
    let requests = [
        ("PutItem", json!({ "TableName": table, "Item": item("a", "1", 1) })),
        ("GetItem", json!({ "TableName": table, "Key": key("a") })),
        ("TransactWriteItems", json!({ "TransactItems": [put("p"), check, update] })),
        ("TransactGetItems", json!({ "TransactItems": [{ "Get": { "TableName": table, "Key": key("a") } }] })),
        (
            "BatchGetItem",
            json!({ "RequestItems": { (table): { "Keys": [key("b"), key("a"), { "pk": { "S": "a" }, "sk": { "S": "2" } }] } } }),
        ),
        (
            "BatchWriteItem",
            json!({ "RequestItems": { (table): [{ "DeleteRequest": { "Key": key("b") } }, { "PutRequest": { "Item": item("w", "1", 1) } }] } }),
        ),
        (
            "Query",
            json!({ "TableName": table, "IndexName": "ByDay", "KeyConditionExpression": "#day=:key AND sk > :sort", "ExpressionAttributeNames": { "#day": "day" }, "ExpressionAttributeValues": values }),
        ),
        ("Scan", json!({ "TableName": table })),
        ("ListTables", json!({})),
    ];
    for (operation, request) in requests {
        wire.ok(operation, request).await;
    }
    let seen = authorizer.0.lock().unwrap();
    let seen: Vec<(&str, &str, Vec<&str>)> = seen
        .iter()
        .map(|(action, resource, keys)| (&**action, &**resource, keys.iter().map(|key| &**key).collect()))
        .collect();
    let expected: Vec<(&str, &str, Vec<&str>)> = vec![
        ("dynamodb:PutItem", "clicks", vec!["a"]),
        ("dynamodb:GetItem", "clicks", vec!["a"]),
        ("dynamodb:PutItem", "clicks", vec!["p"]),
        ("dynamodb:ConditionCheckItem", "clicks", vec!["c"]),
        ("dynamodb:UpdateItem", "clicks", vec!["u"]),
        ("dynamodb:GetItem", "clicks", vec!["a"]),
        ("dynamodb:BatchGetItem", "clicks", vec!["a", "b"]),
        ("dynamodb:BatchWriteItem", "clicks", vec!["b", "w"]),
        ("dynamodb:Query", "clicks/index/ByDay", vec!["d1"]),
        ("dynamodb:Scan", "clicks", vec![]),
        ("dynamodb:ListTables", "*", vec![]),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn reading_a_stream_is_checked_against_that_stream() {
    let (_engine, wire, authorizer) = engine_with_authorizer().await;
    let shard = common::id(&wire.shards().await[0]).to_owned();
    wire.read(&shard, "TRIM_HORIZON", None).await;
    let arn = wire.stream_arn().await;
    let (_, stream) = arn.split_once(":table/").unwrap();
    let seen = authorizer.0.lock().unwrap();
    for action in ["DescribeStream", "GetShardIterator", "GetRecords"] {
        let access = seen.iter().find(|(seen, _, _)| *seen == format!("dynamodb:{action}"));
        assert_eq!(access.unwrap().1, stream, "{action}");
    }
}

#[tokio::test]
async fn access_denied_request_and_transaction_have_no_effect() {
    let (_engine, wire, _authorizer) = engine_with_authorizer().await;
    let put = |pk: &str| json!({ "Put": { "TableName": "clicks", "Item": item(pk, "1", 1) } });
    let (name, answer) =
        wire.error("TransactWriteItems", json!({ "TransactItems": [put("allowed"), put("forbidden")] })).await;
    assert_eq!((name.as_str(), &answer["Message"]), ("AccessDeniedException", &json!("local may not")));
    assert_eq!(wire.ok("Scan", json!({ "TableName": "clicks" })).await["Count"], 0);
}
