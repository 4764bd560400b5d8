//! The journal's table: partition key `PK`, sort key `SK`, TTL attribute `ttl`.
//!
//! | item | `PK` | `SK` | attributes |
//! |---|---|---|---|
//! | entry | `FEED#<stream>#<UTC day>#<shard>` | its id, a UUIDv7 | `message`, `attributes`, and `ttl` if the stream's entries expire |
//! | day of a stream | `FEEDDAYS#<stream>` | `<UTC day>` | `shards`: its number of shards; `counts`: each number that it has had |
//!
//! The day of an entry is the one in its id. Its shard is a hash of the id. A day is listed before
//! its first entry is stored, and never expires. The list stays cheap: an item has about 80 bytes,
//! and a reader does not query days before the retention of its stream.

mod keys;
mod reader;
mod writer;

pub use keys::JournalShards;
pub use reader::{JournalPosition, JournalReader, QUERIES_MAX};
pub use writer::{AppendOutcome, Journal};

/// Opens the connection to DynamoDB with the smallest possible read, so that the first request does
/// not wait for the handshake.
pub async fn connect(table: &store_base::Table) -> Result<(), store_base::StoreError> {
    let nothing = keys::key(keys::days(&domain::journal::JournalStream::suite()), "connect");
    table.connect(nothing).await
}
