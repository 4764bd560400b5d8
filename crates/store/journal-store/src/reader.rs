//! Reads entries, newest first.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::TimeRange;
use domain::journal::{Entry, JournalStream, Retention};
use domain::{EntryId, EntryIdError};
use futures::future::try_join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::keys::{Day, PARTITION_KEY, SORT_KEY, days, entry, feed};
use store_base::{Direction, Page, Rows, merge};
use store_base::{Placed, RowReader};
use store_base::{StoreError, Table};

/// The most queries of one page; only the first day of a page may need more. When many days have
/// few entries, the page ends early, with a position from which the next page continues.
pub const QUERIES_MAX: usize = 200;

/// How many days one query reads. A day has about 80 bytes, so this many fit the 4 KB of one [read
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const DAYS_AT_ONCE: i32 = 40;

/// How far a list has been read: down to this id, which is included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JournalPosition(EntryId);

impl From<JournalPosition> for String {
    fn from(position: JournalPosition) -> Self {
        position.0.to_string()
    }
}

impl TryFrom<String> for JournalPosition {
    type Error = EntryIdError;

    fn try_from(text: String) -> Result<Self, EntryIdError> {
        text.parse().map(Self)
    }
}

/// Reads entries. Its request is `Query`.
#[derive(Debug, Clone)]
pub struct JournalReader {
    table: Table,
    retention: Retention,
}

/// The ids that are still to be read, from `from` (included) to `before` (excluded). `None` means
/// no limit on that side.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: Option<EntryId>,
    before: Option<EntryId>,
}

impl Span {
    fn is_empty(&self) -> bool {
        self.from.zip(self.before).is_some_and(|(from, before)| from >= before)
    }

    /// The last day that may have entries in the span.
    fn last_day(&self) -> Date {
        let Some(before) = self.before else { return Date::MAX };
        match before.day().yesterday() {
            Ok(yesterday) if before == first_of(before.day()) => yesterday,
            _ => before.day(),
        }
    }

    fn first_day(&self) -> Date {
        self.from.map_or(Date::ZERO, EntryId::day)
    }

    /// The ends of the span as texts, both included. An open end becomes the lowest or the highest
    /// UUID.
    fn ends(&self) -> (String, String) {
        let from = self.from.map_or(Uuid::nil(), EntryId::uuid);
        let to = self.before.map_or(Uuid::max(), |before| Uuid::from_u128(before.uuid().as_u128() - 1));
        (from.to_string(), to.to_string())
    }
}

impl JournalReader {
    /// A reader of `table`. Entries older than the retention of their stream are not shown, even if
    /// DynamoDB has not deleted them yet.
    pub fn new(table: &Table, retention: Retention) -> Self {
        Self { table: table.clone(), retention }
    }

    /// A page of a stream's entries, newest first, after the position `after`. It has `limit`
    /// entries, or fewer when many days have few entries. The reads are strongly consistent, so
    /// each entry that was stored before is found.
    pub async fn page(
        &self,
        stream: &JournalStream,
        range: TimeRange,
        limit: u16,
        after: Option<JournalPosition>,
        now: Timestamp,
    ) -> Result<Page<Entry, JournalPosition>, StoreError> {
        let first = |moment: domain::Moment| EntryId::first_from(moment.timestamp());
        let kept = self.retention.first_kept(stream, now);
        let to = range.to().map(first);
        let mut span = Span {
            from: range.from().map(first).max(kept),
            before: to.into_iter().chain(after.map(|position| position.0)).min(),
        };
        let (mut rows, mut queries) = (Vec::new(), 0);
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        while !span.is_empty() {
            let days = self.days(stream, span, &mut reader).await?;
            queries += 1;
            let (mut rest, has_more_days) = (days.rows.into_iter().peekable(), days.has_more);
            while let Some(day) = rest.peek() {
                if queries > 1 && queries + usize::from(day.shards.get()) > QUERIES_MAX {
                    return Ok(page(rows, span.before));
                }
                queries += usize::from(day.shards.get());
                let left = usize::from(limit) - rows.len();
                let read = self.of_day(stream, day, span, left, &mut reader).await?;
                let last = read.rows.iter().rev().find_map(|(place, _)| place.parse().ok());
                rows.extend(read.rows);
                if read.has_more {
                    // Without an id there is no position from which to continue.
                    span.before =
                        Some(last.ok_or_else(|| StoreError::unreadable(format!("no readable id on {}", day.day)))?);
                } else {
                    span.before = Some(first_of(day.day));
                    rest.next();
                }
                if rows.len() == usize::from(limit) {
                    let is_all = rest.peek().is_none() && !has_more_days;
                    return Ok(page(rows, span.before.filter(|_| !is_all)));
                }
            }
            if !has_more_days {
                break;
            }
        }
        Ok(page(rows, None))
    }

