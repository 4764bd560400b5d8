//! A whole game, played: the real game room, store and archiver on a real engine, over sockets in
//! memory, at a time that passes when told. It is decided by a seed, so it comes out the same each
//! time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use domain::game::{
    Command, Game, GameId, NewGame, Participant, Phase, PlayerCount, PlayerId, PlayerName, RoundCount, Settings,
};
use domain::journal::Retention;
use fastrand::Rng;
use game_archiver::Archiver;
use game_room::{GameRoom, PostError, Sockets};
use game_store::{Connections, Freshness, Live, NewConnection, PersistOutcome, Role, Rooms};
use jiff::Timestamp;
use journal_store::{Journal, JournalShards};
use serde_json::{Value, json};
use tidemark_engine::{Engine, Options};

use crate::game_drawing::Hand;
use crate::game_stream::Stream;
use crate::stack;
use crate::wire::{self, Meter};

pub(crate) const PLAYERS: u8 = 10;

/// 2100-01-01T00:00:00Z. The engine deletes expired items by its own clock, and no item of the game
/// may expire.
const BEGIN_MS: u64 = 4_102_444_800_000;

/// What a message is billed by.
const MESSAGE_BYTES: usize = 32 * 1024;

/// The page's.
const PING_EVERY_MS: u64 = 240_000;

/// The mapping's `MaximumBatchingWindowInSeconds`.
const WINDOW_MS: u64 = 2_000;

/// How long a drawer takes to choose.
const CHOOSE_MS: u64 = 5_000;

/// Nobody guesses earlier...
const FIRST_GUESS_MS: u64 = 8_000;

/// ...and whoever gets it gets it so much later, on average.
const SOLVE_MEAN_MS: f64 = 22_000.0;

/// Lines of talk in each reveal.
const TALK: u64 = 3;

/// More steps than a turn can have.
const STEPS_MAX: usize = 5_000;

/// How the players guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Skill {
    /// Most get it: half of them within 23 seconds, and one in thirty not at all.
    Friends,
    /// Nobody ever gets it, and everybody goes on guessing until the time is over.
    Strangers,
}

/// What a part of a game has consumed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GameUsage {
    pub(crate) turns: f64,
    /// From the browsers, and so invocations of `ws-message`.
    pub(crate) messages_in: f64,
    pub(crate) messages_out: f64,
    pub(crate) bytes_out: f64,
    pub(crate) write_units: f64,
    pub(crate) read_units: f64,
    /// Lines of the chat.
    pub(crate) lines: f64,
    /// Batches of strokes.
    pub(crate) draws: f64,
    /// Invocations of `game-archiver`.
    pub(crate) archiver_invocations: f64,
    pub(crate) minutes: f64,
}

