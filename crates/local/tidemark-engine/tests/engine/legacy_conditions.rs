//! Conditions of the older API.

use crate::common::{item, start};
use serde_json::{Value, json};

#[tokio::test]
async fn a_condition_with_unfit_values_is_refused() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "1", 3).await;
    let number = |number: u32| json!({ "N": number.to_string() });
    for (operator, values, part) in [
        ("eq", vec![number(3)], "Value 'eq' at 'comparisonOperator' failed to satisfy constraint"),
        ("BETWEEN", vec![number(3), number(1)], "lower bound is greater than the upper bound"),
        ("BETWEEN", vec![number(3), json!({ "S": "4" })], "must be of same type"),
        ("IN", vec![number(3), json!({ "S": "4" })], "must be of same type"),
        ("LT", vec![json!({ "SS": ["a"] })], "ComparisonOperator LT is not valid for SS AttributeValue type"),
        ("BEGINS_WITH", vec![number(3)], "ComparisonOperator BEGINS_WITH is not valid for N AttributeValue type"),
        ("CONTAINS", vec![json!({ "L": [] })], "ComparisonOperator CONTAINS is not valid for L AttributeValue type"),
    ] {
        let condition: Value = json!({ "value": { "ComparisonOperator": operator, "AttributeValueList": values } });
        wire.refused("Scan", json!({ "TableName": "clicks", "ScanFilter": condition }), part).await;
        let put = json!({ "TableName": "clicks", "Item": item("a", "1", 1), "Expected": condition });
        wire.refused("PutItem", put, part).await;
    }
}

#[tokio::test]
async fn a_query_for_an_empty_key_is_refused() {
    let (_engine, wire) = start(1).await;
    let empty = json!({ "S": "" });
    let expression = json!({
        "TableName": "clicks", "KeyConditionExpression": "pk = :e", "ExpressionAttributeValues": { ":e": empty },
    });
    let condition = json!({ "pk": { "ComparisonOperator": "EQ", "AttributeValueList": [empty] } });
    for request in [expression, json!({ "TableName": "clicks", "KeyConditions": condition })] {
        wire.refused("Query", request, "cannot contain an empty string value. Key: pk").await;
    }
}

#[tokio::test]
async fn an_update_with_an_empty_set_is_refused() {
    let (_engine, wire) = start(1).await;
    let update = json!({ "n": { "Action": "DELETE", "Value": { "NS": [] } } });
    let key = json!({ "pk": { "S": "a" }, "sk": { "S": "1" } });
    wire.refused("UpdateItem", json!({ "TableName": "clicks", "Key": key, "AttributeUpdates": update }), "empty").await;
}
