//! What a bot does at the table. No I/O: it hears, knows when it wants to act next, and says what it wants to say.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use domain::game::drawing::Op;
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::guessing::guess;
use crate::manner::{Pace, Whispers};
use crate::picture::picture;
use crate::play::Manner;
use crate::protocol::{Heard, Room, Standing, Turn, batch, choose, draw, save, say, tick};

/// How much later than the player before it a client ticks.
const PLACE_MS: u64 = 120;
/// A tick or its answer may be lost: it is said again after this, then after twice as long, and so on.
const TICK_AGAIN: Duration = Duration::from_secs(2);
const TICK_AGAIN_MAX: Duration = Duration::from_secs(30);
/// What had no effect is tried again.
const AGAIN: Duration = Duration::from_secs(2);
/// The least time between two guesses, far below what counts as a flood.
const GUESS_PAUSE: Duration = Duration::from_millis(250);
/// API Gateway ends a connection after 10 minutes without a message.
const PING: Duration = Duration::from_secs(4 * 60);
/// Batches of a chunk: about a second's.
const BATCHES_OF_A_SAVE: usize = 6;
/// Wrong guesses before a bot listens to what is whispered.
const WRONG_GUESSES: usize = 1;

/// How a game ended for a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It is over.
    Finished(Vec<Standing>),
    /// It is over, and goes on in this game.
    Rematch(String),
    /// The bot was told to stop.
    Left,
    /// It was voted out.
    Kicked,
    /// Another connection has its seat.
    Replaced,
}

/// What a bot has in mind, by the turn where it is about one.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Deed {
    GetReady,
    Start,
    Choose(String),
    Guess(String),
    GoHome,
}

/// A turn's drawing on its way to the others and into the table.
#[derive(Debug)]
struct Sheet {
    turn_id: String,
    left: VecDeque<Vec<Op>>,
    seq: u32,
    unsaved: Vec<Value>,
    chunk: u16,
    next_at: Instant,
    last_save: Option<Value>,
    /// Whether the last chunk may not have arrived.
    is_unsure: bool,
    is_told: bool,
}

impl Sheet {
    fn save(&mut self) -> Value {
        self.chunk += 1;
        let save = save(&self.turn_id, self.chunk, &std::mem::take(&mut self.unsaved));
        self.last_save = Some(save.clone());
        save
    }
}

#[derive(Debug)]
pub(crate) struct Player {
    id: String,
    pace: Pace,
    start_with: usize,
    whispers: Option<Whispers>,
    rng: Rng,
    room: Option<Room>,
    is_welcome: bool,
    tick: Option<(Instant, Duration)>,
    deed: Option<(Deed, Instant)>,
    sheet: Option<Sheet>,
    /// Turn, and what was guessed in it.
    said: (String, HashSet<String>),
    ping_at: Instant,
    ending: Option<Ending>,
}

impl Player {
    pub fn new(id: &str, manner: &Manner, now: Instant) -> Self {
        Self {
            id: id.to_owned(),
            pace: manner.pace.clone(),
            start_with: manner.start_with,
            whispers: manner.whispers.clone(),
            rng: Rng::with_seed(manner.seed),
            room: None,
            is_welcome: false,
            tick: None,
            deed: None,
            sheet: None,
            said: Default::default(),
            ping_at: now + PING,
            ending: None,
        }
    }

    /// A new connection: nothing may be said but hello until a welcome comes.
    pub fn arrive(&mut self) {
        self.is_welcome = false;
    }

    pub fn was_welcome(&self) -> bool {
        self.is_welcome
    }

    pub fn ending(&mut self) -> Option<Ending> {
        self.ending.take()
    }

    pub fn hear(&mut self, heard: Heard, now: Instant) {
        match heard {
            Heard::Welcome { room } => {
                self.is_welcome = true;
                // What was saved last may not have arrived; a chunk that comes twice is kept once.
                if let Some(sheet) = &mut self.sheet {
                    sheet.is_unsure = sheet.last_save.is_some();
                }
                self.see(room, now);
            }
            Heard::Room { room } => self.see(room, now),
            Heard::Wait { version, next_ms } => {
                if self.room.as_ref().is_some_and(|room| room.version == version) {
                    self.tick = next_ms.map(|ms| (now + Duration::from_millis(ms + self.place_ms()), TICK_AGAIN));
                }
            }
            Heard::Rematch { game_id } => self.ending = Some(Ending::Rematch(game_id)),
            Heard::Replaced => self.ending = Some(Ending::Replaced),
            Heard::Kicked => self.ending = Some(Ending::Kicked),
            Heard::Error { .. } | Heard::Other => {}
        }
    }

