//! The game over HTTP and sockets: full games with the longest names, words, lines and drawings.
//! Each message meets another instance of its function, which remembers nothing.

use domain::game::drawing::POINTS_MAX;
use domain::game::{CUSTOM_WORDS_MAX, GameId, Hiragana, Phase, PlayerId, SPECTATORS_MAX, Stage, TurnId};
use fastrand::Rng;
use game_api::{Api, handle};
use game_archiver::Archiver;
use game_room::GameRoom;
use game_store::{Chunk, Freshness, GAMES_MAX, Live, Rooms, Strokes};
use jiff::Timestamp;
use journal_store::{Journal, JournalShards};
use serde_json::{Value, json};
use tests::{Database, FakeSockets, GAME_KEY, StreamTail, sample_event};
use uuid::Uuid;
use ws_connect::ConnectHandler;

use super::{Costs, Gauge, batch, compare, copies, request};

const BEGIN_MS: u64 = 1_759_401_000_000;
const PLAYERS: usize = 10;
const JOIN: &str = "POST /games/{gameId}/players";
/// API Gateway bills a message for each 32 KB.
const MESSAGE_BYTES: usize = 32 * 1024;

/// Somebody with a seat or a place to look on.
struct Guest {
    id: PlayerId,
    token: String,
    connection: String,
}

/// A game of ten players and all its spectators.
struct Party {
    db: Database,
    api: Api,
    connect: ConnectHandler,
    sockets: FakeSockets,
    stream: StreamTail,
    game: String,
    now_ms: u64,
    /// The players come first.
    guests: Vec<Guest>,
}

/// Ten characters with three marks each.
fn name(n: usize) -> String {
    let letter = |n: usize| char::from_u32(0x1d400 + n as u32).unwrap();
    let letters = [letter(n / 10), letter(n % 10)].into_iter().chain([letter(0); 8]);
    letters.map(|letter| format!("{letter}\u{20dd}\u{20dd}\u{20dd}")).collect()
}

/// A hundred characters with three marks each.
fn line() -> String {
    "𝐀\u{20dd}\u{20dd}\u{20dd}".repeat(100)
}

/// A word of the most characters, by number.
fn word(n: usize) -> String {
    let letter = |n: usize| char::from_u32(0x3042 + n as u32).unwrap();
    "あ".repeat(Hiragana::CHARS_MAX - 2) + &String::from_iter([letter(n / 10), letter(n % 10)])
}

/// The partition of another game, by number.
fn other_game(n: u32) -> String {
    format!("GAME#{}", Uuid::from_u64_pair(0x0199_c0de_0000_7000, 0x8000_0000_0000_0000 | u64::from(n)))
}

/// A batch of one stroke, which compresses badly.
fn stroke(rng: &mut Rng, seq: u32, points: usize) -> Value {
    let (mut before, mut numbers) = ([0, 0, 0], Vec::new());
    for _ in 0..points {
        let point = [rng.i64(-200..=1_800), rng.i64(-200..=1_400), rng.i64(0..=100)];
        numbers.extend((0..3).map(|axis| point[axis] - before[axis]));
        before = point;
    }
    let op =
        json!({ "op": "stroke", "id": seq, "points": numbers, "color": 0, "width": 8, "tool": "pen", "end": true });
    json!({ "seq": seq, "ops": [op] })
}

/// As many batches as a message takes.
fn strokes(rng: &mut Rng, chunk: u32) -> Vec<Value> {
    (0..7).map(|n| stroke(rng, 7 * (chunk - 1) + n + 1, if n < 6 { POINTS_MAX } else { 150 })).collect()
}

