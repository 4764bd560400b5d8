//! The part of the protocol (`docs/protocol.md`) that a bot needs: the messages that it reads and
//! sends.

use domain::game::Language;
use domain::game::drawing::{Op, Tool};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

/// The version of the protocol.
const PROTOCOL: u32 = 1;

/// A message of the server.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum ServerMessage {
    Welcome {
        room: Room,
    },
    Room {
        room: Room,
    },
    Wait {
        version: u64,
        next_ms: Option<u64>,
    },
    Rematch {
        game_id: String,
    },
    Replaced,
    Kicked,
    Error {
        action: Option<String>,
    },
    /// Drawing and chat messages, which a bot ignores.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Room {
    #[serde(default)]
    pub settings: Settings,
    pub version: u64,
    pub status: String,
    pub host_id: String,
    pub players: Vec<RoomPlayer>,
    #[serde(default)]
    pub paused: bool,
    pub turn: Option<Turn>,
    #[serde(default)]
    pub standings: Vec<Standing>,
    pub rematch: Option<String>,
}

/// Without a language, the game is in Japanese.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Settings {
    #[serde(default)]
    language: String,
}

impl Settings {
    pub(crate) fn language(&self) -> Language {
        Language::with_code(&self.language).unwrap_or_default()
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoomPlayer {
    pub player_id: String,
    pub ready: bool,
    pub connected: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    pub turn_id: String,
    pub drawer_id: String,
    pub phase: String,
    pub next_ms: u64,
    pub mask: Option<String>,
    pub answer: Option<String>,
    pub solvers: Vec<Solver>,
    #[serde(default)]
    pub options: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Solver {
    pub player_id: String,
}

/// A player's result in a finished game.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The player's id.
    pub player_id: String,
    /// The player's name.
    pub name: String,
    /// The player's points.
    pub score: u32,
    /// From 1; players with equal scores share a rank.
    pub rank: u8,
}

pub(crate) fn hello() -> Value {
    json!({"action": "hello", "protocol": PROTOCOL})
}

pub(crate) fn choose(turn_id: &str, option: usize) -> Value {
    json!({"action": "choose", "turnId": turn_id, "option": option})
}

pub(crate) fn say(text: &str) -> Value {
    json!({"action": "say", "id": Uuid::now_v7().to_string(), "text": text})
}

pub(crate) fn tick(version: u64) -> Value {
    json!({"action": "tick", "version": version})
}

pub(crate) fn batch(seq: u32, ops: &[Op]) -> Value {
    json!({"seq": seq, "ops": ops.iter().map(op).collect::<Vec<_>>()})
}

pub(crate) fn draw(turn_id: &str, batch: &Value) -> Value {
    json!({"action": "draw", "turnId": turn_id, "seq": batch["seq"], "ops": batch["ops"]})
}

pub(crate) fn save(turn_id: &str, chunk: u16, batches: &[Value]) -> Value {
    json!({"action": "save", "turnId": turn_id, "chunk": chunk, "batches": batches})
}

fn op(op: &Op) -> Value {
    match op {
        Op::Stroke { id, pen, points, end } => {
            let mut stroke = json!({"op": "stroke", "id": id, "points": points});
            if let Some(pen) = pen {
                stroke["color"] = pen.color.into();
                stroke["width"] = pen.width.into();
                stroke["tool"] = match pen.tool {
                    Tool::Pen => "pen".into(),
                    Tool::Eraser => "eraser".into(),
                };
            }
            if *end {
                stroke["end"] = true.into();
            }
            stroke
        }
        Op::Fill { id, color, at } => json!({"op": "fill", "id": id, "color": color, "at": at}),
        Op::Clear { id } => json!({"op": "clear", "id": id}),
        Op::Undo { id } => json!({"op": "undo", "id": id}),
        Op::Redo { id } => json!({"op": "redo", "id": id}),
    }
}
