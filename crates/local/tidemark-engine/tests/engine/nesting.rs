//! Requests that nest deeply. A stack overflow in the emulator would end the test's process.

use crate::common::{Wire, item, start};
use serde_json::{Value, json};

fn key() -> Value {
    json!({ "pk": { "S": "a" }, "sk": { "S": "1" } })
}

/// Each operation with each of its expressions.
fn requests(expression: &str) -> Vec<(&'static str, &'static str, Value)> {
    let condition = |mut request: Value| {
        request["TableName"] = "clicks".into();
        request["ConditionExpression"] = expression.into();
        request
    };
    let get = json!({ "TableName": "clicks", "Key": key(), "ProjectionExpression": expression });
    let update = json!({ "TableName": "clicks", "Key": key(), "UpdateExpression": expression });
    let set = condition(json!({ "Key": key(), "UpdateExpression": "REMOVE b" }));
    let put = condition(json!({ "Item": item("a", "1", 1) }));
    let with = |key: &str, value: &Value| json!({ "TransactItems": [{ key: value }] });
    let read = |name: &str| json!({ "TableName": "clicks", name: expression });
    let keyed = json!({ "TableName": "clicks", "KeyConditionExpression": "pk = :a", "FilterExpression": expression });
    vec![
        ("Scan", "Filter", read("FilterExpression")),
        ("Scan", "Projection", read("ProjectionExpression")),
        ("Query", "KeyCondition", read("KeyConditionExpression")),
        ("Query", "Filter", keyed),
        ("GetItem", "Projection", get.clone()),
        (
            "BatchGetItem",
            "Projection",
            json!({ "RequestItems": { "clicks": { "Keys": [key()], "ProjectionExpression": expression } } }),
        ),
        ("PutItem", "Condition", put.clone()),
        ("DeleteItem", "Condition", condition(json!({ "Key": key() }))),
        ("UpdateItem", "Condition", set.clone()),
        ("UpdateItem", "Update", update.clone()),
        ("TransactGetItems", "Projection", with("Get", &get)),
        ("TransactWriteItems", "Condition", with("Put", &put)),
        ("TransactWriteItems", "Condition", with("Update", &set)),
        ("TransactWriteItems", "Update", with("Update", &update)),
        ("TransactWriteItems", "Condition", with("Delete", &condition(json!({ "Key": key() })))),
        ("TransactWriteItems", "Condition", with("ConditionCheck", &condition(json!({ "Key": key() })))),
    ]
}

async fn is_alive(wire: &Wire) {
    assert_eq!(wire.put("alive", "1", 1).await.0, 200);
}

#[tokio::test]
async fn an_expression_that_nests_too_deep_is_refused_everywhere() {
    let (_engine, wire) = start(1).await;
    let opened = "(".repeat(1_500);
    let closed = format!("{opened}a = :a{}", ") AND a = :a)".repeat(200));
    let set = format!("SET a = {opened}");
    let appended = format!("SET a = {}", "list_append(".repeat(340));
    let negated = format!("{}a = :a", "NOT ".repeat(1_000));
    let chained = format!("a=:a{}", " or a=:a".repeat(500));
    let too_long = "(".repeat(100_000);
    for expression in [&opened, &closed, &set, &appended, &negated, &chained, &too_long] {
        for (operation, kind, request) in requests(expression) {
            let (name, answer) = wire.error(operation, request).await;
            assert_eq!(name, "ValidationException", "{operation}: {answer}");
            let message = answer["message"].as_str().or(answer["Message"].as_str()).unwrap();
            let start = expression.get(..9).unwrap();
            assert!(message.contains(&format!("Invalid {kind}Expression: ")), "{operation} {start}: {answer}");
        }
        is_alive(&wire).await;
    }
}

#[tokio::test]
async fn an_expression_at_the_limit_is_answered() {
    let (_engine, wire) = start(1).await;
    wire.put("a", "1", 1).await;
    let negated = format!("{}attribute_exists(pk){}", "NOT (".repeat(298), ")".repeat(298));
    let scanned = wire.ok("Scan", json!({ "TableName": "clicks", "FilterExpression": negated })).await;
    assert_eq!(scanned["Count"], 1);
    let chained = format!("attribute_exists(pk){}", " OR size(b)=c".repeat(149));
    let scanned = wire.ok("Scan", json!({ "TableName": "clicks", "FilterExpression": chained })).await;
    assert_eq!(scanned["Count"], 1);
    let sum = format!("SET a = {}:a{}", "(:a + ".repeat(299), ")".repeat(299));
    let values = json!({ ":a": { "N": "1" } });
    let update =
        json!({ "TableName": "clicks", "Key": key(), "UpdateExpression": sum, "ExpressionAttributeValues": values });
    wire.ok("UpdateItem", update).await;
    let path = format!("a{}", ".b".repeat(2_000));
    for (operation, kind, request) in requests(&path).into_iter().filter(|(_, kind, _)| *kind == "Projection") {
        let (status, answer) = wire.call(operation, request).await;
        assert!(status == 200 || status == 400, "{operation} {kind}: {answer}");
    }
    let (_, answer) =
        wire.call("ExecuteStatement", json!({ "Statement": format!("SELECT * FROM clicks WHERE {path} = 1") })).await;
    assert!(answer["Items"].is_array() || answer["__type"].is_string(), "{answer}");
    is_alive(&wire).await;
}

