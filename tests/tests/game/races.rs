//! Several functions on one game at the same time, on a real engine with its faults.

use std::collections::BTreeMap;

use futures::future::join_all;
use serde_json::{Value, json};
use tests::GameTable;
use tests::game_table::{connection, player};
use tidemark_engine::{Chance, EngineFaults, FailureReply};

fn say(text: &str) -> Value {
    json!({"action": "say", "id": uuid::Uuid::now_v7().to_string(), "text": text})
}

/// Sends messages at once, each through an instance of its own.
async fn at_once(table: &GameTable, messages: &[(u8, Value)]) {
    let instances: Vec<_> = messages.iter().map(|_| table.instance()).collect();
    let sent = messages.iter().zip(&instances).map(|((seat, message), room)| async move {
        // Who meets too many others is asked to try again, as a browser does.
        for _ in 0..20 {
            let handled = room.message(&connection(*seat), &message.to_string(), table.now_ms()).await;
            assert!(handled.status < 500 || handled.outcome == "busy", "{message}: {handled:?}");
            if handled.outcome != "busy" {
                return;
            }
        }
        panic!("always busy: {message}");
    });
    join_all(sent).await;
}

#[tokio::test]
async fn the_same_guess_at_once_through_two_functions_counts_once() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    let guess = say("りんご");
    at_once(&table, &[(1, guess.clone()), (1, guess)]).await;
    let room = table.live().await.unwrap().room;
    let solvers = &room.turn().unwrap().solvers;
    assert_eq!(solvers.len(), 1);
    assert_eq!(room.player(player(1)).unwrap().score, solvers[0].points);
}

#[tokio::test]
async fn nine_who_guess_at_once_each_get_their_points_once() {
    let table = GameTable::with_players(10).await.unwrap();
    table.start_drawing(10, "りんご").await.unwrap();
    let guesses: Vec<_> = (1..10).map(|seat| (seat, say("りんご"))).collect();
    at_once(&table, &guesses).await;
    let room = table.live().await.unwrap().room;
    let turn = room.turn().unwrap();
    assert_eq!((turn.solvers.len(), turn.phase.is_secret()), (9, false));
    let drawn: u32 = room.player(player(0)).unwrap().score;
    let total: u32 = room.players.iter().map(|player| player.score).sum();
    assert_eq!(total, drawn + turn.solvers.iter().map(|solver| solver.points).sum::<u32>());
    assert_eq!(drawn, 100);
}

#[tokio::test]
async fn any_number_of_ticks_at_once_move_the_game_once() {
    let table = GameTable::with_players(6).await.unwrap();
    table.start_drawing(6, "りんご").await.unwrap();
    table.pass(80_000);
    let version = table.live().await.unwrap().room.version;
    let ticks: Vec<_> = (0..6).map(|seat| (seat, json!({"action": "tick", "version": version}))).collect();
    at_once(&table, &ticks).await;
    let room = table.live().await.unwrap().room;
    assert!(!room.turn().unwrap().phase.is_secret());
    assert_eq!(room.turn().unwrap().id.to_string(), "01.01");
    // Everybody ends with the same room, whoever wrote it.
    let rooms = (0..6).map(|seat| {
        let rooms = table.sockets.take(&connection(seat)).into_iter().filter(|message| message["type"] == "room");
        rooms.max_by_key(|message| message["room"]["version"].as_u64()).unwrap()["room"]["version"].as_u64().unwrap()
    });
    assert_eq!(rooms.collect::<Vec<_>>(), [room.version; 6]);
}

#[tokio::test]
async fn concurrent_guess_and_tick_at_deadline_stay_consistent() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    table.pass(79_999);
    let version = table.live().await.unwrap().room.version;
    let late = table.instance();
    let (guess, tick) = (say("りんご").to_string(), json!({"action": "tick", "version": version}).to_string());
    let now_ms = table.now_ms();
    let (connection_1, connection_2) = (connection(1), connection(2));
    tokio::join!(table.room.message(&connection_1, &guess, now_ms), late.message(&connection_2, &tick, now_ms + 1));
    let room = table.live().await.unwrap().room;
    let turn = room.turn().unwrap();
    assert!(!turn.phase.is_secret());
    // The guess came in time or it did not; its points are in the turn and in the score, or in
    // neither.
    let points: u32 = turn.solvers.iter().map(|solver| solver.points).sum();
    assert_eq!(room.player(player(1)).unwrap().score, points);
}

#[tokio::test]
async fn guess_with_a_lost_write_reply_counts_once() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    for reply in [FailureReply::InternalServerError, FailureReply::ConnectionClosed] {
        let fail_after = BTreeMap::from([("PutItem".to_owned(), Chance { next: 1, probability: 0.0 })]);
        table.db.engine().faults().set(EngineFaults { fail_after, failure_reply: reply, ..EngineFaults::default() });
        let seat = if reply == FailureReply::InternalServerError { 1 } else { 2 };
        assert_eq!(table.say(seat, "りんご").await.outcome, "done");
        let heard = table.sockets.take(&connection(0));
        let correct = heard.iter().filter(|message| message["lines"][0]["kind"] == "correct").count();
        assert_eq!(correct, 1, "{heard:?}");
    }
    let room = table.live().await.unwrap().room;
    assert_eq!(room.turn().unwrap().solvers.len(), 2);
}

#[tokio::test]
async fn a_late_leave_that_fails_can_be_sent_again() {
    let table = GameTable::with_players(3).await.unwrap();
    table.start_drawing(3, "りんご").await.unwrap();
    table.room.disconnected(&connection(1), table.now_ms()).await;
    let leave = json!({"action": "leave"});
    let always = Chance { next: 0, probability: 1.0 };
    let fail_before = BTreeMap::from(["PutItem", "TransactWriteItems"].map(|name| (name.to_owned(), always)));
    table.db.engine().faults().set(EngineFaults { fail_before, ..EngineFaults::default() });
    assert!(table.send(&connection(1), &leave).await.status >= 500);
    table.db.engine().faults().set(EngineFaults::default());
    assert_eq!(table.send(&connection(1), &leave).await.outcome, "done");
    assert!(table.live().await.unwrap().room.player(player(1)).is_none());
}

#[tokio::test]
async fn transactions_that_conflict_are_decided_again() {
    let table = GameTable::with_players(2).await.unwrap();
    table.start(2).await.unwrap();
    let transaction_conflicts = Chance { next: 3, probability: 0.0 };
    table.db.engine().faults().set(EngineFaults { transaction_conflicts, ..EngineFaults::default() });
    let choose = json!({"action": "choose", "turnId": "01.01", "option": 1});
    assert_eq!(table.send(&connection(0), &choose).await.outcome, "done");
    assert!(table.live().await.unwrap().secret.turn.unwrap().answer.is_some());
}

#[tokio::test]
async fn two_tabs_that_open_at_once_leave_one_connection() {
    let table = GameTable::with_players(2).await.unwrap();
    let (a, b) = tokio::join!(table.open("tab-a", 1), table.open("tab-b", 1));
    a.unwrap();
    b.unwrap();
    let listeners = table.live().await.unwrap().listeners;
    let of_player: Vec<_> = listeners.iter().filter(|listener| listener.who.id() == player(1)).collect();
    assert_eq!(of_player.len(), 1, "{listeners:?}");
}
