//! Each file of `events/`, sent to its function through the running stack. The answers are snapshots beside this file.

#![allow(clippy::unwrap_used)]

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::{Value, json};
use tidemark_tests::{Database, Stack, games, repository, sample_event};

/// Every sample event of a function, by name.
fn cases(function: &str) -> Vec<String> {
    let files = std::fs::read_dir(repository().join("events").join(function)).unwrap();
    let names = files.map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// What differs from run to run in the game's answers. The ids of players and games in them do where they are new.
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

async fn check(stack: &Stack, function: &str, changing: &[&str]) {
    for case in cases(function) {
        let mut answer = reply(stack.invoke(function, &sample_event(function, &case)).await.unwrap());
        forget(&mut answer, changing);
        insta::assert_json_snapshot!(format!("{function}/{case}").replace('/', "__"), answer);
    }
}

#[tokio::test]
async fn every_sample_event_is_answered_as_recorded() {
    // With its data kept, and so with the key that the tokens of the game's events are signed with.
    let stack = Stack::with(&[]).await.unwrap();
    // The clicks that the reader's events ask for, put into the table by a foreign client and counted by the stream.
    let clicks = [("user-123", "30:00.000"), ("user-456", "30:00.120"), ("user-123", "30:01.000")];
    for (user, time) in clicks {
        let text = |text: String| AttributeValue::S(text);
        let time = format!("2025-10-02T10:{time}Z");
        let put = stack.dynamodb().put_item().table_name("qit-db-local").item("userId", text(user.to_owned()));
        let put = put.item("dateKey", text("DATE#2025-10-02".to_owned())).item("createDateTime", text(time.clone()));
        put.item("recordSort", text(format!("CLICK#{time}#{user}"))).send().await.unwrap();
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 3})).await.unwrap();

    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    games::play_samples(&stack.dynamodb(), Database::GAMES, now_ms).await.unwrap();
    stack.wait_for_games().await.unwrap();

    check(&stack, "stats-reader", &["cursor"]).await;
    check(&stack, "stats-aggregator", &[]).await;
    check(&stack, "click-writer", &["clickId", "createDateTime"]).await;
    check(&stack, "game-archiver", &[]).await;
    check(&stack, "game-api", &GAME_CHANGING).await;
}
