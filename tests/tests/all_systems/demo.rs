//! `tidemark demo` on the running stack: what it adds, and that nothing of it is left afterwards.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use domain::shop::ProductId;
use jiff::{Timestamp, ToSpan};
use reqwest::Method;
use serde_json::{Value, json};
use shop_store::Products;
use tests::{Database, Stack};
use tidemark_cli::{Command, CommandOutcome, run};

/// A map's own order is another each time.
fn sorted(value: AttributeValue) -> String {
    match value {
        AttributeValue::M(map) => {
            format!("{:?}", map.into_iter().map(|(name, value)| (name, sorted(value))).collect::<BTreeMap<_, _>>())
        }
        AttributeValue::L(list) => format!("{:?}", list.into_iter().map(sorted).collect::<Vec<_>>()),
        value => format!("{value:?}"),
    }
}

/// A line for each item of a table: its key, then its attributes.
async fn items(stack: &Stack, table: &str) -> BTreeSet<String> {
    let items = stack.dynamodb().scan().table_name(table).into_paginator().items().send();
    let items: Result<Vec<_>, _> = items.collect().await;
    let line = |item: std::collections::HashMap<String, AttributeValue>| {
        let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
        let [partition, sort] = [["userId", "PK"], ["createDateTime", "SK"]]
            .map(|names| names.iter().find_map(|name| text(name)).unwrap_or_default());
        let attributes: BTreeMap<_, _> = item.into_iter().map(|(name, value)| (name, sorted(value))).collect();
        format!("{table} {partition} {sort} {attributes:?}")
    };
    items.unwrap().into_iter().map(line).collect()
}

/// All items of all systems once the stack is at rest, without what the suite keeps of its own work:
/// checkpoints of streams, days of the journal, and the journal's line about the quarantined record.
/// Markers of requests expire at any moment, those of old requests at once.
async fn everything(stack: &Stack) -> BTreeSet<String> {
    let at_rest = stack.request(Method::POST, "/_local/settle", &[], None).await.unwrap();
    assert_eq!(at_rest.status, 204, "{}", at_rest.body);
    let mut all = BTreeSet::new();
    for table in [Database::CLICKS, Database::GAMES, Database::SHOP, Database::JOURNAL, Database::OKUSURI] {
        all.extend(items(stack, table).await);
    }
    let own = [
        "#CHECKPOINT#",
        " ROLLUP#DECLARATIONS",
        " FEEDDAYS#",
        " LAYOUT#",
        "record-quarantined",
        " REQUEST#",
        " ORDER#",
    ];
    all.retain(|line| !own.iter().any(|own| line.contains(own)));
    all
}

fn assert_same(after: &BTreeSet<String>, before: &BTreeSet<String>) {
    let (new, lost): (Vec<_>, Vec<_>) = (after.difference(before).collect(), before.difference(after).collect());
    assert!(new.is_empty() && lost.is_empty(), "new: {new:#?}, lost: {lost:#?}");
}

async fn tidemark(stack: &Stack, arguments: &[&str]) -> anyhow::Result<CommandOutcome> {
    let arguments = [&["tidemark"], arguments, &["--endpoint", stack.dynamodb_url()]].concat();
    run(Command::try_parse_from(arguments)?).await
}

/// `tidemark` finds no difference in any statistic.
async fn assert_exact(stack: &Stack) {
    for scope in ["--all", "--details", "--visitors", "--products"] {
        let outcome = tidemark(stack, &["recount", scope, "--yes"]).await.unwrap();
        assert_eq!(outcome, CommandOutcome::Success, "{scope}");
    }
}

async fn sum_of_year(stack: &Stack) -> u64 {
    let today = Timestamp::now().in_tz("UTC").unwrap().date();
    let path = format!("/stats/daily?from={}&to={today}", today - 365.days());
    let days = stack.get(&path).await.unwrap().json();
    days["items"].as_array().unwrap().iter().map(|day| day["totalClicks"].as_u64().unwrap()).sum()
}

