//! Seats over HTTP, against a real engine: concurrent joins, and games with overdue steps.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;
use domain::game::rate_limit::{NEW_GAMES, TICKETS};
use domain::game::{Command, GameId, Phase, SPECTATORS_MAX, VOTER_SEATED_MS};
use futures::future::join_all;
use game_api::{Api, handle};
use game_store::Rooms;
use jiff::Timestamp;
use lambda_kit::http::Request;
use lambda_kit::ticket::Tickets;
use serde_json::{Value, json};
use tests::games::{Play, game, look_on, player, settings};
use tests::{Database, GAME_KEY};

const NOW_MS: u64 = 4_000_000_000_000;

fn at(now_ms: u64) -> Timestamp {
    Timestamp::from_millisecond(now_ms.try_into().unwrap()).unwrap()
}

async fn join(api: &Api, id: GameId, name: &str, token: Option<&str>, now_ms: u64) -> (u16, Value) {
    come(api, id, &json!({"name": name}), token, now_ms).await
}

async fn come(api: &Api, id: GameId, body: &Value, token: Option<&str>, now_ms: u64) -> (u16, Value) {
    come_from(api, id, body, token, now_ms, None).await
}

async fn come_from(
    api: &Api,
    id: GameId,
    body: &Value,
    token: Option<&str>,
    now_ms: u64,
    address: Option<&str>,
) -> (u16, Value) {
    let mut event = json!({
        "version": "2.0", "routeKey": "POST /games/{gameId}/players", "rawPath": format!("/games/{id}/players"),
        "rawQueryString": "", "headers": {}, "pathParameters": {"gameId": id.to_string()},
        "requestContext": {"http": {"method": "POST", "path": format!("/games/{id}/players")}, "timeEpoch": 0},
        "body": body.to_string(), "isBase64Encoded": false,
    });
    event["requestContext"]["http"]["sourceIp"] = json!(address);
    if let Some(token) = token {
        event["headers"]["authorization"] = json!(format!("Bearer {token}"));
    }
    answer(api, event, now_ms).await
}

/// Makes a public game from an address.
async fn make(api: &Api, address: &str, now_ms: u64) -> (u16, Value) {
    let event = json!({
        "version": "2.0", "routeKey": "POST /games", "rawPath": "/games", "rawQueryString": "", "headers": {},
        "requestContext": {"http": {"method": "POST", "path": "/games", "sourceIp": address}, "timeEpoch": 0},
        "body": json!({"name": "ふみ", "public": true}).to_string(), "isBase64Encoded": false,
    });
    answer(api, event, now_ms).await
}

/// What strangers find.
async fn lobby(api: &Api, now_ms: u64) -> Value {
    let event = json!({
        "version": "2.0", "routeKey": "GET /games", "rawPath": "/games", "rawQueryString": "", "headers": {},
        "requestContext": {"http": {"method": "GET", "path": "/games"}, "timeEpoch": 0}, "isBase64Encoded": false,
    });
    let (status, body) = answer(api, event, now_ms).await;
    assert_eq!(status, 200, "{body}");
    body
}

/// The ids of the games that strangers find.
async fn listed(api: &Api, now_ms: u64) -> Vec<String> {
    let body = lobby(api, now_ms).await;
    let games = body["items"].as_array().unwrap().iter();
    games.map(|game| game["gameId"].as_str().unwrap().to_owned()).collect()
}

async fn answer(api: &Api, event: Value, now_ms: u64) -> (u16, Value) {
    let request = Request::new(serde_json::from_value(event).unwrap());
    match handle(api, request, at(now_ms)).await {
        Ok(reply) => (reply.status(), serde_json::from_str(reply.body()).unwrap()),
        Err(problem) => (problem.status(), json!(problem.name())),
    }
}

fn api(db: &Database) -> Api {
    Api::new(&db.table(Database::GAMES), GAME_KEY.into())
}

#[tokio::test]
async fn concurrent_joins_seat_as_many_players_as_seats() {
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
    let room = Rooms::new(&db.table(Database::GAMES)).room(game(1)).await.unwrap().unwrap();
    assert_eq!(room.players.len(), 4);
}

#[tokio::test]
async fn who_comes_twice_at_once_has_one_seat() {
    let db = Database::start().await.unwrap();
    Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 1, NOW_MS).await.unwrap();
    let (one, two) = (api(&db), api(&db));
    let token = Tickets::new(GAME_KEY.into()).player_token(&player(5).to_string(), at(NOW_MS));
    // A millisecond apart: of the same one they would write the same room, and both be right that
    // it is theirs.
    let come = |api, now_ms| join(api, game(1), "ふみ", Some(&token), now_ms);
    let answers = tokio::join!(come(&one, NOW_MS), come(&two, NOW_MS + 1));
    assert_eq!(BTreeSet::from([answers.0.0, answers.1.0]), BTreeSet::from([200, 201]));
    let room = Rooms::new(&db.table(Database::GAMES)).room(game(1)).await.unwrap().unwrap();
    assert_eq!(room.players.iter().filter(|seat| seat.id == player(5)).count(), 1);
}

