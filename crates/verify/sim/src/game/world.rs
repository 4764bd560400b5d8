//! What a game's tasks share: dice, clock, table, connections, and what happened so far.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use domain::game::{
    Command, Game, GameId, Language, NewGame, Participant, PlayerCount, PlayerId, PlayerName, RoundCount, Settings,
    TimeLimit,
};
use fastrand::Rng;
use game_room::GameRoom;
use game_store::{Freshness, Live, PersistOutcome, Rooms};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::net::Net;
use super::wire::Wire;
use crate::history::History;
use crate::table::{Database, ask, table_request, text};

pub(super) const TABLE: &str = "game";

/// When games begin: 2025-10-02T10:30:00Z.
const BEGIN_MS: u64 = 1_759_401_000_000;

/// The longest latency of a slow request, and of a usual one.
const LATENCIES_MS: (u64, u64) = (400, 12);

/// How many times pending work is polled before a game counts as stuck.
const LOOKS_MAX: usize = 100_000;

/// A connection, from the outside.
#[derive(Debug, Clone)]
pub(super) struct Socket {
    pub(super) seat: u8,
    pub(super) is_open: bool,
    /// The received messages, in order of arrival.
    pub(super) inbox: Vec<Value>,
}

pub(super) struct State {
    pub(super) history: History,
    pub(super) database: Box<dyn Database>,
    pub(super) stream_arn: String,
    /// The game, once it is made.
    pub(super) game_id: Option<GameId>,
    pub(super) sockets: BTreeMap<String, Socket>,
    /// Whether one message is to leak, to see that it is noticed.
    pub(super) is_leaky: bool,
}

/// A kind of fault and how likely it may at most be, each time that it could strike.
const FAULTS: [(&str, f64); 15] = [
    ("message lost", 0.05),
    ("message twice", 0.05),
    ("post lost", 0.05),
    ("post twice", 0.05),
    ("post failed", 0.05),
    ("instance died", 0.08),
    ("connection broke", 0.04),
    ("end not told", 0.5),
    ("request lost", 0.04),
    ("reply lost", 0.04),
    ("throttled", 0.04),
    ("conflict", 0.15),
    ("old read", 0.3),
    ("slept", 0.05),
    ("stayed silent", 0.5),
];

/// A handle to it. A lock is held for one step and never across an await.
#[derive(Clone)]
pub(super) struct World(Arc<Mutex<State>>);

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn now_ms(&self) -> u64 {
        BEGIN_MS + u64::try_from(self.history.elapsed().as_millis()).unwrap_or_default()
    }
}

impl World {
    pub(super) fn new(
        rng: Rng,
        mut database: Box<dyn Database>,
        is_traced: bool,
        is_leaky: bool,
    ) -> anyhow::Result<Self> {
        let stream_arn = create_table(&mut *database)?;
        Ok(Self(Arc::new(Mutex::new(State {
            history: History::new(rng, &FAULTS, LATENCIES_MS, is_traced),
            database,
            stream_arn,
            game_id: None,
            sockets: BTreeMap::new(),
            is_leaky,
        }))))
    }

    /// One step.
    pub(super) fn with<T>(&self, step: impl FnOnce(&mut State) -> T) -> T {
        step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// An instance of the functions.
    pub(super) fn instance(&self) -> GameRoom<Net> {
        let chance = || fastrand::u64(..);
        GameRoom::new(&Wire::new(self.clone()).table(), Net(self.clone()), chance)
    }

    /// A game with all its seats taken, as the HTTP API makes it.
    pub(super) async fn make_game(&self, seats: u8) -> anyhow::Result<GameId> {
        self.with(|state| state.history.is_stormy = false);
        let settings = Settings {
            time_limit: TimeLimit::new(30)?,
            round_count: RoundCount::new(self.with(|state| state.history.rng.u16(1..3)))?,
            player_count: PlayerCount::new(10)?,
            language: Language::ALL[self.with(|state| state.history.rng.usize(..Language::ALL.len()))],
            ..Settings::default()
        };
        let (bytes, seed) = self.with(|state| (state.history.rng.u64(..).to_be_bytes(), state.history.rng.u64(..)));
        let mut random = [0; 10];
        random[..8].copy_from_slice(&bytes);
        let id = GameId(uuid::Builder::from_unix_timestamp_millis(BEGIN_MS, &random).into_uuid());
        let new = NewGame { id, host: player(0), name: name(0)?, settings, public: false, words: Arc::default(), seed };
        let mut game = Game::new(new, BEGIN_MS)?;
        for seat in 1..seats {
            game = game.apply(&Participant::Player(player(seat)), Command::Join { name: name(seat)? }, BEGIN_MS).game;
        }
        let rooms = Rooms::new(&Wire::new(self.clone()).table());
        anyhow::ensure!(rooms.create(&game).await? == PersistOutcome::Yes);
        self.with(|state| (state.history.is_stormy, state.game_id) = (true, Some(id)));
        Ok(id)
    }

    /// The game as it lies in the table now, read past the wire.
    pub(super) fn live(&self, game_id: GameId) -> anyhow::Result<Live> {
        // The store's own reading, over a wire that takes no time and has no faults: it is done at
        // the first look.
        let client = Wire::perfect(self.clone()).client();
        let rooms = Rooms::new(&store_base::Table::new(client, TABLE));
        let mut reading = std::pin::pin!(rooms.live(game_id, Freshness::Consistent));
        let live = match reading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(live) => live?,
            Poll::Pending => anyhow::bail!("a wire that takes no time made somebody wait"),
        };
        live.ok_or_else(|| anyhow::anyhow!("the game is gone"))
    }

    pub(super) fn status(&self, game_id: GameId) -> anyhow::Result<&'static str> {
        Ok(self.live(game_id)?.room.view(0).status)
    }

    /// Waits until nothing is on its way.
    pub(super) async fn settle(&self) -> anyhow::Result<()> {
        for _ in 0..LOOKS_MAX {
            if self.with(|state| state.history.under_way == 0) {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        anyhow::bail!("something stays on its way")
    }
}

pub(super) fn player(seat: u8) -> PlayerId {
    let mut bytes = [0; 10];
    bytes[9] = seat;
    PlayerId(uuid::Builder::from_unix_timestamp_millis(BEGIN_MS, &bytes).into_uuid())
}

pub(super) fn name(seat: u8) -> anyhow::Result<PlayerName> {
    Ok(PlayerName::new(&format!("player {seat}"))?)
}

fn create_table(database: &mut dyn Database) -> anyhow::Result<String> {
    let indexes =
        [["GSI1-PlayerIndex", "GSI1PK", "GSI1SK", "ALL"], ["GSI2-ActiveGameIndex", "GSI2PK", "GSI2SK", "KEYS_ONLY"]];
    let mut request = table_request(TABLE, &indexes);
    request["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
    let table = ask(database, "CreateTable", &request)?;
    text(&table["TableDescription"]["LatestStreamArn"])
}
