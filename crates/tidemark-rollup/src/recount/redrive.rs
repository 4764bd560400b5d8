//! Counts items whose records are in quarantine, each at most once.
//!
//! Only a rollup that keeps modifications needs this: otherwise the modification that mends an item
//! counts it, and a redrive settles its record. A redrive counts the item that is in the table now.
//! Each item has a checkpoint of its own. The transaction that counts the item creates this
//! checkpoint, so no second one can count it.

use std::collections::BTreeSet;

use backon::Retryable;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::SequenceNumber;
use crate::additions::{Additions, ItemKey};
use crate::aggregator::Aggregator;
use crate::batch::DecodeError;
use crate::chunk::chunks;
use crate::contribution::Change;
use crate::declaration::{Policy, Rollup};
use crate::distinct;
use crate::distinct::first_seen::FirstSeenRecords;
use crate::error::StoreError;
use crate::extremes::Extremes;
use crate::quarantine::{self, Ending, QuarantinedRecord};
use crate::shard::{Checkpoint, Commit, CommitError, OPERATOR, Shard, checkpoint_partition};
use crate::table::{Table, patient_backoff};

/// The result of a redrive.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedriveOutcome {
    /// The record is settled, now or before.
    Settled(Ending),
    /// The record keeps waiting, because its item still cannot be read.
    Unreadable(DecodeError),
}

