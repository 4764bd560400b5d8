//! Problems: why a message had no effect.

use domain::game::Refusal;
use lambda_kit::problem::Problem;
use serde::Deserialize;

/// The parts of a message that an error repeats, so that the sender can identify the message. They
/// are parsed separately, because the rest may be invalid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Echo {
    /// The requested action.
    #[serde(default, deserialize_with = "short_text")]
    pub action: Option<String>,
    /// The message's own id.
    #[serde(default, deserialize_with = "short_text")]
    pub id: Option<String>,
    /// The turn of the message.
    #[serde(default, deserialize_with = "short_text")]
    pub turn_id: Option<String>,
}

/// A message that had no effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedMessage {
    /// The reason.
    pub problem: Problem,
    /// The parts of the message that are sent back.
    pub echo: Echo,
}

/// Longer than every name and id of the protocol. Stops the server from sending a huge text back.
const ECHO_CHARS_MAX: usize = 64;

fn short_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(value.as_str().filter(|text| text.chars().nth(ECHO_CHARS_MAX).is_none()).map(ToOwned::to_owned))
}

/// The message is not JSON, or not of the documented shape.
pub const INVALID_MESSAGE: Problem = Problem::new(400, "invalid-message", "The message cannot be read");
/// The message is larger than a frame may be.
pub const MESSAGE_TOO_LARGE: Problem = Problem::new(413, "message-too-large", "The message is too large");
/// The action is unknown.
pub const UNKNOWN_ACTION: Problem = Problem::new(400, "unknown-action", "There is no such action");
/// The client uses another version of the protocol.
pub const WRONG_PROTOCOL: Problem =
    Problem::new(400, "wrong-protocol", "Another version of the protocol is spoken here");
/// The connection sent another message before hello.
pub const HELLO_FIRST: Problem = Problem::new(409, "hello-first", "Say hello first");
/// The text is not valid for the chat.
pub const INVALID_TEXT: Problem = Problem::new(400, "invalid-text", "The text cannot be said");
/// The word is not valid.
pub const INVALID_WORD: Problem = Problem::new(400, "invalid-word", "The word cannot be drawn");
/// The drawing is not valid.
pub const INVALID_DRAWING: Problem = Problem::new(400, "invalid-drawing", "The drawing is not valid");
/// The sender may not draw now.
pub const NOT_DRAWING: Problem = Problem::new(403, "not-drawing", "It is not yours to draw now");
/// The turn has no drawing that may be seen.
pub const NO_DRAWING: Problem = Problem::new(409, "no-drawing", "There is no drawing of that turn yet");
/// There were too many messages.
pub const SLOW_DOWN: Problem = Problem::new(429, "slow-down", "Slow down: some messages were dropped");
/// The problem for a command that the rules refused.
pub(crate) fn refusal_problem(refusal: Refusal) -> Problem {
    if let Refusal::TooFast(_) = refusal {
        return Problem::new(429, refusal.problem(), "That was too fast, and did not count").detail(refusal);
    }
    Problem::new(409, refusal.problem(), "The game does not allow that now").detail(refusal)
}
