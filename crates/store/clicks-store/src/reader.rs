//! Reads statistics and clicks.

use std::collections::BTreeMap;

use domain::calendar::{DateRange, MonthRange};
use domain::clicks::{Click, ClickTarget, ClickTime};
use domain::{Moment, TimeRange, UserId};
use futures::future::try_join_all;
use jiff::civil::Date;
use serde::de::{Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::keys::{
    CLICK_PREFIX, CLICK_PREFIX_END, DAILY, DATE_INDEX, DateShards, Item, MONTHLY, PARTITION_KEY, SORT_KEY, TOTAL,
    TOTAL_SORT, VISITORS, key,
};
use store_base::{Direction, Page, Rows};
use store_base::{RowReader, merge_placed};
use store_base::{StoreError, Table};

/// The most pages of one range of statistics. 400 rows of about 150 bytes fit the first
/// [megabyte](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html), but
/// an emulator may use smaller pages.
const STAT_PAGES_MAX: usize = 20;

/// A sort key before and one after all that a client would write.
const FIRST_TEXT: &str = "\u{1}";
const LAST_TEXT: &str = "\u{10ffff}";

/// The numbers of a day, of a month or of all time, with the attribute names of the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stat<N = u64> {
    /// The sum of the clicks' counts.
    pub total_clicks: N,
    /// The number of distinct users; zero in the total, which does not count them.
    #[serde(default)]
    pub unique_users: N,
}

/// A click as the table has it, written by this suite or by another client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredClick {
    /// The user who clicked.
    pub user_id: String,
    /// The time of the click, as ISO 8601, as it was written.
    pub create_date_time: String,
    /// How many clicks the record stands for. It is 1 when the attribute is missing, and `None`
    /// when the attribute is not a number.
    #[serde(default = "one", deserialize_with = "readable")]
    pub click_count: Option<u64>,
    /// The id that the writer gave the click. Other clients write none, or one that is not a text.
    #[serde(default, deserialize_with = "readable", skip_serializing_if = "Option::is_none")]
    pub click_id: Option<String>,
    /// The target; `None` also for another client's attribute that is not a text.
    #[serde(default, deserialize_with = "readable", skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

fn one() -> Option<u64> {
    Some(1)
}

/// The value of an attribute; `None` when the attribute has another type.
fn readable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Attribute<T> {
        Readable(T),
        Other(IgnoredAny),
    }
    Ok(match Attribute::deserialize(deserializer)? {
        Attribute::Readable(value) => Some(value),
        Attribute::Other(_) => None,
    })
}

impl StoredClick {
    /// The stored form of a click that was just written.
    pub fn new(click: &Click, click_id: &str) -> Self {
        Self {
            user_id: click.user_id.to_string(),
            create_date_time: click.time.to_string(),
            click_count: Some(u64::from(click.count.get())),
            click_id: Some(click_id.to_owned()),
            target: click.target.as_ref().map(|target| target.as_str().to_owned()),
        }
    }

    /// Whether this is the stored form of a click, apart from its key.
    pub fn is(&self, click: &Click) -> bool {
        self.click_count == Some(click.count.get().into())
            && self.target.as_deref() == click.target.as_ref().map(ClickTarget::as_str)
    }

    pub(crate) fn read(item: Item) -> Result<Self, StoreError> {
        serde_dynamo::from_item(item).map_err(StoreError::unreadable)
    }
}

/// The statistics of a range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// The statistics by period, `YYYY-MM-DD` or `YYYY-MM`; `None` when a row is unreadable. A
    /// period without a row has no clicks.
    pub by_period: BTreeMap<String, Option<Stat>>,
    /// The number of unreadable rows.
    pub skipped: usize,
}

/// The position at which a page ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClickPosition(String);

/// Reads the clicks table. Its requests are `GetItem` on the table and `Query` on the table and its
/// index.
#[derive(Debug, Clone)]
pub struct ClicksReader {
    table: Table,
    date_shards: DateShards,
}

impl ClicksReader {
    /// A reader of `table`. `date_shards` is the largest number of partitions that writers have
    /// ever spread a day over.
    pub fn new(table: &Table, date_shards: DateShards) -> Self {
        Self { table: table.clone(), date_shards }
    }

    /// The statistic of all clicks.
    pub async fn total(&self) -> Result<Stat, StoreError> {
        self.of_all_time(TOTAL).await
    }

    /// The visitors of all time, with the clicks among which they were counted: those since somebody
    /// turned this on, or ran a recount.
    pub async fn visitors(&self) -> Result<Stat, StoreError> {
        self.of_all_time(VISITORS).await
    }

    async fn of_all_time(&self, partition: &str) -> Result<Stat, StoreError> {
        let request = self.table.get_item(key(partition, TOTAL_SORT));
        match request.send().await?.item {
            Some(item) => stat(item),
            None => Ok(Stat::default()),
        }
    }

