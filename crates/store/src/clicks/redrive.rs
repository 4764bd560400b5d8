//! Redrives quarantined clicks: counts them, each at most once.
//!
//! A redrive counts the click that is in the table now, by the current rules. The record only tells
//! which click it is. Each click has a checkpoint of its own. The transaction that counts the click
//! creates this checkpoint, so no second one can count it.

use backon::Retryable;
use domain::clicks::{SequenceNumber, StatDelta, StreamClick, chunks};
use jiff::Timestamp;

use super::checkpoints::{Checkpoints, CommitError, ShardCheckpoint};
use super::first_seen::{FirstSeenCache, FirstSeenRecords};
use super::image::ClickImage;
use super::keys::key;
use super::quarantine::{Quarantine, QuarantineEnding, QuarantinedRecord};
use crate::{StoreError, Table, patient_backoff};

/// The result of a redrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedriveOutcome {
    /// The record is settled, now or before.
    Ended(QuarantineEnding),
    /// The record stays, since its click still cannot be read. The reason, as a stable code and for
    /// people.
    Unreadable(&'static str, String),
}

/// Redrives quarantined clicks. Its requests are `GetItem`, `BatchGetItem`, and `UpdateItem` of
/// first-seen records, statistics, checkpoints and the quarantine, alone and in
/// `TransactWriteItems`.
#[derive(Debug, Clone)]
pub struct Redriver {
    table: Table,
    checkpoints: Checkpoints,
    first_seen_records: FirstSeenRecords,
    quarantine: Quarantine,
}

impl Redriver {
    /// A redriver for the quarantine in `table`.
    pub fn new(table: &Table) -> Self {
        Self {
            checkpoints: Checkpoints::new(table),
            first_seen_records: FirstSeenRecords::new(table),
            quarantine: Quarantine::new(table),
            table: table.clone(),
        }
    }

    /// Counts the click of a record, unless it has been counted.
    pub async fn redrive(&self, record: &QuarantinedRecord, now: Timestamp) -> Result<RedriveOutcome, StoreError> {
        (|| self.try_once(record, now)).retry(patient_backoff()).when(StoreError::is_transient).await
    }

    /// Settles a record so that its click will never be counted from the quarantine. For clicks
    /// that were put again and counted from the stream.
    pub async fn dismiss(&self, record: &QuarantinedRecord, now: Timestamp) -> Result<RedriveOutcome, StoreError> {
        let end = || async {
            match record.click_key() {
                Some(click) => {
                    self.end(
                        record,
                        &ShardCheckpoint::redrive(&click),
                        &StatDelta::default(),
                        QuarantineEnding::Dismissed,
                        now,
                    )
                    .await
                }
                None => self
                    .quarantine
                    .end(&record.id, QuarantineEnding::Dismissed, now)
                    .await
                    .map(|()| RedriveOutcome::Ended(QuarantineEnding::Dismissed)),
            }
        };
        end.retry(patient_backoff()).when(StoreError::is_transient).await
    }

    async fn try_once(&self, record: &QuarantinedRecord, now: Timestamp) -> Result<RedriveOutcome, StoreError> {
        if let Some(ending) = record.ending {
            return Ok(RedriveOutcome::Ended(ending));
        }
        let Some(click_key) = record.click_key() else {
            return Ok(RedriveOutcome::Unreadable(
                "no-key",
                "the record does not contain the click's userId and createDateTime".to_owned(),
            ));
        };
        let shard = ShardCheckpoint::redrive(&click_key);
        let (user_id, time) = &click_key;
        let request = self.table.get_item(key(user_id, time));
        let Some(item) = request.consistent_read(true).send().await?.item else {
            return self.end(record, &shard, &StatDelta::default(), QuarantineEnding::Gone, now).await;
        };
        match ClickImage::from(&item).click(SequenceNumber::ZERO) {
            Ok(Some(click)) => {
                let delta = self.record_first_seen(&shard, click).await?;
                self.end(record, &shard, &delta, QuarantineEnding::Counted, now).await
            }
            Ok(None) => {
                Ok(RedriveOutcome::Unreadable("record-sort", "recordSort does not begin with CLICK#".to_owned()))
            }
            Err(why) => Ok(RedriveOutcome::Unreadable(why.code(), why.to_string())),
        }
    }

    /// Writes the first-seen records like the aggregator, for a batch of one click and a checkpoint
    /// that has counted nothing.
    async fn record_first_seen(
        &self,
        shard: &ShardCheckpoint,
        click: StreamClick<'_>,
    ) -> Result<StatDelta, StoreError> {
        let first = SequenceNumber::after(None);
        let mut delta = StatDelta::default();
        for chunk in chunks([StreamClick { sequence_number: first, ..click }], first) {
            let visits_first_seen =
                self.first_seen_records.record(&mut FirstSeenCache::default(), shard.id(), None, &chunk.visits).await?;
            delta = chunk.delta(shard.id(), None, &visits_first_seen);
        }
        Ok(delta)
    }

    /// Counts and creates the checkpoint in one transaction, or finds that the checkpoint exists.
    async fn end(
        &self,
        record: &QuarantinedRecord,
        shard: &ShardCheckpoint,
        delta: &StatDelta,
        ending: QuarantineEnding,
        now: Timestamp,
    ) -> Result<RedriveOutcome, StoreError> {
        let settle = self.quarantine.ending(&record.id, ending, now);
        match self.checkpoints.commit_with(shard, None, SequenceNumber::after(None), delta, Some(settle), now).await {
            Ok(()) => Ok(RedriveOutcome::Ended(ending)),
            Err(CommitError::Store(error)) => Err(error),
            // The checkpoint was created by another redrive, by an earlier try of this one, or for
            // another record of the same click.
            Err(CommitError::CheckpointMoved) => {
                let ended = self.quarantine.get(&record.id).await?.and_then(|record| record.ending);
                if let Some(ending) = ended {
                    return Ok(RedriveOutcome::Ended(ending));
                }
                self.quarantine.end(&record.id, QuarantineEnding::Duplicate, now).await?;
                Ok(RedriveOutcome::Ended(QuarantineEnding::Duplicate))
            }
        }
    }
}
