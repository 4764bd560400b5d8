//! Statistics of hours, weeks and targets, from the request to the answer.

use clap::Parser;
use serde_json::{Value, json};
use tests::Stack;
use tidemark_cli::{Command, CommandOutcome, run};

async fn items(stack: &Stack, path: &str) -> Vec<Value> {
    stack.get(path).await.unwrap().json()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn clicks_are_counted_by_hour_week_and_target() {
    tests::away_from_midnight().await;
    let stack = Stack::start().await.unwrap();
    let clicks = json!({"clicks": [
        {"userId": "ann", "target": "/pricing"},
        {"userId": "ann", "target": " /pricing ", "clickCount": 2},
        {"userId": "bob", "target": "購入 #1"},
        {"userId": "bob"},
    ]});
    let answer = stack.post("/clicks", &clicks).await.unwrap().json();
    assert_eq!(answer["items"][1]["click"]["target"], "/pricing");
    let targets = json!({"items": [
        {"target": "/pricing", "totalClicks": 3, "uniqueUsers": 1},
        {"target": "購入 #1", "totalClicks": 1, "uniqueUsers": 1},
    ]});
    stack.wait_for("/stats/targets", &targets).await.unwrap();
    let sum = |items: &[Value], name: &str| items.iter().map(|item| item[name].as_u64().unwrap()).sum::<u64>();
    let counter = stack.get("/stats/counter.svg?target=%2Fpricing").await.unwrap();
    assert!(counter.body.contains("/pricing: 3 clicks</title>"), "{}", counter.body);
    // Midnight may pass meanwhile, so today and yesterday count.
    let days = items(&stack, "/stats/daily?target=%E8%B3%BC%E5%85%A5%20%231").await;
    assert_eq!((days.len(), sum(&days, "totalClicks"), sum(&days, "uniqueUsers")), (30, 1, 1));
    let hours = items(&stack, &format!("/stats/hourly?from={}", days[28]["date"].as_str().unwrap())).await;
    assert_eq!((hours.len() % 24, sum(&hours, "totalClicks")), (0, 5));
    let weeks = items(&stack, "/stats/weekly").await;
    assert_eq!((weeks.len(), sum(&weeks, "totalClicks")), (12, 5));
    assert!(hours.iter().any(|hour| hour["uniqueUsers"] == 2) && weeks.iter().any(|week| week["uniqueUsers"] == 2));
}

#[tokio::test]
async fn a_key_with_another_target_is_refused() {
    let stack = Stack::start().await.unwrap();
    let key = uuid::Uuid::now_v7().to_string();
    let post = async |target: &str| {
        let click = json!({"userId": "ann", "target": target, "idempotencyKey": key});
        stack.post("/clicks", &json!({ "clicks": [click] })).await.unwrap().json()["items"][0]["status"].clone()
    };
    assert_eq!([post("a").await, post("a").await, post("b").await], [json!(201), json!(200), json!(409)]);
}

#[tokio::test]
async fn statistics_turned_on_later_are_added_by_a_repair() {
    tests::away_from_midnight().await;
    let off = ["--parameter", "ClickDetails=false", "--parameter", "ClickVisitors=false"];
    let stack = Stack::with(&off).await.unwrap();
    for user in ["ann", "bob", "ann"] {
        stack.post("/clicks", &json!({"userId": user, "target": "/"})).await.unwrap();
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 3})).await.unwrap();
    assert_eq!(stack.get("/stats/targets").await.unwrap().json(), json!({"items": []}));

    assert_eq!(stack.get("/stats/visitors").await.unwrap().json(), json!({"totalClicks": 0, "uniqueUsers": 0}));

    let stack = stack
        .restart_after_sigkill(&["--parameter", "ClickDetails=true", "--parameter", "ClickVisitors=true"])
        .await
        .unwrap();
    let targets =
        |clicks: u32, users: u32| json!({"items": [{"target": "/", "totalClicks": clicks, "uniqueUsers": users}]});
    stack.post("/clicks", &json!({"userId": "bob", "target": "/"})).await.unwrap();
    stack.wait_for("/stats/targets", &targets(1, 1)).await.unwrap();
    stack.wait_for("/stats/visitors", &json!({"totalClicks": 1, "uniqueUsers": 1})).await.unwrap();
    let recount = async |flags: &[&str]| {
        let all = [&["tidemark", "recount", "--yes", "--endpoint", stack.dynamodb_url()][..], flags].concat();
        run(Command::parse_from(all)).await.unwrap()
    };
    assert_eq!(recount(&["--all"]).await, CommandOutcome::Success);
    for late in ["--details", "--visitors"] {
        assert_eq!(recount(&[late]).await, CommandOutcome::Differences);
        assert_eq!(recount(&[late, "--repair"]).await, CommandOutcome::Success);
        assert_eq!(recount(&[late]).await, CommandOutcome::Success);
    }
    assert_eq!(stack.get("/stats/targets").await.unwrap().json(), targets(4, 2));
    assert_eq!(stack.get("/stats/visitors").await.unwrap().json(), json!({"totalClicks": 4, "uniqueUsers": 2}));
}
