//! Indexes: attributes that they do not have, and items that do not fit.

use crate::common::{Wire, start};
use serde_json::{Value, json};
use tidemark_engine::Engine;

fn attributes(list: &[(&str, &str)]) -> Value {
    list.iter().map(|(name, kind)| json!({ "AttributeName": name, "AttributeType": kind })).collect()
}

fn keys(hash: &str, range: &str) -> Value {
    json!([{ "AttributeName": hash, "KeyType": "HASH" }, { "AttributeName": range, "KeyType": "RANGE" }])
}

/// A table with one item, a global and a local index of its keys, and a global index that includes
/// `a`.
async fn start_with_indexes() -> (Engine, Wire) {
    let (engine, wire) = start(1).await;
    let only_keys = json!({ "ProjectionType": "KEYS_ONLY" });
    let with_a = json!({ "ProjectionType": "INCLUDE", "NonKeyAttributes": ["a"] });
    let settings = json!({
        "AttributeDefinitions": attributes(&[("pk", "S"), ("sk", "S"), ("x", "S")]),
        "KeySchema": keys("pk", "sk"),
        "GlobalSecondaryIndexes": [
            { "IndexName": "global", "KeySchema": keys("x", "sk"), "Projection": only_keys },
            { "IndexName": "with-a", "KeySchema": keys("x", "sk"), "Projection": with_a },
        ],
        "LocalSecondaryIndexes": [{ "IndexName": "local", "KeySchema": keys("pk", "x"), "Projection": only_keys }],
    });
    wire.create("indexed", settings).await;
    let map = json!({ "M": { "c": { "N": "1" }, "d": { "N": "2" } } });
    let item = json!({ "pk": { "S": "p" }, "sk": { "S": "s" }, "x": { "S": "x" }, "a": { "N": "1" }, "b": map });
    wire.ok("PutItem", json!({ "TableName": "indexed", "Item": item })).await;
    (engine, wire)
}

#[tokio::test]
async fn a_global_index_refuses_attributes_that_it_does_not_project() {
    let (_engine, wire) = start_with_indexes().await;
    let scan = |index: &str, projection: &str| json!({ "TableName": "indexed", "IndexName": index, "ProjectionExpression": projection });
    for (index, projection, missing) in [("global", "pk, a, b.c", "[a, b]"), ("with-a", "a, b.c, b.d", "[b]")] {
        let part = format!("Global secondary index {index} does not project {missing}");
        wire.refused("Scan", scan(index, projection), &part).await;
        let mut query = scan(index, projection);
        query["KeyConditionExpression"] = "x = :x".into();
        query["ExpressionAttributeValues"] = json!({ ":x": { "S": "x" } });
        wire.refused("Query", query, &part).await;
    }
    let older = json!({ "TableName": "indexed", "IndexName": "global", "AttributesToGet": ["a"] });
    wire.refused("Scan", older, "does not project [a]").await;
    let answer = wire.ok("Scan", scan("with-a", "a, pk")).await;
    assert_eq!(answer["Items"], json!([{ "a": { "N": "1" }, "pk": { "S": "p" } }]));
}

#[tokio::test]
async fn a_local_index_reads_other_attributes_from_the_table() {
    let (_engine, wire) = start_with_indexes().await;
    let query = json!({
        "TableName": "indexed", "IndexName": "local", "ProjectionExpression": "#b.c, x",
        "KeyConditionExpression": "pk = :p", "FilterExpression": "a = :one", "ExpressionAttributeNames": { "#b": "b" },
        "ExpressionAttributeValues": { ":p": { "S": "p" }, ":one": { "N": "1" } },
    });
    let answer = wire.ok("Query", query).await;
    assert_eq!(answer["Items"], json!([{ "b": { "M": { "c": { "N": "1" } } }, "x": { "S": "x" } }]));
}

#[tokio::test]
async fn an_index_added_later_leaves_out_unfit_items() {
    let (_engine, wire) = start(1).await;
    wire.create("late", json!({})).await;
    let put =
        |key: &str, x: Value, y: Value| json!({ "TableName": "late", "Item": { "pk": { "S": key }, "x": x, "y": y } });
    for request in [
        put("good", json!({ "S": "x" }), json!({ "N": "1" })),
        put("other-type", json!({ "N": "1" }), json!({ "N": "1" })),
        put("other-sort-type", json!({ "S": "x" }), json!({ "S": "1" })),
        put("empty", json!({ "S": "" }), json!({ "N": "1" })),
    ] {
        wire.ok("PutItem", request).await;
    }
    let create =
        json!({ "IndexName": "later", "KeySchema": keys("x", "y"), "Projection": { "ProjectionType": "ALL" } });
    let request = json!({
        "TableName": "late", "AttributeDefinitions": attributes(&[("pk", "S"), ("x", "S"), ("y", "N")]),
        "GlobalSecondaryIndexUpdates": [{ "Create": create }],
    });
    wire.ok("UpdateTable", request).await;
    let update = json!({
        "TableName": "late", "Key": { "pk": { "S": "other-type" } },
        "UpdateExpression": "SET z = :z", "ExpressionAttributeValues": { ":z": { "N": "1" } },
    });
    wire.ok("UpdateItem", update).await;
    let found = wire.ok("Scan", json!({ "TableName": "late", "IndexName": "later" })).await;
    assert_eq!((&found["Count"], &found["Items"][0]["pk"]["S"]), (&json!(1), &json!("good")), "{found}");
}
