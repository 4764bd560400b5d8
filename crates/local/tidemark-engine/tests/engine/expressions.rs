//! Expressions that DynamoDB refuses or takes, unlike the emulator.

use crate::common::{Wire, start};
use serde_json::{Value, json};
use tidemark_engine::Engine;

async fn start_with_item() -> (Engine, Wire) {
    let (engine, wire) = start(1).await;
    let item = json!({
        "pk": { "S": "a" }, "sk": { "S": "1" }, "n": { "N": "5" }, "s": { "S": "hello" },
        "m": { "M": { "x": { "N": "1" } } }, "l": { "L": [{ "N": "1" }, { "N": "2" }] },
    });
    wire.ok("PutItem", json!({ "TableName": "clicks", "Item": item })).await;
    (engine, wire)
}

/// Adds an expression and the constants that it names.
fn with(mut request: Value, member: &str, expression: &str) -> Value {
    let all = json!({
        ":one": { "N": "1" }, ":two": { "N": "2" }, ":five": { "N": "5" }, ":text": { "S": "hello" },
        ":map": { "M": { "x": { "N": "1" } } }, ":list": { "L": [{ "N": "1" }] }, ":true": { "BOOL": true },
        ":number": { "S": "N" }, ":unknown": { "S": "HELLO" },
    });
    let words = expression.split(|of: char| !of.is_alphanumeric() && of != ':');
    request[member] = expression.into();
    for (name, value) in all.as_object().unwrap() {
        if words.clone().any(|word| word == name) {
            request["ExpressionAttributeValues"][name] = value.clone();
        }
    }
    request
}

fn scan(condition: &str) -> Value {
    with(json!({ "TableName": "clicks" }), "FilterExpression", condition)
}

#[tokio::test]
async fn a_condition_that_dynamodb_refuses_is_refused() {
    let (_engine, wire) = start_with_item().await;
    let many = |operand: &str, count: usize, between: &str| vec![operand; count].join(between);
    for (condition, part) in [
        ("n BETWEEN :five AND :two".to_owned(), "The BETWEEN operator requires upper bound to be greater"),
        ("n BETWEEN :five AND :text".to_owned(), "requires same data type for lower and upper bounds"),
        ("attribute_type(n, :unknown)".to_owned(), "Invalid attribute type name found; type: HELLO"),
        ("attribute_type(n, :five)".to_owned(), "operator or function: attribute_type, operand type: N"),
        ("attribute_type(n, s)".to_owned(), "requires an expression attribute value"),
        ("m < :map".to_owned(), "operator or function: <, operand type: M"),
        (":list >= l".to_owned(), "operator or function: >=, operand type: L"),
        ("n BETWEEN :true AND :true".to_owned(), "operator or function: BETWEEN, operand type: BOOL"),
        ("NOT (n > :one AND ATTRIBUTE_EXISTS(n))".to_owned(), "Invalid function name; function: ATTRIBUTE_EXISTS"),
        ("SIZE(s) = :five".to_owned(), "Invalid function name; function: SIZE"),
        ("list_append(l, l) = :list".to_owned(), "not allowed in a condition expression; function: list_append"),
        ("size(:five) = :five".to_owned(), "operator or function: size, operand type: N"),
        ("begins_with(s)".to_owned(), "operator or function: begins_with, number of operands: 1"),
        ("begins_with(:five, s)".to_owned(), "operator or function: begins_with, operand type: N"),
        ("contains(:five, s)".to_owned(), "operator or function: contains, operand type: N"),
        ("attribute_exists(:five)".to_owned(), "requires a document path"),
        ("n = n".to_owned(), "The first operand must be distinct from the remaining operands"),
        ("l[99999999999] = :one".to_owned(), "List index is not within the allowable range"),
        (format!("attribute_exists(a{})", ".a".repeat(32)), "too many nesting elements; nesting levels: 33"),
        (format!("n IN ({})", many(":five", 101, ", ")), "operator or function: IN, number of operands: 101"),
        (many("n = :five", 151, " AND "), "too many operators; operator count: 301"),
    ] {
        wire.refused("Scan", scan(&condition), part).await;
        let put = json!({ "TableName": "clicks", "Item": { "pk": { "S": "a" }, "sk": { "S": "1" } } });
        let put = with(put, "ConditionExpression", &condition);
        wire.refused("PutItem", put.clone(), part).await;
        wire.refused("TransactWriteItems", json!({ "TransactItems": [{ "Put": put }] }), part).await;
    }
    let query = json!({
        "TableName": "clicks", "KeyConditionExpression": "pk = :text AND BEGINS_WITH(sk, :text)",
        "ExpressionAttributeValues": { ":text": { "S": "a" } },
    });
    wire.refused("Query", query, "Invalid KeyConditionExpression: Invalid function name").await;
}

