//! `$connect` on a real engine: accepted and refused tickets.

use std::sync::Arc;

use domain::game::{PlayerId, Settings};
use jiff::{SignedDuration, Timestamp};
use lambda_kit::ticket::{Ticket, Tickets};
use secrecy::SecretString;
use serde_json::json;
use tests::game_table::player;
use tests::{Database, GameTable, sample_event};
use ws_connect::{ConnectHandler, handle};

const KEY: &str = "key";

fn ticket(table: &GameTable, player_id: PlayerId, role: &str) -> Ticket {
    let (player_id, game_id) = (player_id.to_string(), table.game_id.to_string());
    Ticket {
        player_id, game_id, role: role.to_owned(), name: "あん".to_owned(), id: uuid::Uuid::now_v7().to_string()
    }
}

async fn outcome(table: &GameTable, query: Option<String>, now: Timestamp) -> (serde_json::Value, &'static str) {
    outcome_of(table, "L0SM9coFvHcCIhw=", query, now).await
}

async fn outcome_of(
    table: &GameTable,
    connection_id: &str,
    query: Option<String>,
    now: Timestamp,
) -> (serde_json::Value, &'static str) {
    let handler = ConnectHandler::new(&table.db.table(Database::GAMES), SecretString::from(KEY));
    let mut event = sample_event("ws-connect", "ticket-missing");
    event["requestContext"]["connectionId"] = json!(connection_id);
    if let Some(ticket) = query {
        event["queryStringParameters"] = json!({ "ticket": ticket });
    }
    let (reply, outcome) = handle(&handler, serde_json::from_value(event).unwrap(), now).await;
    (serde_json::to_value(reply).unwrap()["statusCode"].clone(), outcome)
}

#[tokio::test]
async fn connect_requires_a_fresh_ticket_for_a_seat() {
    let db = Arc::new(Database::start().await.unwrap());
    let table = GameTable::empty(db, Settings::default(), &[]).await.unwrap();
    let (now, tickets) = (Timestamp::now(), Tickets::new(SecretString::from(KEY)));
    let later = now + SignedDuration::from_secs(61);
    let seal = |ticket: &Ticket| Some(tickets.ticket(ticket, now));
    let seated = ticket(&table, player(0), "player");

    let forged = Some(Tickets::new(SecretString::from("another")).ticket(&seated, now));
    let token = Some(tickets.player_token(&seated.player_id, now));
    let other_game = Ticket { game_id: uuid::Uuid::now_v7().to_string(), ..seated.clone() };
    let no_role = Ticket { role: "host".to_owned(), ..seated.clone() };
    let cases = [
        (401, "no-ticket", None, now),
        (401, "no-ticket", Some(String::new()), now),
        (401, "ticket-forged", Some("x".to_owned()), now),
        (401, "ticket-forged", forged, now),
        (401, "ticket-forged", token, now),
        (401, "ticket-forged", seal(&no_role), now),
        (401, "ticket-expired", seal(&seated), later),
        (403, "game-not-found", seal(&other_game), now),
        (403, "not-seated", seal(&ticket(&table, player(1), "player")), now),
        (200, "connected", seal(&seated), now),
        (200, "connected", seal(&ticket(&table, player(2), "spectator")), now),
    ];
    for (status, word, query, at) in cases {
        assert_eq!(outcome(&table, query, at).await, (json!(status), word));
    }
}

#[tokio::test]
async fn a_ticket_opens_one_socket() {
    let db = Arc::new(Database::start().await.unwrap());
    let table = GameTable::empty(db, Settings::default(), &[]).await.unwrap();
    let (now, tickets) = (Timestamp::now(), Tickets::new(SecretString::from(KEY)));
    let sealed = Some(tickets.ticket(&ticket(&table, player(0), "player"), now));
    assert_eq!(outcome_of(&table, "first", sealed.clone(), now).await.1, "connected");
    assert_eq!(outcome_of(&table, "first", sealed.clone(), now).await.1, "connected", "the reply to it got lost");
    assert_eq!(outcome_of(&table, "second", sealed, now).await, (json!(401), "ticket-used"));
    let another = Some(tickets.ticket(&ticket(&table, player(0), "player"), now));
    assert_eq!(outcome_of(&table, "second", another, now).await.1, "connected");
}
