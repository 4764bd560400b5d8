//! Reading entries, newest first.

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::TimeRange;
use domain::journal::{Entry, EntryId, EntryIdError, JournalStream, Retention};
use futures::future::try_join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::keys::{Day, PARTITION_KEY, SORT_KEY, days, entry, feed};
use crate::row_reader::{Placed, RowReader};
use crate::series::{Direction, Page, Rows, merge};
use crate::{StoreError, Table};

/// The most queries of one page, but for a first day that has more shards. A stretch of days with little or nothing in them ends a page early, with
/// a place to go on from.
pub const QUERIES_MAX: usize = 200;

/// How many days are asked for at once: of some 80 bytes each, as many as
/// [a read unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html) of 4 KB holds.
const DAYS_AT_ONCE: i32 = 40;

/// Up to where a list has been read: this id and all above.
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

/// What is left to be read: from an id on, up to and without another one. An end that is `None` is open.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: Option<EntryId>,
    before: Option<EntryId>,
}

impl Span {
    fn is_empty(&self) -> bool {
        self.from.zip(self.before).is_some_and(|(from, before)| from >= before)
    }

    /// The last day in which something may lie.
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

    /// The same as texts, both included. Every id lies between the ends that stand for none.
    fn ends(&self) -> (String, String) {
        let from = self.from.map_or(Uuid::nil(), EntryId::uuid);
        let to = self.before.map_or(Uuid::max(), |before| Uuid::from_u128(before.uuid().as_u128() - 1));
        (from.to_string(), to.to_string())
    }
}

impl JournalReader {
    /// A reader of `table`. What is older than its stream keeps is not shown, whether or not it has been deleted yet.
    pub fn new(table: &Table, retention: Retention) -> Self {
        Self { table: table.clone(), retention }
    }

    /// Entries of a stream, newest first, from where the last page ended; `limit` of them, or fewer where days have little in them.
    /// Consistent: what was stored before is shown, if it lies before `after`.
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
                    // Without an id there is no place to go on from.
                    span.before = Some(last.ok_or_else(|| StoreError::unreadable(format!("no ids on {}", day.day)))?);
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

    /// The days in which something may lie, newest first, as far as one query brings them.
    async fn days(&self, stream: &JournalStream, span: Span, reader: &mut RowReader) -> Result<Rows<Day>, StoreError> {
        let query = self.between(&days(stream), &span.first_day().to_string(), &span.last_day().to_string());
        let answer = query.limit(DAYS_AT_ONCE).send().await?;
        let has_more = answer.last_evaluated_key.is_some();
        let items = answer.items.unwrap_or_default().into_iter();
        let days: Vec<_> = items.filter_map(|item| reader.read(item, Day::read)).collect();
        // Whoever goes on needs a day to go on from.
        Ok(Rows { has_more: has_more && !days.is_empty(), rows: days })
    }

    /// The newest entries of one day: at most `limit`, or fewer and more to come. All shards are read at once and merged.
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
        // Each shard brings about its share. The odd page for which one has brought too little takes another round.
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

    /// The rows of a partition between two sort keys, both included, from the last one backwards.
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
