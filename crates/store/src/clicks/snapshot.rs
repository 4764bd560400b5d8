//! The checkpoints and the statistics as they were at one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use backon::Retryable;
use domain::calendar::{YearMonth, parse_date};
use domain::clicks::{ClickKey, Period, RecountScope, SequenceNumber, StoredSums, Sums};

use super::checkpoints::ShardCheckpoint;
use super::keys::{DAILY, Item, MONTHLY, PARTITION_KEY, SORT_KEY, TOTAL, TOTAL_SORT, checkpoint_partition, key};
use super::reader::Stat;
use super::scan::{pages, partition, sorted_between};
use super::unmerged;
use crate::{StoreError, Table, patient_backoff};

/// How often all items are read until those that move are known, and the pause between the reads.
const SNAPSHOT_TRIES_MAX: usize = 50;
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(37);

/// [The most items of one transactional
/// read](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html).
const MOVING_MAX: usize = 100;

/// The checkpoints and the statistics of one moment.
pub(super) struct Snapshot {
    pub(super) checkpoints: AllCheckpoints,
    pub(super) stored: BTreeMap<Period, StoredSums>,
}

/// Sequence numbers by shard.
pub(super) type SequenceNumbers = BTreeMap<String, SequenceNumber>;

/// The checkpoints of all writers that may change a statistic.
#[derive(Default)]
pub(super) struct AllCheckpoints {
    pub(super) stream: SequenceNumbers,
    pub(super) operator: SequenceNumbers,
    /// The buffered sums of the stream's checkpoints, one checkpoint after the other.
    unmerged: Vec<(Period, Sums)>,
}

impl AllCheckpoints {
    /// Whether a click has been counted from the quarantine, or never will be.
    pub(super) fn has_redriven(&self, click: &ClickKey) -> bool {
        self.operator.contains_key(ShardCheckpoint::redrive(click).shard_id())
    }
}

/// Partition and sort key.
type Key = (String, String);

/// Checkpoints and statistics as the table has them.
type Items = BTreeMap<Key, Item>;

/// The stored statistics of a scope.
pub(super) async fn stored(table: &Table, scope: RecountScope) -> Result<BTreeMap<Period, StoredSums>, StoreError> {
    stored_sums(scope, &stats(table, scope).await?)
}

impl Snapshot {
    /// The checkpoints and the statistics of one moment, while clicks are counted.
    ///
    /// All items are read twice. An item that is the same both times did not change in between:
    /// each change of a statistic moves a checkpoint, and checkpoints only move forward. The items
    /// that did change are the checkpoints of busy shards and the current statistics. One
    /// transaction reads them between the next two reads, so they are of one moment. No shard has
    /// to pause for this.
    pub(super) async fn read(table: &Table, stream_arn: &str, scope: RecountScope) -> Result<Snapshot, StoreError> {
        let mut moving = BTreeSet::new();
        let mut before = items(table, stream_arn, scope).await?;
        for _ in 0..SNAPSHOT_TRIES_MAX {
            let moment = (|| at_once(table, &moving)).retry(patient_backoff()).when(StoreError::is_transient).await?;
            let mut after = items(table, stream_arn, scope).await?;
            let keys = before.keys().chain(after.keys());
            let moved: BTreeSet<_> = keys.filter(|key| before.get(*key) != after.get(*key)).cloned().collect();
            if moved.is_subset(&moving) {
                after.retain(|key, _| !moving.contains(key));
                after.extend(moment);
                return snapshot(stream_arn, scope, &after);
            }
            moving.extend(moved);
            if moving.len() > MOVING_MAX {
                break;
            }
            before = after;
            tokio::time::sleep(SNAPSHOT_PAUSE).await;
        }
        Err(StoreError::Busy(format!(
            "more than {MOVING_MAX} checkpoints and statistics change at the same time: recount a day or a month, or wait until the import has finished"
        )))
    }
}

/// Reads items in one transaction.
async fn at_once(table: &Table, keys: &BTreeSet<Key>) -> Result<Items, StoreError> {
    if keys.is_empty() {
        return Ok(Items::new());
    }
    let items = table.transact_get(keys.iter().map(|(partition, sort)| key(partition, sort)).collect()).await?;
    Ok(keys.iter().cloned().zip(items).filter_map(|(key, item)| Some((key, item?))).collect())
}