#[tokio::test]
async fn joining_does_not_advance_time_for_the_table() {
    let db = Database::start().await.unwrap();
    let mut play =
        Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 2, NOW_MS).await.unwrap();
    play.start().await.unwrap();
    play.choose().await.unwrap();
    // An hour in which nobody has asked.
    let (status, _) = join(&api(&db), game(1), "ふみ", None, NOW_MS + 3_600_000).await;
    let room = Rooms::new(&db.table(Database::GAMES)).room(game(1)).await.unwrap().unwrap();
    assert_eq!((status, room.players.len()), (201, 3));
    assert!(matches!(room.turn().unwrap().phase, Phase::Drawing { .. }), "the reveal is for the archiver to see");
}

#[tokio::test]
async fn spectator_limit_refuses_newcomers_but_not_returners_or_players() {
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

#[tokio::test]
async fn lobby_lists_occupied_games_and_empty_ones_expire_soon() {
    let db = Database::start().await.unwrap();
    let api = api(&db);
    let real = Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 1, NOW_MS).await;
    let mut real = real.unwrap();
    let mut empty = String::new();
    for n in 0..25 {
        let (status, made) = make(&api, "203.0.113.7", NOW_MS + n).await;
        assert_eq!(status, 201);
        empty = made["gameId"].as_str().unwrap().to_owned();
    }
    assert_eq!(listed(&api, NOW_MS + 30).await, [game(1).to_string()]);
    let ends = async |id: &str, sort: &str| {
        let get = db.client.get_item().table_name(Database::GAMES).key("PK", AttributeValue::S(format!("GAME#{id}")));
        let item = get.key("SK", AttributeValue::S(sort.to_owned())).send().await.unwrap().item.unwrap();
        item["ttl"].as_n().unwrap().parse::<u64>().unwrap() - NOW_MS / 1_000
    };
    for sort in ["META", "LIVE#SECRET"] {
        assert!(ends(&empty, sort).await <= 3_601, "{sort}");
        assert!(ends(&game(1).to_string(), sort).await >= 7 * 86_400, "{sort}");
    }
    assert!(ends(&game(1).to_string(), &format!("PLAYER#{}", player(0))).await >= 7 * 86_400);

    real.apply(0, Command::Disconnect).await.unwrap();
    assert_eq!(listed(&api, NOW_MS + 31).await, [""; 0]);
    real.apply(0, Command::Connect).await.unwrap();
    assert_eq!(listed(&api, NOW_MS + 32).await, [game(1).to_string()]);
    assert_eq!(listed(&api, NOW_MS + 3 * 3_600_000).await, [""; 0], "no connection lasts that long");
}

#[tokio::test]
async fn unreadable_game_does_not_hide_the_others_in_lobby() {
    let db = Database::start().await.unwrap();
    for n in [1, 2] {
        Play::with_players(&db.client, Database::GAMES, game(n), settings(1, 8).unwrap(), 1, NOW_MS).await.unwrap();
    }
    let text = |text: String| AttributeValue::S(text);
    let update = db.client.update_item().table_name(Database::GAMES).key("PK", text(format!("GAME#{}", game(2))));
    let update = update.key("SK", text("META".to_owned())).update_expression("SET players = :none");
    update.expression_attribute_values(":none", text("none".to_owned())).send().await.unwrap();
    let body = lobby(&api(&db), NOW_MS).await;
    let ids: Vec<_> = body["items"].as_array().unwrap().iter().map(|game| &game["gameId"]).collect();
    assert_eq!((ids, &body["skipped"]), (vec![&json!(game(1).to_string())], &json!(1)));
}

#[tokio::test]
async fn games_and_seats_of_one_client_are_rate_limited() {
    let db = Database::start().await.unwrap();
    let api = api(&db);
    for n in 0..NEW_GAMES.burst {
        assert_eq!(make(&api, "2001:db8:1:2::1", NOW_MS + n).await.0, 201);
    }
    let now_ms = NOW_MS + NEW_GAMES.burst;
    assert_eq!(make(&api, "2001:db8:1:2:ffff::", now_ms).await, (429, json!("too-many-requests")));
    assert_eq!(make(&api, "2001:db8:1:3::1", now_ms).await.0, 201, "another network");
    assert_eq!(make(&api, "2001:db8:1:2::1", now_ms + NEW_GAMES.every_ms).await.0, 201, "one a minute comes back");

    Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 1, NOW_MS).await.unwrap();
    let token = Tickets::new(GAME_KEY.into()).player_token(&player(0).to_string(), at(NOW_MS));
    let body = json!({"name": "ふみ"});
    let mut refused = 0;
    for _ in 0..=TICKETS.burst {
        let seat = come_from(&api, game(1), &body, Some(&token), NOW_MS, Some("203.0.113.7")).await;
        refused += u64::from(seat == (429, json!("too-many-requests")));
    }
    assert_eq!(refused, 1);
}