impl Party {
    /// A game with all guests in it, of whom the last ones to come are measured.
    async fn new(costs: Costs) -> (Self, Gauge) {
        let db = Database::start().await.unwrap();
        let mut gauge = Gauge { costs, ..Gauge::new(&db) };
        let table = db.table(Database::GAMES);
        let mut party = Self {
            api: Api::new(&table, GAME_KEY.into()),
            connect: ConnectHandler::new(&table, GAME_KEY.into()),
            sockets: FakeSockets::default(),
            stream: db.stream_of("game-archiver", Database::GAMES).await.unwrap(),
            game: String::new(),
            now_ms: BEGIN_MS,
            guests: Vec::new(),
            db,
        };
        let settings =
            json!({ "timeLimit": 300, "roundCount": 1, "playerCount": PLAYERS, "hints": true, "words": "both" });
        let words: Vec<_> = (0..CUSTOM_WORDS_MAX).map(word).collect();
        let game = json!({ "name": name(0), "public": true, "settings": settings, "words": words });
        let created = party.ask(&mut gauge, "POST /games", &[], "", &game).await;
        party.game = created["gameId"].as_str().unwrap().to_owned();
        party.come(&mut gauge, &created).await;
        for n in 1..PLAYERS - 1 {
            party.join(&mut gauge, n, "player").await;
        }
        let last = PLAYERS - 1;
        for n in 0..SPECTATORS_MAX {
            party.join(&mut gauge, PLAYERS + n, "spectator").await;
        }
        party.list(&mut gauge).await;
        party.join(&mut gauge, last, "player").await;
        let player = party.guests.pop().unwrap();
        party.guests.insert(last, player);
        (party, gauge)
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_millisecond(self.now_ms as i64).unwrap()
    }

    fn id(&self) -> GameId {
        self.game.parse().unwrap()
    }

    async fn live(&self) -> Live {
        let rooms = Rooms::new(&self.db.table(Database::GAMES));
        rooms.live(self.id(), Freshness::Consistent).await.unwrap().unwrap()
    }

    /// Who draws.
    async fn drawer(&self) -> usize {
        let drawer = self.live().await.room.turn().unwrap().drawer;
        self.guests.iter().position(|guest| guest.id == drawer).unwrap()
    }

    /// A request of the HTTP API.
    async fn ask(&mut self, gauge: &mut Gauge, route: &str, values: &[&str], token: &str, body: &Value) -> Value {
        self.archive().await;
        gauge.skip();
        let reply = handle(&self.api, request(route, values, token, body), self.now()).await;
        let text = reply.as_ref().map(|reply| serde_json::from_str(reply.body()).unwrap()).unwrap_or_default();
        self.archive().await;
        gauge.answer(route, reply);
        text
    }

    async fn join(&mut self, gauge: &mut Gauge, n: usize, role: &str) {
        let (game, body) = (self.game.clone(), json!({ "name": name(n), "role": role }));
        let seat = self.ask(gauge, JOIN, &[&game], "", &body).await;
        self.come(gauge, &seat).await;
    }

    /// Connects with a ticket, and says hello.
    async fn come(&mut self, gauge: &mut Gauge, seat: &Value) {
        let connection = format!("L0SM9coFvHcC{:03}=", self.guests.len());
        let mut event = sample_event("ws-connect", "ticket-missing");
        event["requestContext"]["connectionId"] = json!(connection);
        event["queryStringParameters"] = json!({ "ticket": seat["ticket"] });
        gauge.skip();
        let (_, outcome) = ws_connect::handle(&self.connect, serde_json::from_value(event).unwrap(), self.now()).await;
        assert_eq!(outcome, "connected");
        gauge.book("$connect", 0, 0);
        let text = |name: &str| seat[name].as_str().unwrap().to_owned();
        self.guests.push(Guest { id: text("playerId").parse().unwrap(), token: text("playerToken"), connection });
        self.send(gauge, self.guests.len() - 1, json!({ "action": "hello", "protocol": 1 })).await;
    }

    /// Lists as many games as a page has, all of them like this one.
    async fn list(&mut self, gauge: &mut Gauge) {
        let created = |n| format!("CREATED#2025-10-03T{n:03}");
        let games = (0..u32::from(GAMES_MAX)).map(|n| vec![("PK", other_game(n)), ("GSI2SK", created(n))]);
        copies(&self.db, Database::GAMES, (&format!("GAME#{}", self.game), "META"), games).await;
        self.ask(gauge, "GET /games?limit=50", &[], "", &Value::Null).await;
    }

    fn instance(&self) -> GameRoom<FakeSockets> {
        GameRoom::new(&self.db.table(Database::GAMES), self.sockets.clone(), game_room::random_u64)
    }

