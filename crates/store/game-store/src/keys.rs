//! How the keys of the game's table are spelled. Nothing outside of this module's siblings knows.

use domain::game::{ClientTag, GameId, LineId, PlayerId, TurnId};

pub(crate) use store_base::{Item, n, s};

pub(crate) const PARTITION_KEY: &str = "PK";
pub(crate) const SORT_KEY: &str = "SK";
pub(crate) const TTL: &str = "ttl";

/// What `GSI2PK` says of a public game that waits.
pub(crate) const WAITING: &str = "STATUS#waiting";
/// What `GSI2SK` begins with.
pub(crate) const CREATED_PREFIX: &str = "CREATED#";

pub(crate) const GAME_PREFIX: &str = "GAME#";

/// The public games that wait: `GSI2PK`, `GSI2SK`.
pub(crate) const ACTIVE_INDEX: &str = "GSI2-ActiveGameIndex";
/// A player's games: `GSI1PK`, `GSI1SK`.
pub(crate) const PLAYER_INDEX: &str = "GSI1-PlayerIndex";

pub(crate) const META: &str = "META";
pub(crate) const WORDS: &str = "WORDS";
pub(crate) const CONNECTION: &str = "CONNECTION";
pub(crate) const CONN: &str = "CONN";

/// Sorts right before `META`, so that one query has all that a message needs. Read from the end it
/// begins with the room and what the room hides: listeners come behind them, and displace nothing.
pub(crate) const LIVE_PREFIX: &str = "LIVE#";
pub(crate) const SECRET: &str = "LIVE#SECRET";
pub(crate) const LISTENER_PREFIX: &str = "LIVE#CONN#";
pub(crate) const LISTENER_PREFIX_END: &str = "LIVE#CONN$";

pub(crate) const TICKET: &str = "TICKET";

pub(crate) const CHAT_PREFIX: &str = "CHAT#";
/// The first text after all that begin with [`CHAT_PREFIX`]: `$` follows `#`.
pub(crate) const CHAT_PREFIX_END: &str = "CHAT$";
pub(crate) const PLAYER_PREFIX: &str = "PLAYER#";
pub(crate) const PLAYER_PREFIX_END: &str = "PLAYER$";
pub(crate) const STROKE_PREFIX: &str = "STROKE#";
pub(crate) const DRAWING_PREFIX: &str = "DRAWING#";
pub(crate) const SCORE_PREFIX: &str = "SCORE#";
pub(crate) const ROUND_PREFIX: &str = "ROUND#";
pub(crate) const ROUND_PREFIX_END: &str = "ROUND$";

/// How long a connection's items stay, seconds. API Gateway ends a connection after [2
/// hours](https://docs.aws.amazon.com/apigateway/latest/developerguide/limits.html#apigateway-execution-service-websocket-limits-table);
/// the design says a day.
pub(crate) const CONNECTION_TTL_S: u64 = 24 * 60 * 60;

/// How long the items of a connection stay that has not said hello, seconds: longer than its ticket
/// is good, and than API Gateway lets it be silent, which is 10 minutes.
pub(crate) const SILENT_TTL_S: u64 = 15 * 60;

/// How long a game stays that nobody has come to, seconds.
pub(crate) const UNVISITED_TTL_S: u64 = 60 * 60;

/// How long a game's items stay after its last change, seconds.
pub(crate) const GAME_TTL_S: u64 = 7 * 24 * 60 * 60;

/// How long stay the items that are not written again when their game is finished, seconds: a day
/// longer, which is longer than a game takes.
pub(crate) const ARCHIVE_TTL_S: u64 = GAME_TTL_S + 24 * 60 * 60;

pub(crate) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([(PARTITION_KEY.to_owned(), s(partition)), (SORT_KEY.to_owned(), s(sort))])
}

pub(crate) fn game(game_id: GameId) -> String {
    format!("{GAME_PREFIX}{game_id}")
}

/// The partition of a player's connection, and the sort key of a player in a game, and `GSI1PK`.
pub(crate) fn player(player_id: PlayerId) -> String {
    format!("{PLAYER_PREFIX}{player_id}")
}

pub(crate) fn connection(connection_id: &str) -> String {
    format!("CONN#{connection_id}")
}

pub(crate) fn listener(slot: &str) -> String {
    format!("{LISTENER_PREFIX}{slot}")
}

pub(crate) fn ticket(ticket_id: &str) -> String {
    format!("TICKET#{ticket_id}")
}

/// What a client address has taken.
pub(crate) fn client(tag: ClientTag) -> String {
    format!("CLIENT#{:08x}", tag.0)
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

pub(crate) fn drawing(turn_id: TurnId) -> String {
    format!("{DRAWING_PREFIX}{turn_id}")
}

pub(crate) fn round(number: u8) -> String {
    format!("{ROUND_PREFIX}{number}")
}

pub(crate) fn score(turn_id: TurnId, player_id: PlayerId) -> String {
    format!("{SCORE_PREFIX}{turn_id}#{player_id}")
}

/// Epoch seconds, as TTL wants them, `seconds` after a moment in milliseconds.
pub(crate) fn expires(now_ms: u64, seconds: u64) -> u64 {
    now_ms / 1_000 + seconds
}
