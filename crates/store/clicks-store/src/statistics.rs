//! The statistics of the clicks, declared.
//!
//! There are three rollups, so that the price of the first one does not depend on the others: days,
//! months and the total; the details; and the visitors of all time. An owner may turn the last two
//! off.

use domain::clicks::ClickTarget;
use jiff::civil::{Date, DateTime};
use rollup::{Aggregator, DeclarationError, DecodeError, Group, Policy, Rollup, RollupBuilder, Window, distinct, sum};
use serde_json::value::RawValue;

use super::image::ClickImage;
use super::keys::{
    DAILY, HOURLY, MONTHLY, PARTITION_KEY, SORT_KEY, TARGET, TARGET_DAY, TOTAL, TOTAL_SORT, VISITORS, WEEKLY,
};
use store_base::Table;

/// The sum of the clicks' counts, in each statistic.
pub(super) const TOTAL_CLICKS: &str = "totalClicks";
/// The number of distinct users, in each statistic except the total.
pub(super) const UNIQUE_USERS: &str = "uniqueUsers";

/// A click as the statistics see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountedClick {
    /// The user who clicked.
    pub user_id: String,
    /// The day that the click belongs to.
    pub date: Date,
    /// The hour of the day, 0 to 23, if the click tells it.
    pub hour: Option<i8>,
    /// How many clicks the item stands for.
    pub count: u32,
    /// The target of the clicks.
    pub target: Option<ClickTarget>,
}

impl CountedClick {
    fn midnight(&self) -> DateTime {
        self.date.at(0, 0, 0, 0)
    }

    fn hour(&self) -> Option<DateTime> {
        self.hour.map(|hour| self.date.at(hour, 0, 0, 0))
    }

    fn target(&self) -> Option<String> {
        self.target.as_ref().map(|target| target.as_str().to_owned())
    }
}

/// The statistics of days and months, and the total.
///
/// # Errors
/// Never: a test builds it.
pub fn click_statistics() -> Result<Rollup<CountedClick>, DeclarationError> {
    declaration("clicks")
        .group(
            Group::new("day")
                .civil_window("day", Window::Day, CountedClick::midnight)
                .key(DAILY, "{day}")
                .set("dateKey", "DATE#{day}")
                .set("recordSort", DAILY),
        )
        .group(
            Group::new("month")
                .civil_window("month", Window::Month, CountedClick::midnight)
                .key(MONTHLY, "{month}")
                .set("dateKey", "MONTH#{month}")
                .set("recordSort", MONTHLY),
        )
        .group(
            Group::new("total")
                .key(TOTAL, TOTAL_SORT)
                .set("dateKey", TOTAL)
                .set("recordSort", TOTAL_SORT)
                .measures([TOTAL_CLICKS]),
        )
        .build()
}

/// The statistics of hours, of ISO weeks, and of each target and day.
///
/// # Errors
/// Never: a test builds it.
pub fn click_details() -> Result<Rollup<CountedClick>, DeclarationError> {
    declaration("click-details")
        .group(Group::new("hour").civil_window("hour", Window::Hour, CountedClick::hour).key(HOURLY, "{hour}"))
        .group(Group::new("week").civil_window("week", Window::Week, CountedClick::midnight).key(WEEKLY, "{week}"))
        .group(
            Group::new("target")
                .attribute("target", CountedClick::target)
                .civil_window("day", Window::Day, CountedClick::midnight)
                .key(format!("{TARGET}{{target}}"), "{day}")
                .set(TARGET_DAY, "{day}"),
        )
        .build()
}

/// The visitors of all time, with the clicks among which they were counted.
fn click_visitors() -> Result<Rollup<CountedClick>, DeclarationError> {
    declaration("click-visitors").group(Group::new("all").key(VISITORS, TOTAL_SORT)).build()
}

/// A click counts once, when it is inserted.
fn declaration(name: &str) -> RollupBuilder<CountedClick> {
    Rollup::builder(name)
        .measure(TOTAL_CLICKS, sum(|click: &CountedClick| i64::from(click.count)))
        .measure(UNIQUE_USERS, distinct(|click: &CountedClick| click.user_id.clone()))
        .on_modify(Policy::Keep)
        .on_remove(Policy::Keep)
        .on_ttl(Policy::Keep)
}

/// The aggregators of the clicks in a table: days, months and the total; the details; the visitors of
/// all time.
///
/// # Errors
/// Never: a test builds the declarations.
pub fn click_aggregators(table: &rollup::Table) -> Result<[Aggregator<CountedClick>; 3], DeclarationError> {
    let aggregator = |rollup| Aggregator::decoding(rollup, table.clone(), read_click);
    Ok([aggregator(click_statistics()?), aggregator(click_details()?), aggregator(click_visitors()?)])
}

/// The clicks table as the aggregators take it.
pub fn rollup_table(table: &Table) -> rollup::Table {
    rollup::Table::new(table.client().clone(), table.name(), PARTITION_KEY, SORT_KEY)
}

/// Reads the image of an item; `None` if the item is not a click.
pub fn read_click(image: &RawValue) -> Result<Option<CountedClick>, DecodeError> {
    let image: ClickImage<'_> = serde_json::from_str(image.get()).map_err(|error| DecodeError::new("record", error))?;
    image.click().map_err(|why| DecodeError::new(why.code(), why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::calendar::parse_date;
    use rollup::{Change, Index, Layout};

    /// Write units of a click, for batches of 1,000 clicks of one day.
    fn writes(batches: &[Vec<String>]) -> Vec<f64> {
        let rollup = click_statistics().expect("a declaration");
        let index = Index { partition_key: "dateKey".to_owned(), sort_key: "recordSort".to_owned() };
        let date = parse_date("2025-10-02").expect("a date");
        let changes = |users: &Vec<String>| {
            users
                .iter()
                .map(|user| {
                    Change::Insert(CountedClick { user_id: user.clone(), date, hour: Some(9), count: 1, target: None })
                })
                .collect()
        };
        let all = batches.iter().map(changes).collect::<Vec<Vec<_>>>();
        let total = |batches: usize| {
            let all = all.iter().take(batches).cloned();
            rollup.explain(Layout::Sums, ["userId", "createDateTime"], std::slice::from_ref(&index), all).write_units
        };
        (0..batches.len()).map(|batch| (total(batch + 1) - total(batch)) / batches[batch].len() as f64).collect()
    }

    #[test]
    fn click_statistics_cost_at_most_a_third_write_unit() {
        let user = |n: usize| format!("user-{n}");
        let first: Vec<_> = (0..1_000).map(|n| user(n % 300)).collect();
        let few_new: Vec<_> = (0..1_000).map(|n| user(if n < 30 { 300 + n } else { n % 300 })).collect();
        let none_new = first.clone();
        let writes = writes(&[first, few_new, none_new]);
        assert!(writes[0] <= 0.32 && writes[1] <= 0.045 && writes[2] <= 0.012, "{writes:?}");
    }
}
