//! Queries of a product's ledger. Each access pattern uses another comparison of the sort key.
//!
//! | rows | the sort key |
//! |---|---|
//! | one, by its id | `=` |
//! | of a second, of a day, all | `begins_with` |
//! | from a second up to another | `BETWEEN` |
//! | before a second, newest first | `<` |
//! | in a second or before it, newest first | `<=` |
//! | in a second or after it, oldest first | `>=` |
//! | after a row, oldest first | `>` |
//!
//! A query reads whole seconds. Rows outside of the requested moments are then left out. Within a
//! second, rows of the original design are sorted as texts, which is not the order of time. A
//! partition has more than one ledger. Where a comparison is open on one side, the list ends at the
//! first row that does not belong to the ledger.

use std::fmt::Display;

use domain::calendar::parse_date;
use domain::shop::{ProductId, RowId};
use domain::{Moment, TimeRange};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::keys::{self, Item, PARTITION_KEY, SORT_KEY, key, product, row, row_id, s};
use store_base::RowReader;
use store_base::{Direction, Page};
use store_base::{StoreError, Table};

/// The most DynamoDB pages that are read for one page. A thousand rows fit the first
/// [megabyte](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html), but
/// an emulator may use smaller pages.
const PAGES_MAX: usize = 20;

/// Sorts after all texts that the key of a row may have after its second.
const AFTER_ALL: &str = "~";

/// The rows of a ledger that a query selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerQuery {
    /// The row with this id.
    Row(RowId),
    /// The rows of one moment, exact to the nanosecond.
    At(Moment),
    /// The rows of a UTC day.
    Day(Date),
    /// The rows of a half-open range. If both ends are open, the whole history.
    Range(TimeRange),
    /// The rows of a moment and before it.
    UpTo(Moment),
    /// The rows after a row.
    After(RowId),
}

/// A client's query parameters: either a range with `from` and `to`, as moments or days, or one of
/// the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct LedgerParameters<'a> {
    /// The first moment or day.
    pub from: Option<&'a str>,
    /// The first moment after the range, or its last day.
    pub to: Option<&'a str>,
    /// One moment.
    pub at: Option<&'a str>,
    /// One UTC day.
    pub day: Option<&'a str>,
    /// The id of the last row before the selected rows.
    pub after: Option<&'a str>,
}

/// A parameter that is not valid, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerParameterError {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// The reason.
    pub why: String,
}

impl LedgerParameters<'_> {
    /// The selected rows. Without parameters, all rows.
    pub fn slice(self) -> Result<LedgerQuery, LedgerParameterError> {
        let others = [("at", self.at), ("day", self.day), ("after", self.after)];
        let mut others = others.into_iter().filter_map(|(name, text)| Some((name, text?)));
        let Some((name, text)) = others.next() else {
            let from = self.from.map(|text| asked("from", Moment::parse_or_day(text))).transpose()?;
            let to = self.to.map(|text| asked("to", Moment::parse_end(text))).transpose()?;
            return asked("from", TimeRange::new(from, to)).map(LedgerQuery::Range);
        };
        if self.from.or(self.to).is_some() || others.next().is_some() {
            return asked(name, Err("goes with no other time"));
        }
        match name {
            "at" => asked(name, Moment::parse(text)).map(LedgerQuery::At),
            "day" => asked(name, parse_date(text)).map(LedgerQuery::Day),
            _ => asked(name, text.parse()).map(|row: RowId| LedgerQuery::After(row)),
        }
    }
}

fn asked<T, E: Display>(parameter: &'static str, read: Result<T, E>) -> Result<T, LedgerParameterError> {
    read.map_err(|why| LedgerParameterError { parameter, why: why.to_string() })
}

/// The position at which a page ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerPosition(String);

/// The rows of one kind in the partitions of products.
#[derive(Debug, Clone)]
pub(super) struct Ledger {
    pub(super) table: Table,
    /// The prefix of their sort keys. It ends with `#`.
    pub(super) prefix: &'static str,
}

/// A comparison of the sort key, with its values.
#[derive(Debug, PartialEq, Eq)]
enum Comparison {
    Is(String),
    BeginsWith(String),
    Between(String, String),
    Before(String),
    UpTo(String),
    From(String),
    After(String),
}

impl LedgerQuery {
    fn comparison(self, prefix: &str, direction: Direction) -> Comparison {
        use Comparison::{After, Before, BeginsWith, Between, From, Is, UpTo};
        let begin = |moment: Moment| keys::second(prefix, moment);
        let end = |moment: Moment| format!("{}{AFTER_ALL}", keys::second(prefix, moment));
        // The end of a range is excluded. If it is a whole second, no row of that second is
        // selected.
        let before = |moment: Moment| if moment.is_whole_second() { begin(moment) } else { end(moment) };
        // `$` follows `#`, so this sorts after all rows of the ledger.
        let after_all = || prefix.replace('#', "$");
        let asc = direction == Direction::Asc;
        match self {
            Self::Row(id) => Is(row(prefix, id)),
            Self::At(moment) => BeginsWith(begin(moment)),
            Self::Day(day) => BeginsWith(format!("{prefix}{day}")),
            Self::Range(range) => match (range.from(), range.to()) {
                (Some(from), Some(to)) => Between(begin(from), before(to)),
                (Some(from), None) if asc => From(begin(from)),
                (Some(from), None) => Between(begin(from), after_all()),
                (None, Some(to)) if asc => Between(prefix.to_owned(), before(to)),
                (None, Some(to)) => Before(before(to)),
                (None, None) => BeginsWith(prefix.to_owned()),
            },
            Self::UpTo(moment) if asc => Between(prefix.to_owned(), end(moment)),
            Self::UpTo(moment) => UpTo(end(moment)),
            Self::After(id) if asc => After(row(prefix, id)),
            Self::After(id) => Between(format!("{}{AFTER_ALL}", row(prefix, id)), after_all()),
        }
    }

