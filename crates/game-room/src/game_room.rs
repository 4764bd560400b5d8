//! Handles one message of a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use domain::game::{Command, GameId, Room, Word};
use game_store::{Chat, Connection, Connections, Rooms, Strokes};
use lambda_kit::problem::{Problem, store_problem};
use store_base::StoreError;
use store_base::Table;

use crate::fan_out::{Delivery, deliver};
use crate::protocol::{
    ClientMessage, Echo, GAME_NOT_FOUND, HELLO_FIRST, RefusedMessage, SLOW_DOWN, ServerMessage, decode,
};
use crate::rate_limiter::{Budget, CONNECTION, RateLimitVerdict, RateLimiter, SPECTATORS};
use crate::sockets::Sockets;

/// The maximum number of entries in each cache of an instance: connections, allowances, and words
/// of games.
const REMEMBERED_MAX: usize = 10_000;

/// The time in which other messages may arrive before hello, because messages can overtake each
/// other. After that, the connection is closed.
pub const HELLO_WAIT_MS: u64 = 10_000;

/// The games in a table, with the sockets of their participants.
#[derive(Debug)]
pub struct GameRoom<S> {
    pub(crate) rooms: Rooms,
    pub(crate) connections: Connections,
    pub(crate) chat: Chat,
    pub(crate) strokes: Strokes,
    pub(crate) sockets: S,
    /// Returns unpredictable numbers, for the ids and seeds of rematches.
    pub(crate) random_u64: fn() -> u64,
    rate_limiter: RateLimiter,
    /// Connections that have said hello. Their entries never change. Whether a connection was
    /// replaced is checked against the game's listeners.
    greeted: Mutex<HashMap<String, GreetedConnection>>,
    /// Tokens taken from a connection's allowance and not used yet.
    pub(crate) allowances: Mutex<HashMap<String, u64>>,
    words: Mutex<HashMap<GameId, Arc<[Word]>>>,
}

/// The outcome of a message, for the log and the metrics of API Gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageOutcome {
    /// The outcome as an HTTP status.
    pub status: u16,
    /// `done`, or the name of the problem.
    pub outcome: &'static str,
}

impl MessageOutcome {
    pub(crate) const DONE: Self = Self { status: 200, outcome: "done" };

    fn dropped() -> Self {
        Self { status: SLOW_DOWN.status(), outcome: SLOW_DOWN.name() }
    }
}

/// A connection that has said hello.
#[derive(Debug, Clone, Copy)]
struct GreetedConnection {
    game_id: GameId,
    is_spectator: bool,
}

/// The sender and the time of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) connection_id: &'a str,
    pub(crate) game_id: GameId,
    pub(crate) now_ms: u64,
}

/// Why a message had no effect.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A problem that is reported to the sender.
    Problem(Problem),
    /// The connection was replaced or has ended.
    NotConnected,
    /// The connection has sent no hello for too long.
    HelloTimeout(Box<Connection>),
    /// The sender exceeds a limit, and has already been told.
    RateLimited,
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Problem(store_problem(&error, error.is_transient()))
    }
}

impl<S: Sockets> GameRoom<S> {
    /// The games in `table`. `random_u64` returns an unpredictable number at each call.
    pub fn new(table: &Table, sockets: S, random_u64: fn() -> u64) -> Self {
        Self {
            rooms: Rooms::new(table),
            connections: Connections::new(table),
            chat: Chat::new(table),
            strokes: Strokes::new(table),
            sockets,
            random_u64,
            rate_limiter: RateLimiter::default(),
            greeted: Mutex::default(),
            allowances: Mutex::default(),
            words: Mutex::default(),
        }
    }

    /// Handles one message of a connection.
    pub async fn message(&self, connection_id: &str, text: &str, now_ms: u64) -> MessageOutcome {
        match self.rate_limiter.take(connection_id, CONNECTION, 1, now_ms) {
            RateLimitVerdict::Pass => {}
            RateLimitVerdict::DropAndNotify => {
                return self.refuse(connection_id, RefusedMessage { problem: SLOW_DOWN, echo: Echo::default() }).await;
            }
            RateLimitVerdict::Drop => return MessageOutcome::dropped(),
        }
        let (message, echo) = match decode(text) {
            Ok(read) => read,
            Err(refused) => return self.refuse(connection_id, refused).await,
        };
        let is_leave = message == ClientMessage::Command(Command::Leave);
        let mut carried_out = self.carry_out(connection_id, message, now_ms).await;
        if is_leave && matches!(carried_out, Err(Failure::NotConnected)) {
            carried_out = self.leave_after_end(connection_id, now_ms).await;
        }
        match carried_out {
            Ok(()) => MessageOutcome::DONE,
            Err(Failure::Problem(problem)) => self.refuse(connection_id, RefusedMessage { problem, echo }).await,
            Err(Failure::NotConnected) => {
                // The new connection's hello sent this already. It is sent again for a message that
                // was on its way.
                let last = vec![ServerMessage::Replaced.encode()];
                deliver(&self.sockets, vec![Delivery { is_last: true, ..Delivery::new(connection_id, last) }]).await;
                MessageOutcome { status: 410, outcome: "replaced" }
            }
            Err(Failure::HelloTimeout(connection)) => {
                let last = vec![ServerMessage::from(RefusedMessage { problem: HELLO_FIRST, echo }).encode()];
                deliver(&self.sockets, vec![Delivery { is_last: true, ..Delivery::new(connection_id, last) }]).await;
                if let Err(error) = self.connections.disconnect(connection_id, &connection, now_ms).await {
                    tracing::warn!(%error, "a connection that was closed could not be forgotten");
                }
                MessageOutcome { status: 409, outcome: HELLO_FIRST.name() }
            }
            Err(Failure::RateLimited) => MessageOutcome::dropped(),
        }
    }

