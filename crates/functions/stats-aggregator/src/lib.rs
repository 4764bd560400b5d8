//! Keeps the statistics exact over a stream that delivers at least once.
//!
//! A batch takes four steps. The checkpoint says which records are already counted. The records
//! after it are added up in chunks. First-seen records are written for each chunk's visitors. One
//! transaction adds the chunk and moves the checkpoint. `docs/systems/clicks.md` explains the steps;
//! `domain::clicks` contains the rules.

mod batch;
mod count;

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use lambda_kit::stream::{StreamEvent, StreamReply};
use lambda_runtime::Diagnostic;
use metrics::{counter, histogram};
use serde_json::value::RawValue;
use store::StoreError;
use store::clicks::{NewQuarantinedRecord, ShardCheckpoint};

pub use count::Aggregator;

use batch::Batch;
use count::BatchOutcome;

/// The part of the invocation's time that is reserved for the reply.
const ANSWER_TIME: Duration = Duration::from_millis(500);

/// Why a batch was not counted. Lambda delivers it again.
#[derive(Debug, thiserror::Error)]
pub enum AggregateError {
    /// Exactness needs the shard's id, and the event names it only if the mapping has a tumbling
    /// window.
    #[error(
        "the event has no shardId: the event source mapping needs a tumbling window (TumblingWindowInSeconds), \
         and ParallelizationFactor 1; nothing was counted"
    )]
    NoShard,
    /// The event does not come from a DynamoDB stream.
    #[error("the event is not a batch of a DynamoDB stream: {0}")]
    NotABatch(#[from] serde_json::Error),
    /// DynamoDB failed before any part of the batch was counted.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The checkpoint moved at each attempt: several batches of the shard run at once.
    #[error(
        "another invocation moved the checkpoint at each of {0} attempts: does the mapping have a ParallelizationFactor above 1?"
    )]
    Contended(u32),
}

impl From<AggregateError> for Diagnostic {
    fn from(error: AggregateError) -> Self {
        let error_type = match error {
            AggregateError::NoShard => "no-shard",
            AggregateError::NotABatch(_) => "not-a-batch",
            AggregateError::Store(_) => "store",
            AggregateError::Contended(_) => "contended",
        };
        Self { error_type: error_type.to_owned(), error_message: error.to_string() }
    }
}

/// Counts one batch, given as its event's JSON, before `deadline`.
pub async fn handle(
    aggregator: &Aggregator,
    event: Box<RawValue>,
    deadline: SystemTime,
    now: Timestamp,
) -> Result<StreamReply, AggregateError> {
    let event: StreamEvent = serde_json::from_str(event.get())?;
    let shard = match (&event.event_source_arn, &event.shard_id) {
        (Some(stream), Some(shard)) => ShardCheckpoint::new(&**stream, &**shard),
        _ => return Err(AggregateError::NoShard),
    };
    let time_left = deadline.duration_since(SystemTime::now()).unwrap_or_default().saturating_sub(ANSWER_TIME);

    let records = batch::records(&event);
    let batch = Batch::of(&records);
    let counted = aggregator.count(&shard, &batch, now, time_left).await?;
    report(&shard, &event, &batch, &counted);
    Ok(StreamReply::new(&event, counted.failed_from.map(ToOwned::to_owned)))
}

/// One log line and the metrics of a batch.
fn report(shard: &ShardCheckpoint, event: &StreamEvent<'_>, batch: &Batch<'_>, counted: &BatchOutcome<'_>) {
    counter!("ClicksCounted").increment(counted.clicks);
    counter!("RecordsDuplicated").increment(counted.duplicates);
    counter!("FirstSeenRecorded").increment(counted.first_seen);
    counter!("FirstSeenElsewhere").increment(counted.first_seen_elsewhere);
    counter!("RecordsQuarantined").increment(counted.quarantined);
    let lag_ms = counted.lag.map(|lag| lag.as_secs_f64() * 1_000.0);
    if let Some(lag_ms) = lag_ms {
        histogram!("CountingLagMs").record(lag_ms);
    }
    tracing::info!(
        shard_id = shard.shard_id(),
        records = event.records.len(),
        clicks = counted.clicks,
        duplicates = counted.duplicates,
        ignored = batch.ignored,
        first_seen = counted.first_seen,
        first_seen_elsewhere = counted.first_seen_elsewhere,
        quarantined = counted.quarantined,
        lag_ms,
        failed_from = counted.failed_from,
    );
}

/// Logs a quarantined record for the operator.
fn log_quarantined(shard: &ShardCheckpoint, record: &NewQuarantinedRecord<'_>) {
    let NewQuarantinedRecord { sequence_number, reason, detail, .. } = record;
    tracing::error!(shard_id = shard.shard_id(), sequence_number, reason, detail, "a record is quarantined");
}
