//! Reading entries, newest first.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use domain::TimeRange;
use domain::journal::{Entry, EntryId, EntryIdError, Retention, Stream};
use futures::future::try_join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::keys::{Day, PARTITION_KEY, SORT_KEY, days, entry, feed};
use crate::StoreError;
use crate::item::between;
use crate::series::{Direction, Page, Rows, merge};

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
    client: Client,
    table: String,
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
    pub fn new(client: Client, table: impl Into<String>, retention: Retention) -> Self {
        Self { client, table: table.into(), retention }
    }

    /// Entries of a stream, newest first, from where the last page ended; `limit` of them, or fewer where days have little in them.
    /// Consistent: what was stored before is shown, if it lies before `after`.
    pub async fn page(
        &self,
        stream: &Stream,
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
        let (mut entries, mut queries) = (Vec::new(), 0);
        while !span.is_empty() {
            let days = self.days(stream, span).await?;
            queries += 1;
            let (mut rest, has_more_days) = (days.rows.into_iter().peekable(), days.has_more);
            while let Some(day) = rest.peek() {
                if queries > 1 && queries + usize::from(day.shards.get()) > QUERIES_MAX {
                    return Ok(page(entries, span.before));
                }
                queries += usize::from(day.shards.get());
                let read = self.of_day(stream, day, span, usize::from(limit) - entries.len()).await?;
                let last = read.rows.last().map(|entry| entry.id);
                entries.extend(read.rows);
                if read.has_more {
                    span.before = last.or(span.before);
                } else {
                    span.before = Some(first_of(day.day));
                    rest.next();
                }
                if entries.len() == usize::from(limit) {
                    let is_all = rest.peek().is_none() && !has_more_days;
                    return Ok(page(entries, span.before.filter(|_| !is_all)));
                }
            }
            if !has_more_days {
                break;
            }
        }
        Ok(page(entries, None))
    }

    /// The days in which something may lie, newest first, as far as one query brings them.
    async fn days(&self, stream: &Stream, span: Span) -> Result<Rows<Day>, StoreError> {
        let query = self.between(&days(stream), &span.first_day().to_string(), &span.last_day().to_string());
        let answer = query.limit(DAYS_AT_ONCE).send().await?;
        let has_more = answer.last_evaluated_key.is_some();
        let days: Vec<_> = answer.items.unwrap_or_default().into_iter().map(Day::read).collect::<Result<_, _>>()?;
        // Whoever goes on needs a day to go on from.
        Ok(Rows { has_more: has_more && !days.is_empty(), rows: days })
    }

    /// The newest entries of one day: at most `limit`, or fewer and more to come. All shards are read at once and merged.
    async fn of_day(&self, stream: &Stream, day: &Day, span: Span, limit: usize) -> Result<Rows<Entry>, StoreError> {
        let (from, to) = span.ends();
        let shards = day.shards.get();
        // Each shard brings about its share. The odd page for which one has brought too little takes another round.
        let share = (limit + 1).min(2 * limit / usize::from(shards) + 8);
        let queries = (0..shards).map(async |shard| {
            let query = self.between(&feed(stream, day.day, shard), &from, &to);
            let answer = query.limit(share.try_into().unwrap_or(i32::MAX)).send().await?;
            let has_more = answer.last_evaluated_key.is_some();
            let entries = answer.items.unwrap_or_default().into_iter().map(|item| entry(stream, item));
            Ok::<_, StoreError>(Rows { rows: entries.collect::<Result<_, _>>()?, has_more })
        });
        let mut read = merge(try_join_all(queries).await?, Direction::Desc, limit, |entry: &Entry| entry.id);
        read.rows.dedup_by_key(|entry| entry.id);
        Ok(read)
    }

    /// The rows of a partition between two sort keys, both included, from the last one backwards.
    fn between(&self, partition: &str, from: &str, to: &str) -> QueryFluentBuilder {
        let query = between(&self.client, &self.table, [PARTITION_KEY, SORT_KEY], partition, from, to);
        query.scan_index_forward(false).consistent_read(true)
    }
}

fn page(items: Vec<Entry>, next: Option<EntryId>) -> Page<Entry, JournalPosition> {
    Page { items, next: next.map(JournalPosition), skipped: 0 }
}

/// The lowest id of a day.
fn first_of(day: Date) -> EntryId {
    let midnight = day.to_zoned(TimeZone::UTC).map(|midnight| midnight.timestamp());
    EntryId::first_from(midnight.unwrap_or(Timestamp::MIN))
}
