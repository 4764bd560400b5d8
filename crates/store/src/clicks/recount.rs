//! Recounts statistics from the clicks in the table, while clicks are still counted.
//!
//! The statistics are right when they are the sums of the clicks that the checkpoints have passed.
//! A measurement reads the checkpoints and the statistics of one moment, then the clicks, then the
//! stream after those checkpoints. The clicks that it finds there are pending and are left out.
//!
//! The order matters. A click that was counted at that moment is in the table when the table is
//! read. A click that is in the table and was not counted is in the stream or in the quarantine.
//! The full argument is in `docs/decisions/0007-a-recount-excludes-pending-clicks.md`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use domain::calendar::YearMonth;
use domain::clicks::{
    ClickKey, Difference, FirstSeenStatus, Period, RecountScope, SequenceNumber, ShardHash, StoredSums, TableClick,
    Visitor, differences, recount,
};

use super::checkpoints::ShardCheckpoint;
use super::first_seen::FirstSeenRecords;
use super::first_seen_scan::FirstSeenScan;
use super::image::ClickImage;
use super::keys::{CLICK_PREFIX, CLICK_PREFIX_END, DATE_INDEX, DateShards, Item, SORT_KEY};
use super::merge::stream_arn;
use super::pending::pending;
use super::quarantine::Quarantine;
use super::scan::{PAGES_MAX, pages, partition, sorted_between};
use super::snapshot::{AllCheckpoints, Snapshot, stored};
use crate::{StoreError, Table};

/// The most measurements of one check, with a pause between them. A difference is reported when two
/// in a row agree on it.
const MEASUREMENTS_MAX: usize = 5;
const MEASUREMENT_PAUSE: Duration = Duration::from_secs(2);

/// The size of the table. DynamoDB updates these figures about every six hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSize {
    /// The number of items of all kinds.
    pub items: u64,
    /// The sum of their sizes, without the index.
    pub size_bytes: u64,
}

/// The progress of reading.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClicksRead {
    /// The number of items read, clicks and others.
    pub items: u64,
    /// The number of requests for them.
    pub requests: u64,
    /// The read units that DynamoDB has charged for them.
    pub read_units: f64,
}

/// The result of one measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The statistics that are not the sums of their counted clicks.
    pub differences: Vec<Difference>,
    /// The number of clicks that were read.
    pub clicks: u64,
    /// How many of them are pending in the stream.
    pub pending: u64,
    /// How many of them are in the quarantine, because the aggregator could not read their records.
    /// A redrive counts them.
    pub quarantined: u64,
    /// Visitors that are counted, or should be, but have no first-seen record. The next click of
    /// each would count them again.
    pub unmarked: BTreeSet<Visitor>,
    /// The checkpoint of the repairs.
    pub repaired_to: Option<SequenceNumber>,
    /// The number of items with the sort key of a click that are not valid clicks. Their records
    /// are in the quarantine, and they are not counted.
    pub unreadable: u64,
    /// The requests and units that reading has taken.
    pub read: ClicksRead,
}

/// Why a recount has no result.
#[derive(Debug, thiserror::Error)]
pub enum RecountError {
    /// The measurements do not agree, so none can be trusted.
    #[error("{MEASUREMENTS_MAX} measurements do not agree: is another client changing or deleting clicks?")]
    Unsteady,
    /// A read has failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Recounts statistics. Its requests are `DescribeTable`, `GetItem`, `BatchGetItem`, `Query` on the
/// table and its index, `Scan`, and reads of the stream.
#[derive(Debug, Clone)]
pub struct Recounter {
    table: Table,
    streams: aws_sdk_dynamodbstreams::Client,
    date_shards: DateShards,
}

impl Recounter {
    /// A recounter for `table`. `date_shards` is the largest number of partitions that writers have
    /// ever spread a day over.
    pub fn new(table: &Table, streams: aws_sdk_dynamodbstreams::Client, date_shards: DateShards) -> Self {
        Self { table: table.clone(), streams, date_shards }
    }

    /// The size of the table.
    pub async fn size(&self) -> Result<TableSize, StoreError> {
        let table = self.table.client().describe_table().table_name(self.table.name()).send().await?.table;
        let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
        let (items, size_bytes) = table.map(|table| (table.item_count, table.table_size_bytes)).unwrap_or_default();
        Ok(TableSize { items: number(items), size_bytes: number(size_bytes) })
    }

    /// The stored statistics of a scope.
    pub async fn stored(&self, scope: RecountScope) -> Result<BTreeMap<Period, StoredSums>, StoreError> {
        stored(&self.table, scope).await
    }

    /// Measures until the result can be trusted: at once when nothing differs, otherwise when two
    /// measurements in a row find the same errors. Counting does not change the errors. A
    /// difference that changes comes from reading while something moved.
    pub async fn check(&self, scope: RecountScope, progress: impl Fn(ClicksRead)) -> Result<Measurement, RecountError> {
        let errors = |measured: &Measurement| -> Vec<_> {
            measured.differences.iter().map(|difference| (difference.period, difference.error())).collect()
        };
        let mut before = None;
        for _ in 0..MEASUREMENTS_MAX {
            let measured = self.measure(scope, &progress).await?;
            let found = errors(&measured);
            if found.is_empty() || before.as_ref() == Some(&found) {
                return Ok(measured);
            }
            before = Some(found);
            tokio::time::sleep(MEASUREMENT_PAUSE).await;
        }
        Err(RecountError::Unsteady)
    }

