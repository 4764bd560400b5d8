//! Many sockets of one game: silent ones, spectators who join at once, and a bot that guesses
//! through every instance.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use domain::game::rate_limit::{GUESSES, SPECTATOR_TALK};
use domain::game::{SPECTATORS_MAX, Settings};
use futures::future::join_all;
use game_room::HELLO_WAIT_MS;
use game_store::{Connections, PARTITION_BOUNDS, Role};
use serde_json::{Value, json};
use tests::game_table::{connection, player};
use tests::{Database, GameTable};

/// How many sockets stay silent.
const SILENT: u32 = 500;

fn say(text: &str) -> Value {
    json!({"action": "say", "id": uuid::Uuid::now_v7().to_string(), "text": text})
}

/// Guesses through new instances of the functions until the player's guesses are too fast.
async fn take_all_guesses(table: &GameTable, seat: u8) {
    let mut outcome = "";
    for _ in 0..GUESSES.burst {
        let guess = say("みかん").to_string();
        outcome = table.instance().message(&connection(seat), &guess, table.now_ms()).await.outcome;
    }
    assert_eq!(outcome, "too-fast");
}

/// What the game's table has been asked for so far, in read and write units.
fn units(table: &GameTable) -> (f64, f64) {
    let used = table.db.engine().meter().used();
    used.get(&(Database::GAMES.to_owned(), None)).map_or((0.0, 0.0), |usage| (usage.read_units, usage.write_units))
}

/// What four lines of the drawer cost, among which is one that takes an allowance for all of them.
async fn cost_of_lines(table: &GameTable) -> (f64, f64) {
    table.pass(4_000);
    let before = units(table);
    for _ in 0..4 {
        assert_eq!(table.say(0, "がんばれ").await.outcome, "done");
    }
    let after = units(table);
    (after.0 - before.0, after.1 - before.1)
}

/// The items of the game's partition, counted by kind. Every item has to be of a kind that is
/// known, and of no kind may there be more than its bound.
async fn kinds(table: &GameTable) -> BTreeMap<&'static str, usize> {
    let query = table.db.client.query().table_name(Database::GAMES).key_condition_expression("PK = :game");
    let query = query.expression_attribute_values(":game", AttributeValue::S(format!("GAME#{}", table.game_id)));
    let mut kinds = BTreeMap::new();
    for item in query.send().await.unwrap().items() {
        let sort = item["SK"].as_s().unwrap();
        let (kind, _) = PARTITION_BOUNDS.iter().find(|(kind, _)| sort.starts_with(kind)).expect(sort);
        *kinds.entry(*kind).or_default() += 1;
    }
    for (kind, bound) in PARTITION_BOUNDS {
        let count = kinds.get(kind).copied().unwrap_or_default();
        assert!(count <= bound, "{count} items {kind}, and at most {bound} may be there");
    }
    kinds
}

#[tokio::test]
async fn silent_sockets_cost_a_game_nothing() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    let alone = cost_of_lines(&table).await;
    for n in 0..SILENT {
        let seat = 100 + u8::try_from(n % 100).unwrap();
        table.open_as(&format!("silent-{n}"), seat, Role::Spectator).await.unwrap();
    }
    assert_eq!(cost_of_lines(&table).await, alone, "read and write units");
    assert_eq!(kinds(&table).await["LIVE#CONN#"], 3);

    assert_eq!(table.say(1, "りんご").await.outcome, "done");
    assert_eq!(table.last_room(&connection(2)).unwrap()["turn"]["solvers"][0]["playerId"], player(1).to_string());
    assert!((0..SILENT).all(|n| table.sockets.take(&format!("silent-{n}")).is_empty()));
}

#[tokio::test]
async fn a_tab_that_stays_silent_takes_nobodys_place() {
    let table = GameTable::with_players(2).await.unwrap();
    table.open("silent", 1).await.unwrap();
    assert_eq!(table.say(1, "まだいるよ").await.outcome, "done");
    assert!(table.live().await.unwrap().room.player(player(1)).unwrap().is_connected());
    assert_eq!(table.room.disconnected("silent", table.now_ms()).await.status, 200);
    assert_eq!(table.say(1, "まだまだ").await.outcome, "done");
}

