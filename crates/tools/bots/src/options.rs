//! How a bot plays: how fast, and whether it listens to what drawers whisper.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::sync::mpsc::UnboundedSender;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Who a bot is, and how it plays.
#[derive(Debug, Clone)]
pub struct BotOptions {
    /// Its name, 1 to 10 characters.
    pub name: String,
    /// The seed of its drawings and guesses.
    pub seed: u64,
    /// How fast.
    pub pace: Pace,
    /// With how many connected players it starts the game, should it be the host.
    pub start_with: usize,
    /// Where drawers tell the others their word, for games that shall not take long.
    pub shared_answers: Option<SharedAnswers>,
    /// Gets what the bot hears and says.
    pub transcript: Option<UnboundedSender<BotMessage>>,
}

/// A message of a bot's connection, as it went over the wire.
#[derive(Debug, Clone)]
pub enum BotMessage {
    /// The server said it.
    Received(Utf8Bytes),
    /// The bot said it.
    Sent(Value),
}

/// How fast a bot plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// Before it gets ready, starts, chooses; ms.
    pub think_ms: RangeInclusive<u64>,
    /// Before each guess, ms.
    pub guess_ms: RangeInclusive<u64>,
    /// Between two batches of a drawing, ms; the protocol wants 150 to 200.
    pub batch_ms: u64,
    /// How long it stays at a finished table, in case somebody wants another game; ms.
    pub linger_ms: u64,
}

impl Pace {
    /// As people do.
    pub fn human() -> Self {
        Self { think_ms: 1_500..=5_000, guess_ms: 3_000..=10_000, batch_ms: 175, linger_ms: 120_000 }
    }

    /// Without a pause but those of a drawing, which the protocol asks for.
    pub fn fast() -> Self {
        Self { think_ms: 0..=0, guess_ms: 0..=0, batch_ms: 150, linger_ms: 0 }
    }
}

/// The words of each turn, from drawer to guessers behind the server's back.
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