    /// The days that may have entries in the span, newest first, as many as one query returns.
    async fn days(&self, stream: &JournalStream, span: Span, reader: &mut RowReader) -> Result<Rows<Day>, StoreError> {
        let query = self.between(&days(stream), &span.first_day().to_string(), &span.last_day().to_string());
        let answer = query.limit(DAYS_AT_ONCE).send().await?;
        let has_more = answer.last_evaluated_key.is_some();
        let items = answer.items.unwrap_or_default().into_iter();
        let days: Vec<_> = items.filter_map(|item| reader.read(item, Day::read)).collect();
        // Continuing needs the last day. Without a readable day, the list ends here.
        Ok(Rows { has_more: has_more && !days.is_empty(), rows: days })
    }

    /// The newest entries of one day, at most `limit`; `has_more` tells whether there are more. All
    /// shards are queried at once and merged.
    async fn of_day(
        &self,
        stream: &JournalStream,
        day: &Day,
        span: Span,
        limit: usize,
        reader: &mut RowReader,
    ) -> Result<Rows<Placed<Entry>>, StoreError> {
        let (from, to) = span.ends();
        let shards = day.shards.get();
        // Each shard reads its share of the page and some more. If a shard has returned too few
        // rows for a page, the caller asks again.
        let share = (limit + 1).min(2 * limit / usize::from(shards) + 8);
        let queries = (0..shards).map(|shard| {
            let query = self.between(&feed(stream, day.day, shard), &from, &to);
            query.limit(share.try_into().unwrap_or(i32::MAX)).send()
        });
        let answers = try_join_all(queries).await?.into_iter().map(|answer| {
            let has_more = answer.last_evaluated_key.is_some();
            let items = answer.items.unwrap_or_default().into_iter();
            let rows = items.map(|item| reader.read_placed(item, SORT_KEY, |item| entry(stream, item)));
            Rows { rows: rows.collect(), has_more }
        });
        let mut read = merge(answers.collect(), Direction::Desc, limit, |(place, _)| place.clone());
        read.rows.dedup_by_key(|(place, _)| place.clone());
        Ok(read)
    }

    /// The rows of a partition between two sort keys, both included, in descending order.
    fn between(&self, partition: &str, from: &str, to: &str) -> QueryFluentBuilder {
        let query = self.table.query_between([PARTITION_KEY, SORT_KEY], partition, from, to);
        query.scan_index_forward(false).consistent_read(true)
    }
}

fn page(rows: Vec<Placed<Entry>>, next: Option<EntryId>) -> Page<Entry, JournalPosition> {
    let places = rows.len();
    let items: Vec<_> = rows.into_iter().filter_map(|(_, row)| row).collect();
    Page { next: next.map(JournalPosition), skipped: places - items.len(), items }
}

/// The lowest id of a day.
fn first_of(day: Date) -> EntryId {
    let midnight = day.to_zoned(TimeZone::UTC).map(|midnight| midnight.timestamp());
    EntryId::first_from(midnight.unwrap_or(Timestamp::MIN))
}
