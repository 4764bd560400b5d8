//! A player: a browser with a person before it, as far as the game can tell.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use domain::game::{GameId, Language, Word};
use game_store::{Connections, NewConnection, Role};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::net::{end, send};
use super::wire::Wire;
use super::world::{Socket, World, name, player};

/// Letters of which the drawers make words that nobody would say by chance.
fn letters(language: Language) -> [char; 10] {
    match language {
        Language::Japanese => ['ぬ', 'ゔ', 'ぺ', 'ぢ', 'ゆ', 'ほ', 'ざ', 'れ', 'む', 'え'],
        _ => ['q', 'z', 'x', 'v', 'k', 'j', 'w', 'y', 'é', 'ñ'],
    }
}

/// How many sockets stay silent at a time.
const SILENT: u8 = 20;

/// One of the players.
pub(super) struct Bot {
    world: World,
    game_id: GameId,
    pub(super) seat: u8,
    connection: RefCell<Option<String>>,
    opened: Cell<u32>,
    /// The newest room that has come.
    room: RefCell<Value>,
    /// Whether they left, or were voted out.
    pub(super) is_out: Cell<bool>,
}

impl Bot {
    pub(super) fn new(world: World, game_id: GameId, seat: u8) -> Self {
        let room = RefCell::new(Value::Null);
        let (connection, opened, is_out) = (RefCell::default(), Cell::default(), Cell::default());
        Self { world, game_id, seat, connection, opened, room, is_out }
    }

    /// Plays until somebody stops it.
    pub(super) async fn play(self: Rc<Self>) {
        while !self.is_out.get() {
            let ms = self.world.with(|state| {
                if state.history.strikes("slept") {
                    state.history.rng.u64(10_000..120_000)
                } else {
                    state.history.rng.u64(50..2_500)
                }
            });
            sleep(Duration::from_millis(ms)).await;
            self.read();
            if self.is_out.get() {
                return;
            }
            let Some(connection) = self.connection() else {
                self.connect().await;
                continue;
            };
            if self.world.with(|state| state.history.strikes("connection broke")) {
                end(&self.world, &connection);
                continue;
            }
            if let Some(message) = self.idea() {
                send(&self.world, &connection, message.to_string());
            }
        }
    }

    /// After the storm: comes back, says hello, and ticks.
    pub(super) async fn look_in(&self) {
        self.read();
        if self.is_out.get() {
            return;
        }
        match self.connection() {
            None => self.connect().await,
            Some(connection) => {
                send(&self.world, &connection, json!({"action": "hello", "protocol": 1}).to_string());
                send(&self.world, &connection, json!({"action": "tick", "version": 0}).to_string());
            }
        }
    }

    /// Leaves, and closes the connection in the same moment.
    pub(super) fn leave_at_once(&self) {
        if let Some(connection) = self.connection() {
            send(&self.world, &connection, json!({"action": "leave"}).to_string());
            end(&self.world, &connection);
        }
    }

    /// The newest room that has come.
    pub(super) fn seen(&self) -> Value {
        self.read();
        self.room.borrow().clone()
    }

    fn connection(&self) -> Option<String> {
        let connection = self.connection.borrow().clone()?;
        self.world
            .with(|state| state.sockets.get(&connection).is_some_and(|socket| socket.is_open))
            .then_some(connection)
    }

    /// Takes a new ticket and opens a connection, as `$connect` does it.
    async fn connect(&self) {
        self.opened.set(self.opened.get() + 1);
        let connection_id = format!("c{}-{}", self.seat, self.opened.get());
        let (Ok(name), now_ms) = (name(self.seat), self.world.with(|state| state.now_ms())) else { return };
        let connections = Connections::new(&Wire::new(self.world.clone()).table());
        let (player_id, game_id, role) = (player(self.seat), self.game_id, Role::Player);
        let new = NewConnection { connection_id: &connection_id, player_id, game_id, role, name: &name };
        if self.world.with(|state| state.history.strikes("stayed silent")) {
            // Sockets of the same player that never say a word.
            for n in 0..SILENT {
                let new = NewConnection { connection_id: &format!("{connection_id}-{n}"), ..new };
                let _ = connections.connect(&new, now_ms).await;
            }
        }
        if connections.connect(&new, now_ms).await.is_err() {
            return;
        }
        let socket = Socket { seat: self.seat, is_open: true, inbox: Vec::new() };
        self.world.with(|state| state.sockets.insert(connection_id.clone(), socket));
        *self.connection.borrow_mut() = Some(connection_id.clone());
        send(&self.world, &connection_id, json!({"action": "hello", "protocol": 1}).to_string());
    }

