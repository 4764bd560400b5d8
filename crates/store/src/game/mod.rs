//! The game's table: PK `PK`, SK `SK`, indexes `GSI1-PlayerIndex` and `GSI2-ActiveGameIndex`, TTL `ttl`.
//!
//! | item | `PK` | `SK` | written by |
//! |---|---|---|---|
//! | room: who plays, whose turn, until when; no answer before the reveal | `GAME#<game>` | `META` | whoever moves the game, on its version |
//! | answer: options, word, order of hints, the seed of all chance | `GAME#<game>` | `LIVE#ANSWER` | together with the room |
//! | listener: who gets the game's messages | `GAME#<game>` | `LIVE#CONN#<connection>` | with the next two |
//! | whose a connection is | `CONN#<connection>` | `CONN` | `$connect`, `$disconnect` |
//! | which connection a player has | `PLAYER#<player>` | `CONNECTION` | `$connect`, `$disconnect` |
//! | a seat; in `GSI1-PlayerIndex` | `GAME#<game>` | `PLAYER#<player>` | together with the room |
//! | words that a game brought along | `GAME#<game>` | `WORDS` | once |
//! | line of the chat | `GAME#<game>` | `CHAT#<time>#<line>` | once |
//! | some batches of a drawing, compressed | `GAME#<game>` | `STROKE#<turn>#<chunk>` | once |
//! | a finished turn's drawing, compressed | `GAME#<game>` | `DRAWING#<turn>` | the stream's reader |
//! | a round's turns: who drew what, who guessed it | `GAME#<game>` | `ROUND#<round>` | the stream's reader |
//! | an award | `GAME#<game>` | `SCORE#<turn>#<player>` | the stream's reader |
//!
//! `LIVE#` sorts right before `META`, with nothing between: one query has all that a message needs. A public game that waits has
//! `GSI2PK` and `GSI2SK`, and loses them when it begins.

mod archive;
mod chat;
mod connections;
mod drawings;
mod gzip;
mod image;
mod keys;
mod lobby;
mod room;
mod rounds;
mod rows;
mod strokes;

pub use archive::{Archive, CHAT_LINES_MAX};
pub use chat::{Chat, ChatPage, ChatPosition, StoredLine};
pub use connections::{Connection, Connections, Listener, NewConnection, Role, may_look_on, spectators};
pub use drawings::{DRAWING_BYTES_MAX, Drawing, Drawings};
pub use image::{GameChange, GameImage};
pub use lobby::{FinishedGame, GAMES_MAX, HistoryPosition, Lobby, LobbyPosition};
pub use room::{Freshness, Live, Persisted, Rooms};
pub use rounds::{EndedTurn, PlayedAward, PlayedTurn, Round, RoundScore, Rounds};
pub use strokes::{Chunk, PutChunk, Strokes};

/// Opens the connection to DynamoDB with the smallest of reads, so that the first request does not pay for the handshake.
pub async fn connect(client: &aws_sdk_dynamodb::Client, table: &str) -> Result<(), crate::StoreError> {
    let nobody = keys::key("CONN#", keys::CONN);
    client.get_item().table_name(table).set_key(Some(nobody)).send().await?;
    Ok(())
}