    /// Whether the query selects a row that DynamoDB has returned.
    fn contains(self, row: RowId) -> bool {
        match self {
            Self::At(moment) => row.at == moment,
            Self::Range(range) => range.contains(row.at),
            Self::UpTo(moment) => row.at <= moment,
            Self::Row(_) | Self::Day(_) | Self::After(_) => true,
        }
    }
}

impl Comparison {
    /// The key condition, and the values of `:a` and `:b`.
    fn condition(self) -> (&'static str, String, Option<String>) {
        match self {
            Self::Is(a) => ("PK = :pk AND SK = :a", a, None),
            Self::BeginsWith(a) => ("PK = :pk AND begins_with(SK, :a)", a, None),
            Self::Between(a, b) => ("PK = :pk AND SK BETWEEN :a AND :b", a, Some(b)),
            Self::Before(a) => ("PK = :pk AND SK < :a", a, None),
            Self::UpTo(a) => ("PK = :pk AND SK <= :a", a, None),
            Self::From(a) => ("PK = :pk AND SK >= :a", a, None),
            Self::After(a) => ("PK = :pk AND SK > :a", a, None),
        }
    }
}

impl Ledger {
    /// A page of rows, sorted by time in the direction: at most `limit`, and fewer only at the end
    /// of the list or when many are unreadable. The reads are eventually consistent.
    pub(super) async fn page<T>(
        &self,
        product_id: &ProductId,
        slice: LedgerQuery,
        direction: Direction,
        limit: usize,
        after: Option<&LedgerPosition>,
        read: impl Fn(Item) -> Result<T, StoreError>,
    ) -> Result<Page<T, LedgerPosition>, StoreError> {
        let partition = product(product_id);
        let (condition, a, b) = slice.comparison(self.prefix, direction).condition();
        let mut start = after.map(|LedgerPosition(sort)| key(&partition, sort));
        let (mut items, mut last) = (Vec::new(), None);
        let mut reader = RowReader::new([PARTITION_KEY, SORT_KEY]);
        for _ in 0..PAGES_MAX {
            let query = self
                .table
                .query()
                .key_condition_expression(condition)
                .expression_attribute_values(":pk", s(&partition))
                .expression_attribute_values(":a", s(&a))
                .set_exclusive_start_key(start)
                .scan_index_forward(direction == Direction::Asc)
                // One row more than needed, to know whether there are more.
                .limit(i32::try_from(limit - items.len() + 1).unwrap_or(i32::MAX));
            let query = match &b {
                Some(b) => query.expression_attribute_values(":b", s(b)),
                None => query,
            };
            let answer = query.send().await?;
            start = answer.last_evaluated_key;
            for item in answer.items.unwrap_or_default() {
                let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
                if !sort.starts_with(self.prefix) {
                    start = None;
                    break;
                }
                if row_id(self.prefix, &sort).is_ok_and(|id| !slice.contains(id)) {
                    last = Some(sort);
                    continue;
                }
                if items.len() == limit {
                    return Ok(Page { items, next: last.map(LedgerPosition), skipped: reader.skipped() });
                }
                items.extend(reader.read(item, &read));
                last = Some(sort);
            }
            if start.is_none() {
                return Ok(Page { items, next: None, skipped: reader.skipped() });
            }
        }
        Ok(Page { items, next: last.map(LedgerPosition), skipped: reader.skipped() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(asked: LedgerParameters<'_>) -> Result<LedgerQuery, &'static str> {
        asked.slice().map_err(|error| error.parameter)
    }

    #[test]
    fn a_ledger_query_has_a_range_or_one_other_parameter() {
        let moment = |text| Moment::parse(text).expect("a moment");
        let january = LedgerParameters {
            from: Some("2024-01-01"),
            to: Some("2024-02-01T00:00:00Z"),
            ..LedgerParameters::default()
        };
        let range = TimeRange::new(Some(moment("2024-01-01T00:00:00Z")), Some(moment("2024-02-01T00:00:00Z")));
        assert_eq!(slice(january), Ok(LedgerQuery::Range(range.expect("a range"))));
        assert_eq!(slice(LedgerParameters { to: Some("2024-01-31"), ..january }), slice(january));
        assert_eq!(slice(LedgerParameters::default()), Ok(LedgerQuery::Range(TimeRange::default())));
        let at = LedgerParameters { at: Some("2024-01-01T09:00:00+09:00"), ..LedgerParameters::default() };
        assert_eq!(slice(at), Ok(LedgerQuery::At(moment("2024-01-01T00:00:00Z"))));
        assert_eq!(slice(LedgerParameters { day: Some("2024-01-01"), ..at }), Err("at"));
        assert_eq!(slice(LedgerParameters { to: Some("2025-01-01"), ..at }), Err("at"));
        assert_eq!(slice(LedgerParameters { day: Some("2024-01-01"), ..january }), Err("day"));
        assert_eq!(slice(LedgerParameters { from: Some("2024-02-01"), ..january }), Err("from"));
        assert_eq!(slice(LedgerParameters { from: Some("2024-02-02"), ..january }), Err("from"));
        assert_eq!(slice(LedgerParameters { to: Some("2024-02-01T00:00:00"), ..january }), Err("to"));
        assert_eq!(slice(LedgerParameters { at: Some("2024-01-01"), ..LedgerParameters::default() }), Err("at"));
        assert_eq!(slice(LedgerParameters { after: Some("2024-01-01"), ..LedgerParameters::default() }), Err("after"));
    }
}