#[tokio::test]
async fn kicked_player_cannot_return_from_the_same_address() {
    let db = Database::start().await.unwrap();
    let api = api(&db);
    let mut play =
        Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 2, NOW_MS).await.unwrap();
    let body = json!({"name": "ふみ"});
    let (status, troll) = come_from(&api, game(1), &body, None, NOW_MS, Some("203.0.113.7")).await;
    assert_eq!(status, 201);
    play.reload().await.unwrap();
    play.now_ms += VOTER_SEATED_MS;
    let target = troll["playerId"].as_str().unwrap().parse().unwrap();
    for n in [0, 1] {
        play.apply(n, Command::Kick { target }).await.unwrap();
    }
    let now_ms = play.now_ms;
    for role in ["player", "spectator"] {
        let body = json!({"name": "べつのな", "role": role});
        let back = come_from(&api, game(1), &body, None, now_ms, Some("203.0.113.7")).await;
        assert_eq!(back, (403, json!("kicked")), "{role}");
        assert_eq!(come_from(&api, game(1), &body, None, now_ms, Some("203.0.113.8")).await.0, 201, "{role}");
    }
    let fresh = Tickets::new(GAME_KEY.into()).player_token(&player(9).to_string(), at(now_ms));
    let read = async |address: &str| answer(&api, reading("chat", &fresh, Some(address)), now_ms).await;
    assert_eq!(read("203.0.113.7").await, (403, json!("kicked")));
    assert_eq!(read("203.0.113.8").await.0, 200);
}

/// A request for a part of the first game's history.
fn reading(path: &str, token: &str, address: Option<&str>) -> Value {
    json!({
        "version": "2.0", "routeKey": format!("GET /games/{{gameId}}/{path}"), "rawPath": "/", "rawQueryString": "",
        "headers": {"authorization": format!("Bearer {token}")},
        "pathParameters": {"gameId": game(1).to_string(), "turnId": "01.01"},
        "requestContext": {"http": {"method": "GET", "path": "/", "sourceIp": address}, "timeEpoch": 0},
        "isBase64Encoded": false,
    })
}

#[tokio::test]
async fn a_removed_player_reads_nothing_of_the_game() {
    let db = Database::start().await.unwrap();
    let api = api(&db);
    let mut play =
        Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 3, NOW_MS).await.unwrap();
    play.now_ms += VOTER_SEATED_MS;
    let read = async |n: u8, path: &str, now_ms: u64| {
        let token = Tickets::new(GAME_KEY.into()).player_token(&player(n).to_string(), at(now_ms));
        answer(&api, reading(path, &token, None), now_ms).await
    };
    let paths = ["chat", "turns", "turns/{turnId}/drawing"];
    for path in paths {
        assert_ne!(read(2, path, play.now_ms).await.0, 403, "{path}");
    }
    for n in [0, 1] {
        play.apply(n, Command::Kick { target: player(2) }).await.unwrap();
    }
    for path in paths {
        assert_eq!(read(2, path, play.now_ms).await, (403, json!("kicked")), "{path}");
        assert_ne!(read(1, path, play.now_ms).await.0, 403, "{path}");
    }
}

#[tokio::test]
async fn drawings_need_no_token_while_the_host_shares_them() {
    let db = Database::start().await.unwrap();
    let api = api(&db);
    let mut play =
        Play::with_players(&db.client, Database::GAMES, game(1), settings(1, 8).unwrap(), 2, NOW_MS).await.unwrap();
    play.apply(1, Command::Ready(true)).await.unwrap();
    play.apply(0, Command::Start).await.unwrap();
    play.now_ms += 60 * 60_000;
    let read = async |path: &str, now_ms: u64| {
        let mut request = reading(path, "", None);
        request["headers"] = json!({});
        answer(&api, request, now_ms).await
    };
    let drawing = "turns/{turnId}/drawing";
    for (shared, turns, drawing_status) in [(None, 401, 401), (Some(true), 200, 404), (Some(false), 401, 401)] {
        if let Some(shared) = shared {
            play.apply(0, Command::Share(shared)).await.unwrap();
        }
        assert_eq!(read("turns", play.now_ms).await.0, turns, "{shared:?}");
        // Nothing was drawn.
        assert_eq!(read(drawing, play.now_ms).await.0, drawing_status, "{shared:?}");
        assert_eq!(read("chat", play.now_ms).await.0, 401, "the chat stays with the players");
    }
}
