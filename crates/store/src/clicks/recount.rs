//! Recounting statistics from the clicks in the table, while counting goes on.
//!
//! What is stored is right when it is the sum of the clicks that the checkpoints have passed. So a measurement looks at the checkpoints and the statistics
//! at one moment, then reads the clicks, then the stream behind those checkpoints; what it finds there is on its way and is left out.
//! The order matters: whatever was counted at that moment is in the table when it is read, and whatever is in the
//! table and was not counted is in the stream, or in quarantine. `docs/decisions/0007-recounting-beside-the-stream.md` has the argument.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::calendar::YearMonth;
use domain::clicks::{
    ClickKey, Difference, FirstSeenStatus, RecountScope, SequenceNumber, ShardHash, TableClick, Visitor, differences,
    recount,
};

use super::checkpoints::ShardCheckpoint;
use super::first_seen::FirstSeenRecords;
use super::first_seen_scan::FirstSeenScan;
use super::image::ClickImage;
use super::keys::{CLICK_PREFIX, CLICK_PREFIX_END, DATE_INDEX, DateShards, Item, SORT_KEY, s};
use super::merge::stream_arn;
use super::pending::pending;
use super::quarantine::Quarantine;
use super::snapshot::{AllCheckpoints, Snapshot};
use crate::{StoreError, Table};

/// Bounds the requests of one query or scan: at a megabyte each, a terabyte.
const PAGES_MAX: usize = 1_000_000;

/// A difference is believed when two measurements in a row find the same; so many are made, with a pause in between.
const MEASUREMENTS_MAX: usize = 5;
const MEASUREMENT_PAUSE: Duration = Duration::from_secs(2);

/// How large the table is. DynamoDB brings these figures up to date about every six hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableSize {
    /// Items of all kinds.
    pub items: u64,
    /// Their sizes, without the index.
    pub size_bytes: u64,
}

/// How far reading has come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClicksRead {
    /// Items read, clicks or not.
    pub items: u64,
    /// Requests for them.
    pub requests: u64,
    /// Read units that DynamoDB has charged for them.
    pub read_units: f64,
}

/// What one measurement found.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// Statistics that are not the sum of their counted clicks.
    pub differences: Vec<Difference>,
    /// Clicks that were read.
    pub clicks: u64,
    /// Of those, clicks that are on their way through the stream.
    pub pending: u64,
    /// Of those, clicks that could not be read when the stream brought them and wait in quarantine: redriving counts them.
    pub quarantined: u64,
    /// Visitors that are counted, or should be, and have no first-seen record: the next click of each would count them.
    pub unmarked: BTreeSet<Visitor>,
    /// Up to where repairs had been made.
    pub repaired_to: Option<SequenceNumber>,
    /// Items that call themselves clicks and are none: their records lie in quarantine, and they count nowhere.
    pub unreadable: u64,
    /// What reading took.
    pub read: ClicksRead,
}

/// Why a recount has no result.
#[derive(Debug, thiserror::Error)]
pub enum RecountError {
    /// Each measurement found something else, so none can be believed.
    #[error(
        "{MEASUREMENTS_MAX} measurements found {MEASUREMENTS_MAX} different things: is somebody changing or deleting clicks?"
    )]
    Unsteady,
    /// A measurement failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Recounts. Its requests are `DescribeTable`, `GetItem`, `BatchGetItem`, `Query` on the table and its index, `Scan`, and reading the stream.
#[derive(Debug, Clone)]
pub struct Recounter {
    pub(super) table: Table,
    streams: aws_sdk_dynamodbstreams::Client,
    date_shards: DateShards,
}

impl Recounter {
    /// Recounts `table`, whose writers spread days over `date_shards`, or over fewer at some earlier time.
    pub fn new(table: &Table, streams: aws_sdk_dynamodbstreams::Client, date_shards: DateShards) -> Self {
        Self { table: table.clone(), streams, date_shards }
    }

    /// How large the table is.
    pub async fn size(&self) -> Result<TableSize, StoreError> {
        let table = self.table.client().describe_table().table_name(self.table.name()).send().await?.table;
        let number = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
        let (items, size_bytes) = table.map(|table| (table.item_count, table.table_size_bytes)).unwrap_or_default();
        Ok(TableSize { items: number(items), size_bytes: number(size_bytes) })
    }

    /// Measures until it can be believed: at once when nothing differs, otherwise when two measurements in a row agree by how
    /// much each statistic is wrong. Counting does not change that, so what does was a view on something in motion.
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