    /// Compares the statistics of a scope with its clicks, once. `progress` is called after each
    /// page.
    pub async fn measure(&self, scope: RecountScope, progress: impl Fn(ClicksRead)) -> Result<Measurement, StoreError> {
        let stream_arn = stream_arn(&self.table).await?;
        let Snapshot { checkpoints, stored } = Snapshot::read(&self.table, &stream_arn, scope).await?;

        let mut clicks = Vec::new();
        let mut scan = FirstSeenScan::default();
        let mut unreadable = 0;
        let mut read = ClicksRead::default();
        let mut take = |items: &[Item]| {
            for item in items {
                match table_click(item) {
                    Ok(Some(click)) => clicks.push(click),
                    Ok(None) => scan.learn(item),
                    Err(()) => unreadable += 1,
                }
            }
        };
        match scope.days() {
            Some(days) => {
                for date_key in days.into_iter().flat_map(|day| self.date_shards.date_keys(day)) {
                    self.read_day(&date_key, &mut read, &mut take, &progress).await?;
                }
            }
            None => self.read_everything(&mut read, &mut take, &progress).await?,
        }
        if scope != RecountScope::All {
            let users = clicks.iter().map(|click| (click.key.0.as_str(), YearMonth::of(click.date))).collect();
            let first_seen_records = FirstSeenRecords::new(&self.table);
            first_seen_records
                .read(&users, |items, read_units| {
                    items.iter().for_each(|record_item| scan.learn(record_item));
                    read.add(items.len(), read_units);
                    progress(read);
                })
                .await?;
        }

        // This must come after the clicks and the first-seen records. Otherwise a click could be
        // redriven in between: its first-seen record would be read, but not its quarantined record.
        let waiting = self.waiting(&checkpoints).await?;
        let redrives: HashSet<ShardHash> = waiting.iter().map(|click| ShardCheckpoint::redrive(click).id()).collect();
        let pending = pending(&self.streams, &stream_arn, &checkpoints.stream).await?;

        let total = clicks.len();
        clicks.retain(|click| !pending.keys.contains(&click.key) || checkpoints.has_redriven(&click.key));
        let delivered = clicks.len();
        clicks.retain(|click| !waiting.contains(&click.key));
        let status = |period, user_id: &str| match scan.get(period, user_id) {
            None => FirstSeenStatus::Missing,
            Some(first_seen) if pending.may_count(first_seen) || redrives.contains(&first_seen.shard) => {
                FirstSeenStatus::Pending
            }
            Some(_) => FirstSeenStatus::Settled,
        };
        let recounted = recount(scope, &clicks, status);
        Ok(Measurement {
            differences: differences(&stored, &recounted.sums),
            clicks: total as u64,
            pending: (total - delivered) as u64,
            quarantined: (delivered - clicks.len()) as u64,
            unmarked: recounted.unmarked,
            repaired_to: checkpoints.operator.get(ShardCheckpoint::repair().shard_id()).copied(),
            unreadable,
            read,
        })
    }

    /// The clicks whose records were in the quarantine at the moment of the checkpoints and had not
    /// been redriven.
    async fn waiting(&self, checkpoints: &AllCheckpoints) -> Result<HashSet<ClickKey>, StoreError> {
        let quarantine = Quarantine::new(&self.table);
        let (mut waiting, mut after) = (HashSet::new(), None);
        for _ in 0..PAGES_MAX {
            let (records, next) = quarantine.list(after.as_deref()).await?;
            let clicks = records.iter().filter_map(|record| record.click_key());
            waiting.extend(clicks.filter(|click| !checkpoints.has_redriven(click)));
            after = next;
            if after.is_none() {
                return Ok(waiting);
            }
        }
        Err(StoreError::unreadable("the quarantine has too many pages"))
    }

    async fn read_day(
        &self,
        date_key: &str,
        read: &mut ClicksRead,
        take: &mut impl FnMut(&[Item]),
        progress: &impl Fn(ClicksRead),
    ) -> Result<(), StoreError> {
        let query = partition(&self.table, "dateKey", date_key).index_name(DATE_INDEX);
        let query = sorted_between(query, "recordSort", CLICK_PREFIX, CLICK_PREFIX_END);
        pages(query, |items, units| {
            take(items);
            read.add(items.len(), units);
            progress(*read);
        })
        .await
    }

    async fn read_everything(
        &self,
        read: &mut ClicksRead,
        take: &mut impl FnMut(&[Item]),
        progress: &impl Fn(ClicksRead),
    ) -> Result<(), StoreError> {
        let mut start = None;
        for _ in 0..PAGES_MAX {
            let scan = self.table.scan().consistent_read(true);
            let scan = scan.return_consumed_capacity(aws_sdk_dynamodb::types::ReturnConsumedCapacity::Total);
            let page = scan.set_exclusive_start_key(start).send().await?;
            let units = page.consumed_capacity().and_then(|capacity| capacity.capacity_units()).unwrap_or_default();
            take(page.items());
            read.add(page.items().len(), units);
            progress(*read);
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
        Err(StoreError::unreadable("the table has too many pages"))
    }
}

impl ClicksRead {
    fn add(&mut self, items: usize, read_units: f64) {
        self.items += items as u64;
        self.requests += 1;
        self.read_units += read_units;
    }
}

/// Reads a click by the same rules as the stream; `Err` for an item with the sort key of a click
/// that is not a valid click.
fn table_click(item: &Item) -> Result<Option<TableClick>, ()> {
    let image = ClickImage::from(item);
    let Some(click) = image.click(SequenceNumber::ZERO).map_err(|_| ())? else { return Ok(None) };
    let time = item.get(SORT_KEY).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
    Ok(Some(TableClick { key: (click.user_id.to_owned(), time), date: click.date, count: click.count }))
}