    async fn carry_out(&self, connection_id: &str, message: ClientMessage, now_ms: u64) -> Result<(), Failure> {
        self.charge(connection_id, CONNECTION, message.weight() - 1, now_ms)?;
        if message == ClientMessage::Hello {
            let connection = self.connections.get(connection_id).await?.ok_or(Failure::NotConnected)?;
            let asker = Asker { connection_id, game_id: connection.game_id, now_ms };
            return self.hello(asker, &connection).await;
        }
        let GreetedConnection { game_id, is_spectator } = self.greeted_connection(connection_id, now_ms).await?;
        if is_spectator {
            self.charge(&format!("spectators of {game_id}"), SPECTATORS, message.weight(), now_ms)?;
        }
        let asker = Asker { connection_id, game_id, now_ms };
        match message {
            ClientMessage::Hello => Ok(()),
            ClientMessage::Ping => {
                self.post(connection_id, &ServerMessage::Pong).await;
                Ok(())
            }
            ClientMessage::Draw { turn, batch } => self.draw(asker, turn, &batch).await,
            ClientMessage::Save { turn, chunk, batches } => self.save(asker, turn, chunk, &batches).await,
            ClientMessage::React { turn, reaction } => self.react(asker, turn, reaction).await,
            ClientMessage::CatchUp { turn, after } => self.catch_up(asker, turn, after).await,
            ClientMessage::Command(command) => self.command(asker, command).await,
            ClientMessage::Rematch => {
                let id = uuid::Builder::from_unix_timestamp_millis(now_ms, &self.random_bytes()).into_uuid();
                self.command(asker, Command::Rematch { game: GameId(id) }).await
            }
        }
    }

    fn random_bytes(&self) -> [u8; 10] {
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&(self.random_u64)().to_ne_bytes());
        bytes[8..].copy_from_slice(&(self.random_u64)().to_ne_bytes()[..2]);
        bytes
    }

    /// Charges a message to a budget, after its cost is known.
    fn charge(&self, whose: &str, budget: Budget, weight: u32, now_ms: u64) -> Result<(), Failure> {
        match self.rate_limiter.take(whose, budget, weight, now_ms) {
            RateLimitVerdict::Pass => Ok(()),
            RateLimitVerdict::DropAndNotify => Err(SLOW_DOWN.into()),
            RateLimitVerdict::Drop => Err(Failure::RateLimited),
        }
    }

    async fn greeted_connection(&self, connection_id: &str, now_ms: u64) -> Result<GreetedConnection, Failure> {
        if let Some(known) = lock(&self.greeted).get(connection_id) {
            return Ok(*known);
        }
        let connection = self.connections.get(connection_id).await?.ok_or(Failure::NotConnected)?;
        if !connection.is_greeted() {
            let is_late = now_ms.saturating_sub(connection.connected_at_ms) > HELLO_WAIT_MS;
            return Err(if is_late { Failure::HelloTimeout(Box::new(connection)) } else { HELLO_FIRST.into() });
        }
        let known =
            GreetedConnection { game_id: connection.game_id, is_spectator: connection.who().player().is_none() };
        remember(&self.greeted, connection_id.to_owned(), known);
        Ok(known)
    }

    /// The game's own words. Most games have none, and an empty list takes no place in the cache.
    pub(crate) async fn words_of(&self, room: &Room) -> Result<Arc<[Word]>, StoreError> {
        if let Some(words) = lock(&self.words).get(&room.id) {
            return Ok(words.clone());
        }
        let words = self.rooms.words(room).await?;
        if !words.is_empty() {
            remember(&self.words, room.id, words.clone());
        }
        Ok(words)
    }

    async fn refuse(&self, connection_id: &str, refused: RefusedMessage) -> MessageOutcome {
        let handled = MessageOutcome { status: refused.problem.status(), outcome: refused.problem.name() };
        let is_over = handled.outcome == GAME_NOT_FOUND.name();
        let messages: Vec<Bytes> = vec![ServerMessage::from(refused).encode()];
        deliver(&self.sockets, vec![Delivery { is_last: is_over, ..Delivery::new(connection_id, messages) }]).await;
        handled
    }

    /// Posts to one connection. A dead connection is found and removed by the next broadcast.
    pub(crate) async fn post(&self, connection_id: &str, message: &ServerMessage<'_>) {
        deliver(&self.sockets, vec![Delivery::new(connection_id, vec![message.encode()])]).await;
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn remember<K: Eq + std::hash::Hash, V>(known: &Mutex<HashMap<K, V>>, key: K, value: V) {
    let mut known = lock(known);
    if known.len() >= REMEMBERED_MAX {
        known.clear();
    }
    known.insert(key, value);
}