    /// Compares a scope's statistics with its clicks, once. `progress` hears of each page that is read.
    pub async fn measure(&self, scope: RecountScope, progress: impl Fn(ClicksRead)) -> Result<Measurement, StoreError> {
        let stream_arn = stream_arn(&self.table).await?;
        let Snapshot { checkpoints, stored } = self.snapshot(&stream_arn, scope).await?;

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

        // After the clicks and the first-seen records: a redriven click's first-seen record is only found when its record is, too.
        let waiting = self.waiting(&checkpoints).await?;
        let redrives: HashSet<ShardHash> = waiting.iter().map(|click| ShardCheckpoint::redrive(click).id()).collect();
        let pending = pending(&self.streams, &stream_arn, &checkpoints.stream).await?;

        let total = clicks.len();
        clicks.retain(|click| !pending.keys.contains(&click.key) || checkpoints.has_redriven(&click.key));
        let delivered = clicks.len();
        clicks.retain(|click| !waiting.contains(&click.key));
        let mark = |period, user_id: &str| match scan.get(period, user_id) {
            None => FirstSeenStatus::Missing,
            Some(first_seen) if pending.may_count(first_seen) || redrives.contains(&first_seen.shard) => {
                FirstSeenStatus::Pending
            }
            Some(_) => FirstSeenStatus::Settled,
        };
        let recounted = recount(scope, &clicks, mark);
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

    /// The clicks whose records lay in quarantine at the moment of those checkpoints, and had not been redriven.
    async fn waiting(&self, checkpoints: &AllCheckpoints) -> Result<HashSet<ClickKey>, StoreError> {
        let quarantine = Quarantine::new(&self.table);
        let (mut waiting, mut after) = (HashSet::new(), None);
        for _ in 0..PAGES_MAX {
            let (kept, next) = quarantine.list(after.as_deref()).await?;
            let clicks = kept.iter().filter_map(|kept| kept.click_key());
            waiting.extend(clicks.filter(|click| !checkpoints.has_redriven(click)));
            after = next;
            if after.is_none() {
                return Ok(waiting);
            }
        }
        Err(StoreError::unreadable("the quarantine does not end"))
    }

    async fn read_day(
        &self,
        date_key: &str,
        read: &mut ClicksRead,
        take: &mut impl FnMut(&[Item]),
        progress: &impl Fn(ClicksRead),
    ) -> Result<(), StoreError> {
        let query = self.partition("dateKey", date_key).index_name(DATE_INDEX);
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
        Err(StoreError::unreadable("the table does not end"))
    }

    pub(super) fn partition(&self, partition_key: &str, partition: &str) -> QueryFluentBuilder {
        self.table
            .query()
            .return_consumed_capacity(aws_sdk_dynamodb::types::ReturnConsumedCapacity::Total)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", partition_key)
            .expression_attribute_values(":pk", s(partition))
    }
}

impl ClicksRead {
    fn add(&mut self, items: usize, read_units: f64) {
        self.items += items as u64;
        self.requests += 1;
        self.read_units += read_units;
    }
}

pub(super) fn sorted_between(query: QueryFluentBuilder, sort_key: &str, from: &str, to: &str) -> QueryFluentBuilder {
    query
        .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
        .expression_attribute_names("#sk", sort_key)
        .expression_attribute_values(":from", s(from))
        .expression_attribute_values(":to", s(to))
}

/// Hands over each page of a query, with the read units that it took.
pub(super) async fn pages(query: QueryFluentBuilder, mut take: impl FnMut(&[Item], f64)) -> Result<(), StoreError> {
    let mut start = None;
    for _ in 0..PAGES_MAX {
        let page = query.clone().set_exclusive_start_key(start).send().await?;
        let units = page.consumed_capacity().and_then(|capacity| capacity.capacity_units()).unwrap_or_default();
        take(page.items(), units);
        start = page.last_evaluated_key;
        if start.is_none() {
            return Ok(());
        }
    }
    Err(StoreError::unreadable("a partition does not end"))
}

/// By the rules that the stream's images are read by; `Err` for what calls itself a click and is none.
fn table_click(item: &Item) -> Result<Option<TableClick>, ()> {
    let image = ClickImage::from(item);
    let Some(click) = image.click(in_no_shard()).map_err(|_| ())? else { return Ok(None) };
    let time = item.get(SORT_KEY).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
    Ok(Some(TableClick { key: (click.user_id.to_owned(), time), date: click.date, count: click.count }))
}

/// The place of a click that does not come from a stream.
pub(super) fn in_no_shard() -> SequenceNumber {
    SequenceNumber::from_bytes([0; 17])
}