    /// Books a message with all that follows from it.
    async fn send(&mut self, gauge: &mut Gauge, who: usize, message: Value) {
        self.archive().await;
        gauge.skip();
        let connection = &self.guests[who].connection;
        let done = self.instance().message(connection, &message.to_string(), self.now_ms).await;
        assert_eq!(done.outcome, "done", "{message}");
        self.book(gauge, message["action"].as_str().unwrap()).await;
    }

    async fn book(&mut self, gauge: &mut Gauge, request: &str) {
        self.archive().await;
        let posted = self.sockets.take_all();
        let billed = posted.iter().map(|message| message.len().div_ceil(MESSAGE_BYTES)).sum();
        gauge.book(request, billed, posted.iter().map(bytes::Bytes::len).sum());
    }

    /// Gives an archiver what the stream has told since. A new instance counts the chat.
    async fn archive(&mut self) {
        let event = batch(&mut self.stream).await;
        let shards = JournalShards::new(4).unwrap();
        let journal = Journal::new(&self.db.table(Database::JOURNAL), shards, "default=0".parse().unwrap());
        let archiver = Archiver::new(&self.db.table(Database::GAMES), journal);
        game_archiver::handle(&archiver, event, self.now()).await.unwrap();
    }

    /// Ends the connection of a guest.
    async fn disconnect(&mut self, gauge: &mut Gauge, who: usize) {
        self.archive().await;
        gauge.skip();
        self.instance().disconnected(&self.guests[who].connection, self.now_ms).await;
        self.book(gauge, "$disconnect").await;
    }

    async fn start(&mut self, gauge: &mut Gauge) {
        for player in 1..PLAYERS {
            self.send(gauge, player, json!({ "action": "ready", "ready": true })).await;
        }
        self.now_ms += 60_000;
        self.send(gauge, 0, json!({ "action": "start" })).await;
    }

    /// Lets the drawer choose the longest word.
    async fn choose(&mut self, gauge: &mut Gauge) -> (usize, String) {
        let (drawer, turn) = (self.drawer().await, self.live().await.room.turn().unwrap().id.to_string());
        self.send(gauge, drawer, json!({ "action": "choose", "turnId": turn, "word": word(0) })).await;
        (drawer, turn)
    }

    /// Waits for the next thing that time brings, and lets a client notice.
    async fn tick(&mut self, gauge: &mut Gauge) {
        let room = self.live().await.room;
        self.now_ms = self.now_ms.max(room.next_at_ms().unwrap());
        self.send(gauge, 1, json!({ "action": "tick", "version": room.version })).await;
    }
}

#[tokio::test]
async fn game_requests_and_messages_cost_at_most_their_bounds() {
    compare(&costs().await, |request| !request.contains(" /") || ["games"].iter().any(|part| request.contains(part)));
}

async fn costs() -> Costs {
    let (mut party, mut gauge) = Party::new(Costs::new()).await;
    play(&mut party, &mut gauge).await;
    // What sends somebody away, in a second game.
    let (mut party, mut gauge) = Party::new(gauge.costs).await;
    part(&mut party, &mut gauge).await;
    gauge.costs
}

