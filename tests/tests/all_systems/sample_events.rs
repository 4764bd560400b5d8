//! Each case of `tests/cases`, sent to its function through the running stack.
//!
//! `UPDATE=1` records the answers again in the files of the cases, and writes the files of
//! `events/` from the cases.

use std::env::var_os;

use serde_json::{Value, json};
use tests::cases::{case_files, render, sample_event};
use tests::{Database, Stack, games, okusuri, repository, samples, shop};

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
const OKUSURI_CHANGING: [&str; 12] = [
    "cursor",
    "id",
    "createdAt",
    "updatedAt",
    "at",
    "takenAt",
    "today",
    "from",
    "to",
    "nextAt",
    "runsOutOn",
    "publicKey",
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

/// Sends cases, and gathers those that are not answered as recorded.
struct Run<'a> {
    stack: &'a Stack,
    differences: Vec<String>,
}

impl<'a> Run<'a> {
    fn new(stack: &'a Stack) -> Self {
        Self { stack, differences: Vec::new() }
    }

    /// Sends all cases of a function. The members of these names change from run to run.
    async fn send(&mut self, function: &str, changing: &[&str]) {
        self.send_some(function, changing, |_| true).await;
    }

    /// The same of the files with a `wanted` name.
    async fn send_some(&mut self, function: &str, changing: &[&str], wanted: impl Fn(&str) -> bool) {
        let mut number = 0;
        for mut file in case_files(function) {
            if !wanted(file.path.file_stem().unwrap().to_str().unwrap()) {
                continue;
            }
            let before = self.differences.len();
            for case in &mut file.cases {
                let event = match function.starts_with("ws-") {
                    true => samples::at_a_game(self.stack, case, number).await,
                    false => case.event.clone(),
                };
                number += 1;
                let mut answer = reply(self.stack.invoke(function, &event).await.unwrap());
                forget(&mut answer, changing);
                if case.answer.as_ref() != Some(&answer) {
                    let recorded = case.answer.as_ref().map_or("nothing".to_owned(), render);
                    let (name, answered) = (&case.name, render(&answer));
                    let difference = format!("{function}, {name}, recorded:\n{recorded}\nanswered:\n{answered}\n");
                    self.differences.push(difference);
                    case.answer = Some(answer);
                }
            }
            if self.differences.len() > before && var_os("UPDATE").is_some() {
                file.write();
            }
        }
    }

    fn end(self) {
        let (count, differences) = (self.differences.len(), self.differences.join("\n"));
        assert!(count == 0 || var_os("UPDATE").is_some(), "answered otherwise than recorded: {count}\n\n{differences}");
        print!("{differences}");
    }
}

#[tokio::test]
async fn every_case_is_answered_as_recorded() {
    // With its data kept, and so with the key that the tokens of the game's events are signed with.
    let stack = Stack::with(&[]).await.unwrap();
    samples::clicks(&stack).await;
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    games::play_samples(&stack.dynamodb(), Database::GAMES, now_ms).await.unwrap();
    stack.wait_for_games().await.unwrap();
    samples::journal(&stack).await;
    samples::activities(&stack).await;

    // A list shows what is there as it is; what is told now has the time of now.
    let mut run = Run::new(&stack);
    let is_list = |file: &str| file.starts_with("list-");
    run.send_some("activity-log", &["cursor"], is_list).await;
    run.send_some("activity-log", &["id", "occurredAt"], |file| !is_list(file)).await;

    run.send("activity-stats", &[]).await;
    run.send("stats-reader", &["cursor"]).await;
    run.send("stats-aggregator", &[]).await;
    run.send("click-writer", &["clickId", "createDateTime"]).await;
    run.send("game-archiver", &[]).await;
    run.send("clicks-watch", &[]).await;
    run.send("game-api", &GAME_CHANGING).await;
    run.send("journal", &["id", "at", "cursor"]).await;
    // The watcher tells the journal of it, so only now.
    shop::stock_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    run.send("inventory-log", &SHOP_CHANGING).await;
    run.send("stock-watch", &[]).await;
    shop::price_samples(&stack.dynamodb(), Database::SHOP).await.unwrap();
    run.send("price-history", &SHOP_CHANGING).await;
    okusuri::samples(&stack.dynamodb()).await.unwrap();
    run.send("okusuri-api", &OKUSURI_CHANGING).await;
    run.send("okusuri-reminder", &[]).await;
    run.send("web-page", &[]).await;
    run.end();
}

#[tokio::test]
async fn every_case_of_the_sockets_is_answered_as_recorded() {
    let stack = Stack::start().await.unwrap();
    let mut run = Run::new(&stack);
    for function in ["ws-connect", "ws-message", "ws-disconnect"] {
        run.send(function, &[]).await;
    }
    run.end();
}

#[test]
fn each_event_file_matches_the_case_of_its_name() {
    let mut differences = Vec::new();
    for folder in repository().join("events").read_dir().unwrap().map(|folder| folder.unwrap()) {
        let function = folder.file_name().into_string().unwrap();
        for file in folder.path().read_dir().unwrap().map(|file| file.unwrap().path()) {
            let event = sample_event(&function, file.file_stem().unwrap().to_str().unwrap());
            let found: Option<Value> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).ok();
            if found.as_ref() == Some(&event) {
                continue;
            } else if var_os("UPDATE").is_some() {
                std::fs::write(&file, format!("{event:#}\n")).unwrap();
            } else {
                differences.push(file);
            }
        }
    }
    assert!(differences.is_empty(), "`UPDATE=1` makes them anew out of the cases: {differences:#?}");
}