    /// The statistics of the days in a range. Days without clicks are left out.
    pub async fn daily(&self, range: DateRange) -> Result<Stats, StoreError> {
        self.stats(DAILY, range.from().to_string(), range.to().to_string()).await
    }

    /// The statistics of the months in a range. Months without clicks are left out.
    pub async fn monthly(&self, range: MonthRange) -> Result<Stats, StoreError> {
        self.stats(MONTHLY, range.from().to_string(), range.to().to_string()).await
    }

    async fn stats(&self, partition: &str, from: String, to: String) -> Result<Stats, StoreError> {
        let (mut by_period, mut reader) = (BTreeMap::new(), RowReader::new([PARTITION_KEY, SORT_KEY]));
        let mut start = None;
        for _ in 0..STAT_PAGES_MAX {
            let query = self.table.query_between([PARTITION_KEY, SORT_KEY], partition, &from, &to);
            let page = query.set_exclusive_start_key(start).send().await?;
            by_period.extend(
                page.items.unwrap_or_default().into_iter().map(|item| reader.read_placed(item, SORT_KEY, stat)),
            );
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(Stats { by_period, skipped: reader.skipped() });
            }
        }
        Err(StoreError::unreadable("a range of statistics has too many pages"))
    }

    /// A page of a user's clicks in a time range.
    pub async fn of_user(
        &self,
        user_id: &UserId,
        range: TimeRange,
        direction: Direction,
        limit: u16,
        after: Option<&ClickPosition>,
    ) -> Result<Page<StoredClick, ClickPosition>, StoreError> {
        let start = after.map(|ClickPosition(time)| key(user_id.as_str(), time));
        // The end of the range is excluded, so the last click is at most one millisecond before it.
        let from = range.from().and_then(|from| millisecond_from(from, 0));
        let to = range.to().and_then(|to| millisecond_from(to, -1));
        let from = from.map_or_else(|| FIRST_TEXT.to_owned(), |time| time.to_string());
        let to = to.map_or_else(|| LAST_TEXT.to_owned(), |time| time.to_string());
        // DynamoDB refuses such bounds: the range has no whole millisecond.
        if from > to {
            return Ok(Page { items: Vec::new(), next: None, skipped: 0 });
        }
        let clicks = self.table.query_between([PARTITION_KEY, SORT_KEY], user_id.as_str(), from, to);
        let answer = clicks
            .scan_index_forward(direction == Direction::Asc)
            .limit(i32::from(limit))
            .set_exclusive_start_key(start)
            .send()
            .await?;
        let next = answer.last_evaluated_key.as_ref().and_then(|key| key.get(SORT_KEY)?.as_s().ok());
        let next = next.cloned().map(ClickPosition);
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        let clicks = answer.items.unwrap_or_default().into_iter();
        let items = clicks.filter_map(|item| reader.read(item, StoredClick::read)).collect();
        Ok(Page { items, next, skipped: reader.skipped() })
    }

    /// A page of a day's clicks, oldest first; those of the same time are sorted by user. All index
    /// partitions of the day are queried at once and merged.
    pub async fn of_day(
        &self,
        day: Date,
        limit: u16,
        after: Option<&ClickPosition>,
    ) -> Result<Page<StoredClick, ClickPosition>, StoreError> {
        // `recordSort` is unique within a day, so one position works for each partition. The first
        // text after the position is the position with a NUL.
        let from = after.map_or_else(|| CLICK_PREFIX.to_owned(), |ClickPosition(last)| format!("{last}\0"));
        let pages = self.date_shards.date_keys(day).into_iter().map(|date_key| {
            let query = self.table.query_between(["dateKey", "recordSort"], &date_key, &from, CLICK_PREFIX_END);
            query.index_name(DATE_INDEX).limit(i32::from(limit)).send()
        });
        let (mut partitions, mut reader) = (Vec::new(), RowReader::new([PARTITION_KEY, SORT_KEY]));
        for page in try_join_all(pages).await? {
            let has_more = page.last_evaluated_key.is_some();
            let items = page.items.unwrap_or_default().into_iter();
            let rows = items.map(|item| reader.read_placed(item, "recordSort", StoredClick::read)).collect();
            partitions.push(Rows { rows, has_more });
        }
        Ok(merge_placed(partitions, Direction::Asc, usize::from(limit), ClickPosition))
    }
}

/// The first whole millisecond at or after a moment, plus `steps` milliseconds.
fn millisecond_from(moment: Moment, steps: i64) -> Option<ClickTime> {
    let milliseconds = -(-moment.timestamp().as_nanosecond()).div_euclid(1_000_000);
    ClickTime::from_millisecond(i64::try_from(milliseconds).ok()? + steps).ok()
}

fn stat(item: Item) -> Result<Stat, StoreError> {
    serde_dynamo::from_item(item).map_err(StoreError::unreadable)
}
