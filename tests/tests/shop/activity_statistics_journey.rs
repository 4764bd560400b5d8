//! The statistics of activities through the running stack: the real functions and the table's
//! stream.

use std::collections::HashMap;
use std::sync::LazyLock;

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use reqwest::Method;
use serde_json::{Value, json};
use tests::{Database, Stack};
use tidemark_cli::{Command, CommandOutcome, run};

/// The day of the test's activities, two days ago at its begin, so that midnight changes nothing.
fn day() -> String {
    static DAY: LazyLock<String> = LazyLock::new(|| {
        let then = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(48);
        then.to_string()[..10].to_owned()
    });
    DAY.clone()
}

/// Records an activity that is known by its number, and gives the status.
async fn record(stack: &Stack, n: u32, user: &str, action: &str, product: &str) -> u16 {
    let body = json!({
        "action": action, "productId": product,
        "id": format!("0199a478-bc40-7abc-8def-{n:012x}"), "occurredAt": format!("{}T10:30:00Z", day()),
    });
    stack.post(&format!("/users/{user}/activities"), &body).await.unwrap().status.as_u16()
}

fn path(product: &str) -> String {
    format!("/products/{product}/statistics?from={0}&to={0}", day())
}

async fn wait_for(stack: &Stack, product: &str, [views, purchases, visitors]: [u64; 3]) {
    let item = json!({"date": day(), "views": views, "purchases": purchases, "visitors": visitors});
    stack.wait_for(&path(product), &json!({ "items": [item] })).await.unwrap();
}

/// The product's rows of a user.
async fn rows(stack: &Stack, user: &str) -> Vec<HashMap<String, AttributeValue>> {
    let items = stack.dynamodb().scan().table_name(Database::SHOP).send().await.unwrap().items.unwrap();
    let text = |item: &HashMap<String, AttributeValue>, name: &str| {
        item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default()
    };
    let is_row = |item: &HashMap<String, AttributeValue>| {
        text(item, "PK").starts_with("PRODUCT#") && text(item, "UserId") == user
    };
    items.into_iter().filter(is_row).collect()
}

#[tokio::test]
async fn the_numbers_follow_the_activities_and_their_edits_and_deletions() {
    let stack = Stack::start().await.unwrap();
    for (n, (user, action, product)) in (0..).zip([
        ("ann", "view", "cup"),
        ("ann", "view", "cup"),
        ("bob", "view", "cup"),
        ("bob", "buy", "cup"),
        ("bob", "view", "tea"),
    ]) {
        assert_eq!(record(&stack, n, user, action, product).await, 201);
        assert_eq!(record(&stack, n, user, action, product).await, 200);
    }
    wait_for(&stack, "cup", [3, 1, 2]).await;
    wait_for(&stack, "tea", [1, 0, 1]).await;
    let top = format!("/activities/top?date={}", day());
    let item = |product, [views, purchases, visitors]: [u64; 3]| json!({"productId": product, "views": views, "purchases": purchases, "visitors": visitors});
    let expected = json!({"date": day(), "items": [item("cup", [3, 1, 2]), item("tea", [1, 0, 1])]});
    stack.wait_for(&top, &expected).await.unwrap();

    // Another program edits one row and deletes another.
    let client = stack.dynamodb();
    let mut of_ann = rows(&stack, "ann").await;
    let (edited, deleted) = (of_ann.remove(0), of_ann.remove(0));
    let edit = client.update_item().table_name(Database::SHOP);
    let edit = edit.key("PK", edited["PK"].clone()).key("SK", edited["SK"].clone());
    let edit = edit.update_expression("SET #action = :buy").expression_attribute_names("#action", "Action");
    edit.expression_attribute_values(":buy", AttributeValue::S("buy".to_owned())).send().await.unwrap();
    wait_for(&stack, "cup", [2, 2, 2]).await;
    for row in [deleted, edited] {
        let delete = client.delete_item().table_name(Database::SHOP);
        delete.key("PK", row["PK"].clone()).key("SK", row["SK"].clone()).send().await.unwrap();
    }
    wait_for(&stack, "cup", [1, 1, 1]).await;

    // Another program writes a wrong number, and an operator repairs it.
    let wrong = client.update_item().table_name(Database::SHOP).key("PK", AttributeValue::S("STATS#cup".to_owned()));
    let wrong = wrong.key("SK", AttributeValue::S(day())).update_expression("ADD #views :five");
    let wrong = wrong.expression_attribute_names("#views", "Views");
    wrong.expression_attribute_values(":five", AttributeValue::N("5".to_owned())).send().await.unwrap();
    let recount = async |flags: &[&str]| {
        let command = ["tidemark", "recount", "--products", "--yes", "--endpoint", stack.dynamodb_url()];
        run(Command::parse_from([&command[..], flags].concat())).await.unwrap()
    };
    assert_eq!(recount(&[]).await, CommandOutcome::Differences);
    assert_eq!(recount(&["--repair", "--subtract=1"]).await, CommandOutcome::Success);
    wait_for(&stack, "cup", [1, 1, 1]).await;

    let csv = stack.request(Method::GET, &path("cup"), &[("accept", "text/csv")], None).await.unwrap();
    assert_eq!(csv.content_type, "text/csv; charset=utf-8");
    assert_eq!(csv.body, format!("date,views,purchases,visitors\r\n{},1,1,1\r\n", day()));
}

#[tokio::test]
async fn activity_counts_once_despite_repeated_batches_and_crashes() {
    let stack = Stack::start().await.unwrap();
    let (always, often) = (json!({"probability": 1.0}), json!({"probability": 0.3}));
    let faults =
        json!({"function": "activity-stats", "deliver_twice": always, "kill_before": often, "kill_after": often});
    stack.set_faults(&json!({ "functions": faults })).await.unwrap();
    for n in 0..60 {
        let action = if n % 3 == 0 { "buy" } else { "view" };
        assert_eq!(record(&stack, n, &format!("user-{}", n % 7), action, "cup").await, 201);
    }
    wait_for(&stack, "cup", [40, 20, 7]).await;
    stack.set_faults(&json!({})).await.unwrap();
    // The records of this activity come after all others.
    assert_eq!(record(&stack, 60, "new", "view", "cup").await, 201);
    wait_for(&stack, "cup", [41, 20, 8]).await;
}

#[tokio::test]
async fn a_range_or_day_that_is_not_one_is_refused() {
    let stack = Stack::start().await.unwrap();
    for path in [
        "/products/p%231/statistics",
        "/products/cup/statistics?from=2025-02-30",
        "/products/cup/statistics?from=2025-01-01&to=2026-02-05",
        "/products/cup/statistics?from=2025-10-03&to=2025-10-02",
        "/products/cup/statistics?date=2025-10-02",
        "/activities/top?date=2025-1-1",
        "/activities/top?from=2025-10-02",
    ] {
        let answer = stack.get(path).await.unwrap();
        assert_eq!((answer.status.as_u16(), answer.problem().as_str()), (400, "invalid-parameter"), "{path}");
    }
    let days = stack.get("/products/cup/statistics").await.unwrap().json();
    assert_eq!(days["items"].as_array().map(Vec::len), Some(30));
    let top: Value = stack.get("/activities/top").await.unwrap().json();
    assert_eq!(top["items"], json!([]));
}
