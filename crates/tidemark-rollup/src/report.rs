//! What an aggregator says about a batch: a reply with figures, or an error.

use jiff::SignedDuration;

use crate::SequenceNumber;
use crate::declaration::Rollup;
use crate::error::StoreError;
use crate::event::Reply;
use crate::guard::CountRefusal;
use crate::table::Table;

/// Why a batch was not counted. Lambda delivers it again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AggregateError {
    /// Exactness needs the shard's id, and the event names it only if the mapping has a tumbling
    /// window.
    #[error(
        "the event has no shardId: the event source mapping needs a tumbling window (TumblingWindowInSeconds), \
         and ParallelizationFactor 1; nothing was counted"
    )]
    NoShard,
    /// A statistic would overwrite its key, or would expire.
    #[error(
        "a statistic has the attribute `{0}`, which is a key or the TTL attribute of the table: give the measure or the \
         constant another name; nothing was counted"
    )]
    ReservedAttribute(String),
    /// The event does not come from a DynamoDB stream.
    #[error("the event is not a batch of a DynamoDB stream: {0}")]
    NotABatch(#[from] serde_json::Error),
    /// A record does not have an image that its change needs.
    #[error("a record lacks an image: the stream needs StreamViewType NEW_AND_OLD_IMAGES; nothing was counted")]
    NoImages,
    /// The declaration or the stream would make right statistics wrong.
    #[error("{0}; nothing was counted")]
    Refused(#[from] CountRefusal),
    /// DynamoDB failed before any part of the batch was counted.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record lies between counted ones, but was not counted. The mapping delivers several batches
    /// of one shard at once, or its filters have changed since the record was delivered.
    #[error(
        "the record {0} lies between counted records, but was not delivered with them: the event source mapping needs \
         ParallelizationFactor 1, and filters that did not change since; nothing was counted"
    )]
    Interleaved(SequenceNumber),
    /// The checkpoint moved at each attempt: several batches of the shard run at once.
    #[error(
        "another invocation moved the checkpoint at each of {0} attempts: does the mapping have a ParallelizationFactor above 1?"
    )]
    Contended(u32),
}

impl AggregateError {
    pub(crate) fn check_attributes<T>(rollup: &Rollup<T>, table: &Table) -> Result<(), Self> {
        let [partition_key, sort_key] = table.key_names();
        let reserved = rollup.attribute_among(&[partition_key, sort_key, table.ttl_name()]);
        reserved.map_or(Ok(()), |name| Err(Self::ReservedAttribute(name)))
    }

    /// A stable name of the error, for example for Lambda's `errorType`.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoShard => "no-shard",
            Self::ReservedAttribute(_) => "reserved-attribute",
            Self::NotABatch(_) => "not-a-batch",
            Self::NoImages => "no-images",
            Self::Refused(_) => "refused",
            Self::Store(_) => "store",
            Self::Interleaved(_) => "interleaved",
            Self::Contended(_) => "contended",
        }
    }
}

/// What became of a batch.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The shard.
    pub shard_id: String,
    /// The records of the batch.
    pub records: usize,
    /// Records that changed statistics.
    pub counted: u64,
    /// Records that were counted before.
    pub duplicates: u64,
    /// Records that change no statistic.
    pub ignored: u64,
    /// Records that were put into quarantine.
    pub quarantined: u64,
    /// How long the first of the counted records had been in the table.
    pub lag: Option<SignedDuration>,
    /// The first record that must be delivered again.
    pub failed_from: Option<String>,
}

/// A reply, and what became of the batch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Handled {
    /// Return it from the function.
    pub reply: Reply,
    /// For logs and metrics.
    pub report: Report,
}
