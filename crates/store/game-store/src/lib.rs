//! The game's table: PK `PK`, SK `SK`, indexes `GSI1-PlayerIndex` and `GSI2-ActiveGameIndex`, TTL
//! `ttl`.
//!
//! | item | `PK` | `SK` | written by |
//! |---|---|---|---|
//! | room: who plays, whose turn, until when; no answer before the reveal | `GAME#<game>` | `META` | whoever moves the game, on its version |
//! | secret: options, word, order of hints, the seed of all chance | `GAME#<game>` | `LIVE#SECRET` | together with the room |
//! | listener: who gets the game's messages | `GAME#<game>` | `LIVE#CONN#<slot>` | hello, `$disconnect` |
//! | whose a connection is | `CONN#<connection>` | `CONN` | `$connect`, hello, `$disconnect` |
//! | which connection a player has; after its end, the limits that it left | `PLAYER#<player>` | `CONNECTION` | hello, `$disconnect` |
//! | that a ticket has been used | `TICKET#<ticket>` | `TICKET` | `$connect` |
//! | how many games and seats a client address has taken | `CLIENT#<tag>` | `GAMES`, `SEATS` | the HTTP API |
//! | a seat; in `GSI1-PlayerIndex` | `GAME#<game>` | `PLAYER#<player>` | together with the room |
//! | words that a game brought along | `GAME#<game>` | `WORDS` | once |
//! | line of the chat | `GAME#<game>` | `CHAT#<time>#<line>` | once |
//! | some batches of a drawing, compressed | `GAME#<game>` | `STROKE#<turn>#<chunk>` | once |
//! | a finished turn's drawing, compressed | `GAME#<game>` | `DRAWING#<turn>` | the stream's reader |
//! | a round's turns: who drew what, who guessed it | `GAME#<game>` | `ROUND#<round>` | the stream's reader |
//! | an award | `GAME#<game>` | `SCORE#<turn>#<player>` | the stream's reader |
//!
//! `LIVE#` sorts right before `META`, with nothing between: one query has all that a message needs.
//! A public game that waits, with somebody there, has `GSI2PK` and `GSI2SK`, and loses them when it
//! begins or is deserted. [`PARTITION_BOUNDS`] says how many items of each kind a game may have.

mod archive;
mod chat;
mod client_limits;
mod connections;
mod drawings;
mod gzip;
mod image;
mod keys;
mod listeners;
mod lobby;
mod room;
mod rounds;
mod rows;
mod strokes;

pub use archive::{Archive, CHAT_LINES_MAX};
pub use chat::{Chat, ChatPosition, StoredLine};
pub use client_limits::{Allowance, ClientLimits};
pub use connections::{Connection, Connections, GreetOutcome, NewConnection};
pub use drawings::{DRAWING_BYTES_MAX, Drawing, Drawings};
pub use image::{GameChange, GameImage};
pub use listeners::{LISTENERS_MAX, Listener, MessageKind, Role, may_spectate, spectators};
pub use lobby::{FinishedGame, GAMES_MAX, HistoryPosition, Lobby, LobbyPosition};
pub use room::{Freshness, Live, PersistOutcome, Rooms};
pub use rounds::{EndedTurn, PlayedAward, PlayedTurn, Round, RoundScore, Rounds};
pub use strokes::{Chunk, PutChunkOutcome, Strokes};

use domain::game::{PlayerCount, RoundCount, SOLVERS_MAX, TURNS_PER_ROUND_MAX, drawing};

/// The item kinds of a game's partition, by the beginning of their sort keys, and how many of each
/// there may be. Nothing in a partition grows without an end.
///
/// The chat has some lines more until `game-archiver` has seen the newest one, at the pace of those
/// who talk.
pub const PARTITION_BOUNDS: [(&str, usize); 10] = [
    (keys::META, 1),
    (keys::SECRET, 1),
    (keys::LISTENER_PREFIX, LISTENERS_MAX),
    (keys::PLAYER_PREFIX, PlayerCount::MOST as usize),
    (keys::WORDS, 1),
    (keys::CHAT_PREFIX, CHAT_LINES_MAX),
    (keys::STROKE_PREFIX, TURNS_MAX * drawing::CHUNKS_MAX as usize),
    (keys::DRAWING_PREFIX, TURNS_MAX),
    (keys::ROUND_PREFIX, RoundCount::MOST as usize),
    // Those who guessed, and the drawer.
    (keys::SCORE_PREFIX, TURNS_MAX * (SOLVERS_MAX + 1)),
];

/// The turns of the longest game.
const TURNS_MAX: usize = RoundCount::MOST as usize * TURNS_PER_ROUND_MAX as usize;

/// Opens the connection to DynamoDB with the smallest of reads, so that the first request does not
/// pay for the handshake.
pub async fn connect(table: &store_base::Table) -> Result<(), store_base::StoreError> {
    let nobody = keys::key("CONN#", keys::CONN);
    table.connect(nobody).await
}
