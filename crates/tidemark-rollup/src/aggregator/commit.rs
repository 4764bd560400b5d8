//! Commits what a batch adds: to the statistics, or to the buffer of its shard, which the end of a
//! window adds to the statistics.

use backon::Retryable;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::{Aggregator, CHECKPOINT_TRIES_MAX, with_deadline};
use crate::SequenceNumber;
use crate::additions::Additions;
use crate::chunk::TRANSACTION_STATS_MAX;
use crate::empty;
use crate::error::StoreError;
use crate::layout::Layout;
use crate::report::AggregateError;
use crate::shard::{Checkpoint, Commit, CommitError, Shard};
use crate::table::patient_backoff;

/// How long a buffer must be untouched before another shard adds it to the statistics. Longer than
/// the longest tumbling window, 15 minutes, so that a shard in use keeps its own.
const IDLE_BUFFER: SignedDuration = SignedDuration::from_mins(20);

impl<T> Aggregator<T> {
    /// Commits additions in the layout. A buffer never has more statistics than one transaction can
    /// write.
    pub(super) async fn add(
        &self,
        shard: &Shard,
        reached: &Checkpoint,
        to: Option<SequenceNumber>,
        additions: Additions,
        now: Timestamp,
        deadline: Instant,
    ) -> Result<Checkpoint, CommitError> {
        let together = reached.buffer.clone().plus(additions.clone());
        let write = |read: Checkpoint, to, written: Additions, buffer| async move {
            self.commit(shard, &read, to, (&written, buffer), now, deadline).await
        };
        let (reached, to) = self.rules.start((&self.table, &self.rollup.name, shard), reached.clone(), to, now).await?;
        if together.0.len() > TRANSACTION_STATS_MAX {
            let flushed = write(reached.clone(), None, reached.buffer.clone(), Additions::default()).await?;
            return write(flushed, to, additions, Additions::default()).await;
        }
        if self.layout == Layout::Buffers && together.fits_buffer() {
            return write(reached, to, Additions::default(), together).await;
        }
        write(reached, to, together, Additions::default()).await
    }

    /// Adds the buffer of the shard to the statistics, and buffers that other shards have left.
    pub(super) async fn flush_all(
        &self,
        shard: &Shard,
        now: Timestamp,
        deadline: Instant,
    ) -> Result<(), AggregateError> {
        let name = &self.rollup.name;
        self.flush(shard, now, deadline).await?;
        let idle = || shard.idle_buffers(&self.table, name, IDLE_BUFFER, now);
        let idle = with_deadline(deadline, idle.retry(patient_backoff()).when(StoreError::is_transient)).await?;
        for shard in idle {
            self.flush(&shard, now, deadline).await?;
        }
        Ok(())
    }

    async fn flush(&self, shard: &Shard, now: Timestamp, deadline: Instant) -> Result<(), AggregateError> {
        let name = &self.rollup.name;
        for _ in 0..CHECKPOINT_TRIES_MAX {
            let read = shard.checkpoint(&self.table, &self.rollup.name).await?;
            if read.buffer.0.is_empty() {
                return Ok(());
            }
            let read = self.rules.unflushed((&self.table, name, shard), read, now).await;
            match self.commit(shard, &read, None, (&read.buffer, Additions::default()), now, deadline).await {
                Ok(_) => return Ok(()),
                Err(CommitError::CheckpointMoved) => {}
                Err(CommitError::Store(error)) => return Err(error.into()),
            }
        }
        Err(AggregateError::Contended(CHECKPOINT_TRIES_MAX))
    }

    /// Adds to the statistics, moves the checkpoint and keeps the buffer. Then removes statistics
    /// that are left without items; zeros that stay because of a failure are right.
    async fn commit(
        &self,
        shard: &Shard,
        read: &Checkpoint,
        to: Option<SequenceNumber>,
        (written, buffer): (&Additions, Additions),
        now: Timestamp,
        deadline: Instant,
    ) -> Result<Checkpoint, CommitError> {
        let commit = || {
            let commit = Commit { to, written, buffer: buffer.clone(), also: None };
            shard.commit(&self.table, &self.rollup.name, read, commit, now)
        };
        let commit = commit.retry(patient_backoff()).when(CommitError::is_transient);
        let next = with_deadline(deadline, commit).await?;
        if let Err(error) = with_deadline(deadline, empty::remove(&self.rollup, &self.table, written)).await {
            tracing::warn!(%error, "an empty statistic could not be removed");
        }
        Ok(next)
    }
}
