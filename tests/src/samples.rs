//! The worlds that sample events happen in.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a world that cannot be made is a test that fails")]

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::EntryId;
use domain::game::{
    Choice, Command, Game, GameId, NewGame, Participant, PlayerName, Settings, TimeLimit, TurnId, VOTER_SEATED_MS, Word,
};
use domain::journal::{Entry, JournalStream, Message, Retention};
use domain::shop::{Action, Activity, ProductId};
use domain::{Attributes, Moment, UserId};
use game_store::{NewConnection, Role, Rooms};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::games::listen;
use journal_store::{Journal, JournalShards};
use shop_store::{Activities, ActivitySuffixes, RecordOutcome};

use crate::cases::Case;
use crate::{Database, Stack};

/// The clicks that the reader's events ask for, put into the table by a foreign client and counted
/// by the stream.
pub async fn clicks(stack: &Stack) {
    let clicks = [
        ("user-123", "30:00.000", "/pricing"),
        ("user-456", "30:00.120", "/pricing"),
        ("user-123", "30:01.000", "=SUM(A1)"),
    ];
    for (user, time, target) in clicks {
        let text = |text: String| AttributeValue::S(text);
        let time = format!("2025-10-02T10:{time}Z");
        let put = stack.dynamodb().put_item().table_name("qit-db-local").item("userId", text(user.to_owned()));
        let put = put.item("dateKey", text("DATE#2025-10-02".to_owned())).item("createDateTime", text(time.clone()));
        let put = put.item("target", text(target.to_owned()));
        put.item("recordSort", text(format!("CLICK#{time}#{user}"))).send().await.unwrap();
    }
    stack.wait_for("/stats/total", &json!({"totalClicks": 3})).await.unwrap();
    let targets = json!({"items": [
        {"target": "/pricing", "totalClicks": 2, "uniqueUsers": 2},
        {"target": "=SUM(A1)", "totalClicks": 1, "uniqueUsers": 1},
    ]});
    stack.wait_for("/stats/targets?date=2025-10-02", &targets).await.unwrap();
}

/// The entries that the journal's events ask for: one two days ago, and two of today in the order
/// in which they are named.
pub async fn journal(stack: &Stack) {
    let shards = JournalShards::new(4).unwrap();
    let journal = Journal::new(&stack.table(Database::JOURNAL), shards, Retention::default());
    let now = Timestamp::now();
    for (seconds_ago, message) in [(2 * 24 * 60 * 60, "oldest"), (2, "older"), (1, "newest")] {
        let at = now - SignedDuration::from_secs(seconds_ago);
        let entry = Entry {
            stream: JournalStream::new("samples").unwrap(),
            id: EntryId::derived(at, message),
            message: Message::new(message).unwrap(),
            attributes: Attributes::new([("kind".to_owned(), "sample".to_owned())].into()).unwrap(),
        };
        journal.append(&entry, now).await.unwrap();
    }
}

/// Puts what the events of `activity-log` list into the shop's table, and waits until it is
/// counted.
pub async fn activities(stack: &Stack) {
    let store = Activities::new(&stack.table(Database::SHOP), ActivitySuffixes::default());
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
        assert_eq!(store.record(&activity).await.unwrap(), RecordOutcome::New);
    }
    let days = "/products/p-1/statistics?from=2025-10-01&to=2025-10-03";
    let counted = [("2025-10-01", 1, 0, 1), ("2025-10-02", 2, 1, 2), ("2025-10-03", 1, 0, 1)];
    let counted = counted.map(|(date, views, purchases, visitors)| {
        json!({ "date": date, "views": views, "purchases": purchases, "visitors": visitors })
    });
    stack.wait_for(days, &json!({ "items": counted })).await.unwrap();
}

/// A sample event of the sockets, with everybody seated for it; `number` tells cases apart.
pub async fn at_a_game(stack: &Stack, case: &Case, number: usize) -> Value {
    seat_ann_and_bob(stack, &case.name, number).await;
    let mut event = case.event.clone();
    let connection_id = event["requestContext"]["connectionId"].as_str().unwrap();
    event["requestContext"]["connectionId"] = json!(numbered(connection_id, number));
    event
}

/// Ann and Bob at a game of their own, with the connections of the sample events, at the moment
/// that a case is about.
///
/// A connection has one game for life, so each case has connections of its own: the events' with
/// `number` in it.
async fn seat_ann_and_bob(stack: &Stack, case: &str, number: usize) {
    let client = stack.dynamodb();
    let rooms = Rooms::new(&store_base::Table::new(client.clone(), Database::GAMES));
    let now_ms = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    let [ann, bob, eve] =
        ["a1", "b2", "e5"].map(|end| format!("0199c0de-0000-7000-8000-0000000000{end}").parse().unwrap());
    let name = |text| PlayerName::new(text).unwrap();
    let settings = Settings { time_limit: TimeLimit::new(300).unwrap(), ..Settings::default() };
    let id = GameId(uuid::Uuid::now_v7());
    let new = NewGame { id, host: ann, name: name("Ann"), settings, public: false, words: Arc::default(), seed: 7 };
    let turn: TurnId = "01.01".parse().unwrap();
    let word = Word::read("りんご").unwrap();
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
        game = game.advance_to(now_ms + 24 * 60 * 60 * 1_000).game;
    }
    // Long enough at the table to vote.
    for player in &mut game.room.players {
        player.joined_at_ms -= VOTER_SEATED_MS;
    }
    rooms.create(&game).await.unwrap();
    for (player_id, role, text) in
        [(ann, Role::Player, "Ann"), (bob, Role::Player, "Bob"), (eve, Role::Spectator, "Eve")]
    {
        // The messages of earlier cases do not count.
        let key = |text: String| AttributeValue::S(text);
        let forget = client.delete_item().table_name(Database::GAMES).key("PK", key(format!("PLAYER#{player_id}")));
        forget.key("SK", key("CONNECTION".to_owned())).send().await.unwrap();
        let connection_id = numbered(&format!("L0SM9coFvHcC{text}="), number);
        let name = name(text);
        let new = NewConnection { connection_id: &connection_id, player_id, game_id: id, role, name: &name };
        listen(&client, Database::GAMES, &new, now_ms).await.unwrap();
    }
}

fn numbered(connection_id: &str, number: usize) -> String {
    connection_id.replacen("coFv", &format!("{number:04}"), 1)
}
