//! Recounting: what the statistics should be, from the clicks themselves.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use jiff::civil::Date;

use super::Sums;
use crate::calendar::YearMonth;

/// What is recounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One day's statistic.
    Day(Date),
    /// A month's, and those of its days.
    Month(YearMonth),
    /// Every day's, every month's and the total.
    All,
}

/// What one statistic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Period {
    /// A day, printed as `YYYY-MM-DD`.
    Day(Date),
    /// A month, printed as `YYYY-MM`.
    Month(YearMonth),
    /// All time, printed as `total`. It counts clicks and no users.
    Total,
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => day.fmt(f),
            Self::Month(month) => month.fmt(f),
            Self::Total => f.write_str("total"),
        }
    }
}

impl Scope {
    /// Whether the clicks of a day are looked at.
    pub fn contains(self, day: Date) -> bool {
        match self {
            Self::Day(only) => only == day,
            Self::Month(month) => YearMonth::of(day) == month,
            Self::All => true,
        }
    }

    /// The days to look at; `None` when that is every day that there is.
    pub fn days(self) -> Option<Vec<Date>> {
        match self {
            Self::Day(day) => Some(vec![day]),
            Self::Month(month) => Some((1..=31).filter_map(|day| month.day(day)).collect()),
            Self::All => None,
        }
    }

    /// The statistics that a click of that day belongs to.
    fn periods_of(self, day: Date) -> impl Iterator<Item = Period> {
        let month = (!matches!(self, Self::Day(_))).then(|| Period::Month(YearMonth::of(day)));
        let total = (self == Self::All).then_some(Period::Total);
        [Some(Period::Day(day)), month, total].into_iter().flatten().filter(move |_| self.contains(day))
    }
}

/// What names a click: `userId` and `createDateTime`.
pub type ClickKey = (String, String);

/// A click that lies in the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableClick {
    /// User and time, as written.
    pub key: ClickKey,
    /// The day it belongs to.
    pub date: Date,
    /// How many clicks it stands for.
    pub count: u32,
}

/// Adds up clicks by period, each user once in each day and month. Clicks outside of the scope are passed over.
pub fn recount<'a>(scope: Scope, clicks: impl IntoIterator<Item = &'a TableClick>) -> BTreeMap<Period, Sums> {
    let mut sums: BTreeMap<Period, Sums> = BTreeMap::new();
    let mut seen: HashSet<(Period, &str)> = HashSet::new();
    for click in clicks {
        for period in scope.periods_of(click.date) {
            let sums = sums.entry(period).or_default();
            sums.clicks += u64::from(click.count);
            if period != Period::Total && seen.insert((period, &click.key.0)) {
                sums.unique_users += 1;
            }
        }
    }
    sums
}

/// A statistic that is not what its clicks add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub period: Period,
    /// What it says.
    pub stored: Sums,
    /// What it should say.
    pub recounted: Sums,
}

impl Difference {
    /// By how much clicks and users are wrong. Counting goes on between two looks, but this stays the same: a commit adds to
    /// what is stored exactly the clicks that it makes count.
    pub fn error(&self) -> (i128, i128) {
        let less = |a: u64, b: u64| i128::from(a) - i128::from(b);
        (less(self.stored.clicks, self.recounted.clicks), less(self.stored.unique_users, self.recounted.unique_users))
    }
}

/// Where the two disagree, days first. A period that one of them lacks is zero there.
pub fn differences(stored: &BTreeMap<Period, Sums>, recounted: &BTreeMap<Period, Sums>) -> Vec<Difference> {
    let only_stored = stored.keys().filter(|period| !recounted.contains_key(period));
    let mut periods: Vec<_> = recounted.keys().chain(only_stored).copied().collect();
    periods.sort_unstable();
    let at = |sums: &BTreeMap<Period, Sums>, period| sums.get(period).copied().unwrap_or_default();
    let compared = periods.iter().map(|period| Difference {
        period: *period,
        stored: at(stored, period),
        recounted: at(recounted, period),
    });
    compared.filter(|difference| difference.stored != difference.recounted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn click(user_id: &str, date: Date, count: u32) -> TableClick {
        TableClick { key: (user_id.to_owned(), format!("{date}T00:00:00.000Z")), date, count }
    }

    fn clicks() -> Vec<TableClick> {
        let (last, first) = (date(2025, 10, 31), date(2025, 11, 1));
        vec![click("ann", last, 2), click("ann", first, 3), click("bob", first, 1), click("ann", first, 1)]
    }

    fn sums(clicks: u64, unique_users: u64) -> Sums {
        Sums { clicks, unique_users }
    }

    #[test]
    fn everything_is_added_up_by_day_by_month_and_in_total() {
        let november = YearMonth::of(date(2025, 11, 1));
        let expected = BTreeMap::from([
            (Period::Day(date(2025, 10, 31)), sums(2, 1)),
            (Period::Day(date(2025, 11, 1)), sums(5, 2)),
            (Period::Month(YearMonth::of(date(2025, 10, 31))), sums(2, 1)),
            (Period::Month(november), sums(5, 2)),
            (Period::Total, sums(7, 0)),
        ]);
        assert_eq!(recount(Scope::All, &clicks()), expected);
        let month = recount(Scope::Month(november), &clicks());
        let expected =
            BTreeMap::from([(Period::Day(date(2025, 11, 1)), sums(5, 2)), (Period::Month(november), sums(5, 2))]);
        assert_eq!(month, expected);
        let day = recount(Scope::Day(date(2025, 10, 31)), &clicks());
        assert_eq!(day, BTreeMap::from([(Period::Day(date(2025, 10, 31)), sums(2, 1))]));
    }

    #[test]
    fn a_statistic_without_clicks_and_clicks_without_a_statistic_are_differences() {
        let [a, b, c] = [1, 2, 3].map(|day| Period::Day(date(2025, 10, day)));
        let stored = BTreeMap::from([(a, sums(1, 1)), (b, sums(4, 1)), (c, sums(0, 0))]);
        let recounted = BTreeMap::from([(b, sums(4, 1)), (Period::Total, sums(9, 0))]);
        let found = differences(&stored, &recounted);
        let expected = [
            Difference { period: a, stored: sums(1, 1), recounted: sums(0, 0) },
            Difference { period: Period::Total, stored: sums(0, 0), recounted: sums(9, 0) },
        ];
        assert_eq!(found, expected);
        assert_eq!((found[0].error(), found[1].error()), ((1, 1), (-9, 0)));
    }

    #[test]
    fn a_month_has_the_days_that_the_calendar_gives_it() {
        let february = "2024-02".parse().expect("a month");
        assert_eq!(Scope::Month(february).days().map(|days| days.len()), Some(29));
        assert_eq!(Scope::All.days(), None);
    }
}
