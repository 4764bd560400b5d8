//! The journal's table: PK `PK`, SK `SK`, TTL `ttl`.
//!
//! | item | `PK` | `SK` | attributes |
//! |---|---|---|---|
//! | entry | `FEED#<stream>#<UTC day>#<shard>` | its id, a UUIDv7 | `message`, `attributes`, `ttl` where entries expire |
//! | day of a stream: how many shards it has | `FEEDDAYS#<stream>` | `<UTC day>` | `shards`; `counts`, each number that it has had |
//!
//! An entry's day is the one in its id, and its shard a hash of the id. Days are listed before their first entry is stored, and never expire: they are
//! some 80 bytes each, and a reader asks for none that lies before what its stream keeps.

mod keys;
mod reader;
mod writer;

pub use keys::JournalShards;
pub use reader::{JournalPosition, JournalReader, QUERIES_MAX};
pub use writer::{AppendOutcome, Journal};

/// Opens the connection to DynamoDB with the smallest of reads, so that the first request does not pay for the handshake.
pub async fn connect(table: &crate::Table) -> Result<(), crate::StoreError> {
    let nothing = keys::key(keys::days(&domain::journal::JournalStream::suite()), "connect");
    table.connect(nothing).await
}
