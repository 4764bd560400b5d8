//! How a bot plays: its speed, and whether drawers share their words with it.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// The name and behaviour of a bot.
#[derive(Debug, Clone)]
pub struct BotOptions {
    /// Its name, 1 to 10 characters.
    pub name: String,
    /// The seed for its drawings and guesses.
    pub seed: u64,
    /// How fast it plays.
    pub pace: Pace,
    /// With how many connected players it starts the game, if it is the host.
    pub start_with: usize,
    /// Shares each drawer's word with the other bots, for games that should be short.
    pub shared_answers: Option<SharedAnswers>,
    /// Receives all messages of the bot, in both directions.
    pub transcript: Option<UnboundedSender<BotMessage>>,
}

/// A message of a bot's connection, as sent over the wire.
#[derive(Debug, Clone)]
pub enum BotMessage {
    /// From the server.
    Received(Utf8Bytes),
    /// From the bot.
    Sent(Value),
}

/// How fast a bot plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// The pause before it gets ready, starts a game or chooses a word, in ms.
    pub think_ms: RangeInclusive<u64>,
    /// The pause before each guess, in ms.
    pub guess_ms: RangeInclusive<u64>,
    /// The interval between two batches of a drawing, in ms; the protocol wants 150 to 200.
    pub batch_ms: u64,
    /// How long it stays in a finished game, in case somebody wants a rematch, in ms.
    pub linger_ms: u64,
}

impl Pace {
    /// The speed of people.
    pub fn human() -> Self {
        Self { think_ms: 1_500..=5_000, guess_ms: 3_000..=10_000, batch_ms: 175, linger_ms: 120_000 }
    }

    /// Without pauses, except those between batches, which the protocol requires.
    pub fn fast() -> Self {
        Self { think_ms: 0..=0, guess_ms: 0..=0, batch_ms: 150, linger_ms: 0 }
    }
}

/// The word of each turn, passed from the drawer to the guessers without the server.
#[derive(Debug, Clone, Default)]
pub struct SharedAnswers(Arc<Mutex<HashMap<String, String>>>);

impl SharedAnswers {
    pub(crate) fn set(&self, turn_id: &str, word: &str) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.insert(turn_id.to_owned(), word.to_owned());
    }

    pub(crate) fn get(&self, turn_id: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(turn_id).cloned()
    }
}