async fn play(party: &mut Party, gauge: &mut Gauge) {
    let (game, token, none) = (party.game.clone(), party.guests[1].token.clone(), Value::Null);
    party.now_ms += 60_000;
    party.send(gauge, 0, json!({ "action": "ping" })).await;
    let settings = json!({ "timeLimit": 300, "roundCount": 1, "playerCount": 10, "hints": false, "words": "both", "language": "ja" });
    party.send(gauge, 0, json!({ "action": "configure", "settings": settings })).await;

    let of_game = format!("GAME#{game}");
    party.start(gauge).await;
    let (drawer, turn) = party.choose(gauge).await;
    party.ask(gauge, "GET /games/{gameId}", &[&game], "", &none).await;
    let mut rng = Rng::with_seed(7);
    let mut draw = stroke(&mut rng, 1, POINTS_MAX);
    (draw["action"], draw["turnId"]) = (json!("draw"), json!(turn));
    party.send(gauge, drawer, draw).await;
    let save = json!({ "action": "save", "turnId": turn, "chunk": 1, "batches": strokes(&mut rng, 1) });
    assert!(save.to_string().len() > 30_000, "{} bytes", save.to_string().len());
    party.send(gauge, drawer, save).await;
    let (store, turn_id) = (Strokes::new(&party.db.table(Database::GAMES)), turn.parse::<TurnId>().unwrap());
    // More than is read of a turn.
    for number in 2..=80 {
        let number_of = u32::from(number);
        let batches = json!(strokes(&mut rng, number_of)).to_string();
        let chunk = Chunk { from: 7 * (number_of - 1) + 1, to: 7 * number_of, batches };
        store.put(party.id(), turn_id, number, &chunk, party.now_ms).await.unwrap();
    }
    party.send(gauge, usize::from(drawer == 0), json!({ "action": "react", "turnId": turn, "reaction": "like" })).await;
    party.send(gauge, 1, json!({ "action": "catch-up", "turnId": turn, "after": 0 })).await;

    let guessers: Vec<_> = (0..PLAYERS).filter(|player| *player != drawer).collect();
    let say = |text: String| json!({ "action": "say", "id": Uuid::now_v7().to_string(), "text": text });
    party.send(gauge, guessers[0], say(line())).await;
    let lines = (0..120).map(|n| vec![("SK", format!("CHAT#{:013}#{}", party.now_ms + n, Uuid::now_v7()))]);
    copies(&party.db, Database::GAMES, (&of_game, "CHAT#"), lines).await;
    let last = party.guests.len() - 1;
    party.disconnect(gauge, last).await;
    party.join(gauge, last + 1, "spectator").await;
    party.now_ms += 60_000;
    for player in guessers {
        party.send(gauge, player, say(word(0))).await;
    }
    assert!(matches!(party.live().await.room.turn().unwrap().phase, Phase::Reveal { .. }));

    party.ask(gauge, "GET /games/{gameId}/chat?limit=100", &[&game], &token, &none).await;
    let drawing = "GET /games/{gameId}/turns/{turnId}/drawing";
    party.ask(gauge, drawing, &[&game, &turn], &token, &none).await;
    party.tick(gauge).await;
    party.ask(gauge, drawing, &[&game, &turn], &token, &none).await;

    while !matches!(party.live().await.room.stage, Stage::Finished { .. }) {
        let room = party.live().await.room;
        match room.turn().unwrap() {
            turn if matches!(turn.phase, Phase::Reveal { .. }) => party.tick(gauge).await,
            turn => {
                let (drawer, turn) = (party.drawer().await, turn.id.to_string());
                party.send(gauge, drawer, json!({ "action": "skip", "turnId": turn })).await;
            }
        }
    }
    party.send(gauge, 0, json!({ "action": "share", "shared": true })).await;
    party.send(gauge, 0, json!({ "action": "rematch" })).await;

    copies(&party.db, Database::GAMES, (&of_game, "ROUND#"), (1..=10).map(|n| vec![("SK", format!("ROUND#{n}"))]))
        .await;
    party.ask(gauge, "GET /games/{gameId}/turns", &[&game], &token, &none).await;
    let player = party.guests[1].id.to_string();
    let seats = (0..u32::from(GAMES_MAX)).map(|n| vec![("PK", other_game(n)), ("GSI1SK", other_game(n))]);
    copies(&party.db, Database::GAMES, (&of_game, &format!("PLAYER#{player}")), seats).await;
    party.ask(gauge, "GET /players/{playerId}/games?limit=50", &[&player], &token, &none).await;
}

async fn part(party: &mut Party, gauge: &mut Gauge) {
    party.start(gauge).await;
    let (drawer, _) = party.choose(gauge).await;
    let spectator = party.guests.len() - 1;
    party.disconnect(gauge, spectator).await;
    let others: Vec<_> = (0..PLAYERS).filter(|player| *player != drawer).collect();
    party.disconnect(gauge, others[8]).await;
    for voter in &others[..5] {
        party
            .send(gauge, *voter, json!({ "action": "kick", "playerId": party.guests[others[7]].id.to_string() }))
            .await;
    }
    party.send(gauge, others[6], json!({ "action": "leave" })).await;
    party.send(gauge, drawer, json!({ "action": "leave" })).await;
}
