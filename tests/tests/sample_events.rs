//! Each file of `events/`, sent to its function through the running stack. The answers are snapshots beside this file.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::game::{
    Choice, Command, Game, GameId, Hiragana, NewGame, Participant, PlayerName, Settings, TimeLimit, TurnId,
};
use domain::journal::{Entry, EntryId, Message, Retention, Stream};
use domain::shop::{Action, Activity, ProductId};
use domain::{Attributes, Moment, UserId};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use store::game::{Connections, NewConnection, Role, Rooms};
use store::journal::{Journal, JournalShards};
use store::shop::{Activities, ActivitySuffixes, Recorded};
use tidemark_tests::{Database, Stack, games, okusuri, repository, sample_event, shop};

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

/// What differs from run to run in the shop's answers.
const SHOP_CHANGING: [&str; 6] = ["cursor", "id", "createdAt", "updatedAt", "expiresAt", "settledAt"];

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

async fn check(stack: &Stack, function: &str, changing: &[&str]) {
    check_some(stack, function, changing, |_| true).await;
}

/// The same of those cases that are `wanted`.
async fn check_some(stack: &Stack, function: &str, changing: &[&str], wanted: impl Fn(&str) -> bool) {
    for case in cases(function).into_iter().filter(|case| wanted(case)) {
        let mut answer = reply(stack.invoke(function, &sample_event(function, &case)).await.unwrap());
        forget(&mut answer, changing);
        insta::assert_json_snapshot!(format!("{function}/{case}").replace('/', "__"), answer);
    }
}

/// The entries that the journal's events ask for: one two days ago, and two of today in the order in which they are named.
async fn append_samples(stack: &Stack) {
    let shards = JournalShards::new(4).unwrap();
    let journal = Journal::new(stack.dynamodb(), Database::JOURNAL, shards, Retention::default());
    let now = Timestamp::now();
    for (seconds_ago, message) in [(2 * 24 * 60 * 60, "oldest"), (2, "older"), (1, "newest")] {
        let at = now - SignedDuration::from_secs(seconds_ago);
        let entry = Entry {
            stream: Stream::new("samples").unwrap(),
            id: EntryId::derived(at, message),
            message: Message::new(message).unwrap(),
            attributes: Attributes::new([("kind".to_owned(), "sample".to_owned())].into()).unwrap(),
        };
        journal.append(&entry, now).await.unwrap();
    }
}

/// Puts what the events of `activity-log` list into the shop's table.
async fn tell_samples(stack: &Stack) {
    let store = Activities::new(stack.dynamodb(), Database::SHOP, ActivitySuffixes::default());
    let told = [
        ("user-123", "view", "2025-10-01T23:59:59.999999999Z"),
        ("user-123", "view", "2025-10-02T10:30:00Z"),
        ("user-456", "view", "2025-10-02T10:30:00.000000001Z"),
        ("user-123", "add-to-cart", "2025-10-02T10:30:00.000000001Z"),
        ("user-123", "buy", "2025-10-02T23:59:59.999999999Z"),
        ("user-123", "view", "2025-10-03T00:00:00Z"),
    ];
    for (n, (user, action, at)) in told.into_iter().enumerate() {
        let activity = Activity {
            user_id: UserId::new(user).unwrap(),
            action: Action::new(action).unwrap(),
            product_id: Some(ProductId::new("p-1").unwrap()),
            attributes: Attributes::new([("page".to_owned(), n.to_string())].into()).unwrap(),
            at: Moment::parse(at).unwrap(),
            id: EntryId::derived(at.parse().unwrap(), &n.to_string()),
        };
        assert_eq!(store.record(&activity).await.unwrap(), Recorded::New);
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
    append_samples(&stack).await;
    tell_samples(&stack).await;

    // A list shows what is there as it is; what is told now has the time of now.
    let is_list = |case: &str| case.starts_with("of-");
    check_some(&stack, "activity-log", &["cursor"], is_list).await;
    check_some(&stack, "activity-log", &["id", "occurredAt"], |case| !is_list(case)).await;

    check(&stack, "stats-reader", &["cursor"]).await;
    check(&stack, "stats-aggregator", &[]).await;
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
}

/// Ann and Bob at a game of their own, with the connections of the sample events, at the moment that a case is about.
///
/// A connection has one game for life, so each case has connections of its own: the events' with `number` in it.
async fn seat_ann_and_bob(stack: &Stack, case: &str, number: usize) {
    let client = stack.dynamodb();
    let (rooms, connections) = (Rooms::new(client.clone(), Database::GAMES), Connections::new(client, Database::GAMES));
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    let [ann, bob, eve] =
        ["a1", "b2", "e5"].map(|end| format!("0199c0de-0000-7000-8000-0000000000{end}").parse().unwrap());
    let name = |text| PlayerName::new(text).unwrap();
    let settings = Settings { time_limit: TimeLimit::new(300).unwrap(), ..Settings::default() };
    let id = GameId(uuid::Uuid::now_v7());
    let new = NewGame { id, host: ann, name: name("Ann"), settings, public: false, words: Arc::default(), seed: 7 };
    let turn: TurnId = "01.01".parse().unwrap();
    let word = Hiragana::new("りんご").unwrap();
    let steps = [
        (bob, Command::Join { name: name("Bob") }),
        (ann, Command::Connect),
        (bob, Command::Connect),
        (bob, Command::Ready(!case.starts_with("ready"))),
        (ann, Command::Start),
        (ann, Command::Choose { turn, choice: Choice::Word(word) }),
    ];
    let moves = match case.split('-').next().unwrap() {
        "configure" | "ready" | "start" => 4,
        "choose" => 5,
        _ => 6,
    };
    let mut game = Game::new(new, now_ms).unwrap();
    for (player, command) in steps.into_iter().take(moves) {
        game = game.apply(&Participant::Player(player), command, now_ms).game;
    }
    if case == "rematch" {
        // Time plays a game to its end.
        game = game.bring_to(now_ms + 24 * 60 * 60 * 1_000).game;
    }
    rooms.create(&game).await.unwrap();
    for (player_id, role, text) in
        [(ann, Role::Player, "Ann"), (bob, Role::Player, "Bob"), (eve, Role::Spectator, "Eve")]
    {
        let connection_id = numbered(&format!("L0SM9coFvHcC{text}="), number);
        let name = name(text);
        let new = NewConnection { connection_id: &connection_id, player_id, game_id: id, role, name: &name };
        connections.connect(&new, now_ms).await.unwrap();
        connections.greet(id, &connection_id).await.unwrap();
    }
}

fn numbered(connection_id: &str, number: usize) -> String {
    connection_id.replacen("coFv", &format!("{number:04}"), 1)
}

#[tokio::test]
async fn every_sample_event_of_the_sockets_is_answered_as_recorded() {
    let stack = Stack::start().await.unwrap();
    for function in ["ws-connect", "ws-message", "ws-disconnect"] {
        for (number, case) in cases(function).into_iter().enumerate() {
            seat_ann_and_bob(&stack, &case, number).await;
            let mut event = sample_event(function, &case);
            let connection_id = event["requestContext"]["connectionId"].as_str().unwrap();
            event["requestContext"]["connectionId"] = json!(numbered(connection_id, number));
            let answer = reply(stack.invoke(function, &event).await.unwrap());
            insta::assert_json_snapshot!(format!("{function}/{case}").replace('/', "__"), answer);
        }
    }
}