#[tokio::test]
async fn socket_without_hello_is_closed_after_some_seconds() {
    let table = GameTable::with_players(2).await.unwrap();
    table.open("chatty", 1).await.unwrap();
    let ping = json!({"action": "ping"});
    let early = table.send("chatty", &ping).await;
    assert_eq!((early.outcome, table.sockets.is_closed("chatty")), ("hello-first", false), "hello may be on its way");
    table.pass(HELLO_WAIT_MS + 1);
    assert_eq!(table.send("chatty", &ping).await.outcome, "hello-first");
    assert!(table.sockets.is_closed("chatty"));
    let connections = Connections::new(&table.db.table(Database::GAMES));
    assert_eq!(connections.get("chatty").await.unwrap(), None);
}

#[tokio::test]
async fn concurrent_spectators_are_admitted_up_to_the_limit() {
    let table = GameTable::with_players(2).await.unwrap();
    let crowd: Vec<_> = (0..SPECTATORS_MAX + 20).map(|n| format!("spectator-{n}")).collect();
    for (seat, connection_id) in (100..).zip(&crowd) {
        table.open_as(connection_id, seat, Role::Spectator).await.unwrap();
    }
    let hello = json!({"action": "hello", "protocol": 1}).to_string();
    let instances: Vec<_> = crowd.iter().map(|_| table.instance()).collect();
    let mut waiting: Vec<_> = crowd.iter().zip(&instances).collect();
    // Who meets too many others is asked to try again, as a browser does.
    for _ in 0..20 {
        let said = waiting.iter().map(|(id, room)| room.message(id, &hello, table.now_ms()));
        let handled = join_all(said).await;
        assert!(handled.iter().all(|handled| matches!(handled.outcome, "done" | "busy")), "{handled:?}");
        waiting =
            waiting.into_iter().zip(&handled).filter(|(_, done)| done.outcome == "busy").map(|(who, _)| who).collect();
    }
    assert!(waiting.is_empty());
    let welcomed = |id: &&String| table.sockets.take(id).iter().any(|message| message["type"] == "welcome");
    assert_eq!(crowd.iter().filter(welcomed).count(), SPECTATORS_MAX);
    assert_eq!(kinds(&table).await["LIVE#CONN#"], SPECTATORS_MAX + 2);
    assert_eq!(table.last_room(&connection(0)).unwrap()["spectators"], 50);
}

#[tokio::test]
async fn a_second_hello_is_answered_and_told_to_nobody_else() {
    let table = GameTable::with_players(2).await.unwrap();
    table.open_as("guest", 9, Role::Spectator).await.unwrap();
    table.say_hello("guest").await;
    table.drain(2);
    table.sockets.take("guest");
    assert_eq!(table.say_hello("guest").await.outcome, "done");
    assert_eq!(table.sockets.take("guest")[0]["type"], "welcome");
    assert_eq!((table.types(0), table.types(1)), (vec![], vec![]));
}

#[tokio::test]
async fn a_bot_that_guesses_through_many_instances_has_one_allowance() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    let from = connection(1);
    let mut counted = 0;
    for _ in 0..10 {
        let instances: Vec<_> = (0..20).map(|_| table.instance()).collect();
        let guesses = instances.iter().map(async |room| {
            let guess = say("みかんのき").to_string();
            room.message(&from, &guess, table.now_ms()).await.outcome
        });
        let outcomes = join_all(guesses).await;
        assert!(outcomes.iter().all(|outcome| matches!(*outcome, "done" | "too-fast" | "busy")), "{outcomes:?}");
        counted += outcomes.iter().filter(|outcome| **outcome == "done").count() as u64;
    }
    assert!((1..=GUESSES.burst).contains(&counted), "{counted} guesses counted");
    let refused = table.sockets.take(&from).into_iter().find(|message| message["type"] == "error").unwrap();
    assert_eq!(refused["error"]["type"], "urn:tidemark:problem:too-fast");
    assert!(refused["id"].is_string(), "which line it was: {refused}");

    // Nor is the right one found among them.
    let right = table.instance().message(&from, &say("りんご").to_string(), table.now_ms()).await;
    assert_eq!(right.outcome, "too-fast");
    assert_eq!(table.live().await.unwrap().room.turn().unwrap().solvers, []);
    table.pass(GUESSES.every_ms * GUESSES.burst);
    assert_eq!(table.say(1, "りんご").await.outcome, "done");
    assert_eq!(table.live().await.unwrap().room.turn().unwrap().solvers.len(), 1);
    // Who knows it talks on.
    for _ in 0..5 {
        assert_eq!(table.say(1, "かんたん").await.outcome, "done");
    }
}