#[tokio::test]
async fn demo_is_exact_repeatable_and_leaves_nothing_when_removed() {
    let stack = Stack::start().await.unwrap();
    for user in ["ann", "bob"] {
        let clicks = json!({ "userId": user, "target": "pricing", "clickCount": 3 });
        assert_eq!(stack.post("/clicks", &clicks).await.unwrap().status, 201);
    }
    stack.wait_for("/stats/total", &json!({ "totalClicks": 6 })).await.unwrap();
    let before = everything(&stack).await;

    let added = stack.post("/_local/commands/demo", &Value::Null).await.unwrap().json();
    assert_eq!(added["exitCode"], 0, "{added}");
    let told: Value = serde_json::from_str(added["output"].as_str().unwrap()).unwrap();
    assert_eq!(told["state"], "added");
    let with_demo = everything(&stack).await;
    assert_exact(&stack).await;
    let total = stack.get("/stats/total").await.unwrap().json()["totalClicks"].as_u64().unwrap();
    assert!(total > 5_000, "{total}");
    assert_eq!(sum_of_year(&stack).await, total);

    // A stranger sees the finished game and its drawings.
    let turns = stack.get(&format!("/games/{}/turns", told["gameId"].as_str().unwrap())).await.unwrap().json();
    let rounds = turns["items"].as_array().unwrap();
    assert_eq!(rounds.len(), 6, "{turns}");
    let product = stack.get("/products/demo-lamp/prices").await.unwrap().json();
    assert!(product["items"].as_array().unwrap().len() > 5, "{product}");
    let quarantined = stack.post("/_local/commands/quarantine", &Value::Null).await.unwrap().json();
    let quarantined: Value = serde_json::from_str(quarantined["output"].as_str().unwrap()).unwrap();
    let ids: BTreeSet<_> = quarantined.as_array().unwrap().iter().map(|kept| kept["id"].to_string()).collect();
    assert_eq!(ids.len(), 1, "{quarantined}");

    tidemark(&stack, &["demo"]).await.unwrap();
    assert_same(&everything(&stack).await, &with_demo);

    tidemark(&stack, &["demo", "--remove"]).await.unwrap();
    let after = everything(&stack).await;
    assert_same(&after, &before);
    assert_exact(&stack).await;

    // Another demo counts its visitors anew, in instances that remember the first one's.
    tidemark(&stack, &["demo"]).await.unwrap();
    assert_exact(&stack).await;

    // What a person changed of it is removed only if they say so.
    let price = json!({ "price": 4321, "currency": "EUR" });
    let headers = [("authorization", &*format!("Bearer {}", tests::STAFF_TOKEN)), ("idempotency-key", "of-a-person")];
    let changed =
        stack.request(Method::POST, "/products/demo-lamp/price", &headers, Some(price.to_string())).await.unwrap();
    assert_eq!(changed.status, 201, "{}", changed.body);
    let before = everything(&stack).await;
    let error = tidemark(&stack, &["demo", "--remove"]).await.unwrap_err().to_string();
    assert!(error.contains("demo-lamp was changed"), "{error}");
    assert_same(&everything(&stack).await, &before);
    tidemark(&stack, &["demo", "--remove", "--with-changes"]).await.unwrap();
    let products = Products::new(&stack.table(Database::SHOP));
    assert!(products.sort_keys(&ProductId::new("demo-lamp").unwrap()).await.unwrap().is_empty());
}

#[tokio::test]
async fn demo_refuses_foreign_data_and_deployed_stages_before_any_change() {
    let stack = Stack::start().await.unwrap();
    let product = json!({ "name": "Lamp", "price": 100, "currency": "EUR" });
    let token = [("authorization", &*format!("Bearer {}", tests::STAFF_TOKEN))];
    let put = stack.request(Method::PUT, "/products/demo-lamp", &token, Some(product.to_string())).await.unwrap();
    assert_eq!(put.status, 201, "{}", put.body);
    let before = everything(&stack).await;
    let error = tidemark(&stack, &["demo"]).await.unwrap_err().to_string();
    assert!(error.contains("demo-lamp exists"), "{error}");
    assert_same(&everything(&stack).await, &before);

    let remote =
        Command::try_parse_from(["tidemark", "demo", "--endpoint", "https://dynamodb.eu-west-1.amazonaws.com"]);
    let error = run(remote.unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("--stage"), "{error}");
}
