//! Recounting: what the statistics should be, from the clicks themselves, and what sets them right.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use jiff::civil::Date;

use super::Sums;
use crate::calendar::YearMonth;

/// What is recounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecountScope {
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

impl RecountScope {
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

    /// Whether a statistic is among those that are looked at.
    pub fn compares(self, period: Period) -> bool {
        match (self, period) {
            (Self::All, _) => true,
            (_, Period::Day(day)) => self.contains(day),
            (Self::Month(month), Period::Month(of)) => of == month,
            _ => false,
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

/// What the markers tell of a user in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstSeenStatus {
    /// Claimed, and nobody has still to count the user: they are in the statistic, or missing from it for good.
    Settled,
    /// Claimed by a shard that has not passed the first-seen record, and may still count the user.
    Pending,
    /// Claimed by nobody: the user's next click would count the user, whether that has been done or not.
    Missing,
}

/// What clicks add up to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recounted {
    /// What the statistics should say.
    pub sums: BTreeMap<Period, Sums>,
    /// Users of a period without a marker; they are in the sums.
    pub unmarked: BTreeSet<Visitor>,
}

/// A user in a day or a month.
pub type Visitor = (Period, String);

/// Adds up counted clicks by period, each user once in each day and month, but for those who are on their way by their `first_seen_status`.
/// Clicks outside of the scope are passed over.
pub fn recount<'a>(
    scope: RecountScope,
    clicks: impl IntoIterator<Item = &'a TableClick>,
    first_seen_status: impl Fn(Period, &str) -> FirstSeenStatus,
) -> Recounted {
    let mut recounted = Recounted::default();
    let mut seen: HashSet<(Period, &str)> = HashSet::new();
    for click in clicks {
        for period in scope.periods_of(click.date) {
            let sums = recounted.sums.entry(period).or_default();
            sums.clicks += u64::from(click.count);
            let user_id = click.key.0.as_str();
            if period == Period::Total || !seen.insert((period, user_id)) {
                continue;
            }
            let status = first_seen_status(period, user_id);
            sums.unique_users += u64::from(status != FirstSeenStatus::Pending);
            if status == FirstSeenStatus::Missing {
                recounted.unmarked.insert((period, user_id.to_owned()));
            }
        }
    }
    recounted
}

/// What a statistic says, right or wrong: below zero where somebody has subtracted too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredSums {
    /// Clicks.
    pub clicks: i128,
    /// Users.
    pub unique_users: i128,
}

impl From<Sums> for StoredSums {
    fn from(Sums { clicks, unique_users }: Sums) -> Self {
        Self { clicks: clicks.into(), unique_users: unique_users.into() }
    }
}

/// A statistic that is not what its clicks add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Which.
    pub period: Period,
    /// What it says.
    pub stored: StoredSums,
    /// What it should say.
    pub recounted: Sums,
}

impl Difference {
    /// By how much clicks and users are wrong. Counting goes on between two looks, but this stays the same: a commit adds to
    /// what is stored exactly the clicks that it makes count.
    pub fn error(&self) -> (i128, i128) {
        let less = |a: i128, b: u64| a - i128::from(b);
        (less(self.stored.clicks, self.recounted.clicks), less(self.stored.unique_users, self.recounted.unique_users))
    }
}

/// Where the two disagree, days first. A period that one of them lacks is zero there.
pub fn differences(stored: &BTreeMap<Period, StoredSums>, recounted: &BTreeMap<Period, Sums>) -> Vec<Difference> {
    let only_stored = stored.keys().filter(|period| !recounted.contains_key(period));
    let mut periods: Vec<_> = recounted.keys().chain(only_stored).copied().collect();
    periods.sort_unstable();
    let compared = periods.iter().map(|period| Difference {
        period: *period,
        stored: stored.get(period).copied().unwrap_or_default(),
        recounted: recounted.get(period).copied().unwrap_or_default(),
    });
    compared.filter(|difference| difference.error() != (0, 0)).collect()
}

/// What to add to one statistic to set it right; negative where it says too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Correction {
    /// Which.
    pub period: Period,
    /// Clicks.
    pub clicks: i128,
    /// Users.
    pub unique_users: i128,
}

