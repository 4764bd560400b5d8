//! Counting clicks from the quarantine, once.
//!
//! What counts is the click as it lies in the table now, by the rules of now: the record tells which. Each click has a checkpoint of its own,
//! with room for one: the transaction that counts the click makes the checkpoint, so there is no second one.

use backon::Retryable;
use domain::clicks::{SequenceNumber, StatDelta, StreamClick, chunks};
use jiff::Timestamp;

use super::checkpoints::{Checkpoints, CommitError, ShardCheckpoint};
use super::first_seen::{FirstSeenCache, FirstSeenRecords};
use super::image::ClickImage;
use super::keys::key;
use super::quarantine::{Quarantine, QuarantineEnding, QuarantinedRecord};
use super::recount::in_no_shard;
use crate::{StoreError, Table, patient_backoff};

/// What became of a record that was redriven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedriveOutcome {
    /// It is done with, now or at some earlier time.
    Ended(QuarantineEnding),
    /// It stays: its click still cannot be read. A stable code, and the same for people.
    Unreadable(&'static str, String),
}

/// Redrives. Its requests are `GetItem`, `BatchGetItem`, and `UpdateItem` of first-seen records, statistics, checkpoints and the quarantine, alone and in `TransactWriteItems`.
#[derive(Debug, Clone)]
pub struct Redriver {
    table: Table,
    checkpoints: Checkpoints,
    first_seen_records: FirstSeenRecords,
    quarantine: Quarantine,
}

impl Redriver {
    /// Redrives what is in quarantine in `table`.
    pub fn new(table: &Table) -> Self {
        Self {
            checkpoints: Checkpoints::new(table),
            first_seen_records: FirstSeenRecords::new(table),
            quarantine: Quarantine::new(table),
            table: table.clone(),
        }
    }

    /// Counts the click that a record tells of, unless that has been done.
    pub async fn redrive(&self, kept: &QuarantinedRecord, now: Timestamp) -> Result<RedriveOutcome, StoreError> {
        (|| self.try_once(kept, now)).retry(patient_backoff()).when(StoreError::is_transient).await
    }

    /// Has a record's click count no more, whatever becomes of the record: for clicks that somebody has put anew, and that the stream has brought.
    pub async fn dismiss(&self, kept: &QuarantinedRecord, now: Timestamp) -> Result<RedriveOutcome, StoreError> {
        let end = || async {
            match kept.click_key() {
                Some(click) => {
                    self.end(
                        kept,
                        &ShardCheckpoint::redrive(&click),
                        &StatDelta::default(),
                        QuarantineEnding::Dismissed,
                        now,
                    )
                    .await
                }
                None => self
                    .quarantine
                    .end(&kept.id, QuarantineEnding::Dismissed, now)
                    .await
                    .map(|()| RedriveOutcome::Ended(QuarantineEnding::Dismissed)),
            }
        };
        end.retry(patient_backoff()).when(StoreError::is_transient).await
    }

    async fn try_once(&self, kept: &QuarantinedRecord, now: Timestamp) -> Result<RedriveOutcome, StoreError> {
        if let Some(ending) = kept.ending {
            return Ok(RedriveOutcome::Ended(ending));
        }
        let Some(click_key) = kept.click_key() else {
            return Ok(RedriveOutcome::Unreadable(
                "no-key",
                "the record does not tell the click's userId and createDateTime".to_owned(),
            ));
        };
        let shard = ShardCheckpoint::redrive(&click_key);
        let (user_id, time) = &click_key;
        let request = self.table.get_item(key(user_id, time));
        let Some(item) = request.consistent_read(true).send().await?.item else {
            return self.end(kept, &shard, &StatDelta::default(), QuarantineEnding::Gone, now).await;
        };
        match ClickImage::from(&item).click(in_no_shard()) {
            Ok(Some(click)) => {
                let delta = self.record_first_seen(&shard, click).await?;
                self.end(kept, &shard, &delta, QuarantineEnding::Counted, now).await
            }
            Ok(None) => {
                Ok(RedriveOutcome::Unreadable("record-sort", "recordSort does not begin with CLICK#".to_owned()))
            }
            Err(why) => Ok(RedriveOutcome::Unreadable(why.code(), why.to_string())),
        }
    }

    /// As the aggregator does for a batch, here for one of one record, in a checkpoint where nothing has been counted.
    async fn record_first_seen(
        &self,
        shard: &ShardCheckpoint,
        click: StreamClick<'_>,
    ) -> Result<StatDelta, StoreError> {
        let first = SequenceNumber::behind(None);
        let mut delta = StatDelta::default();
        for chunk in chunks([StreamClick { sequence_number: first, ..click }], first) {
            let standing =
                self.first_seen_records.record(&mut FirstSeenCache::default(), shard.id(), None, &chunk.visits).await?;
            delta = chunk.delta(shard.id(), None, &standing);
        }
        Ok(delta)
    }

    /// Counts and closes the checkpoint, or finds it closed.
    async fn end(
        &self,
        kept: &QuarantinedRecord,
        shard: &ShardCheckpoint,
        delta: &StatDelta,
        ending: QuarantineEnding,
        now: Timestamp,
    ) -> Result<RedriveOutcome, StoreError> {
        let note = self.quarantine.ending(&kept.id, ending, now);
        match self.checkpoints.commit_with(shard, None, SequenceNumber::behind(None), delta, Some(note), now).await {
            Ok(()) => Ok(RedriveOutcome::Ended(ending)),
            Err(CommitError::Store(error)) => Err(error),
            // By another redrive, by this one's earlier try, or from another record of the same click.
            Err(CommitError::CheckpointMoved) => {
                let ended = self.quarantine.get(&kept.id).await?.and_then(|kept| kept.ending);
                if let Some(ending) = ended {
                    return Ok(RedriveOutcome::Ended(ending));
                }
                self.quarantine.end(&kept.id, QuarantineEnding::Duplicate, now).await?;
                Ok(RedriveOutcome::Ended(QuarantineEnding::Duplicate))
            }
        }
    }
}
