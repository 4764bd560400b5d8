//! Each file of `events/`, sent to its function through the running stack. The answers are
//! snapshots beside this file.

use serde_json::{Value, json};
use tidemark_tests::samples::{self, cases};
use tidemark_tests::{Database, Stack, games, okusuri, sample_event, shop};

/// What differs from run to run in the game's answers. The ids of players and games in them do
/// where they are new.
const GAME_CHANGING: [&str; 15] = [
    "cursor",
    "playerToken",
    "ticket",
    "playerId",
    "gameId",
    "hostId",
    "id",
    "createdAt",
    "joinedAt",
    "startedAt",
    "endedAt",
    "finishedAt",
    "at",
    "remainingMs",
    "nextMs",
];

/// What differs from run to run in the shop's answers.
const SHOP_CHANGING: [&str; 7] = ["cursor", "id", "createdAt", "updatedAt", "archivedAt", "expiresAt", "settledAt"];

/// What differs from run to run in Okusuri's answers.
const OKUSURI_CHANGING: [&str; 11] =
    ["cursor", "id", "createdAt", "updatedAt", "at", "snoozedUntil", "today", "from", "to", "nextAt", "publicKey"];

/// A reply of the HTTP API with its body read, without what differs from run to run.
fn reply(payload: Result<Value, Value>) -> Value {
    let mut payload = payload.unwrap_or_else(|error| json!({ "error": error }));
    if let Some(body) = payload["body"].as_str().and_then(|body| serde_json::from_str(body).ok()) {
        payload["body"] = body;
    }
    payload
}

/// What differs from run to run.
fn forget(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                if names.contains(&name.as_str()) {
                    *member = json!("[...]");
                }
                forget(member, names);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| forget(item, names)),
        _ => {}
    }
}

fn is_as_recorded(function: &str, case: &str, answer: &Value) {
    insta::with_settings!({prepend_module_to_snapshot => false}, {
        insta::assert_json_snapshot!(format!("{function}__{case}"), answer);
    });
}

async fn check(stack: &Stack, function: &str, changing: &[&str]) {
    check_some(stack, function, changing, |_| true).await;
}

/// The same of those cases that are `wanted`.
async fn check_some(stack: &Stack, function: &str, changing: &[&str], wanted: impl Fn(&str) -> bool) {
    for case in cases(function).into_iter().filter(|case| wanted(case)) {
        let mut answer = reply(stack.invoke(function, &sample_event(function, &case)).await.unwrap());
        forget(&mut answer, changing);
        is_as_recorded(function, &case, &answer);
    }
}

#[tokio::test]
async fn every_sample_event_is_answered_as_recorded() {
    // With its data kept, and so with the key that the tokens of the game's events are signed with.
    let stack = Stack::with(&[]).await.unwrap();
    samples::clicks(&stack).await;
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    games::play_samples(&stack.dynamodb(), Database::GAMES, now_ms).await.unwrap();
    stack.wait_for_games().await.unwrap();
    samples::journal(&stack).await;
    samples::activities(&stack).await;

    // A list shows stored entries unchanged; a new entry has the current time.
    let is_list = |case: &str| case.starts_with("of-");
    check_some(&stack, "activity-log", &["cursor"], is_list).await;
    check_some(&stack, "activity-log", &["id", "occurredAt"], |case| !is_list(case)).await;

    check(&stack, "stats-reader", &["cursor"]).await;
    check(&stack, "stats-aggregator", &[]).await;
    check(&stack, "stats-merger", &[]).await;
    check(&stack, "click-writer", &["clickId", "createDateTime"]).await;
    check(&stack, "game-archiver", &[]).await;
    check(&stack, "clicks-watch", &[]).await;
    check(&stack, "game-api", &GAME_CHANGING).await;
    check(&stack, "journal", &["id", "at", "cursor"]).await;
    // The watcher tells the journal of it, so only now.
    shop::stock_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    check(&stack, "inventory-log", &SHOP_CHANGING).await;
    check(&stack, "stock-watch", &[]).await;
    shop::price_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    check(&stack, "price-history", &SHOP_CHANGING).await;
    okusuri::samples(&stack.dynamodb()).await.unwrap();
    check(&stack, "okusuri-api", &OKUSURI_CHANGING).await;
    check(&stack, "okusuri-reminder", &[]).await;
    check(&stack, "web-page", &[]).await;
}

#[tokio::test]
async fn every_sample_event_of_the_sockets_is_answered_as_recorded() {
    let stack = Stack::start().await.unwrap();
    for function in ["ws-connect", "ws-message", "ws-disconnect"] {
        for (number, case) in cases(function).into_iter().enumerate() {
            let event = samples::at_a_game(&stack, function, &case, number).await;
            let answer = reply(stack.invoke(function, &event).await.unwrap());
            is_as_recorded(function, &case, &answer);
        }
    }
}