async fn items(table: &Table, stream_arn: &str, scope: RecountScope) -> Result<Items, StoreError> {
    let mut items = stats(table, scope).await?;
    for stream_arn in [ShardCheckpoint::repair().stream_arn(), stream_arn] {
        partition_of(table, &checkpoint_partition(stream_arn), None, &mut items).await?;
    }
    Ok(items)
}

async fn stats(table: &Table, scope: RecountScope) -> Result<Items, StoreError> {
    let mut items = Items::new();
    let day = |from: String, to: String| (DAILY, Some((from, to)));
    let partitions = match scope {
        RecountScope::Day(date) => vec![day(date.to_string(), date.to_string())],
        RecountScope::Month(month) => {
            let days = day(format!("{month}-01"), format!("{month}-31"));
            vec![days, (MONTHLY, Some((month.to_string(), month.to_string())))]
        }
        RecountScope::All => vec![(DAILY, None), (MONTHLY, None), (TOTAL, None)],
    };
    for (partition, between) in partitions {
        partition_of(table, partition, between, &mut items).await?;
    }
    Ok(items)
}

async fn partition_of(
    table: &Table,
    partition_value: &str,
    between: Option<(String, String)>,
    items: &mut Items,
) -> Result<(), StoreError> {
    let mut query = partition(table, PARTITION_KEY, partition_value).consistent_read(true);
    if let Some((from, to)) = between {
        query = sorted_between(query, SORT_KEY, &from, &to);
    }
    pages(query, |found, _| {
        for item in found {
            let sort = item.get(SORT_KEY).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
            items.insert((partition_value.to_owned(), sort), item.clone());
        }
    })
    .await
}

fn snapshot(stream_arn: &str, scope: RecountScope, items: &Items) -> Result<Snapshot, StoreError> {
    let (stream, operator) =
        (checkpoint_partition(stream_arn), checkpoint_partition(ShardCheckpoint::repair().stream_arn()));
    let mut checkpoints = AllCheckpoints::default();
    for ((partition, shard), item) in items {
        let numbers = match partition {
            of if *of == stream => &mut checkpoints.stream,
            of if *of == operator => &mut checkpoints.operator,
            _ => continue,
        };
        let number = item.get("sequenceNumber").and_then(|value| value.as_s().ok()).and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| StoreError::unreadable("a checkpoint without a sequence number"))?;
        numbers.insert(shard.clone(), number);
        if *partition == stream {
            checkpoints.unmerged.extend(unmerged::read(item)?);
        }
    }
    // The sums in the checkpoints are part of the stored statistics.
    let mut stored = stored_sums(scope, items)?;
    for (period, unmerged) in checkpoints.unmerged.iter().filter(|(period, _)| scope.compares(*period)) {
        let sums = stored.entry(*period).or_default();
        sums.clicks += i128::from(unmerged.clicks);
        sums.unique_users += i128::from(unmerged.unique_users);
    }
    Ok(Snapshot { checkpoints, stored })
}

/// The statistics among the items.
fn stored_sums(scope: RecountScope, items: &Items) -> Result<BTreeMap<Period, StoredSums>, StoreError> {
    let mut stored = BTreeMap::new();
    match scope {
        RecountScope::Day(_) => {}
        RecountScope::Month(month) => drop(stored.insert(Period::Month(month), StoredSums::default())),
        RecountScope::All => drop(stored.insert(Period::Total, StoredSums::default())),
    }
    for ((partition, sort), item) in items {
        // Other clients may have put other items beside the statistics. They are skipped.
        let Some(period) = period(partition, sort) else { continue };
        // The numbers are signed: a statistic that another client has lowered below zero can still
        // be repaired.
        let stat: Stat<i64> = serde_dynamo::from_item(item.clone())
            .map_err(|error| StoreError::unreadable(format_args!("{partition} {sort}: {error}")))?;
        // The total has no users. If another client has written some, they are ignored.
        let unique_users = if period == Period::Total { 0 } else { stat.unique_users };
        stored.insert(period, StoredSums { clicks: stat.total_clicks.into(), unique_users: unique_users.into() });
    }
    Ok(stored)
}

fn period(partition: &str, sort: &str) -> Option<Period> {
    match partition {
        DAILY => parse_date(sort).ok().map(Period::Day),
        MONTHLY => sort.parse::<YearMonth>().ok().map(Period::Month),
        TOTAL => (sort == TOTAL_SORT).then_some(Period::Total),
        _ => None,
    }
}