    /// Reads the received messages. An older room than the current one is dropped.
    fn read(&self) {
        let Some(connection) = self.connection.borrow().clone() else { return };
        let inbox = self.world.with(|state| {
            state.sockets.get_mut(&connection).map(|socket| std::mem::take(&mut socket.inbox)).unwrap_or_default()
        });
        for message in inbox {
            if message["type"] == "kicked"
                || message["error"]["type"].as_str().is_some_and(|kind| kind.ends_with("not-seated"))
            {
                self.is_out.set(true);
            }
            let mut room = self.room.borrow_mut();
            if message["room"].is_object() && message["room"]["version"].as_u64() >= room["version"].as_u64() {
                *room = message["room"].clone();
            }
        }
    }

    /// What the player feels like doing.
    fn idea(&self) -> Option<Value> {
        let room = self.room.borrow();
        let me = player(self.seat).to_string();
        let (id, dice) = self.world.with(|state| {
            let mut bytes = [0; 10];
            bytes[..8].copy_from_slice(&state.history.rng.u64(..).to_be_bytes());
            (
                uuid::Builder::from_unix_timestamp_millis(state.now_ms(), &bytes).into_uuid().to_string(),
                state.history.rng.u8(..100),
            )
        });
        let tick = json!({"action": "tick", "version": room["version"].as_u64().unwrap_or_default()});
        let turn = &room["turn"];
        let is_drawer = turn["drawerId"] == *me;
        let turn_id = &turn["turnId"];
        let other = player(self.world.with(|state| state.history.rng.u8(..6))).to_string();
        Some(match (room["status"].as_str()?, turn["phase"].as_str().unwrap_or_default()) {
            _ if dice == 0 => json!({"action": "kick", "playerId": other}),
            _ if dice == 1 && self.seat > 3 => {
                self.is_out.set(true);
                json!({"action": "leave"})
            }
            _ if dice < 5 => json!({"action": "ping"}),
            ("waiting", _) if room["hostId"] == *me => json!({"action": "start"}),
            ("waiting", _) => json!({"action": "ready", "ready": true}),
            ("playing", "choosing") if is_drawer && dice < 70 => {
                json!({"action": "choose", "turnId": turn_id, "word": self.word()})
            }
            ("playing", "choosing") if is_drawer => json!({"action": "choose", "turnId": turn_id, "option": dice % 3}),
            ("playing", "drawing") if is_drawer && dice < 60 => {
                json!({"action": "draw", "turnId": turn_id, "seq": 1, "ops": [{"op": "clear", "id": 1}]})
            }
            ("playing", "drawing") if dice < 40 => json!({"action": "say", "id": id, "text": self.guess()}),
            ("playing", "drawing") if dice < 55 => json!({"action": "say", "id": id, "text": self.word()}),
            ("playing", _) if dice < 58 => json!({"action": "skip", "turnId": turn_id}),
            ("playing", _) => tick,
            _ => json!({"action": "rematch"}),
        })
    }

    fn word(&self) -> String {
        let language =
            self.room.try_borrow().ok().and_then(|room| Language::with_code(room["settings"]["language"].as_str()?));
        let letters = letters(language.unwrap_or_default());
        self.world.with(|state| (0..7).map(|_| letters[state.history.rng.usize(..letters.len())]).collect())
    }

    /// The answer, out of thin air, or something near it. Drawer and solvers say it too: talk that
    /// nobody else may hear.
    fn guess(&self) -> String {
        let answer = self.world.live(self.game_id).ok().and_then(|live| live.secret.turn?.answer);
        let Some(answer) = answer else { return self.word() };
        let word: &Word = &answer.word;
        match self.world.with(|state| state.history.rng.u8(..4)) {
            0 => {
                let last = word.chars().count().saturating_sub(1);
                let end = if word.suits(Language::Japanese) { 'ん' } else { 'x' };
                word.chars().take(last).chain([end]).collect()
            }
            _ => word.to_string(),
        }
    }
}
