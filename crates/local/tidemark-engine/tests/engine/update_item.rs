//! What `UpdateItem` writes and returns.

use crate::common::{Wire, id, start};
use serde_json::{Value, json};

fn update(key: &str, expression: &str, returned: &str) -> Value {
    let mut request = json!({
        "TableName": "clicks", "Key": { "pk": { "S": key }, "sk": { "S": "1" } },
        "UpdateExpression": expression, "ReturnValues": returned,
    });
    if expression.contains(":v") {
        request["ExpressionAttributeValues"] = json!({ ":v": { "NS": ["7"] } });
    }
    request
}

async fn stored(wire: &Wire, key: &str) -> Value {
    let request = json!({ "TableName": "clicks", "Key": { "pk": { "S": key }, "sk": { "S": "1" } } });
    wire.ok("GetItem", request).await["Item"].clone()
}

#[tokio::test]
async fn an_update_that_only_removes_creates_no_item() {
    let (_engine, wire) = start(1).await;
    let condition = |mut request: Value, condition: &str| {
        request["ConditionExpression"] = condition.into();
        request
    };
    let mut older = update("a", "", "NONE");
    older.as_object_mut().unwrap().remove("UpdateExpression");
    older["AttributeUpdates"] = json!({ "n": { "Action": "DELETE" } });
    for request in [
        update("a", "REMOVE n", "ALL_NEW"),
        update("a", "DELETE n :v REMOVE m, l", "NONE"),
        // On AWS, too, a path into a missing item is no fault.
        update("a", "REMOVE m.x, l[0]", "UPDATED_OLD"),
        condition(update("a", "REMOVE n", "NONE"), "attribute_not_exists(pk) OR n = n2"),
        older,
    ] {
        let answer = wire.ok("UpdateItem", request).await;
        assert_eq!(answer, json!({}));
        assert_eq!(stored(&wire, "a").await, Value::Null);
    }
    let (name, answer) =
        wire.error("UpdateItem", condition(update("a", "REMOVE n", "NONE"), "attribute_exists(pk)")).await;
    assert_eq!(name, "ConditionalCheckFailedException", "{answer}");
    let (records, _) = wire.read(id(&wire.shards().await[0]), "TRIM_HORIZON", None).await;
    assert_eq!(records, Vec::<Value>::new());
}

#[tokio::test]
async fn an_update_that_removes_changes_an_existing_item() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "1", 3).await;
    let mut request = update("a", "REMOVE #v", "ALL_NEW");
    request["ExpressionAttributeNames"] = json!({ "#v": "value" });
    request["ConditionExpression"] = "#v = :three OR attribute_exists(x)".into();
    request["ExpressionAttributeValues"] = json!({ ":three": { "N": "3" } });
    let answer = wire.ok("UpdateItem", request.clone()).await;
    assert!(answer["Attributes"]["day"].is_object() && answer["Attributes"].get("value").is_none(), "{answer}");
    // Now the condition fails. Only a caller who asks for it gets the item.
    let (name, answer) = wire.error("UpdateItem", request.clone()).await;
    assert!(name == "ConditionalCheckFailedException" && answer.get("Item").is_none(), "{answer}");
    request["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD".into();
    let (_, answer) = wire.error("UpdateItem", request).await;
    assert_eq!(answer["Item"]["pk"]["S"], "a");
}

#[tokio::test]
async fn all_old_of_a_new_item_returns_no_attributes() {
    let (_engine, wire) = start(1).await;
    assert_eq!(wire.ok("UpdateItem", update("a", "SET n = :v", "ALL_OLD")).await, json!({}));
    let again = wire.ok("UpdateItem", update("a", "SET n = :v", "ALL_OLD")).await;
    assert_eq!(again["Attributes"], json!({ "pk": { "S": "a" }, "sk": { "S": "1" }, "n": { "NS": ["7"] } }));
}

#[tokio::test]
async fn updated_values_hold_only_the_changed_paths() {
    let (_engine, wire) = start(1).await;
    let text = |text: &str| json!({ "S": text });
    let seven = json!({ "NS": ["7"] });
    for (expression, returned, attributes) in [
        ("SET m.l[1] = :v", "UPDATED_OLD", json!({ "m": { "M": { "l": { "L": [text("1")] } } } })),
        ("SET m.l[1] = :v", "UPDATED_NEW", json!({ "m": { "M": { "l": { "L": [seven] } } } })),
        ("SET m.x = :v", "UPDATED_OLD", json!({ "m": { "M": { "x": text("x") } } })),
        ("SET m.l[0] = :v, m.x = :v", "UPDATED_NEW", json!({ "m": { "M": { "l": { "L": [seven] }, "x": seven } } })),
        ("REMOVE m.l[1], m.l[9]", "UPDATED_OLD", json!({ "m": { "M": { "l": { "L": [text("1")] } } } })),
        // The element that moves up, as on AWS.
        ("REMOVE m.l[1]", "UPDATED_NEW", json!({ "m": { "M": { "l": { "L": [text("2")] } } } })),
        ("SET m.l[100] = :v", "UPDATED_NEW", Value::Null),
        ("SET m.y = :v", "UPDATED_OLD", Value::Null),
        ("SET m.y = :v", "UPDATED_NEW", json!({ "m": { "M": { "y": seven } } })),
    ] {
        let list = json!({ "L": [text("0"), text("1"), text("2")] });
        let item = json!({ "pk": text("a"), "sk": text("1"), "m": { "M": { "l": list, "x": text("x") } } });
        wire.ok("PutItem", json!({ "TableName": "clicks", "Item": item })).await;
        let answer = wire.ok("UpdateItem", update("a", expression, returned)).await;
        assert_eq!(answer["Attributes"], attributes, "{expression} {returned}");
    }
}