    /// The next time at which [`act`](Self::act) has something to say.
    pub fn due(&self) -> Instant {
        if !self.is_welcome {
            return self.ping_at;
        }
        let tick = self.tick.map(|(at, _)| at);
        let deed = self.deed.as_ref().map(|(_, at)| *at);
        [tick, deed, self.drawing_at()].into_iter().flatten().fold(self.ping_at, Instant::min)
    }

    /// What there is to say now.
    pub fn act(&mut self, now: Instant) -> Vec<Value> {
        let mut messages = Vec::new();
        if self.ping_at <= now {
            self.ping_at = now + PING;
            messages.push(json!({"action": "ping"}));
        }
        if !self.is_welcome {
            return messages;
        }
        if let (Some((at, again)), Some(room)) = (self.tick, &self.room)
            && at <= now
        {
            messages.push(tick(room.version));
            self.tick = Some((now + again, TICK_AGAIN_MAX.min(again * 2)));
        }
        if let Some((deed, at)) = self.deed.clone()
            && at <= now
        {
            let said = self.carry_out(&deed);
            // A word that was whispered is right, so all it takes is time.
            let is_guessing = matches!(deed, Deed::Guess(_)) && (self.whispers.is_none() || said.is_none());
            let pause = if is_guessing { self.pause(&deed).max(GUESS_PAUSE) } else { AGAIN };
            messages.extend(said);
            self.deed = Some((deed, now + pause));
        }
        if self.drawing_at().is_some_and(|at| at <= now) {
            messages.extend(self.go_on_drawing(now));
        }
        messages
    }

    fn see(&mut self, room: Room, now: Instant) {
        if self.room.as_ref().is_some_and(|known| known.version > room.version) {
            return;
        }
        self.room = Some(room);
        let (place_ms, Some(room)) = (self.place_ms(), &self.room) else { return };
        let next_ms = room.turn.as_ref().filter(|_| !room.paused).map(|turn| turn.next_ms);
        self.tick = next_ms.map(|ms| (now + Duration::from_millis(ms + place_ms), TICK_AGAIN));
        if let Some(game_id) = &room.rematch {
            self.ending = Some(Ending::Rematch(game_id.clone()));
        }
        self.take_a_sheet(now);
        let deed = self.deed_of_the_room();
        if deed.as_ref() != self.deed.as_ref().map(|(deed, _)| deed) {
            self.deed = deed.map(|deed| (deed.clone(), now + self.pause(&deed)));
        }
    }

    fn place_ms(&self) -> u64 {
        let Some(room) = &self.room else { return 0 };
        let place = room.players.iter().position(|player| player.player_id == self.id);
        PLACE_MS * place.unwrap_or(room.players.len()) as u64
    }

    fn deed_of_the_room(&self) -> Option<Deed> {
        let room = self.room.as_ref()?;
        let is_host = room.host_id == self.id;
        let me = room.players.iter().find(|player| player.player_id == self.id)?;
        match (room.status.as_str(), &room.turn) {
            ("waiting", _) if is_host => {
                let here = room.players.iter().filter(|player| player.connected);
                let others_ready = here.clone().all(|player| player.ready || player.player_id == self.id);
                (here.count() >= self.start_with && others_ready).then_some(Deed::Start)
            }
            ("waiting", _) => (!me.ready).then_some(Deed::GetReady),
            ("playing", Some(turn)) => {
                let is_drawer = turn.drawer_id == self.id;
                let has_solved = turn.solvers.iter().any(|solver| solver.player_id == self.id);
                match turn.phase.as_str() {
                    "choosing" if is_drawer => Some(Deed::Choose(turn.turn_id.clone())),
                    "drawing" if !is_drawer && !has_solved => Some(Deed::Guess(turn.turn_id.clone())),
                    _ => None,
                }
            }
            ("finished", _) => Some(Deed::GoHome),
            _ => None,
        }
    }