#[tokio::test]
async fn a_condition_that_dynamodb_takes_is_evaluated() {
    let (_engine, wire) = start_with_item().await;
    let many = |operand: &str, count: usize, between: &str| vec![operand; count].join(between);
    for (condition, count) in [
        ("size(:text) = :five".to_owned(), 1),
        ("size(:list) > :one".to_owned(), 0),
        ("attribute_type(:five, :number)".to_owned(), 1),
        ("NOT attribute_type(:text, :number) AND size(:map) < n".to_owned(), 1),
        ("attribute_type(:text, :number) OR size(:text) = n".to_owned(), 1),
        (":five BETWEEN n AND n".to_owned(), 1),
        ("m < l".to_owned(), 0),
        ("contains(:list, n)".to_owned(), 0),
        (format!("n IN ({})", many(":five", 100, ", ")), 1),
        (many("n = :five", 150, " AND "), 1),
        ("(n = :five OR n = :one) AND (s = :text)".to_owned(), 1),
    ] {
        let answer = wire.ok("Scan", scan(&condition)).await;
        assert_eq!(answer["Count"], count, "{condition}");
    }
}

#[tokio::test]
async fn an_update_that_dynamodb_refuses_is_refused() {
    let (_engine, wire) = start_with_item().await;
    for (update, part) in [
        ("SET m.x = :one, m[0] = :one", "Two document paths conflict with each other"),
        ("SET m.x = :one REMOVE m", "Two document paths overlap with each other"),
        ("SET n = LIST_APPEND(l, :list)", "Invalid function name; function: LIST_APPEND"),
        ("SET n = size(l)", "The function is not allowed in an update expression; function: size"),
        ("SET l = list_append(list_append(l, :list), :list)", "The function is not allowed to be used this way"),
        ("SET n = if_not_exists(if_not_exists(n, :one), :one)", "Operator or function requires a document path"),
        ("SET _n = :one", r#"Syntax error; token: "_", near: "_n""#),
        ("SET n = ((:one))", "The expression has redundant parentheses"),
    ] {
        let request = json!({ "TableName": "clicks", "Key": { "pk": { "S": "a" }, "sk": { "S": "1" } } });
        let request = with(request, "UpdateExpression", update);
        wire.refused("UpdateItem", request, &format!("Invalid UpdateExpression: {part}")).await;
    }
}

#[tokio::test]
async fn a_projection_with_unclear_paths_is_refused_everywhere() {
    let (_engine, wire) = start_with_item().await;
    let names = json!({ "#m": "m" });
    for (projection, part) in [
        ("#m, m.x", "Two document paths overlap with each other"),
        (
            "#m.x, m[0]",
            "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, x], path two: [m, [0]]",
        ),
        ("#m n", "Syntax error; token: \"n\", near: \"#m n\""),
        ("#m[n]", "Syntax error"),
        (", #m", "Syntax error"),
        ("#m,", r#"Syntax error; token: "<EOF>", near: ",""#),
    ] {
        let get = json!({
            "TableName": "clicks", "Key": { "pk": { "S": "a" }, "sk": { "S": "1" } },
            "ProjectionExpression": projection, "ExpressionAttributeNames": names,
        });
        let keys =
            json!({ "Keys": [get["Key"]], "ProjectionExpression": projection, "ExpressionAttributeNames": names });
        for (operation, request) in [
            ("GetItem", get.clone()),
            ("BatchGetItem", json!({ "RequestItems": { "clicks": keys } })),
            ("TransactGetItems", json!({ "TransactItems": [{ "Get": get }] })),
        ] {
            wire.refused(operation, request, &format!("Invalid ProjectionExpression: {part}")).await;
        }
    }
}

#[tokio::test]
async fn a_transaction_reads_only_the_projected_attributes() {
    let (_engine, wire) = start_with_item().await;
    let get = |sort_key: &str, projection: &str| {
        let key = json!({ "pk": { "S": "a" }, "sk": { "S": sort_key } });
        json!({ "Get": { "TableName": "clicks", "Key": key, "ProjectionExpression": projection } })
    };
    wire.put("a", "2", 1).await;
    let gets = [get("1", "m.x, l[1]"), get("2", "absent"), get("3", "sk")];
    let answer = wire.ok("TransactGetItems", json!({ "TransactItems": gets })).await;
    let item = json!({ "m": { "M": { "x": { "N": "1" } } }, "l": { "L": [{ "N": "2" }] } });
    assert_eq!(answer["Responses"], json!([{ "Item": item }, {}, {}]));
}
