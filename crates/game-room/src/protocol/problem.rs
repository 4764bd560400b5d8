//! Why a message had no effect.

use std::fmt;

use domain::game::Refusal;
use serde::Deserialize;
use store::StoreError;

/// What a problem's `type` begins with; the HTTP API's do so too.
const TYPE_PREFIX: &str = "urn:tidemark:problem:";

/// What is wrong: a kind with a stable name, and this case of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageProblem {
    /// As an HTTP status would say it.
    pub status: u16,
    /// The end of the `type`.
    pub name: &'static str,
    /// The same for all of the kind.
    pub title: &'static str,
    /// This case, for people.
    pub detail: Option<String>,
}

/// What of a message is told back, so that its sender knows which one it was. Read on its own: the rest may be unreadable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Echo {
    /// What was to be done.
    #[serde(default, deserialize_with = "short_text")]
    pub action: Option<String>,
    /// The message's own id.
    #[serde(default, deserialize_with = "short_text")]
    pub id: Option<String>,
    /// The turn it was about.
    #[serde(default, deserialize_with = "short_text")]
    pub turn_id: Option<String>,
}

/// A message that had no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedMessage {
    /// Why.
    pub problem: MessageProblem,
    /// Which message.
    pub echo: Echo,
}

/// No name or id of the protocol is longer; nobody gets back a flood of their own.
const ECHO_CHARS_MAX: usize = 64;

fn short_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_str().filter(|text| text.chars().nth(ECHO_CHARS_MAX).is_none()).map(ToOwned::to_owned))
}

impl MessageProblem {
    /// A kind of problem.
    pub const fn new(status: u16, name: &'static str, title: &'static str) -> Self {
        Self { status, name, title, detail: None }
    }

    /// What is wrong in this case.
    pub fn detail(mut self, detail: impl fmt::Display) -> Self {
        self.detail = Some(detail.to_string());
        self
    }

    /// The whole `type`.
    pub fn urn(&self) -> String {
        format!("{TYPE_PREFIX}{}", self.name)
    }
}

/// The message is not JSON, or not of the documented shape.
pub const INVALID_MESSAGE: MessageProblem = MessageProblem::new(400, "invalid-message", "The message cannot be read");
/// The message is larger than a frame may be.
pub const MESSAGE_TOO_LARGE: MessageProblem = MessageProblem::new(413, "message-too-large", "The message is too large");
/// There is no such action.
pub const UNKNOWN_ACTION: MessageProblem = MessageProblem::new(400, "unknown-action", "There is no such action");
/// The client speaks another version.
pub const WRONG_PROTOCOL: MessageProblem =
    MessageProblem::new(400, "wrong-protocol", "Another version of the protocol is spoken here");
/// Something was said before hello.
pub const HELLO_FIRST: MessageProblem = MessageProblem::new(409, "hello-first", "Say hello first");
/// The text cannot be said.
pub const INVALID_TEXT: MessageProblem = MessageProblem::new(400, "invalid-text", "The text cannot be said");
/// The word cannot be drawn.
pub const INVALID_WORD: MessageProblem = MessageProblem::new(400, "invalid-word", "The word cannot be drawn");
/// The settings are not valid.
pub const INVALID_SETTINGS: MessageProblem = MessageProblem::new(400, "invalid-settings", "The settings are not valid");
/// The drawing is not valid.
pub const INVALID_DRAWING: MessageProblem = MessageProblem::new(400, "invalid-drawing", "The drawing is not valid");
/// The asker may not draw now.
pub const NOT_DRAWING: MessageProblem = MessageProblem::new(403, "not-drawing", "It is not yours to draw now");
/// The drawing is not to be seen.
pub const NO_DRAWING: MessageProblem = MessageProblem::new(409, "no-drawing", "There is no drawing of that turn yet");
/// Too many messages.
pub const SLOW_DOWN: MessageProblem = MessageProblem::new(429, "slow-down", "Slow down: some messages were dropped");
/// The game is no longer there.
pub const GAME_NOT_FOUND: MessageProblem = MessageProblem::new(404, "game-not-found", "There is no such game");
/// Somebody was faster each time, or DynamoDB asks for patience; the message can be sent again as it is.
pub const BUSY: MessageProblem = MessageProblem::new(503, "busy", "Too busy at the moment, try again");
/// A fault of ours; the log knows more.
pub const INTERNAL: MessageProblem = MessageProblem::new(500, "internal", "Something went wrong on our side");

impl From<Refusal> for MessageProblem {
    fn from(refusal: Refusal) -> Self {
        if let Refusal::TooFast(_) = refusal {
            return Self::new(429, refusal.problem(), "That was too fast, and did not count").detail(refusal);
        }
        Self::new(409, refusal.problem(), "The game does not allow that now").detail(refusal)
    }
}

impl From<StoreError> for MessageProblem {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "a message could not be carried out");
        if error.is_transient() { BUSY } else { INTERNAL }
    }
}
