//! The messages of the functions.

use bytes::Bytes;
use domain::game::drawing::Batch;
use domain::game::{GameId, Line, LineId, LineKind, PlayerId, SystemText, TurnId};
use game_store::Role;
use serde::Serialize;
use serde_json::value::RawValue;

use super::client::Reaction;
use super::problem::RefusedMessage;
use super::room::RoomMessage;
use super::{BatchMessage, PROTOCOL};

/// A message to a client.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum ServerMessage<'a> {
    /// The answer to hello.
    Welcome {
        /// The version of the protocol.
        protocol: u32,
        /// The receiver's id and role.
        you: You,
        /// The room as the receiver sees it.
        room: RoomMessage,
    },
    /// The room has changed.
    Room {
        /// The room as the receiver sees it.
        room: RoomMessage,
        /// The chat lines that came with the change. A message of their own would cost as much again.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        lines: Vec<LineMessage>,
    },
    /// Batches of a drawing.
    Ink {
        /// The turn.
        turn_id: String,
        /// The batches as the drawer sent them.
        batches: Ink<'a>,
        /// In the answer to a catch-up: the highest stored `seq`.
        #[serde(skip_serializing_if = "Option::is_none")]
        saved: Option<u32>,
        /// In the answer to a catch-up: whether this is the last part.
        #[serde(skip_serializing_if = "Option::is_none")]
        last: Option<bool>,
    },
    /// Chat lines.
    Chat {
        /// The lines, oldest first.
        lines: Vec<LineMessage>,
    },
    /// What a participant thinks of the drawing.
    Reaction {
        /// The turn.
        turn_id: String,
        /// The participant.
        player_id: String,
        /// The reaction.
        reaction: Reaction,
    },
    /// Tells a guesser that the guess is near the answer.
    Near {
        /// The id of the guesser's message.
        id: String,
        /// The text of the guess.
        text: String,
    },
    /// The answer to a tick that came too early.
    Wait {
        /// The version of the room.
        version: u64,
        /// The time to wait; absent if time alone changes nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_ms: Option<u64>,
    },
    /// The answer to a ping.
    Pong,
    /// There is a next game.
    Rematch {
        /// The id of the next game.
        game_id: String,
    },
    /// Another connection of the same participant has replaced this one.
    Replaced,
    /// The receiver was voted out.
    Kicked,
    /// The receiver's message had no effect.
    Error {
        /// The problem.
        error: ErrorMessage,
        /// The action of the message.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// The id of the message, if it had one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The turn of the message, if it had one.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
    },
}

/// The receiver of a welcome.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct You {
    player_id: String,
    role: Role,
}

/// Batches, either relayed or stored.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Ink<'a> {
    /// A batch from the drawer.
    Live([BatchMessage; 1]),
    /// Batches from the table, where they are stored as JSON.
    Stored(&'a RawValue),
}

/// A line of the chat.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LineMessage {
    id: String,
    player_id: String,
    name: String,
    text: String,
    kind: &'static str,
    at: u64,
}

/// A problem in the form that the HTTP API uses.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorMessage {
    r#type: String,
    title: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl ServerMessage<'_> {
    /// The message in JSON.
    pub(crate) fn encode(&self) -> Bytes {
        match serde_json::to_vec(self) {
            Ok(json) => json.into(),
            Err(error) => {
                tracing::error!(%error, "a message cannot be written as JSON");
                Bytes::new()
            }
        }
    }

    /// The answer to hello.
    pub(crate) fn welcome(player_id: PlayerId, role: Role, room: RoomMessage) -> Self {
        Self::Welcome { protocol: PROTOCOL, you: You { player_id: player_id.to_string(), role }, room }
    }

    /// Chat lines, oldest first.
    pub(crate) fn chat<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Self {
        Self::Chat { lines: lines.into_iter().map(LineMessage::from).collect() }
    }

    /// The changed room, and the chat lines that came with it.
    pub(crate) fn room<'l>(room: RoomMessage, lines: impl IntoIterator<Item = &'l Line>) -> Self {
        Self::Room { room, lines: lines.into_iter().map(LineMessage::from).collect() }
    }

    /// Tells a guesser that the guess is near the answer.
    pub(crate) fn near(id: LineId, text: &impl ToString) -> Self {
        Self::Near { id: id.to_string(), text: text.to_string() }
    }

    /// The time to wait before the next tick; `None` if time alone does not change the room.
    pub(crate) fn wait(version: u64, next_ms: Option<u64>) -> Self {
        Self::Wait { version, next_ms }
    }

    /// Announces the next game.
    pub(crate) fn rematch(game: GameId) -> Self {
        Self::Rematch { game_id: game.to_string() }
    }
}

impl ServerMessage<'_> {
    /// A batch that is relayed from the drawer.
    pub(crate) fn ink(turn_id: TurnId, batch: &Batch) -> Self {
        let batches = Ink::Live([batch.into()]);
        Self::Ink { turn_id: turn_id.to_string(), batches, saved: None, last: None }
    }
}

impl From<&Line> for LineMessage {
    fn from(line: &Line) -> Self {
        let (kind, text) = match &line.kind {
            LineKind::Talk(talk) => ("talk", talk.as_str()),
            LineKind::Guess(talk) => ("guess", talk.as_str()),
            LineKind::Correct => ("correct", ""),
            LineKind::System(text) => ("system", system_text(*text)),
        };
        Self {
            id: line.id.to_string(),
            player_id: line.player.to_string(),
            name: line.name.to_string(),
            text: text.to_owned(),
            kind,
            at: line.at_ms,
        }
    }
}

fn system_text(text: SystemText) -> &'static str {
    match text {
        SystemText::Joined => "joined",
        SystemText::Left => "left",
        SystemText::Kicked => "kicked",
        SystemText::Skipped => "skipped",
        SystemText::Host => "host",
    }
}

impl From<RefusedMessage> for ServerMessage<'_> {
    fn from(refused: RefusedMessage) -> Self {
        let (problem, echo) = (refused.problem, refused.echo);
        let detail = problem.detail_text().map(str::to_owned);
        let error = ErrorMessage { r#type: problem.type_uri(), title: problem.title(), detail };
        Self::Error { error, action: echo.action, id: echo.id, turn_id: echo.turn_id }
    }
}
