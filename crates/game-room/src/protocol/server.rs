//! What the functions say.

use bytes::Bytes;
use domain::game::drawing::Batch;
use domain::game::{GameId, Line, LineId, LineKind, PlayerId, SystemText, TurnId};
use serde::Serialize;
use serde_json::value::RawValue;
use store::game::Role;

use super::problem::RefusedMessage;
use super::room::RoomMessage;
use super::{BatchMessage, PROTOCOL};

/// A message to a client.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum ServerMessage<'a> {
    /// To who said hello.
    Welcome {
        /// The version that is spoken.
        protocol: u32,
        /// Who that is.
        you: You,
        /// The view of the room.
        room: RoomMessage,
    },
    /// The room has changed.
    Room {
        /// The receiver's view.
        room: RoomMessage,
    },
    /// Strokes.
    Ink {
        /// Of which turn.
        turn_id: String,
        /// As the drawer sent them.
        batches: Ink<'a>,
        /// In the answer to a catch-up: the highest `seq` that is stored.
        #[serde(skip_serializing_if = "Option::is_none")]
        saved: Option<u32>,
        /// In the answer to a catch-up: whether more follows.
        #[serde(skip_serializing_if = "Option::is_none")]
        last: Option<bool>,
    },
    /// The lines.
    Chat {
        /// Oldest first.
        lines: Vec<LineMessage>,
    },
    /// To a guesser alone.
    Near {
        /// Of their message.
        id: String,
        /// The text.
        text: String,
    },
    /// To who ticked early.
    Wait {
        /// Of the room.
        version: u64,
        /// How long; nothing, when time brings nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        next_ms: Option<u64>,
    },
    /// To a ping.
    Pong,
    /// There is another game to go to.
    Rematch {
        /// Which.
        game_id: String,
    },
    /// Another connection of the same player has taken this one's place.
    Replaced,
    /// They were voted out.
    Kicked,
    /// The sent message had no effect.
    Error {
        /// Why.
        error: ErrorMessage,
        /// The word.
        #[serde(skip_serializing_if = "Option::is_none")]
        action: Option<String>,
        /// Its id, if it had one.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Its turn, if it had one.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<String>,
    },
}

/// Whom a welcome is for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct You {
    player_id: String,
    role: Role,
}

/// Batches as they are relayed, or as they are stored.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Ink<'a> {
    /// Fresh from the drawer.
    Live([BatchMessage; 1]),
    /// Out of the table, where they lie as JSON.
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
}

/// A problem, as the HTTP API's.
#[derive(Debug, Serialize)]
pub(crate) struct ErrorMessage {
    r#type: String,
    title: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl ServerMessage<'_> {
    /// The message as it goes out.
    pub fn encode(&self) -> Bytes {
        match serde_json::to_vec(self) {
            Ok(json) => json.into(),
            Err(error) => {
                tracing::error!(%error, "a message cannot be written as JSON");
                Bytes::new()
            }
        }
    }

    /// A welcome.
    pub fn welcome(player_id: PlayerId, role: Role, room: RoomMessage) -> Self {
        Self::Welcome { protocol: PROTOCOL, you: You { player_id: player_id.to_string(), role }, room }
    }

    /// Some lines, oldest first.
    pub fn chat<'l>(lines: impl IntoIterator<Item = &'l Line>) -> Self {
        Self::Chat { lines: lines.into_iter().map(LineMessage::from).collect() }
    }

    /// A notice to a guesser.
    pub fn near(id: LineId, text: &impl ToString) -> Self {
        Self::Near { id: id.to_string(), text: text.to_string() }
    }

    /// How long to wait with the next tick, which a room that time does not change does not need.
    pub fn wait(version: u64, next_ms: Option<u64>) -> Self {
        Self::Wait { version, next_ms }
    }

    /// Another game.
    pub fn rematch(game: GameId) -> Self {
        Self::Rematch { game_id: game.to_string() }
    }
}

impl ServerMessage<'_> {
    /// A batch on its way from the drawer to everybody else.
    pub fn ink(turn_id: TurnId, batch: &Batch) -> Self {
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