    fn pause(&mut self, deed: &Deed) -> Duration {
        Duration::from_millis(match deed {
            Deed::Guess(_) => self.rng.u64(self.pace.guess_ms.clone()),
            Deed::GoHome => self.pace.linger_ms,
            Deed::GetReady | Deed::Start | Deed::Choose(_) => self.rng.u64(self.pace.think_ms.clone()),
        })
    }

    fn carry_out(&mut self, deed: &Deed) -> Option<Value> {
        match deed {
            Deed::GetReady => Some(json!({"action": "ready", "ready": true})),
            Deed::Start => Some(json!({"action": "start"})),
            Deed::Choose(turn_id) => {
                let options = self.turn()?.options.len();
                Some(choose(turn_id, self.rng.usize(..options.max(1))))
            }
            Deed::Guess(turn_id) => self.guess(turn_id).map(|word| say(&word)),
            Deed::GoHome => {
                let standings = self.room.as_ref().map(|room| room.standings.clone()).unwrap_or_default();
                self.ending.get_or_insert(Ending::Finished(standings));
                None
            }
        }
    }

    fn guess(&mut self, turn_id: &str) -> Option<String> {
        if self.said.0 != turn_id {
            self.said = (turn_id.to_owned(), HashSet::new());
        }
        let said = &mut self.said.1;
        let is_listening = self.whispers.is_some() && said.len() >= WRONG_GUESSES;
        let room = self.room.as_ref()?;
        let (mask, language) = (room.turn.as_ref()?.mask.as_deref()?, room.settings.language());
        let wrong = if is_listening { None } else { guess(language, mask, said, &mut self.rng) };
        let word = wrong.or_else(|| self.whispers.as_ref()?.word(turn_id))?;
        said.insert(word.clone());
        Some(word)
    }

    /// A drawer takes a sheet while choosing. One who comes back into a turn that another connection has begun to draw leaves it as it is.
    fn take_a_sheet(&mut self, now: Instant) {
        let Some(turn) = self.turn().filter(|turn| turn.drawer_id == self.id && turn.phase == "choosing") else {
            return;
        };
        let turn_id = turn.turn_id.clone();
        if self.sheet.as_ref().is_none_or(|sheet| sheet.turn_id != turn_id) {
            self.sheet = Some(Sheet {
                turn_id,
                left: picture(&mut self.rng).into(),
                seq: 0,
                unsaved: Vec::new(),
                chunk: 0,
                next_at: now,
                last_save: None,
                is_unsure: false,
                is_told: false,
            });
        }
    }

    fn turn(&self) -> Option<&Turn> {
        self.room.as_ref()?.turn.as_ref()
    }

    /// When there is something to do about the sheet of the running turn.
    fn drawing_at(&self) -> Option<Instant> {
        let (sheet, turn) = (self.sheet.as_ref()?, self.turn()?);
        let has_ink = !sheet.unsaved.is_empty() || sheet.is_unsure;
        let may = sheet.turn_id == turn.turn_id;
        match turn.phase.as_str() {
            "drawing" if may && (has_ink || !sheet.left.is_empty() || !sheet.is_told) => Some(sheet.next_at),
            "reveal" if may && has_ink => Some(sheet.next_at),
            _ => None,
        }
    }

    fn go_on_drawing(&mut self, now: Instant) -> Vec<Value> {
        let Some(turn) = self.room.as_ref().and_then(|room| room.turn.as_ref()) else { return Vec::new() };
        let Some(sheet) = &mut self.sheet else { return Vec::new() };
        let mut messages = Vec::new();
        if std::mem::take(&mut sheet.is_unsure) {
            messages.extend(sheet.last_save.clone());
        }
        let is_drawing = turn.phase == "drawing";
        if is_drawing && let Some(ops) = sheet.left.pop_front() {
            sheet.seq += 1;
            let batch = batch(sheet.seq, &ops);
            messages.push(draw(&sheet.turn_id, &batch));
            sheet.unsaved.push(batch);
        }
        let is_done = sheet.left.is_empty() || !is_drawing;
        if sheet.unsaved.len() >= BATCHES_OF_A_SAVE || is_done && !sheet.unsaved.is_empty() {
            messages.push(sheet.save());
        }
        if is_done && let (Some(whispers), Some(word)) = (&self.whispers, &turn.answer) {
            whispers.tell(&turn.turn_id, word);
        }
        sheet.is_told = is_done;
        sheet.next_at = now + Duration::from_millis(self.pace.batch_ms);
        messages
    }
}

#[cfg(test)]
mod tests;
