//! The journal on the running stack: what the suite tells of itself, and what its clients write and
//! read.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use reqwest::Method;
use serde_json::{Value, json};
use tests::{Answer, Database, STAFF_TOKEN, Stack, games};
use tidemark_cli::{Command, CommandOutcome, run};
use uuid::Builder;

/// How long anything may take that happens by itself.
const PATIENCE: Duration = Duration::from_secs(120);

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// A click of a foreign client, with a count that may be none.
async fn click(stack: &Stack, user: &str, count: AttributeValue) {
    let time = "2025-10-02T10:30:00.000Z";
    let put = stack.dynamodb().put_item().table_name(Database::CLICKS).item("userId", text(user));
    let put = put.item("createDateTime", text(time)).item("dateKey", text("DATE#2025-10-02"));
    let put = put.item("recordSort", text(&format!("CLICK#{time}#{user}"))).item("clickCount", count);
    put.send().await.unwrap();
}

/// The kinds of what the suite has told, newest first, once there are that many of one.
async fn kinds(stack: &Stack, wanted: &str, count: usize) -> Vec<String> {
    let start = Instant::now();
    loop {
        let answer = stack.get("/journal/suite?limit=100").await.unwrap();
        assert_eq!(answer.status, 200, "{answer:?}");
        let items = answer.json()["items"].clone();
        let kinds =
            items.as_array().unwrap().iter().map(|item| item["attributes"]["kind"].as_str().unwrap().to_owned());
        let kinds: Vec<_> = kinds.collect();
        if kinds.iter().filter(|kind| *kind == wanted).count() >= count {
            return kinds;
        }
        assert!(start.elapsed() < PATIENCE, "{count} of {wanted} are wanted, and there are {kinds:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn suite_events_are_journaled_once_despite_repeated_batches() {
    let stack = Stack::start().await.unwrap();
    stack.set_faults(&json!({ "functions": { "deliver_twice": { "probability": 1 } } })).await.unwrap();

    click(&stack, "ann", text("many")).await;
    kinds(&stack, "record-quarantined", 1).await;

    click(&stack, "bob", AttributeValue::N("2".into())).await;
    stack.wait_for("/stats/total", &json!({ "totalClicks": 2 })).await.unwrap();
    let total = stack.dynamodb().update_item().table_name(Database::CLICKS).key("userId", text("STAT#TOTAL"));
    let total = total.key("createDateTime", text("METADATA")).update_expression("SET totalClicks = :zero");
    total.expression_attribute_values(":zero", AttributeValue::N("0".into())).send().await.unwrap();
    let repair = ["tidemark", "recount", "--all", "--yes", "--repair", "--endpoint", stack.dynamodb_url()];
    assert_eq!(run(Command::parse_from(repair)).await.unwrap(), CommandOutcome::Success);
    stack.wait_for("/stats/total", &json!({ "totalClicks": 2 })).await.unwrap();
    kinds(&stack, "statistics-repaired", 1).await;

    let now_ms = jiff::Timestamp::now().as_millisecond().unsigned_abs();
    games::play_samples(&stack.dynamodb(), Database::GAMES, now_ms).await.unwrap();
    kinds(&stack, "game-finished", 1).await;

    // A duplicate has arrived by the time that the next entry of the same stream has.
    click(&stack, "cem", text("many")).await;
    let mut told = kinds(&stack, "record-quarantined", 2).await;
    told.sort();
    assert_eq!(told, ["game-finished", "record-quarantined", "record-quarantined", "statistics-repaired"]);
}

async fn append(stack: &Stack, stream: &str, key: Option<&str>, message: &str) -> Answer {
    let token = format!("Bearer {STAFF_TOKEN}");
    let mut headers = vec![("authorization", &*token)];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    let body = json!({ "message": message, "attributes": { "kind": "test" } }).to_string();
    stack.request(Method::POST, &format!("/journal/{stream}"), &headers, Some(body)).await.unwrap()
}

/// A key whose time lies so many milliseconds from now.
fn key(milliseconds: i64, n: u8) -> String {
    let at = jiff::Timestamp::now().as_millisecond() + milliseconds;
    Builder::from_unix_timestamp_millis(at.unsigned_abs(), &[n; 10]).into_uuid().to_string()
}

#[tokio::test]
async fn journal_entry_is_stored_once_at_its_keys_time() {
    let stack = Stack::start().await.unwrap();
    let id = key(-1_000, 1);
    let first = append(&stack, "audit", Some(&id), "one").await;
    assert_eq!((first.status.as_u16(), &first.json()["id"]), (201, &json!(id)));
    let again = append(&stack, "audit", Some(&id), "one").await;
    assert_eq!((again.status.as_u16(), again.json()), (200, first.json()));
    let other = append(&stack, "audit", Some(&id), "another").await;
    assert_eq!((other.status.as_u16(), &*other.problem()), (409, "idempotency-key-reused"));
    // Another stream is another list.
    assert_eq!(append(&stack, "audit-2", Some(&id), "another").await.status, 201);

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    for (milliseconds, outcome) in [
        (4 * 60_000, "201"),
        (15 * 60_000, "idempotency-key-time"),
        (-399 * DAY_MS, "201"),
        (-401 * DAY_MS, "idempotency-key-time"),
    ] {
        let answer = append(&stack, "audit", Some(&key(milliseconds, 2)), "x").await;
        let found = if answer.status == 400 { answer.problem() } else { answer.status.as_str().to_owned() };
        assert_eq!(found, outcome, "{milliseconds}");
    }
    let listed = stack.get_with(STAFF_TOKEN, "/journal/audit").await.unwrap().json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 3, "{listed}");
    assert_eq!(listed["items"][1], first.json());
    assert_eq!(stack.get("/journal/audit").await.unwrap().problem(), "missing-token");
}

#[tokio::test]
async fn journal_cursor_is_valid_for_its_own_query_only() {
    let stack = Stack::start().await.unwrap();
    // Over three days, each entry before the last.
    for n in 0..12 {
        let hours = -6 * i64::from(n);
        assert_eq!(append(&stack, "audit", Some(&key(hours * 3_600_000, n)), &format!("entry {n}")).await.status, 201);
    }
    let (mut found, mut cursor, mut cursors) = (Vec::new(), String::new(), BTreeSet::new());
    loop {
        let page = stack.get_with(STAFF_TOKEN, &format!("/journal/audit?limit=5{cursor}")).await.unwrap().json();
        found.extend(page["items"].as_array().unwrap().iter().map(|item| item["message"].clone()));
        let Some(next) = page["cursor"].as_str() else { break };
        assert!(cursors.insert(next.to_owned()), "the pages do not end");
        cursor = format!("&cursor={next}");
    }
    assert_eq!(found, (0..12).map(|n| Value::from(format!("entry {n}"))).collect::<Vec<_>>());
    for other in ["/journal/audit-2?", "/journal/audit?from=2020-01-01&", "/journal/suite?"] {
        let answer = stack.get_with(STAFF_TOKEN, &format!("{other}{}", &cursor[1..])).await.unwrap();
        assert_eq!((answer.status.as_u16(), &*answer.problem()), (400, "invalid-cursor"), "{other}");
    }
}