/// The checkpoint of an item that is redriven from the quarantine.
pub(crate) fn shard((partition, sort): &ItemKey) -> Shard {
    let hash = Sha256::digest(format!("{}#{partition}#{sort}", partition.len()));
    Shard::new(OPERATOR, hash.iter().fold("redrive#".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

/// The items with a record in quarantine.
#[derive(Debug, Default)]
pub(crate) struct Quarantined {
    /// Those that no redrive has counted.
    pub(crate) waiting: BTreeSet<ItemKey>,
    /// The others.
    pub(crate) settled: BTreeSet<ItemKey>,
}

impl Quarantined {
    pub(crate) async fn read<T>(table: &Table, rollup: &Rollup<T>, items: &Table) -> Result<Self, StoreError> {
        let records = quarantine::list(table, &rollup.name).await?;
        let keys = records.iter().filter_map(|record| record.identity(items));
        let operator = table.partition(&checkpoint_partition(&rollup.name, OPERATOR), None).await?;
        let settled: BTreeSet<_> = operator.iter().filter_map(|item| Some(table.key_of(item)?.1)).collect();
        let (settled, waiting) = keys.partition(|key| settled.contains(shard(key).id()));
        Ok(Self { waiting, settled })
    }
}

impl<T> Aggregator<T> {
    /// Counts the item of a quarantined record as it is in `items` now, unless the record is
    /// settled. Only a rollup that [keeps](Policy::Keep) modifications has to redrive items: the
    /// others count an item when a modification makes it readable. Their records are settled if the
    /// item was modified and can be read, or is gone.
    pub async fn redrive(
        &self,
        record: &QuarantinedRecord,
        items: &Table,
        now: Timestamp,
    ) -> Result<RedriveOutcome, StoreError> {
        if let Some(ending) = record.ending {
            return Ok(RedriveOutcome::Settled(ending));
        }
        if let Some(ending) = record.ending {
            return Ok(RedriveOutcome::Settled(ending));
        }
        let Some(key) = record.identity(items) else {
            return Ok(unreadable("no-key", "the record does not contain the key of its item"));
        };
        let redrive = || async {
            match self.rollup.on_modify {
                Policy::Keep => self.try_redrive(record, &key, items, now).await,
                Policy::Retract => self.try_settle(record, items, now).await,
            }
        };
        redrive.retry(patient_backoff()).when(StoreError::is_transient).await
    }

    /// Settles a record without counting its item, unless the record is settled. No later redrive
    /// counts the item. For an item that was written again under another key, and for a record that
    /// needs no more attention.
    pub async fn dismiss(
        &self,
        record: &QuarantinedRecord,
        items: &Table,
        now: Timestamp,
    ) -> Result<Ending, StoreError> {
        if let Some(ending) = record.ending {
            return Ok(ending);
        }
        // A rollup that retracts modifications has no redrives that a checkpoint could stop.
        let key = record.identity(items).filter(|_| self.rollup.on_modify == Policy::Keep);
        let dismiss = || async {
            match &key {
                Some(key) => self.settle(record, key, Additions::default(), Ending::Dismissed, now).await,
                None => self.end(record, Ending::Dismissed, now).await,
            }
        };
        dismiss.retry(patient_backoff()).when(StoreError::is_transient).await
    }

    async fn try_redrive(
        &self,
        record: &QuarantinedRecord,
        key: &ItemKey,
        items: &Table,
        now: Timestamp,
    ) -> Result<RedriveOutcome, StoreError> {
        let item_keys = record.item_keys().unwrap_or_default();
        let Some(item) = items.get(item_keys).await? else {
            let ending = self.settle(record, key, Additions::default(), Ending::Gone, now).await?;
            return Ok(RedriveOutcome::Settled(ending));
        };
        let item = match self.read_item(item) {
            Ok(Some(item)) => item,
            Ok(None) => {
                return Ok(not_counted());
            }
            Err(why) => return Ok(RedriveOutcome::Unreadable(why)),
        };
        let number = SequenceNumber::after(None);
        let contributions = self.rollup.contributions(&Change::Insert(item));
        let mut additions = Additions::default();
        // The first-seen records are written like those of a shard that has counted nothing.
        for chunk in chunks(&self.rollup, [(number, &contributions)], number) {
            let items = distinct::items(&self.rollup, &chunk);
            let shard = self.redrive_shard(key).hash();
            let distinct = FirstSeenRecords::default().record(&self.table, shard, None, &items, self.rules).await?;
            Extremes::default().write(&self.table, &self.rollup, &chunk).await?;
            additions = additions.plus(Additions::of(&self.rollup, &chunk, &distinct));
        }
        Ok(RedriveOutcome::Settled(self.settle(record, key, additions, Ending::Counted, now).await?))
    }

    /// Settles a record whose item a modification has counted, or which is gone.
    async fn try_settle(
        &self,
        record: &QuarantinedRecord,
        items: &Table,
        now: Timestamp,
    ) -> Result<RedriveOutcome, StoreError> {
        if record.sequence_number.is_empty() {
            let why =
                "the record has no number, so its change was never counted: recount with a repair, then dismiss it";
            return Ok(unreadable("no-number", why));
        }
        let Some(item) = items.get(record.item_keys().unwrap_or_default()).await? else {
            return Ok(RedriveOutcome::Settled(self.end(record, Ending::Gone, now).await?));
        };
        let is_same = record.new_image().is_some_and(|image| image == item);
        match self.read_item(item) {
            Ok(Some(_)) if is_same => {
                let why = "the item was not modified, so only a changed reader reads it: repair it with a recount";
                Ok(unreadable("not-modified", why))
            }
            Ok(Some(_)) => Ok(RedriveOutcome::Settled(self.end(record, Ending::Counted, now).await?)),
            Ok(None) => Ok(not_counted()),
            Err(why) => Ok(RedriveOutcome::Unreadable(why)),
        }
    }

    /// Adds to statistics, settles the record and creates the item's checkpoint in one transaction,
    /// or finds that the checkpoint exists. Returns how the record is settled.
    async fn settle(
        &self,
        record: &QuarantinedRecord,
        key: &ItemKey,
        additions: Additions,
        ending: Ending,
        now: Timestamp,
    ) -> Result<Ending, StoreError> {
        let (table, rollup) = (&self.table, &self.rollup.name);
        let also = Some(quarantine::ending(table, rollup, &record.id, ending, now)?);
        let to = Some(SequenceNumber::after(None));
        let commit = Commit { to, written: &additions, buffer: Additions::default(), also };
        match self.redrive_shard(key).commit(table, rollup, &Checkpoint::default(), commit, now).await {
            Ok(_) => Ok(ending),
            // The checkpoint was created by another redrive, by an earlier try of this one, or for
            // another record of the same item.
            Err(CommitError::CheckpointMoved) => self.end(record, Ending::Duplicate, now).await,
            Err(CommitError::Store(error)) => Err(error),
        }
    }

    fn redrive_shard(&self, key: &ItemKey) -> Shard {
        self.rules.redrive_shard(shard(key))
    }

    /// Settles a record unless it is settled already. Returns how it is settled.
    async fn end(&self, record: &QuarantinedRecord, ending: Ending, now: Timestamp) -> Result<Ending, StoreError> {
        let (table, rollup) = (&self.table, &self.rollup.name);
        quarantine::end(table, rollup, &record.id, ending, now).await?;
        let ended = quarantine::get(table, rollup, &record.id).await?.and_then(|record| record.ending);
        ended.ok_or_else(|| StoreError::Refused("the record is no longer in quarantine".to_owned()))
    }
}

fn unreadable(code: &str, why: &str) -> RedriveOutcome {
    RedriveOutcome::Unreadable(DecodeError::new(code, why))
}

fn not_counted() -> RedriveOutcome {
    unreadable("not-counted", "the item does not count")
}
