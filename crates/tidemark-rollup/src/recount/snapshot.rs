//! The checkpoints and the statistics as they were at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use backon::Retryable;

use crate::SequenceNumber;
use crate::additions::{Additions, ItemKey};
use crate::error::StoreError;
use crate::shard::{Checkpoint, Shard, checkpoint_partition};
use crate::table::{Item, Table, patient_backoff};

/// How often all items are read until those that move are known, and the pause between the reads.
const SNAPSHOT_TRIES_MAX: usize = 50;
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(37);

/// [The most items of one transactional
/// read](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html).
const MOVING_MAX: usize = 100;

type Items = BTreeMap<ItemKey, Item>;

/// The checkpoints and the statistics of one moment.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    /// By shard id.
    pub(crate) checkpoints: BTreeMap<String, Checkpoint>,
    pub(crate) repair: Checkpoint,
    /// Statistics, without what the checkpoints have buffered.
    pub(crate) stats: Items,
}

impl Snapshot {
    /// Reads the checkpoints of a stream and of the repairs, and some statistics, while records are
    /// counted.
    ///
    /// All items are read twice. An item that is the same both times did not change in between:
    /// each change of a statistic moves a checkpoint, and checkpoints only move forward. The items
    /// that did change are the checkpoints of busy shards and the current statistics. One
    /// transaction reads them between the next two reads, so they are of one moment. No shard has
    /// to pause for this.
    pub(crate) async fn read(
        table: &Table,
        rollup: &str,
        stream_arn: &str,
        stats: &BTreeSet<ItemKey>,
    ) -> Result<Self, StoreError> {
        let mut moving = BTreeSet::new();
        let mut before = items(table, rollup, stream_arn, stats).await?;
        for _ in 0..SNAPSHOT_TRIES_MAX {
            let moment = (|| at_once(table, &moving)).retry(patient_backoff()).when(StoreError::is_transient).await?;
            let mut after = items(table, rollup, stream_arn, stats).await?;
            let keys = before.keys().chain(after.keys());
            let moved: BTreeSet<_> = keys.filter(|key| before.get(*key) != after.get(*key)).cloned().collect();
            if moved.is_subset(&moving) {
                after.retain(|key, _| !moving.contains(key));
                after.extend(moment);
                return Self::of(rollup, stream_arn, after);
            }
            moving.extend(moved);
            if moving.len() > MOVING_MAX {
                break;
            }
            before = after;
            tokio::time::sleep(SNAPSHOT_PAUSE).await;
        }
        Err(StoreError::Busy(format!(
            "more than {MOVING_MAX} checkpoints and statistics change at the same time: recount less, or later"
        )))
    }

    fn of(rollup: &str, stream_arn: &str, items: Items) -> Result<Self, StoreError> {
        let mut snapshot = Self::default();
        let repairs = Shard::repair().key_texts(rollup);
        let stream = checkpoint_partition(rollup, stream_arn);
        for (key, item) in items {
            if key.0 == stream {
                snapshot.checkpoints.insert(key.1, Checkpoint::of(&item)?);
            } else if key == repairs {
                snapshot.repair = Checkpoint::of(&item)?;
            } else {
                snapshot.stats.insert(key, item);
            }
        }
        Ok(snapshot)
    }

    /// The last counted record of each shard.
    pub(crate) fn numbers(&self) -> BTreeMap<String, SequenceNumber> {
        let numbers = self.checkpoints.iter();
        numbers.filter_map(|(shard, checkpoint)| Some((shard.clone(), checkpoint.number?))).collect()
    }

    /// What all checkpoints have buffered.
    pub(crate) fn buffered(&self) -> Additions {
        let buffers = self.checkpoints.values().map(|checkpoint| checkpoint.buffer.clone());
        buffers.fold(Additions::default(), Additions::plus)
    }
}

async fn at_once(table: &Table, keys: &BTreeSet<ItemKey>) -> Result<Items, StoreError> {
    if keys.is_empty() {
        return Ok(Items::new());
    }
    let items = table.transact_get(keys.iter().map(|(partition, sort)| table.key(partition, sort)).collect()).await?;
    Ok(keys.iter().cloned().zip(items).filter_map(|(key, item)| Some((key, item?))).collect())
}

async fn items(table: &Table, rollup: &str, stream_arn: &str, stats: &BTreeSet<ItemKey>) -> Result<Items, StoreError> {
    let repairs = Shard::repair().key_texts(rollup);
    let keys = stats.iter().chain([&repairs]).map(|(partition, sort)| table.key(partition, sort)).collect();
    let mut items = table.batch_get(keys, true).await?;
    items.extend(table.partition(&checkpoint_partition(rollup, stream_arn), None).await?);
    Ok(items.into_iter().filter_map(|item| Some((table.key_of(&item)?, item))).collect())
}
