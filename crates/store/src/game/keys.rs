//! How the keys of the game's table are spelled. Nothing outside of this module's siblings knows.

use domain::game::{GameId, LineId, PlayerId, TurnId};

pub(crate) use crate::item::{Item, n, s};

pub(crate) const PARTITION_KEY: &str = "PK";
pub(crate) const SORT_KEY: &str = "SK";
pub(crate) const TTL: &str = "ttl";

/// What `GSI2PK` says of a public game that waits.
pub(crate) const WAITING: &str = "STATUS#waiting";
/// What `GSI2SK` begins with.
pub(crate) const CREATED_PREFIX: &str = "CREATED#";

pub(crate) const META: &str = "META";
pub(crate) const WORDS: &str = "WORDS";
pub(crate) const CONNECTION: &str = "CONNECTION";
pub(crate) const CONN: &str = "CONN";

/// Sorts right before `META`, so that one query has all that a message needs: answer, listeners, room.
pub(crate) const LIVE_PREFIX: &str = "LIVE#";
pub(crate) const ANSWER: &str = "LIVE#ANSWER";
pub(crate) const LISTENER_PREFIX: &str = "LIVE#CONN#";

pub(crate) const CHAT_PREFIX: &str = "CHAT#";
/// The first text after all that begin with [`CHAT_PREFIX`]: `$` follows `#`.
pub(crate) const CHAT_PREFIX_END: &str = "CHAT$";
pub(crate) const PLAYER_PREFIX: &str = "PLAYER#";
pub(crate) const STROKE_PREFIX: &str = "STROKE#";

/// How long a connection's items stay, seconds. API Gateway ends a connection after
/// [2 hours](https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html#apigateway-execution-service-websocket-limits-table);
/// the design says a day.
pub(crate) const CONNECTION_TTL_S: u64 = 24 * 60 * 60;

/// How long a game's items stay after its last change, seconds.
pub(crate) const GAME_TTL_S: u64 = 7 * 24 * 60 * 60;

pub(crate) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([(PARTITION_KEY.to_owned(), s(partition)), (SORT_KEY.to_owned(), s(sort))])
}

pub(crate) fn game(game_id: GameId) -> String {
    format!("GAME#{game_id}")
}

/// The partition of a player's connection, and the sort key of a player in a game, and `GSI1PK`.
pub(crate) fn player(player_id: PlayerId) -> String {
    format!("{PLAYER_PREFIX}{player_id}")
}

pub(crate) fn connection(connection_id: &str) -> String {
    format!("CONN#{connection_id}")
}

pub(crate) fn listener(connection_id: &str) -> String {
    format!("{LISTENER_PREFIX}{connection_id}")
}

/// Thirteen digits sort as numbers do until the year 2286.
pub(crate) fn chat(time_ms: u64, line_id: LineId) -> String {
    format!("{CHAT_PREFIX}{time_ms:013}#{line_id}")
}

pub(crate) fn strokes_of(turn_id: TurnId) -> String {
    format!("{STROKE_PREFIX}{turn_id}#")
}

pub(crate) fn strokes(turn_id: TurnId, chunk: u16) -> String {
    format!("{STROKE_PREFIX}{turn_id}#{chunk:04}")
}

/// Epoch seconds, as TTL wants them, `seconds` after a moment in milliseconds.
pub(crate) fn expires(now_ms: u64, seconds: u64) -> u64 {
    now_ms / 1_000 + seconds
}
