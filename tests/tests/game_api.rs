//! Seats over HTTP, against a real engine: many who come at once, and games on which time has run on.

use std::collections::{BTreeMap, BTreeSet};

use domain::game::{GameId, Phase, SPECTATORS_MAX};
use futures::future::join_all;
use game_api::{Api, handle};
use jiff::Timestamp;
use lambda_kit::http::Request;
use lambda_kit::ticket::Tickets;
use serde_json::{Value, json};
use store::game::Rooms;
use tidemark_tests::games::{Play, game, look_on, player, settings};
use tidemark_tests::{Database, GAME_KEY};

const NOW_MS: u64 = 4_000_000_000_000;

fn at(now_ms: u64) -> Timestamp {
    Timestamp::from_millisecond(now_ms.try_into().unwrap()).unwrap()
}

async fn join(api: &Api, id: GameId, name: &str, token: Option<&str>, now_ms: u64) -> (u16, Value) {
    come(api, id, &json!({"name": name}), token, now_ms).await
}

async fn come(api: &Api, id: GameId, body: &Value, token: Option<&str>, now_ms: u64) -> (u16, Value) {
    let mut event = json!({
        "version": "2.0", "routeKey": "POST /games/{gameId}/players", "rawPath": format!("/games/{id}/players"),
        "rawQueryString": "", "headers": {}, "pathParameters": {"gameId": id.to_string()},
        "requestContext": {"http": {"method": "POST", "path": format!("/games/{id}/players")}, "timeEpoch": 0},
        "body": body.to_string(), "isBase64Encoded": false,
    });
    if let Some(token) = token {
        event["headers"]["authorization"] = json!(format!("Bearer {token}"));
    }
    let request = Request::new(serde_json::from_value(event).unwrap());
    match handle(api, request, at(now_ms)).await {
        Ok(reply) => (reply.status(), serde_json::from_str(reply.body()).unwrap()),
        Err(problem) => (problem.status(), json!(problem.name())),
    }
}

fn api(db: &Database) -> Api {
    Api::new(db.client.clone(), Database::GAMES, GAME_KEY.into())
}

#[tokio::test]
async fn of_many_who_come_at_once_as_many_are_seated_as_there_are_seats() {
    let db = Database::start().await.unwrap();
    Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 4).unwrap(), 1, NOW_MS).await.unwrap();
    let apis: Vec<_> = (0..8).map(|_| api(&db)).collect();
    let answers = join_all(apis.iter().map(|api| join(api, game(1), "ふみ", None, NOW_MS))).await;
    let seated: BTreeSet<_> =
        answers.iter().filter(|(status, _)| *status == 201).map(|(_, body)| body["playerId"].to_string()).collect();
    let mut refused = BTreeMap::<_, usize>::new();
    for (status, body) in answers.iter().filter(|(status, _)| *status != 201) {
        *refused.entry((*status, body.to_string())).or_default() += 1;
    }
    assert_eq!((seated.len(), refused), (3, BTreeMap::from([((409, "\"game-full\"".to_owned()), 5)])));
    let room = Rooms::new(db.client.clone(), Database::GAMES).room(game(1)).await.unwrap().unwrap();
    assert_eq!(room.players.len(), 4);
}

#[tokio::test]
async fn who_comes_twice_at_once_has_one_seat() {
    let db = Database::start().await.unwrap();
    Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 1, NOW_MS).await.unwrap();
    let (one, two) = (api(&db), api(&db));
    let token = Tickets::new(GAME_KEY.into()).player_token(&player(5).to_string(), at(NOW_MS));
    // A millisecond apart: of the same one they would write the same room, and both be right that it is theirs.
    let come = |api, now_ms| join(api, game(1), "ふみ", Some(&token), now_ms);
    let answers = tokio::join!(come(&one, NOW_MS), come(&two, NOW_MS + 1));
    assert_eq!(BTreeSet::from([answers.0.0, answers.1.0]), BTreeSet::from([200, 201]));
    let room = Rooms::new(db.client.clone(), Database::GAMES).room(game(1)).await.unwrap().unwrap();
    assert_eq!(room.players.iter().filter(|seat| seat.id == player(5)).count(), 1);
}

#[tokio::test]
async fn a_seat_is_taken_without_moving_time_on_for_those_at_the_table() {
    let db = Database::start().await.unwrap();
    let mut play =
        Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 2, NOW_MS).await.unwrap();
    play.start().await.unwrap();
    play.choose().await.unwrap();
    // An hour in which nobody has asked.
    let (status, _) = join(&api(&db), game(1), "ふみ", None, NOW_MS + 3_600_000).await;
    let room = Rooms::new(db.client.clone(), Database::GAMES).room(game(1)).await.unwrap().unwrap();
    assert_eq!((status, room.players.len()), (201, 3));
    assert!(matches!(room.turn().unwrap().phase, Phase::Drawing { .. }), "the reveal is for the archiver to see");
}

#[tokio::test]
async fn when_too_many_look_on_nobody_else_may_but_who_does_may_come_back_and_players_may_play() {
    let db = Database::start().await.unwrap();
    Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 1, NOW_MS).await.unwrap();
    let api = api(&db);
    let spectator = json!({"name": "はな", "role": "spectator"});
    look_on(&db.client, Database::GAMES, game(1), SPECTATORS_MAX - 1).await.unwrap();
    assert_eq!(come(&api, game(1), &spectator, None, NOW_MS).await.0, 201);
    look_on(&db.client, Database::GAMES, game(1), SPECTATORS_MAX).await.unwrap();
    assert_eq!(come(&api, game(1), &spectator, None, NOW_MS).await, (409, json!("too-many-spectators")));
    let token = Tickets::new(GAME_KEY.into()).player_token(&player(100).to_string(), at(NOW_MS));
    let (status, seat) = come(&api, game(1), &spectator, Some(&token), NOW_MS).await;
    assert_eq!((status, &seat["room"]["spectators"]), (201, &json!(SPECTATORS_MAX)));
    assert_eq!(join(&api, game(1), "ふみ", None, NOW_MS).await.0, 201);
}
