//! Decides what a bot does, without I/O: it receives messages, knows when it next wants to act, and
//! returns the messages to send.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use domain::game::drawing::Op;
use fastrand::Rng;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::guessing::guess;
use crate::options::{BotOptions, Pace, SharedAnswers};
use crate::picture::picture;
use crate::protocol::{Room, ServerMessage, Standing, Turn, batch, choose, draw, save, say, tick};

/// Each player's client ticks this much later than the client of the player before, in ms.
const PLACE_MS: u64 = 120;
/// A tick or its answer may be lost, so it is sent again after this time, then after twice as long,
/// and so on.
const TICK_AGAIN: Duration = Duration::from_secs(2);
const TICK_AGAIN_MAX: Duration = Duration::from_secs(30);
/// An action without effect is repeated after this time.
const AGAIN: Duration = Duration::from_secs(2);
/// The least time between two guesses; far from the rate limit.
const GUESS_PAUSE: Duration = Duration::from_millis(250);
/// API Gateway ends a connection after 10 minutes without a message.
const PING: Duration = Duration::from_secs(4 * 60);
/// The batches of a saved chunk: about a second of drawing.
const BATCHES_OF_A_SAVE: usize = 6;
/// The number of wrong guesses before a bot uses the shared answers.
const WRONG_GUESSES: usize = 1;

/// How a game ended for a bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The game is over.
    Finished(Vec<Standing>),
    /// The game is over and continues in this game.
    Rematch(String),
    /// The bot was stopped.
    Left,
    /// The bot was voted out.
    Kicked,
    /// Another connection took its seat.
    Replaced,
}

/// The next action of a bot, with the turn that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BotAction {
    GetReady,
    Start,
    Choose(String),
    Guess(String),
    GoHome,
}

/// The progress of a turn's drawing: sending it to the others, and saving it.
#[derive(Debug)]
struct DrawingProgress {
    turn_id: String,
    left: VecDeque<Vec<Op>>,
    seq: u32,
    unsaved: Vec<Value>,
    chunk: u16,
    next_at: Instant,
    last_save: Option<Value>,
    /// Whether the last chunk may have been lost.
    is_unsure: bool,
    is_told: bool,
}

impl DrawingProgress {
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
    shared_answers: Option<SharedAnswers>,
    rng: Rng,
    room: Option<Room>,
    is_welcome: bool,
    tick: Option<(Instant, Duration)>,
    action: Option<(BotAction, Instant)>,
    drawing: Option<DrawingProgress>,
    /// The turn, and the words guessed in it.
    said: (String, HashSet<String>),
    ping_at: Instant,
    ending: Option<Ending>,
}

impl Player {
    pub(crate) fn new(id: &str, options: &BotOptions, now: Instant) -> Self {
        Self {
            id: id.to_owned(),
            pace: options.pace.clone(),
            start_with: options.start_with,
            shared_answers: options.shared_answers.clone(),
            rng: Rng::with_seed(options.seed),
            room: None,
            is_welcome: false,
            tick: None,
            action: None,
            drawing: None,
            said: Default::default(),
            ping_at: now + PING,
            ending: None,
        }
    }

    /// A new connection: only hello may be sent before the welcome.
    pub(crate) fn on_connect(&mut self) {
        self.is_welcome = false;
    }

    pub(crate) fn was_welcome(&self) -> bool {
        self.is_welcome
    }

    pub(crate) fn ending(&mut self) -> Option<Ending> {
        self.ending.take()
    }

    pub(crate) fn hear(&mut self, heard: ServerMessage, now: Instant) {
        match heard {
            ServerMessage::Welcome { room } => {
                self.is_welcome = true;
                // The last chunk may have been lost; a chunk that arrives twice is stored once.
                if let Some(drawing) = &mut self.drawing {
                    drawing.is_unsure = drawing.last_save.is_some();
                }
                self.see(room, now);
            }
            ServerMessage::Room { room } => self.see(room, now),
            ServerMessage::Wait { version, next_ms } => {
                if self.room.as_ref().is_some_and(|room| room.version == version) {
                    self.tick = next_ms.map(|ms| (now + Duration::from_millis(ms + self.place_ms()), TICK_AGAIN));
                }
            }
            ServerMessage::Rematch { game_id } => self.ending = Some(Ending::Rematch(game_id)),
            ServerMessage::Replaced => self.ending = Some(Ending::Replaced),
            ServerMessage::Kicked => self.ending = Some(Ending::Kicked),
            ServerMessage::Error { .. } | ServerMessage::Other => {}
        }
    }

    /// The next time at which [`act`](Self::act) returns messages.
    pub(crate) fn due(&self) -> Instant {
        if !self.is_welcome {
            return self.ping_at;
        }
        let tick = self.tick.map(|(at, _)| at);
        let action = self.action.as_ref().map(|(_, at)| *at);
        [tick, action, self.drawing_at()].into_iter().flatten().fold(self.ping_at, Instant::min)
    }