/// What sets differences right. `taken` are visitors who had no marker when they were recounted and whom a shard has claimed since: it
/// counts them. Nothing is subtracted unless `lowers`: a click that has expired or was deleted stays counted, and rightly.
pub fn corrections(differences: &[Difference], taken: &[Visitor], lowers: bool) -> Vec<Correction> {
    let mut errors: BTreeMap<Period, (i128, i128)> =
        differences.iter().map(|difference| (difference.period, difference.error())).collect();
    for (period, _) in taken {
        errors.entry(*period).or_default().1 += 1;
    }
    let against = |error: i128| if error < 0 || lowers { -error } else { 0 };
    let corrections = errors.into_iter().map(|(period, (clicks, users))| Correction {
        period,
        clicks: against(clicks),
        unique_users: against(users),
    });
    corrections.filter(|correction| (correction.clicks, correction.unique_users) != (0, 0)).collect()
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

    fn stored(clicks: u64, unique_users: u64) -> StoredSums {
        sums(clicks, unique_users).into()
    }

    fn sums_of(scope: RecountScope) -> BTreeMap<Period, Sums> {
        let recounted = recount(scope, &clicks(), |_, _| FirstSeenStatus::Settled);
        assert_eq!(recounted.unmarked, BTreeSet::new());
        recounted.sums
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
        assert_eq!(sums_of(RecountScope::All), expected);
        let month = sums_of(RecountScope::Month(november));
        let expected =
            BTreeMap::from([(Period::Day(date(2025, 11, 1)), sums(5, 2)), (Period::Month(november), sums(5, 2))]);
        assert_eq!(month, expected);
        let day = sums_of(RecountScope::Day(date(2025, 10, 31)));
        assert_eq!(day, BTreeMap::from([(Period::Day(date(2025, 10, 31)), sums(2, 1))]));
    }

    #[test]
    fn a_statistic_without_clicks_and_clicks_without_a_statistic_are_differences() {
        let [a, b, c, d] = [1, 2, 3, 4].map(|day| Period::Day(date(2025, 10, day)));
        let below = StoredSums { clicks: -3, unique_users: 1 };
        let written = BTreeMap::from([(a, stored(1, 1)), (b, stored(4, 1)), (c, stored(0, 0)), (d, below)]);
        let recounted = BTreeMap::from([(b, sums(4, 1)), (d, sums(2, 1)), (Period::Total, sums(9, 0))]);
        let found = differences(&written, &recounted);
        let expected = [
            Difference { period: a, stored: stored(1, 1), recounted: sums(0, 0) },
            Difference { period: d, stored: below, recounted: sums(2, 1) },
            Difference { period: Period::Total, stored: stored(0, 0), recounted: sums(9, 0) },
        ];
        assert_eq!(found, expected);
        assert_eq!([found[0].error(), found[1].error(), found[2].error()], [(1, 1), (-5, 0), (-9, 0)]);
    }

    #[test]
    fn a_visitor_on_the_way_is_not_yet_due_and_one_without_a_marker_is() {
        let day = Period::Day(date(2025, 11, 1));
        let marks = |period: Period, user: &str| match (period, user) {
            (Period::Day(_), "ann") => FirstSeenStatus::Pending,
            (Period::Day(_), _) => FirstSeenStatus::Missing,
            _ => FirstSeenStatus::Settled,
        };
        let recounted = recount(RecountScope::Day(date(2025, 11, 1)), &clicks(), marks);
        assert_eq!(recounted.sums, BTreeMap::from([(day, sums(5, 1))]));
        assert_eq!(recounted.unmarked, BTreeSet::from([(day, "bob".to_owned())]));
    }

    #[test]
    fn a_correction_raises_and_lowers_only_when_told_to() {
        let [a, b, c] = [1, 2, 3].map(|day| Period::Day(date(2025, 10, day)));
        let differences = [
            Difference { period: a, stored: stored(1, 4), recounted: sums(5, 3) },
            Difference { period: b, stored: stored(9, 1), recounted: sums(8, 3) },
        ];
        // One of b's two has been claimed by a shard meanwhile, which will count them; so has somebody in c, for the second time.
        let taken = [(b, "ann".to_owned()), (c, "bob".to_owned())];
        let correction = |period, clicks, unique_users| Correction { period, clicks, unique_users };
        let raised = [correction(a, 4, 0), correction(b, 0, 1)];
        assert_eq!(corrections(&differences, &taken, false), raised);
        let both = [correction(a, 4, -1), correction(b, -1, 1), correction(c, 0, -1)];
        assert_eq!(corrections(&differences, &taken, true), both);
    }

    #[test]
    fn a_month_has_the_days_that_the_calendar_gives_it() {
        let february = "2024-02".parse().expect("a month");
        assert_eq!(RecountScope::Month(february).days().map(|days| days.len()), Some(29));
        assert_eq!(RecountScope::All.days(), None);
    }
}
