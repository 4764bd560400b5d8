//! Counts a batch: writes the first-seen records, then commits each chunk.

use std::time::Duration;

use backon::Retryable;
use domain::clicks::{Chunk, SequenceNumber, VisitFirstSeen, chunks};
use jiff::{SignedDuration, Timestamp};
use store::StoreError;
use store::clicks::{
    Checkpoints, CommitError, FirstSeenCache, FirstSeenRecords, Quarantine, ShardCheckpoint, StatLayout,
};
use store::{Table, patient_backoff};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::AggregateError;
use crate::batch::Batch;

/// How often a batch starts over because its checkpoint moved. A lost reply or a second delivery
/// causes one restart. More restarts mean that the mapping runs several batches of one shard at
/// once.
const CHECKPOINT_TRIES_MAX: u32 = 5;

/// Counts batches, and caches between them which first-seen records exist.
#[derive(Debug)]
pub struct Aggregator {
    checkpoints: Checkpoints,
    first_seen_records: FirstSeenRecords,
    quarantine: Quarantine,
    cache: Mutex<FirstSeenCache>,
}

/// The result of a batch.
#[derive(Debug, Default)]
pub(crate) struct BatchOutcome<'a> {
    /// The sum of the counted clicks' counts.
    pub(crate) clicks: u64,
    /// Clicks that were counted before.
    pub(crate) duplicates: u64,
    /// Visitors whose first-seen record of a day or month belongs to this shard.
    pub(crate) first_seen: u64,
    /// Visitors whose first-seen record belongs to another shard.
    pub(crate) first_seen_elsewhere: u64,
    /// Unreadable records that were put into quarantine.
    pub(crate) quarantined: u64,
    /// How long the oldest of the counted clicks had been in the table.
    pub(crate) lag: Option<SignedDuration>,
    /// The first record that must be delivered again.
    pub(crate) failed_from: Option<&'a str>,
}

impl Aggregator {
    /// Counts into `table`, in the given layout.
    pub fn new(table: &Table, layout: StatLayout) -> Self {
        Self {
            checkpoints: Checkpoints::new(table).in_layout(layout),
            first_seen_records: FirstSeenRecords::new(table),
            quarantine: Quarantine::new(table),
            cache: Mutex::default(),
        }
    }

    /// Counts the records that the shard has not counted yet.
    pub(crate) async fn count<'a>(
        &self,
        shard: &ShardCheckpoint,
        batch: &Batch<'a>,
        now: Timestamp,
        time: Duration,
    ) -> Result<BatchOutcome<'a>, AggregateError> {
        let mut counted = BatchOutcome::default();
        let Some(last) = batch.last.filter(|_| !(batch.clicks.is_empty() && batch.unreadable.is_empty())) else {
            self.quarantine_unreadable(shard, batch, None, now, &mut counted).await?;
            return Ok(counted);
        };
        let deadline = Instant::now() + time;
        for attempt in 0..CHECKPOINT_TRIES_MAX {
            let checkpoint = self.checkpoints.checkpoint(shard).await?;
            let is_new = |number: SequenceNumber| checkpoint.is_none_or(|checkpoint| number > checkpoint);
            if attempt == 0 {
                counted.duplicates = batch.clicks.iter().filter(|click| !is_new(click.sequence_number)).count() as u64;
                self.quarantine_unreadable(shard, batch, checkpoint, now, &mut counted).await?;
            }
            if batch.first_after(checkpoint).is_none() {
                return Ok(counted);
            }
            let new = batch.clicks.iter().copied().filter(|click| is_new(click.sequence_number));
            let mut reached = checkpoint;
            let outcome = self.count_chunks(shard, chunks(new, last), &mut reached, now, deadline, &mut counted).await;
            if reached != checkpoint {
                counted.lag = batch.lag(checkpoint, now);
            }
            match outcome {
                Ok(()) => return Ok(counted),
                Err(CommitError::CheckpointMoved) => {}
                Err(CommitError::Store(error)) if reached == checkpoint => return Err(error.into()),
                Err(CommitError::Store(error)) => {
                    // The earlier chunks are committed; only the rest must be delivered again.
                    tracing::error!(%error, "some chunks of the batch were counted; the rest is left for the next delivery");
                    counted.failed_from = batch.first_after(reached);
                    return Ok(counted);
                }
            }
        }
        Err(AggregateError::Contended(CHECKPOINT_TRIES_MAX))
    }

    async fn count_chunks(
        &self,
        shard: &ShardCheckpoint,
        chunks: Vec<Chunk<'_>>,
        reached: &mut Option<SequenceNumber>,
        now: Timestamp,
        deadline: Instant,
        counted: &mut BatchOutcome<'_>,
    ) -> Result<(), CommitError> {
        for chunk in chunks {
            let first_seen = (|| self.record_first_seen(shard, *reached, &chunk))
                .retry(patient_backoff())
                .when(StoreError::is_transient);
            let visits_first_seen = with_deadline(deadline, first_seen).await?;
            let delta = chunk.delta(shard.id(), *reached, &visits_first_seen);
            let commit = (|| self.checkpoints.commit(shard, *reached, chunk.through, &delta, now))
                .retry(patient_backoff())
                .when(|error| matches!(error, CommitError::Store(error) if error.is_transient()));
            with_deadline(deadline, commit).await?;
            *reached = Some(chunk.through);
            counted.clicks += delta.total_clicks;
            for first_seen in visits_first_seen
                .iter()
                .flat_map(|visits_first_seen| visits_first_seen.days.iter().chain([&visits_first_seen.month]))
                .flatten()
            {
                if first_seen.shard == shard.id() { counted.first_seen += 1 } else { counted.first_seen_elsewhere += 1 }
            }
        }
        Ok(())
    }

    async fn record_first_seen(
        &self,
        shard: &ShardCheckpoint,
        checkpoint: Option<SequenceNumber>,
        chunk: &Chunk<'_>,
    ) -> Result<Vec<VisitFirstSeen>, StoreError> {
        let mut cache = self.cache.lock().await;
        self.first_seen_records.record(&mut cache, shard.id(), checkpoint, &chunk.visits).await
    }

    /// Runs before the checkpoint moves past these records. A crash between the two then writes a
    /// record twice under one key; in the other order it would be lost.
    async fn quarantine_unreadable(
        &self,
        shard: &ShardCheckpoint,
        batch: &Batch<'_>,
        checkpoint: Option<SequenceNumber>,
        now: Timestamp,
        counted: &mut BatchOutcome<'_>,
    ) -> Result<(), StoreError> {
        for (number, record) in &batch.unreadable {
            if number.zip(checkpoint).is_some_and(|(number, checkpoint)| number <= checkpoint) {
                continue;
            }
            self.quarantine.put(shard, record, now).await?;
            counted.quarantined += 1;
            crate::log_quarantined(shard, record);
        }
        Ok(())
    }
}

/// Stops a step at the deadline, so that the reply can still report the counted chunks. A stopped
/// request may have taken effect; the next delivery finds out.
async fn with_deadline<T, E: From<StoreError>>(
    deadline: Instant,
    step: impl IntoFuture<Output = Result<T, E>>,
) -> Result<T, E> {
    let out_of_time = |_| Err(StoreError::Unavailable("the invocation has no time left".to_owned()).into());
    timeout_at(deadline, step.into_future()).await.unwrap_or_else(out_of_time)
}