#[tokio::test]
async fn spectator_talk_limit_holds_over_a_new_connection() {
    let table = GameTable::with_players(2).await.unwrap();
    table.open_as("guest", 9, Role::Spectator).await.unwrap();
    table.say_hello("guest").await;
    for _ in 0..SPECTATOR_TALK.burst {
        assert_eq!(table.send("guest", &say("わあ")).await.outcome, "done");
    }
    table.pass(1_000);
    assert_eq!(table.send("guest", &say("わあ")).await.outcome, "too-fast");
    table.open_as("again", 9, Role::Spectator).await.unwrap();
    table.say_hello("again").await;
    assert_eq!(table.send("again", &say("わあ")).await.outcome, "too-fast");
    table.pass(SPECTATOR_TALK.every_ms * SPECTATOR_TALK.burst);
    assert_eq!(table.send("again", &say("わあ")).await.outcome, "done");
}

#[tokio::test]
async fn guess_limit_holds_over_a_disconnect() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    take_all_guesses(&table, 1).await;
    assert_eq!(table.room.disconnected(&connection(1), table.now_ms()).await.status, 200);
    table.open("again", 1).await.unwrap();
    table.say_hello("again").await;
    assert_eq!(table.send("again", &say("みかん")).await.outcome, "too-fast");
    table.pass(GUESSES.every_ms * GUESSES.burst);
    assert_eq!(table.send("again", &say("みかん")).await.outcome, "done");
}

#[tokio::test]
async fn guess_limit_holds_over_another_role_and_another_game() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    let other = GameTable::empty(table.db.clone(), Settings::default(), &[]).await.unwrap();
    other.sit_down(1).await.unwrap();
    take_all_guesses(&table, 1).await;
    table.open_as("looks-on", 1, Role::Spectator).await.unwrap();
    assert_eq!(table.say_hello("looks-on").await.outcome, "done");
    assert_eq!(table.send("looks-on", &say("わあ")).await.outcome, "done");
    table.open("back", 1).await.unwrap();
    table.say_hello("back").await;
    assert_eq!(table.send("back", &say("みかん")).await.outcome, "too-fast");
    other.open("other", 1).await.unwrap();
    assert_eq!(other.say_hello("other").await.outcome, "done");
    table.open("again", 1).await.unwrap();
    table.say_hello("again").await;
    assert_eq!(table.send("again", &say("みかん")).await.outcome, "too-fast");
    table.pass(GUESSES.every_ms * GUESSES.burst);
    assert_eq!(table.send("again", &say("みかん")).await.outcome, "done");
}

#[tokio::test]
async fn spectators_who_flood_hold_up_no_player() {
    let table = GameTable::with_players(2).await.unwrap();
    for n in 0..SPECTATORS_MAX {
        table.open_as(&format!("guest-{n}"), 100 + u8::try_from(n).unwrap(), Role::Spectator).await.unwrap();
        table.say_hello(&format!("guest-{n}")).await;
    }
    let mut dropped = 0;
    for _ in 0..25 {
        for n in 0..SPECTATORS_MAX {
            let handled = table.send(&format!("guest-{n}"), &json!({"action": "tick", "version": 0})).await;
            dropped += u32::from(handled.outcome == "slow-down");
        }
    }
    assert!(dropped > 500, "{dropped}");
    assert_eq!(table.say(0, "きこえる？").await.outcome, "done");
}
