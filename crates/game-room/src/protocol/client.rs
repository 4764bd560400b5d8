//! The messages of clients.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use domain::game::drawing::{Batch, check_chunk};
use domain::game::{
    Choice, Command, Language, LineId, OutOfBounds, PlayerCount, PlayerId, RoundCount, Scoring, Settings, Talk,
    TimeLimit, TurnId, Word,
};
use lambda_kit::json_object;
use lambda_kit::problem::Problem;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use super::drawing::{BatchMessage, OpMessage};
use super::problem::{
    Echo, INVALID_DRAWING, INVALID_MESSAGE, INVALID_TEXT, INVALID_WORD, MESSAGE_TOO_LARGE, RefusedMessage,
    UNKNOWN_ACTION, WRONG_PROTOCOL,
};
use super::room::WORD_SOURCES;
use super::shared_problem::INVALID_SETTINGS;
use super::{MESSAGE_BYTES_MAX, PROTOCOL};

/// A message with valid fields. The rules of the game may still refuse it.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientMessage {
    /// The first message of a connection.
    Hello,
    /// Keeps the connection open.
    Ping,
    /// A command to the game.
    Command(Command),
    /// A request for another game with the same settings.
    Rematch,
    /// A batch to relay to the other participants.
    Draw {
        /// The turn.
        turn: TurnId,
        /// The batch.
        batch: Batch,
    },
    /// A chunk to store.
    Save {
        /// The turn.
        turn: TurnId,
        /// The number of the chunk in the turn, from 1.
        chunk: u16,
        /// The batches.
        batches: Vec<Batch>,
    },
    /// What the sender thinks of the drawing.
    React {
        /// The turn.
        turn: TurnId,
        /// The reaction.
        reaction: Reaction,
    },
    /// A request for stored batches.
    CatchUp {
        /// The turn.
        turn: TurnId,
        /// The highest `seq` that the client has without a gap.
        after: u32,
    },
}

impl ClientMessage {
    /// The cost of the message in its sender's budget. Batches are frequent and cost 1. Other
    /// messages that are sent to everybody or read a drawing are rare and cost more.
    pub fn weight(&self) -> u32 {
        match self {
            Self::Ping | Self::Draw { .. } | Self::Save { .. } | Self::Command(Command::Tick { .. }) => 1,
            Self::Hello | Self::Command(_) | Self::Rematch | Self::React { .. } | Self::CatchUp { .. } => 5,
        }
    }
}

/// A reaction to a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reaction {
    /// The drawing is good.
    Like,
    /// The drawing is funny.
    Laugh,
}

#[derive(Deserialize)]
struct Hello {
    protocol: u32,
}

