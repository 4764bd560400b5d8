//! Recounting: computes the statistics again from the clicks, and the corrections for wrong ones.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use jiff::civil::Date;

use super::Sums;
use crate::calendar::YearMonth;

/// The statistics that are recounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecountScope {
    /// The statistic of one day.
    Day(Date),
    /// The statistics of a month and of its days.
    Month(YearMonth),
    /// The statistics of every day and every month, and the total.
    All,
}

/// The period of a statistic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Period {
    /// A day, printed as `YYYY-MM-DD`.
    Day(Date),
    /// A month, printed as `YYYY-MM`.
    Month(YearMonth),
    /// All time, printed as `total`. This statistic has clicks but no users.
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
    /// Whether the clicks of a day are recounted.
    pub fn contains(self, day: Date) -> bool {
        match self {
            Self::Day(only) => only == day,
            Self::Month(month) => YearMonth::of(day) == month,
            Self::All => true,
        }
    }

    /// The days to read; `None` for every day in the table.
    pub fn days(self) -> Option<Vec<Date>> {
        match self {
            Self::Day(day) => Some(vec![day]),
            Self::Month(month) => Some((1..=31).filter_map(|day| month.day(day)).collect()),
            Self::All => None,
        }
    }

    /// Whether the statistic of a period is recounted.
    pub fn compares(self, period: Period) -> bool {
        match (self, period) {
            (Self::All, _) => true,
            (_, Period::Day(day)) => self.contains(day),
            (Self::Month(month), Period::Month(of)) => of == month,
            _ => false,
        }
    }

    /// The recounted statistics that a click of this day belongs to.
    fn periods_of(self, day: Date) -> impl Iterator<Item = Period> {
        let month = (!matches!(self, Self::Day(_))).then(|| Period::Month(YearMonth::of(day)));
        let total = (self == Self::All).then_some(Period::Total);
        [Some(Period::Day(day)), month, total].into_iter().flatten().filter(move |_| self.contains(day))
    }
}

/// The key of a click: `userId` and `createDateTime`.
pub type ClickKey = (String, String);

/// A click as the table has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableClick {
    /// The user id and the time, as they were written.
    pub key: ClickKey,
    /// The day that the click belongs to.
    pub date: Date,
    /// How many clicks the record stands for.
    pub count: u32,
}

/// The state of the first-seen record of a user in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstSeenStatus {
    /// There is a record, and no shard has still to count the user. The user is in the statistic,
    /// or will stay missing from it.
    Settled,
    /// A shard has written the record, but its checkpoint has not passed it yet. The shard may
    /// still count the user.
    Pending,
    /// There is no record. The user's next click would count the user, even if the user has been
    /// counted before.
    Missing,
}

/// The result of a recount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recounted {
    /// The sums that the statistics should have.
    pub sums: BTreeMap<Period, Sums>,
    /// The users of a period without a first-seen record. They are included in the sums.
    pub unmarked: BTreeSet<Visitor>,
}

/// A user in a day or a month.
pub type Visitor = (Period, String);

/// Adds up counted clicks by period. Each user counts once in each day and month, except users
/// whose first-seen record is [`FirstSeenStatus::Pending`]: their shard counts them. Clicks outside
/// of the scope are skipped.
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

/// The sums that a statistic has, right or wrong. They are negative when too much was subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoredSums {
    /// The clicks.
    pub clicks: i128,
    /// The users.
    pub unique_users: i128,
}

impl From<Sums> for StoredSums {
    fn from(Sums { clicks, unique_users }: Sums) -> Self {
        Self { clicks: clicks.into(), unique_users: unique_users.into() }
    }
}

/// A statistic that differs from the sums of its clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// The period of the statistic.
    pub period: Period,
    /// The sums that it has.
    pub stored: StoredSums,
    /// The sums that it should have.
    pub recounted: Sums,
}

impl Difference {
    /// The errors of the clicks and of the users: stored minus recounted. Counting that goes on
    /// between two recounts does not change them, since a commit adds the same clicks to both
    /// sides.
    pub fn error(&self) -> (i128, i128) {
        let less = |a: i128, b: u64| a - i128::from(b);
        (less(self.stored.clicks, self.recounted.clicks), less(self.stored.unique_users, self.recounted.unique_users))
    }
}

/// The periods in which the two differ, days first. A period that one of them lacks is zero there.
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

/// The sums to add to one statistic to correct it; negative where the statistic is too high.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Correction {
    /// The period of the statistic.
    pub period: Period,
    /// The clicks.
    pub clicks: i128,
    /// The users.
    pub unique_users: i128,
}

/// The corrections for the differences.
///
/// `recorded_since` are visitors without a first-seen record at the recount for whom a shard has
/// written one since. That shard counts them, so the correction must not. Nothing is subtracted
/// unless `lowers` is true: a click that has expired or was deleted correctly stays counted.
pub fn corrections(differences: &[Difference], recorded_since: &[Visitor], lowers: bool) -> Vec<Correction> {
    let mut errors: BTreeMap<Period, (i128, i128)> =
        differences.iter().map(|difference| (difference.period, difference.error())).collect();
    for (period, _) in recorded_since {
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
    fn clicks_are_added_up_by_day_by_month_and_in_total() {
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
    fn a_pending_visitor_is_not_counted_yet_and_one_without_a_record_is() {
        let day = Period::Day(date(2025, 11, 1));
        let status = |period: Period, user: &str| match (period, user) {
            (Period::Day(_), "ann") => FirstSeenStatus::Pending,
            (Period::Day(_), _) => FirstSeenStatus::Missing,
            _ => FirstSeenStatus::Settled,
        };
        let recounted = recount(RecountScope::Day(date(2025, 11, 1)), &clicks(), status);
        assert_eq!(recounted.sums, BTreeMap::from([(day, sums(5, 1))]));
        assert_eq!(recounted.unmarked, BTreeSet::from([(day, "bob".to_owned())]));
    }

    #[test]
    fn a_correction_raises_always_and_lowers_only_when_told_to() {
        let [a, b, c] = [1, 2, 3].map(|day| Period::Day(date(2025, 10, day)));
        let differences = [
            Difference { period: a, stored: stored(1, 4), recounted: sums(5, 3) },
            Difference { period: b, stored: stored(9, 1), recounted: sums(8, 3) },
        ];
        // A shard has recorded one of b's two missing users meanwhile and will count them. In c it
        // has recorded a user for the second time.
        let recorded_since = [(b, "ann".to_owned()), (c, "bob".to_owned())];
        let correction = |period, clicks, unique_users| Correction { period, clicks, unique_users };
        let raised = [correction(a, 4, 0), correction(b, 0, 1)];
        assert_eq!(corrections(&differences, &recorded_since, false), raised);
        let both = [correction(a, 4, -1), correction(b, -1, 1), correction(c, 0, -1)];
        assert_eq!(corrections(&differences, &recorded_since, true), both);
    }

    #[test]
    fn the_scope_of_a_month_has_the_days_of_the_calendar() {
        let february = "2024-02".parse().expect("a month");
        assert_eq!(RecountScope::Month(february).days().map(|days| days.len()), Some(29));
        assert_eq!(RecountScope::All.days(), None);
    }
}