    /// The messages to send now.
    pub(crate) fn act(&mut self, now: Instant) -> Vec<Value> {
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
        if let Some((action, at)) = self.action.clone()
            && at <= now
        {
            let said = self.perform(&action);
            // A shared word is right, so it needs no pause before a next guess.
            let is_guessing =
                matches!(action, BotAction::Guess(_)) && (self.shared_answers.is_none() || said.is_none());
            let pause = if is_guessing { self.pause(&action).max(GUESS_PAUSE) } else { AGAIN };
            messages.extend(said);
            self.action = Some((action, now + pause));
        }
        if self.drawing_at().is_some_and(|at| at <= now) {
            messages.extend(self.continue_drawing(now));
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
        self.start_drawing(now);
        let action = self.next_action();
        if action.as_ref() != self.action.as_ref().map(|(action, _)| action) {
            self.action = action.map(|action| (action.clone(), now + self.pause(&action)));
        }
    }

    fn place_ms(&self) -> u64 {
        let Some(room) = &self.room else { return 0 };
        let place = room.players.iter().position(|player| player.player_id == self.id);
        PLACE_MS * place.unwrap_or(room.players.len()) as u64
    }

    fn next_action(&self) -> Option<BotAction> {
        let room = self.room.as_ref()?;
        let is_host = room.host_id == self.id;
        let me = room.players.iter().find(|player| player.player_id == self.id)?;
        match (room.status.as_str(), &room.turn) {
            ("waiting", _) if is_host => {
                let here = room.players.iter().filter(|player| player.connected);
                let others_ready = here.clone().all(|player| player.ready || player.player_id == self.id);
                (here.count() >= self.start_with && others_ready).then_some(BotAction::Start)
            }
            ("waiting", _) => (!me.ready).then_some(BotAction::GetReady),
            ("playing", Some(turn)) => {
                let is_drawer = turn.drawer_id == self.id;
                let has_solved = turn.solvers.iter().any(|solver| solver.player_id == self.id);
                match turn.phase.as_str() {
                    "choosing" if is_drawer => Some(BotAction::Choose(turn.turn_id.clone())),
                    "drawing" if !is_drawer && !has_solved => Some(BotAction::Guess(turn.turn_id.clone())),
                    _ => None,
                }
            }
            ("finished", _) => Some(BotAction::GoHome),
            _ => None,
        }
    }

    fn pause(&mut self, action: &BotAction) -> Duration {
        Duration::from_millis(match action {
            BotAction::Guess(_) => self.rng.u64(self.pace.guess_ms.clone()),
            BotAction::GoHome => self.pace.linger_ms,
            BotAction::GetReady | BotAction::Start | BotAction::Choose(_) => self.rng.u64(self.pace.think_ms.clone()),
        })
    }

    fn perform(&mut self, action: &BotAction) -> Option<Value> {
        match action {
            BotAction::GetReady => Some(json!({"action": "ready", "ready": true})),
            BotAction::Start => Some(json!({"action": "start"})),
            BotAction::Choose(turn_id) => {
                let options = self.turn()?.options.len();
                Some(choose(turn_id, self.rng.usize(..options.max(1))))
            }
            BotAction::Guess(turn_id) => self.guess(turn_id).map(|word| say(&word)),
            BotAction::GoHome => {
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
        let is_listening = self.shared_answers.is_some() && said.len() >= WRONG_GUESSES;
        let room = self.room.as_ref()?;
        let (mask, language) = (room.turn.as_ref()?.mask.as_deref()?, room.settings.language());
        let wrong = if is_listening { None } else { guess(language, mask, said, &mut self.rng) };
        let word = wrong.or_else(|| self.shared_answers.as_ref()?.get(turn_id))?;
        said.insert(word.clone());
        Some(word)
    }

    /// A drawer begins a drawing while choosing. A bot that reconnects to a turn whose drawing was
    /// begun over another connection leaves it unchanged.
    fn start_drawing(&mut self, now: Instant) {
        let Some(turn) = self.turn().filter(|turn| turn.drawer_id == self.id && turn.phase == "choosing") else {
            return;
        };
        let turn_id = turn.turn_id.clone();
        if self.drawing.as_ref().is_none_or(|drawing| drawing.turn_id != turn_id) {
            self.drawing = Some(DrawingProgress {
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

    /// When the next batch or chunk of the running turn's drawing is due.
    fn drawing_at(&self) -> Option<Instant> {
        let (drawing, turn) = (self.drawing.as_ref()?, self.turn()?);
        let has_ink = !drawing.unsaved.is_empty() || drawing.is_unsure;
        let may = drawing.turn_id == turn.turn_id;
        match turn.phase.as_str() {
            "drawing" if may && (has_ink || !drawing.left.is_empty() || !drawing.is_told) => Some(drawing.next_at),
            "reveal" if may && has_ink => Some(drawing.next_at),
            _ => None,
        }
    }

    fn continue_drawing(&mut self, now: Instant) -> Vec<Value> {
        let Some(turn) = self.room.as_ref().and_then(|room| room.turn.as_ref()) else { return Vec::new() };
        let Some(drawing) = &mut self.drawing else { return Vec::new() };
        let mut messages = Vec::new();
        if std::mem::take(&mut drawing.is_unsure) {
            messages.extend(drawing.last_save.clone());
        }
        let is_drawing = turn.phase == "drawing";
        if is_drawing && let Some(ops) = drawing.left.pop_front() {
            drawing.seq += 1;
            let batch = batch(drawing.seq, &ops);
            messages.push(draw(&drawing.turn_id, &batch));
            drawing.unsaved.push(batch);
        }
        let is_done = drawing.left.is_empty() || !is_drawing;
        if drawing.unsaved.len() >= BATCHES_OF_A_SAVE || is_done && !drawing.unsaved.is_empty() {
            messages.push(drawing.save());
        }
        if is_done && let (Some(shared_answers), Some(word)) = (&self.shared_answers, &turn.answer) {
            shared_answers.set(&turn.turn_id, word);
        }
        drawing.is_told = is_done;
        drawing.next_at = now + Duration::from_millis(self.pace.batch_ms);
        messages
    }
}

#[cfg(test)]
mod tests;
