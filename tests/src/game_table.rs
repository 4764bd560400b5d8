//! A game with players at it: the real functions' code on a real engine, over sockets in memory, at
//! a time that the test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use domain::game::{Command, Game, GameId, NewGame, Participant, PlayerCount, PlayerId, PlayerName, Settings, Word};
use game_room::{GameRoom, MessageOutcome};
use game_store::{Connections, Freshness, Live, NewConnection, PersistOutcome, Role, Rooms};
use serde_json::{Value, json};

use crate::{Database, FakeSockets};

/// When games of tests begin: 2025-10-02T10:30:00Z.
const BEGIN_MS: u64 = 1_759_401_000_000;

/// One game, and the functions that serve it.
#[derive(Debug)]
pub struct GameTable {
    /// The engine, to force faults.
    pub db: Arc<Database>,
    /// The sockets.
    pub sockets: FakeSockets,
    /// The game room of one function's instance.
    pub room: GameRoom<FakeSockets>,
    /// Which game.
    pub game_id: GameId,
    now_ms: AtomicU64,
}

impl GameTable {
    /// A game with so many seats taken, whose players are connected, in the order of `player(0)`,
    /// `player(1)`...
    pub async fn with_players(count: u8) -> Result<Self> {
        let settings = Settings { player_count: PlayerCount::new(10)?, ..Settings::default() };
        Self::with(count, settings, &[]).await
    }

    /// The same with settings and words of its own.
    pub async fn with(count: u8, settings: Settings, words: &[&str]) -> Result<Self> {
        let db = Arc::new(Database::start().await?);
        let table = Self::empty(db, settings, words).await?;
        for seat in 0..count {
            if seat > 0 {
                table.sit_down(seat).await?;
            }
            table.open(&connection(seat), seat).await?;
            table.say_hello(&connection(seat)).await;
        }
        for seat in 0..count {
            table.sockets.take(&connection(seat));
        }
        Ok(table)
    }

    /// A game whose host has a seat and nobody a connection.
    pub async fn empty(db: Arc<Database>, settings: Settings, words: &[&str]) -> Result<Self> {
        let game_id = GameId(uuid::Uuid::now_v7());
        let words: Arc<[Word]> = words.iter().map(|word| Word::read(word)).collect::<Result<_, _>>()?;
        let new = NewGame { id: game_id, host: player(0), name: name(0), settings, public: true, words, seed: 7 };
        let game = Game::new(new, BEGIN_MS)?;
        ensure!(Rooms::new(&db.table(Database::GAMES)).create(&game).await? == PersistOutcome::Yes);
        let sockets = FakeSockets::default();
        let room = instance(&db, &sockets);
        Ok(Self { db, sockets, room, game_id, now_ms: AtomicU64::new(BEGIN_MS) })
    }

    /// Another instance of the functions, as Lambda would start one.
    pub fn instance(&self) -> GameRoom<FakeSockets> {
        instance(&self.db, &self.sockets)
    }

