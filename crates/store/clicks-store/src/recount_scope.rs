//! The statistics that a recount compares, and the queries that read their clicks.

use std::collections::BTreeSet;

use domain::calendar::YearMonth;
use jiff::civil::Date;
use rollup::Scope;

use super::keys::{CLICK_PREFIX, CLICK_PREFIX_END, DAILY, DATE_INDEX, DateShards, MONTHLY, s};
use store_base::Table;

/// The statistics to recount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecountScope {
    /// The statistic of one day.
    Day(Date),
    /// The statistics of a month and of its days.
    Month(YearMonth),
    /// All statistics.
    All,
}

impl RecountScope {
    /// The days whose clicks are read; `None` for the whole table.
    pub fn days(self) -> Option<Vec<Date>> {
        match self {
            Self::Day(day) => Some(vec![day]),
            Self::Month(month) => Some((1..=31).filter_map(|day| month.day(day)).collect()),
            Self::All => None,
        }
    }

    /// The same for [`rollup::Recounter`]. `date_shards` is the largest number of partitions that
    /// writers have ever spread a day over.
    pub fn of(self, table: &Table, date_shards: DateShards) -> Scope {
        let Some(days) = self.days() else { return Scope::All };
        let mut stats: BTreeSet<_> = days.iter().map(|day| (DAILY.to_owned(), day.to_string())).collect();
        if let Self::Month(month) = self {
            stats.insert((MONTHLY.to_owned(), month.to_string()));
        }
        let date_keys = days.into_iter().flat_map(|day| date_shards.date_keys(day));
        let query = |date_key| {
            let query = table.query().index_name(DATE_INDEX);
            query
                .key_condition_expression("dateKey = :key AND recordSort BETWEEN :from AND :to")
                .expression_attribute_values(":key", s(date_key))
                .expression_attribute_values(":from", s(CLICK_PREFIX))
                .expression_attribute_values(":to", s(CLICK_PREFIX_END))
        };
        Scope::Part { queries: date_keys.map(query).collect(), stats }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn month_scope_has_the_days_of_its_calendar_month() {
        let february = "2024-02".parse().expect("a month");
        assert_eq!(RecountScope::Month(february).days().map(|days| days.len()), Some(29));
        assert_eq!(RecountScope::All.days(), None);
    }
}