#[tokio::test]
async fn a_statement_that_nests_too_deep_is_refused_everywhere() {
    let (_engine, wire) = start(1).await;
    let select = |condition: &str| format!("SELECT * FROM clicks WHERE {condition}");
    let insert = |value: &str| format!("INSERT INTO clicks VALUE {{'pk': 'a', 'sk': '1', 'v': {value}}}");
    for levels in [1_500, 2_500] {
        let around = |open: &str, close: &str| format!("{}1{}", open.repeat(levels), close.repeat(levels));
        let statements = [
            select(&"(".repeat(levels)),
            select(&around("(", ")")),
            select(&around("NOT(", ")")),
            select(&format!("v = {}", around("[", "]"))),
            select(&format!("v = {}", around("- ", ""))),
            select(&around("size(", ")")),
            insert(&around("[", "]")),
            insert(&around("{'a':", "}")),
            insert(&around("<<", ">>")),
            format!("UPDATE clicks SET v = {} WHERE pk = 'a' AND sk = '1'", around("(", ")")),
            format!("UPDATE clicks SET v = {} WHERE pk = 'a' AND sk = '1'", around("list_append(", ")")),
        ];
        for statement in statements {
            let start = &statement[..50];
            let (_, one) = wire.call("ExecuteStatement", json!({ "Statement": statement })).await;
            assert!(one["__type"].is_string(), "{start}: {one}");
            let (_, batch) =
                wire.call("BatchExecuteStatement", json!({ "Statements": [{ "Statement": statement }] })).await;
            let refused = batch["__type"].is_string() || batch["Responses"][0]["Error"].is_object();
            assert!(refused, "{start}: {batch}");
            let transaction = json!({ "TransactStatements": [{ "Statement": statement }] });
            let (_, transaction) = wire.call("ExecuteTransaction", transaction).await;
            assert!(transaction["__type"].is_string(), "{start}: {transaction}");
        }
        is_alive(&wire).await;
    }
}

/// DynamoDB takes a value inside 31 maps or lists
/// ([nested attributes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-attributes)).
#[tokio::test]
async fn a_value_that_nests_too_deep_is_refused_everywhere() {
    let (_engine, wire) = start(1).await;
    let nested = |levels: usize, list: bool| {
        let (open, close) = if list { (r#"{"L":["#, "]}") } else { (r#"{"M":{"a":"#, "}}") };
        format!(r#"{}{{"S":"x"}}{}"#, open.repeat(levels), close.repeat(levels))
    };
    let item = |value: &str| format!(r#"{{"pk":{{"S":"a"}},"sk":{{"S":"1"}},"v":{value}}}"#);
    let requests = |value: &str| {
        let (item, compared) =
            (item(value), format!(r#"{{"v":{{"AttributeValueList":[{value}],"ComparisonOperator":"EQ"}}}}"#));
        let put = format!(r#"{{"TableName":"clicks","Item":{item}}}"#);
        vec![
            ("PutItem", put.clone()),
            ("BatchWriteItem", format!(r#"{{"RequestItems":{{"clicks":[{{"PutRequest":{{"Item":{item}}}}}]}}}}"#)),
            ("TransactWriteItems", format!(r#"{{"TransactItems":[{{"Put":{put}}}]}}"#)),
            ("Scan", format!(r#"{{"TableName":"clicks","ScanFilter":{compared}}}"#)),
            (
                "Scan",
                format!(
                    r#"{{"TableName":"clicks","FilterExpression":"v = :v","ExpressionAttributeValues":{{":v":{value}}}}}"#
                ),
            ),
            (
                "PutItem",
                format!(r#"{{"TableName":"clicks","Item":{},"Expected":{compared}}}"#, self::item("a", "1", 1)),
            ),
            (
                "ExecuteStatement",
                format!(r#"{{"Statement":"SELECT * FROM clicks WHERE v = ?","Parameters":[{value}]}}"#),
            ),
        ]
    };
    let (status, answer) = wire.raw("PutItem", requests(&nested(31, false)).remove(0).1).await;
    assert_eq!(status, 200, "{answer}");
    for levels in [40, 62, 63, 500, 5_000, 100_000] {
        for list in [false, true] {
            for (operation, request) in requests(&nested(levels, list)) {
                let (status, answer) = wire.raw(operation, request).await;
                assert_eq!(status, 400, "{operation} with {levels} levels: {answer}");
            }
        }
        is_alive(&wire).await;
    }
}