/// Counts the posted messages.
#[derive(Debug, Clone, Default)]
struct CountingSockets(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Sockets for CountingSockets {
    async fn post(&self, _: &str, message: Bytes) -> Result<(), PostError> {
        self.0.messages.fetch_add(message.len().div_ceil(MESSAGE_BYTES) as u64, Ordering::Relaxed);
        self.0.bytes.fetch_add(message.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    async fn close(&self, _: &str) -> Result<(), PostError> {
        Ok(())
    }
}

/// What happens in a drawing, and when.
enum PlayerAction {
    Draw(usize),
    /// A chunk: of the batches up to this one.
    Save(usize),
    Guess(u8),
    Solve(u8),
}

struct GameTable {
    room: GameRoom<CountingSockets>,
    posted: CountingSockets,
    meter: Arc<Meter>,
    /// Looks at the game past the meter.
    rooms: Rooms,
    stream: Stream,
    archiver: Archiver,
    game_id: GameId,
    rng: Rng,
    hand: Hand,
    limit_ms: u64,
    skill: Skill,
    now_ms: u64,
    archived_at_ms: u64,
    pinged_at_ms: u64,
    taken_at_ms: u64,
    played: GameUsage,
}

/// The parts of a game.
#[derive(Debug)]
pub(crate) struct GamePhases {
    pub(crate) rounds: u16,
    /// Up to the start.
    pub(crate) opening: GameUsage,
    pub(crate) turns: GameUsage,
    /// Everybody leaves, and the game gets its end.
    pub(crate) closing: GameUsage,
}

/// Plays a game of so many rounds to its end.
pub(crate) async fn play(rounds: u16, skill: Skill) -> Result<GamePhases> {
    let engine = Engine::start(Options::default()).await?;
    let mut table = GameTable::open(&engine, rounds, skill).await?;
    for seat in 1..PLAYERS {
        table.send(seat, json!({"action": "ready", "ready": true})).await?;
    }
    table.send(0, json!({"action": "start"})).await?;
    let opening = table.take();
    let mut turns = 0;
    while let Live { room, .. } = table.live().await?
        && let Some(turn) = room.turn()
    {
        ensure!(turns < rounds * u16::from(PLAYERS), "the game has turns without end");
        let drawer = (0..PLAYERS).find(|seat| player(*seat) == turn.drawer).context("a stranger draws")?;
        table.turn(drawer, turn.id.to_string()).await?;
        turns += 1;
    }
    ensure!(turns == rounds * u16::from(PLAYERS), "the game ends after {turns} turns");
    let turns = table.take();
    for seat in 0..PLAYERS {
        table.room.disconnected(&connection(seat), table.now_ms).await;
    }
    table.pass_to(table.now_ms + WINDOW_MS).await?;
    let closing = table.take();
    engine.shutdown().await;
    Ok(GamePhases { rounds, opening, turns, closing })
}

impl GameTable {
    /// A game whose seats are taken and whose players are here.
    async fn open(engine: &Engine, rounds: u16, skill: Skill) -> Result<Self> {
        let declared = stack::table("GameTable")?;
        let table_name = &*declared.name;
        let past_meter = stack::client(engine);
        let journal = stack::table("JournalTable")?;
        for table in [&declared, &journal] {
            tidemark_local::tables::ensure(&past_meter, table).await?;
        }
        let stream = Stream::open(engine, table_name).await?;

        let meter = Arc::new(Meter::new(engine.url()));
        let client = wire::client(meter.clone());
        let shards = JournalShards::new(4).context("a number of shards")?;
        let journal = Journal::new(&store_base::Table::new(client.clone(), journal.name), shards, Retention::default());
        let settings = Settings {
            round_count: RoundCount::new(rounds)?,
            player_count: PlayerCount::new(PLAYERS.into())?,
            ..Settings::default()
        };
        let game_id = GameId(uuid::Builder::from_unix_timestamp_millis(BEGIN_MS, &[1; 10]).into_uuid());
        let new = NewGame {
            id: game_id,
            host: player(0),
            name: name(0)?,
            settings,
            public: true,
            words: Arc::default(),
            seed: 7,
        };
        let mut game = Game::new(new, BEGIN_MS)?;
        let rooms = Rooms::new(&store_base::Table::new(client.clone(), table_name));
        ensure!(rooms.create(&game).await? == PersistOutcome::Yes);
        for seat in 1..PLAYERS {
            let join = Command::Join { name: name(seat)? };
            let after = game.apply(&Participant::Player(player(seat)), join, BEGIN_MS).game;
            ensure!(rooms.persist(&game, &after).await? == PersistOutcome::Yes);
            game = after;
        }
        let limit_ms = u64::from(settings.time_limit.get()) * 1_000;
        let posted = CountingSockets::default();
        let mut table = Self {
            room: GameRoom::new(&store_base::Table::new(client.clone(), table_name), posted.clone(), || 7),
            posted,
            meter,
            rooms: Rooms::new(&store_base::Table::new(past_meter, table_name)),
            stream,
            archiver: Archiver::new(&store_base::Table::new(client.clone(), table_name), journal),
            game_id,
            rng: Rng::with_seed(7),
            hand: Hand::new(limit_ms),
            limit_ms,
            skill,
            now_ms: BEGIN_MS,
            archived_at_ms: BEGIN_MS,
            pinged_at_ms: BEGIN_MS,
            taken_at_ms: BEGIN_MS,
            played: GameUsage::default(),
        };
        let connections = Connections::new(&store_base::Table::new(client, table_name));
        for seat in 0..PLAYERS {
            let (connection_id, player_id, name) = (&*connection(seat), player(seat), name(seat)?);
            let new = NewConnection { connection_id, player_id, game_id, role: Role::Player, name: &name };
            connections.connect(&new, BEGIN_MS).await?;
            table.send(seat, json!({"action": "hello", "protocol": 1})).await?;
        }
        Ok(table)
    }

    /// The units consumed since the last call.
    fn take(&mut self) -> GameUsage {
        let consumed = self.meter.take();
        let Counts { messages, bytes } = &*self.posted.0;
        let since_ms = std::mem::replace(&mut self.taken_at_ms, self.now_ms);
        GameUsage {
            messages_out: messages.swap(0, Ordering::Relaxed) as f64,
            bytes_out: bytes.swap(0, Ordering::Relaxed) as f64,
            write_units: consumed.write_units,
            read_units: consumed.read_units,
            minutes: (self.now_ms - since_ms) as f64 / 60_000.0,
            ..std::mem::take(&mut self.played)
        }
    }

    async fn live(&self) -> Result<Live> {
        self.rooms.live(self.game_id, Freshness::Consistent).await?.context("the game is gone")
    }

    /// One message of a player's connection. Nothing in this game is refused.
    async fn send(&mut self, seat: u8, message: Value) -> Result<()> {
        let text = message.to_string();
        self.played.messages_in += text.len().div_ceil(MESSAGE_BYTES) as f64;
        let handled = self.room.message(&connection(seat), &text, self.now_ms).await;
        ensure!(handled.outcome == "done", "{text} was answered {}", handled.outcome);
        Ok(())
    }

    /// Lets time pass: the archiver gets its batches, and the browsers ping.
    async fn pass_to(&mut self, at_ms: u64) -> Result<()> {
        while self.archived_at_ms + WINDOW_MS <= at_ms {
            self.archived_at_ms += WINDOW_MS;
            let records = self.stream.news().await?;
            if !records.is_empty() {
                let event = serde_json::value::to_raw_value(&json!({ "Records": records }))?;
                let now = Timestamp::from_millisecond(at_ms.try_into()?)?;
                let reply = serde_json::to_value(game_archiver::handle(&self.archiver, event, now).await?)?;
                ensure!(reply["batchItemFailures"].as_array().is_none_or(Vec::is_empty), "{reply}");
                self.played.archiver_invocations += 1.0;
            }
        }
        self.now_ms = at_ms;
        if self.pinged_at_ms + PING_EVERY_MS <= at_ms {
            self.pinged_at_ms += PING_EVERY_MS;
            for seat in 0..PLAYERS {
                self.send(seat, json!({"action": "ping"})).await?;
            }
        }
        Ok(())
    }

    /// What the first in the room's order does when time is to bring something; the others then
    /// have a newer room before it is their turn.
    async fn tick(&mut self, live: &Live) -> Result<()> {
        self.pass_to(live.room.next_at_ms().context("the time stands")?).await?;
        self.send(0, json!({"action": "tick", "version": live.room.version})).await
    }

    async fn say(&mut self, seat: u8, text: &str) -> Result<()> {
        let mut random = [0; 10];
        self.rng.fill(&mut random);
        let id = uuid::Builder::from_unix_timestamp_millis(self.now_ms, &random).into_uuid();
        self.played.lines += 1.0;
        self.send(seat, json!({"action": "say", "id": id.to_string(), "text": text})).await
    }

    /// From choosing to the end of the reveal.
    async fn turn(&mut self, drawer: u8, turn_id: String) -> Result<()> {
        self.pass_to(self.now_ms + CHOOSE_MS).await?;
        self.send(drawer, json!({"action": "choose", "turnId": turn_id, "option": 0})).await?;
        let begin_ms = self.now_ms;
        let mut live = self.live().await?;
        let answer =
            live.secret.turn.as_ref().and_then(|turn| turn.answer.as_ref()).context("no answer")?.word.to_string();
        let (mut drawn, mut saved, mut chunk) = (0, 0, 0);
        let acts = self.acts(drawer);
        let mut acts = acts.iter().peekable();
        for _ in 0..STEPS_MAX {
            if !live.room.turn().is_some_and(|turn| matches!(turn.phase, Phase::Drawing { .. })) {
                break;
            }
            let next_ms = live.room.next_at_ms().unwrap_or(u64::MAX);
            let Some((after_ms, act)) = acts.next_if(|(after_ms, _)| begin_ms + after_ms < next_ms) else {
                self.tick(&live).await?;
                live = self.live().await?;
                continue;
            };
            self.pass_to(begin_ms + after_ms).await?;
            match act {
                PlayerAction::Draw(place) => {
                    drawn = place + 1;
                    let ops = self.hand.batches[*place].1.clone();
                    self.send(drawer, json!({"action": "draw", "turnId": turn_id, "seq": drawn, "ops": ops})).await?;
                    self.played.draws += 1.0;
                }
                PlayerAction::Save(up_to) => {
                    self.save(drawer, &turn_id, &mut chunk, saved..*up_to).await?;
                    saved = *up_to;
                }
                PlayerAction::Guess(seat) => self.say(*seat, "ぬゔぺぢゆ").await?,
                PlayerAction::Solve(seat) => {
                    self.say(*seat, &answer).await?;
                    live = self.live().await?;
                }
            }
        }
        // Saves the rest, and checks that everything is saved.
        self.pass_to(self.now_ms + 50).await?;
        if saved < drawn {
            self.save(drawer, &turn_id, &mut chunk, saved..drawn).await?;
        }
        self.pass_to(self.now_ms + 1_000).await?;
        self.send(drawer, json!({"action": "catch-up", "turnId": turn_id, "after": 0})).await?;
        for _ in 0..TALK {
            self.pass_to(self.now_ms + 1_500).await?;
            let seat = self.rng.u8(..PLAYERS);
            self.say(seat, "これはむずかしかったね").await?;
        }
        let live = self.live().await?;
        self.played.turns += 1.0;
        self.tick(&live).await
    }

    async fn save(&mut self, drawer: u8, turn_id: &str, chunk: &mut u32, places: std::ops::Range<usize>) -> Result<()> {
        *chunk += 1;
        let batches = self.hand.chunk(places);
        self.send(drawer, json!({"action": "save", "turnId": turn_id, "chunk": *chunk, "batches": batches})).await
    }

    /// All that happens if nothing ends the drawing early, by the time after its begin.
    fn acts(&mut self, drawer: u8) -> Vec<(u64, PlayerAction)> {
        let draws = self.hand.batches.iter().enumerate().map(|(place, (at_ms, _))| (*at_ms, PlayerAction::Draw(place)));
        let saves = self.hand.saves.iter().map(|(at_ms, up_to)| (*at_ms, PlayerAction::Save(*up_to)));
        let mut acts: Vec<_> = draws.chain(saves).collect();
        for seat in (0..PLAYERS).filter(|seat| *seat != drawer) {
            let later_ms = -SOLVE_MEAN_MS * (1.0 - self.rng.f64()).ln();
            let solves_at_ms = match self.skill {
                Skill::Friends => FIRST_GUESS_MS + later_ms as u64,
                Skill::Strangers => u64::MAX,
            };
            let mut at_ms = FIRST_GUESS_MS + self.rng.u64(..10_000);
            while at_ms < solves_at_ms.min(self.limit_ms) {
                acts.push((at_ms, PlayerAction::Guess(seat)));
                at_ms += self.rng.u64(5_000..15_000);
            }
            acts.push((solves_at_ms, PlayerAction::Solve(seat)));
        }
        acts.retain(|(at_ms, _)| *at_ms < self.limit_ms);
        acts.sort_by_key(|(at_ms, _)| *at_ms);
        acts
    }
}

fn player(seat: u8) -> PlayerId {
    PlayerId(uuid::Builder::from_unix_timestamp_millis(BEGIN_MS, &[seat; 10]).into_uuid())
}

fn name(seat: u8) -> Result<PlayerName> {
    Ok(PlayerName::new(&format!("あんず{seat}"))?)
}

fn connection(seat: u8) -> String {
    format!("L0SM9coFvHcC{seat:03}=")
}
