//! The stream that a mapping reads: its shards, and the records of each.

use async_trait::async_trait;
use serde_json::Value;

/// A stream of a service.
#[async_trait]
pub trait StreamSource: std::fmt::Debug + Send + Sync {
    /// The service's name in events and in permissions.
    fn kind(&self) -> StreamKind;

    /// All shards that are not trimmed.
    async fn shards(&self) -> Result<Vec<Shard>, ReadError>;

    /// An iterator of a shard after this sequence number, or at the oldest record.
    async fn iterator(&self, shard_id: &str, after: Option<&str>) -> Result<String, ReadError>;

    /// The records at an iterator.
    async fn page(&self, shard_id: &str, iterator: &str) -> Result<Page, ReadError>;
}

/// The service of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// DynamoDB Streams.
    DynamoDb,
    /// Kinesis Data Streams.
    Kinesis,
}

/// A shard of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// Its id.
    pub id: String,
    /// The shards that it continues.
    pub parents: Vec<String>,
    /// The shard takes no more records.
    pub closed: bool,
    /// The sequence number before its first record, if the stream accepts it as a position.
    pub before: Option<String>,
}

/// Records of a shard, in its order.
#[derive(Debug)]
pub struct Page {
    /// The records, possibly none.
    pub records: Vec<SourceRecord>,
    /// The iterator of the next page; `None` at the end of a closed shard.
    pub next: Option<String>,
}

/// A record of a stream.
#[derive(Debug)]
pub struct SourceRecord {
    /// Its sequence number.
    pub sequence_number: String,
    /// When it was written, milliseconds since the epoch.
    pub created_ms: i64,
    /// The record in the format of Lambda's events.
    pub event: Value,
    /// The form to which filters apply, if it differs from the event.
    pub filtered: Option<Value>,
}

/// Why a stream cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The stream has discarded the records at this position.
    #[error("the records at this position were trimmed")]
    Trimmed,
    /// The iterator is too old, or of an earlier run of the engine.
    #[error("the iterator has expired")]
    Expired,
    /// The service does not answer, or refuses.
    #[error("{0}")]
    Other(String),
}