#[derive(Deserialize)]
struct Configure {
    settings: ChosenSettings,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChosenSettings {
    time_limit: i64,
    round_count: i64,
    player_count: i64,
    hints: bool,
    words: String,
    language: String,
    /// Absent is by speed, for clients that do not know of it.
    scoring: Option<String>,
}

#[derive(Deserialize)]
struct Ready {
    ready: bool,
}

#[derive(Deserialize)]
struct Share {
    shared: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Choose {
    #[serde(deserialize_with = "parsed")]
    turn_id: TurnId,
    option: Option<u8>,
    word: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Draw {
    #[serde(deserialize_with = "parsed")]
    turn_id: TurnId,
    seq: u32,
    ops: Vec<OpMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Save {
    #[serde(deserialize_with = "parsed")]
    turn_id: TurnId,
    chunk: u16,
    batches: Vec<BatchMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatchUp {
    #[serde(deserialize_with = "parsed")]
    turn_id: TurnId,
    after: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct React {
    #[serde(deserialize_with = "parsed")]
    turn_id: TurnId,
    reaction: Reaction,
}

#[derive(Deserialize)]
struct Say {
    #[serde(deserialize_with = "parsed")]
    id: LineId,
    text: String,
}

#[derive(Deserialize)]
struct Tick {
    version: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Skip {
    #[serde(deserialize_with = "parsed")]
    turn_id: TurnId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kick {
    #[serde(deserialize_with = "parsed")]
    player_id: PlayerId,
}

fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(deserializer: D) -> Result<T, D::Error> {
    Cow::<str>::deserialize(deserializer)?.parse().map_err(Error::custom)
}

/// Reads a message. An error names the problem and echoes the message's ids.
#[expect(clippy::result_large_err, reason = "the refusal is sent as it is")]
pub fn decode(text: &str) -> Result<(ClientMessage, Echo), RefusedMessage> {
    let refuse = |problem: Problem, echo: Echo| RefusedMessage { problem, echo };
    if text.len() > MESSAGE_BYTES_MAX {
        let problem = MESSAGE_TOO_LARGE.detail(format!("at most {MESSAGE_BYTES_MAX} bytes"));
        return Err(refuse(problem, Echo::default()));
    }
    // Rejects arrays, which serde would accept for a struct.
    if !text.trim_start().starts_with('{') {
        return Err(refuse(INVALID_MESSAGE.detail("a message is a JSON object"), Echo::default()));
    }
    let echo = json_object::read::<Echo>(text.as_bytes());
    let echo = echo.map_err(|error| refuse(INVALID_MESSAGE.detail(error), Echo::default()))?;
    match read(echo.action.as_deref(), text) {
        Ok(message) => Ok((message, echo)),
        Err(problem) => Err(refuse(problem, echo)),
    }
}

fn read(action: Option<&str>, text: &str) -> Result<ClientMessage, Problem> {
    Ok(match action.ok_or_else(|| INVALID_MESSAGE.detail("`action` is needed, a text"))? {
        "hello" => match fields::<Hello>(text)?.protocol {
            PROTOCOL => ClientMessage::Hello,
            other => return Err(WRONG_PROTOCOL.detail(format!("this is version {PROTOCOL}, and not {other}"))),
        },
        "ping" => ClientMessage::Ping,
        "configure" => ClientMessage::Command(Command::Configure(fields::<Configure>(text)?.settings.check()?)),
        "ready" => ClientMessage::Command(Command::Ready(fields::<Ready>(text)?.ready)),
        "start" => ClientMessage::Command(Command::Start),
        "choose" => {
            let Choose { turn_id, option, word } = fields(text)?;
            let choice = match (option, word) {
                (Some(option), None) => Choice::Option(option),
                (None, Some(word)) => {
                    Choice::Word(Word::read(&word).map_err(|why| INVALID_WORD.detail(format!("`word` {why}")))?)
                }
                _ => return Err(INVALID_MESSAGE.detail("either `option` or `word` is needed")),
            };
            ClientMessage::Command(Command::Choose { turn: turn_id, choice })
        }
        "draw" => {
            let Draw { turn_id, seq, ops } = fields(text)?;
            ClientMessage::Draw { turn: turn_id, batch: BatchMessage { seq, ops }.try_into()? }
        }
        "save" => {
            let Save { turn_id, chunk, batches } = fields(text)?;
            let batches = batches.into_iter().map(Batch::try_from).collect::<Result<Vec<_>, _>>()?;
            check_chunk(chunk, &batches).map_err(|why| INVALID_DRAWING.detail(why))?;
            ClientMessage::Save { turn: turn_id, chunk, batches }
        }
        "catch-up" => {
            let CatchUp { turn_id, after } = fields(text)?;
            ClientMessage::CatchUp { turn: turn_id, after }
        }
        "react" => {
            let React { turn_id, reaction } = fields(text)?;
            ClientMessage::React { turn: turn_id, reaction }
        }
        "say" => {
            let Say { id, text } = fields(text)?;
            let text = Talk::new(&text).map_err(|why| INVALID_TEXT.detail(format!("`text` {why}")))?;
            ClientMessage::Command(Command::Say { id, text })
        }
        "tick" => ClientMessage::Command(Command::Tick { version: fields::<Tick>(text)?.version }),
        "skip" => ClientMessage::Command(Command::Skip { turn: fields::<Skip>(text)?.turn_id }),
        "kick" => ClientMessage::Command(Command::Kick { target: fields::<Kick>(text)?.player_id }),
        "leave" => ClientMessage::Command(Command::Leave),
        "share" => ClientMessage::Command(Command::Share(fields::<Share>(text)?.shared)),
        "rematch" => ClientMessage::Rematch,
        _ => return Err(UNKNOWN_ACTION),
    })
}

fn fields<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|error| INVALID_MESSAGE.detail(error))
}

impl ChosenSettings {
    fn check(self) -> Result<Settings, Problem> {
        fn within<T>(name: &str, number: i64, new: impl Fn(u16) -> Result<T, OutOfBounds>) -> Result<T, Problem> {
            // All bounds are far from 0 and `u16::MAX`, so a number that does not fit is out of
            // bounds too.
            let number = u16::try_from(number).unwrap_or(if number < 0 { 0 } else { u16::MAX });
            new(number).map_err(|why| INVALID_SETTINGS.detail(format!("`{name}` {why}")))
        }
        let scoring = self.scoring.as_deref().map_or(Some(Scoring::Speed), Scoring::with_name);
        let words = WORD_SOURCES.iter().find(|(_, name)| *name == self.words).map(|(source, _)| *source);
        Ok(Settings {
            time_limit: within("timeLimit", self.time_limit, TimeLimit::new)?,
            round_count: within("roundCount", self.round_count, RoundCount::new)?,
            player_count: within("playerCount", self.player_count, PlayerCount::new)?,
            hints: self.hints,
            words: words.ok_or_else(|| INVALID_SETTINGS.detail("`words` must be built-in, custom or both"))?,
            language: Language::with_code(&self.language)
                .ok_or_else(|| INVALID_SETTINGS.detail(format!("`language` must be one of {}", Language::codes())))?,
            scoring: scoring.ok_or_else(|| INVALID_SETTINGS.detail("`scoring` must be speed, equal or none"))?,
        })
    }
}