    /// The time.
    pub fn now_ms(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    /// Lets time go by.
    pub fn pass(&self, ms: u64) {
        self.now_ms.fetch_add(ms, Ordering::Relaxed);
    }

    /// Takes a seat, as `POST /games/{gameId}/players` does.
    pub async fn sit_down(&self, seat: u8) -> Result<()> {
        let rooms = Rooms::new(&self.db.table(Database::GAMES));
        let before = self.game().await?;
        let outcome =
            before.apply(&Participant::Player(player(seat)), Command::Join { name: name(seat) }, self.now_ms());
        ensure!(rooms.persist(&before, &outcome.game).await? == PersistOutcome::Yes);
        Ok(())
    }

    /// Opens a connection of a player, as `$connect` does.
    pub async fn open(&self, connection_id: &str, seat: u8) -> Result<()> {
        self.open_as(connection_id, seat, Role::Player).await
    }

    /// Opens a connection in a role.
    pub async fn open_as(&self, connection_id: &str, seat: u8, role: Role) -> Result<()> {
        let connections = Connections::new(&self.db.table(Database::GAMES));
        let (player_id, game_id, name) = (player(seat), self.game_id, name(seat));
        let new = NewConnection { connection_id, player_id, game_id, role, name: &name };
        Ok(connections.connect(&new, self.now_ms()).await?)
    }

    /// Says hello.
    pub async fn say_hello(&self, connection_id: &str) -> MessageOutcome {
        self.send(connection_id, &json!({"action": "hello", "protocol": 1})).await
    }

    /// Sends a message of a connection.
    pub async fn send(&self, connection_id: &str, message: &Value) -> MessageOutcome {
        self.room.message(connection_id, &message.to_string(), self.now_ms()).await
    }

    /// Makes all players but the host ready and starts the game. Drops the messages about it.
    pub async fn start(&self, players: u8) -> Result<()> {
        for seat in 1..players {
            ensure!(self.send(&connection(seat), &json!({"action": "ready", "ready": true})).await.outcome == "done");
        }
        ensure!(self.send(&connection(0), &json!({"action": "start"})).await.outcome == "done");
        self.drain(players);
        Ok(())
    }

    /// Starts the game and lets the host draw `word`.
    pub async fn start_drawing(&self, players: u8, word: &str) -> Result<()> {
        self.start(players).await?;
        let choose = json!({"action": "choose", "turnId": "01.01", "word": word});
        ensure!(self.send(&connection(0), &choose).await.outcome == "done");
        self.drain(players);
        Ok(())
    }

    /// Lets somebody say something.
    pub async fn say(&self, seat: u8, text: &str) -> MessageOutcome {
        let id = uuid::Uuid::now_v7().to_string();
        self.send(&connection(seat), &json!({"action": "say", "id": id, "text": text})).await
    }

    /// Drops the messages posted to the players.
    pub fn drain(&self, players: u8) {
        for seat in 0..players {
            self.sockets.take(&connection(seat));
        }
    }

    /// The types of the messages that a player has received since, in order.
    pub fn types(&self, seat: u8) -> Vec<String> {
        let messages = self.sockets.take(&connection(seat));
        messages.iter().map(|message| message["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The last room that has come to a connection.
    pub fn last_room(&self, connection_id: &str) -> Option<Value> {
        let messages = self.sockets.take(connection_id);
        messages.iter().rfind(|message| message["room"].is_object()).map(|message| message["room"].clone())
    }

    /// What lies in the table.
    pub async fn live(&self) -> Result<Live> {
        let rooms = Rooms::new(&self.db.table(Database::GAMES));
        rooms.live(self.game_id, Freshness::Consistent).await?.ok_or_else(|| anyhow::anyhow!("no game"))
    }

    /// The game as it lies in the table.
    pub async fn game(&self) -> Result<Game> {
        let live = self.live().await?;
        let words = Rooms::new(&self.db.table(Database::GAMES)).words(&live.room).await?;
        Ok(Game::assemble(live.room, live.secret, words)?)
    }
}

fn instance(db: &Database, sockets: &FakeSockets) -> GameRoom<FakeSockets> {
    GameRoom::new(&db.table(Database::GAMES), sockets.clone(), game_room::random_u64)
}

/// The player of a seat.
pub fn player(seat: u8) -> PlayerId {
    let mut bytes = [0; 10];
    bytes[9] = seat;
    PlayerId(uuid::Builder::from_unix_timestamp_millis(BEGIN_MS, &bytes).into_uuid())
}

/// Their connection.
pub fn connection(seat: u8) -> String {
    format!("L0SM9coFvHcC{seat:03}=")
}

/// Their name.
///
/// # Panics
/// Not with so few seats.
pub fn name(seat: u8) -> PlayerName {
    PlayerName::new(&format!("あん{seat}")).unwrap_or_else(|error| panic!("{error}"))
}
