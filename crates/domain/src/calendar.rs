//! Days, ISO weeks, months and their ranges. All days are UTC days.

use std::fmt;
use std::str::FromStr;

use jiff::Span;
use jiff::civil::{Date, ISOWeekDate, Weekday};

/// The most days that one range may span.
pub const RANGE_DAYS_MAX: i32 = 400;

/// The most days of hours that one range may span.
pub const RANGE_HOUR_DAYS_MAX: i32 = 31;

/// The most weeks that one range may span: two years.
pub const RANGE_WEEKS_MAX: i32 = 106;

/// The days of a range without a first day.
pub const RANGE_DAYS_DEFAULT: i32 = 30;

/// The most months that one range may span: ten years.
pub const RANGE_MONTHS_MAX: i32 = 120;

/// Why a text is not a day, a week or a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CalendarError {
    /// The text is not `YYYY-MM-DD`, or the calendar does not have this date.
    #[error("expected a date that exists, as YYYY-MM-DD")]
    NotADate,
    /// The text is not `YYYY-Www`, or the calendar does not have this week.
    #[error("expected an ISO week that exists, as YYYY-Www")]
    NotAWeek,
    /// The text is not `YYYY-MM`, or the calendar does not have this month.
    #[error("expected a month that exists, as YYYY-MM")]
    NotAMonth,
}

/// Why a first and a last day, week or month are not a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// `from` is after `to`.
    #[error("`from` is after `to`")]
    Reversed,
    /// The range is longer than its limit, such as [`RANGE_DAYS_MAX`].
    #[error("a range spans at most {max} {unit}, this one {actual}")]
    TooLong {
        /// The limit.
        max: i32,
        /// The requested length.
        actual: i32,
        /// `days`, `weeks` or `months`.
        unit: &'static str,
    },
}

/// Parses a day. The text must be exactly `YYYY-MM-DD`, with a year from 0000 to 9999.
pub fn parse_date(text: &str) -> Result<Date, CalendarError> {
    let digits = fixed_digits(text, &[4, 2, 2]).ok_or(CalendarError::NotADate)?;
    Date::new(digits[0], digits[1] as i8, digits[2] as i8).map_err(|_| CalendarError::NotADate)
}

/// Parses numbers of fixed widths that are separated by hyphens. A width is at most 4, so each
/// number fits an `i16`.
fn fixed_digits<const N: usize>(text: &str, widths: &[usize; N]) -> Option<[i16; N]> {
    let mut numbers = [0; N];
    let mut rest = text.as_bytes();
    for (i, (&width, number)) in widths.iter().zip(&mut numbers).enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(b"-")?;
        }
        let (digits, tail) = rest.split_at_checked(width)?;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return None;
            }
            *number = *number * 10 + i16::from(digit - b'0');
        }
        rest = tail;
    }
    rest.is_empty().then_some(numbers)
}

/// A month of a year, printed and parsed as `YYYY-MM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct YearMonth {
    year: i16,
    month: i8,
}

impl YearMonth {
    /// The month that a day belongs to.
    pub fn of(date: Date) -> Self {
        Self { year: date.year(), month: date.month() }
    }

    /// The day of this month with this number; `None` if the month does not have it.
    pub fn day(self, day: i8) -> Option<Date> {
        Date::new(self.year, self.month, day).ok()
    }

    /// The month that is `months` later, or earlier if negative; `None` outside of the years 0000
    /// to 9999.
    pub fn plus(self, months: i32) -> Option<Self> {
        let index = self.index().checked_add(months)?;
        let year = i16::try_from(index.div_euclid(12)).ok().filter(|year| (0..=9999).contains(year))?;
        Some(Self { year, month: index.rem_euclid(12) as i8 + 1 })
    }

    fn index(self) -> i32 {
        i32::from(self.year) * 12 + i32::from(self.month) - 1
    }
}

impl fmt::Display for YearMonth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

impl FromStr for YearMonth {
    type Err = CalendarError;

    fn from_str(text: &str) -> Result<Self, CalendarError> {
        let [year, month] = fixed_digits(text, &[4, 2]).ok_or(CalendarError::NotAMonth)?;
        if !(1..=12).contains(&month) {
            return Err(CalendarError::NotAMonth);
        }
        Ok(Self { year, month: month as i8 })
    }
}

/// A week from Monday to Sunday (ISO 8601), printed and parsed as `2025-W40`. The days around New
/// Year may belong to a week of the other year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Week {
    monday: Date,
}

impl Week {
    /// The week that a day belongs to; `None` if its Monday is outside of the calendar.
    pub fn of(date: Date) -> Option<Self> {
        let days = date.weekday().to_monday_zero_offset();
        date.checked_sub(Span::new().days(days)).ok().map(|monday| Self { monday })
    }

    /// The first day.
    pub fn monday(self) -> Date {
        self.monday
    }

    /// The week that is `weeks` later, or earlier if negative; `None` outside of the calendar.
    pub fn plus(self, weeks: i32) -> Option<Self> {
        self.monday.checked_add(Span::new().weeks(weeks)).ok().map(|monday| Self { monday })
    }
}

impl fmt::Display for Week {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let week = self.monday.iso_week_date();
        write!(f, "{:04}-W{:02}", week.year(), week.week())
    }
}

impl FromStr for Week {
    type Err = CalendarError;

    fn from_str(text: &str) -> Result<Self, CalendarError> {
        let digits = text.split_once("-W").filter(|(year, week)| (year.len(), week.len()) == (4, 2));
        let digits = digits.and_then(|(year, week)| fixed_digits(&format!("{year}-{week}"), &[4, 2]));
        let [year, week] = digits.ok_or(CalendarError::NotAWeek)?;
        let monday = ISOWeekDate::new(year, week as i8, Weekday::Monday).map_err(|_| CalendarError::NotAWeek)?;
        Ok(Self { monday: monday.date() })
    }
}

/// The days from the first to the last, both included: 1 to [`RANGE_DAYS_MAX`] days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateRange {
    from: Date,
    to: Date,
}

impl DateRange {
    /// Checks the order and the length.
    pub fn new(from: Date, to: Date) -> Result<Self, RangeError> {
        Self::of_at_most(RANGE_DAYS_MAX, from, to)
    }

    /// The same for a range of hours: at most [`RANGE_HOUR_DAYS_MAX`] days.
    pub fn of_hours(from: Date, to: Date) -> Result<Self, RangeError> {
        Self::of_at_most(RANGE_HOUR_DAYS_MAX, from, to)
    }

    fn of_at_most(max: i32, from: Date, to: Date) -> Result<Self, RangeError> {
        let days = (to - from).get_days() + 1;
        check_length(days, max, "days").map(|()| Self { from, to })
    }

    /// The days from `from` to `to`. Without `from`, the last [`RANGE_DAYS_DEFAULT`] days.
    pub fn until(to: Date, from: Option<Date>) -> Result<Self, RangeError> {
        Self::new(from.unwrap_or_else(|| to.saturating_sub(Span::new().days(RANGE_DAYS_DEFAULT - 1))), to)
    }

    /// The first day.
    pub fn from(&self) -> Date {
        self.from
    }

    /// The last day.
    pub fn to(&self) -> Date {
        self.to
    }

    /// Every day, oldest first.
    pub fn days(&self) -> impl Iterator<Item = Date> + use<> {
        let to = self.to;
        std::iter::successors(Some(self.from), move |day| day.tomorrow().ok().filter(|day| *day <= to))
    }
}

/// The weeks from the first to the last, both included: 1 to [`RANGE_WEEKS_MAX`] weeks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeekRange {
    from: Week,
    to: Week,
}

impl WeekRange {
    /// Checks the order and the length.
    pub fn new(from: Week, to: Week) -> Result<Self, RangeError> {
        let weeks = (to.monday - from.monday).get_days().div_euclid(7) + 1;
        check_length(weeks, RANGE_WEEKS_MAX, "weeks").map(|()| Self { from, to })
    }

    /// The first week.
    pub fn from(&self) -> Week {
        self.from
    }

    /// The last week.
    pub fn to(&self) -> Week {
        self.to
    }
}

/// The months from the first to the last, both included: 1 to [`RANGE_MONTHS_MAX`] months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MonthRange {
    from: YearMonth,
    to: YearMonth,
}

impl MonthRange {
    /// Checks the order and the length.
    pub fn new(from: YearMonth, to: YearMonth) -> Result<Self, RangeError> {
        let months = to.index() - from.index() + 1;
        check_length(months, RANGE_MONTHS_MAX, "months").map(|()| Self { from, to })
    }

    /// The first month.
    pub fn from(&self) -> YearMonth {
        self.from
    }

    /// The last month.
    pub fn to(&self) -> YearMonth {
        self.to
    }

    /// Every month, oldest first.
    pub fn months(&self) -> impl Iterator<Item = YearMonth> + use<> {
        let to = self.to;
        std::iter::successors(Some(self.from), move |month| month.plus(1).filter(|month| *month <= to))
    }
}

fn check_length(actual: i32, max: i32, unit: &'static str) -> Result<(), RangeError> {
    match actual {
        ..=0 => Err(RangeError::Reversed),
        _ if actual > max => Err(RangeError::TooLong { max, actual, unit }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn only_dates_that_exist_are_parsed() {
        assert_eq!(parse_date("2024-02-29"), Ok(date(2024, 2, 29)));
        assert_eq!(parse_date("0000-01-01"), Ok(date(0, 1, 1)));
        for text in [
            "2025-02-29",
            "2025-13-01",
            "2025-00-10",
            "2025-1-1",
            "2025-01-01 ",
            "20250101",
            "+2025-01-01",
            "2025/01/01",
            "２０２５-01-01",
            "2025-01-01T00:00:00Z",
            "",
            "-001-01-01",
        ] {
            assert_eq!(parse_date(text), Err(CalendarError::NotADate), "{text:?}");
        }
    }

    #[test]
    fn only_months_that_exist_are_parsed() {
        assert_eq!("2025-10".parse(), Ok(YearMonth { year: 2025, month: 10 }));
        for text in ["2025-13", "2025-00", "2025-1", "2025", "2025-10-01", ""] {
            assert_eq!(text.parse::<YearMonth>(), Err(CalendarError::NotAMonth), "{text:?}");
        }
    }

    #[test]
    fn only_weeks_that_exist_are_parsed() {
        for (text, monday) in [("2026-W53", date(2026, 12, 28)), ("2025-W01", date(2024, 12, 30))] {
            let week: Week = text.parse().expect("a week");
            assert_eq!((week.monday(), week.to_string().as_str()), (monday, text));
            assert_eq!(Week::of(monday.checked_add(Span::new().days(6)).expect("a day")), Some(week));
        }
        for text in ["2025-W53", "2025-W00", "2025-W1", "2025-40", "2025W40", "2025-W40-1", "+025-W40", ""] {
            assert_eq!(text.parse::<Week>(), Err(CalendarError::NotAWeek), "{text:?}");
        }
    }

    #[test]
    fn week_range_holds_106_weeks_and_hour_range_31_days() {
        let first: Week = "2025-W01".parse().expect("a week");
        assert!(WeekRange::new(first, first.plus(105).expect("a week")).is_ok());
        let error = WeekRange::new(first, first.plus(106).expect("a week"));
        assert_eq!(error, Err(RangeError::TooLong { max: 106, actual: 107, unit: "weeks" }));
        assert_eq!(WeekRange::new(first.plus(1).expect("a week"), first), Err(RangeError::Reversed));
        assert!(DateRange::of_hours(date(2025, 1, 1), date(2025, 1, 31)).is_ok());
        assert!(DateRange::of_hours(date(2025, 1, 1), date(2025, 2, 1)).is_err());
    }

    #[test]
    fn adding_months_crosses_the_end_of_the_year() {
        let december: YearMonth = "2025-12".parse().expect("a month");
        assert_eq!(december.plus(1).map(|m| m.to_string()).as_deref(), Some("2026-01"));
        assert_eq!(december.plus(-12).map(|m| m.to_string()).as_deref(), Some("2024-12"));
        assert_eq!("9999-12".parse::<YearMonth>().expect("a month").plus(1), None);
    }

    #[test]
    fn a_range_includes_both_its_ends() {
        let range = DateRange::new(date(2024, 2, 28), date(2024, 3, 1)).expect("a range");
        let days: Vec<_> = range.days().map(|day| day.to_string()).collect();
        assert_eq!(days, ["2024-02-28", "2024-02-29", "2024-03-01"]);
        assert_eq!(DateRange::new(date(2024, 2, 28), date(2024, 2, 28)).expect("a range").days().count(), 1);
    }

    #[test]
    fn a_range_without_a_first_day_has_30_days() {
        let range = |from| DateRange::until(date(2024, 3, 1), from);
        assert_eq!(range(None), DateRange::new(date(2024, 2, 1), date(2024, 3, 1)));
        assert_eq!(range(Some(date(2024, 2, 28))), DateRange::new(date(2024, 2, 28), date(2024, 3, 1)));
        assert_eq!(range(Some(date(2024, 3, 2))), Err(RangeError::Reversed));
    }

    #[test]
    fn a_range_has_at_most_400_days() {
        let from = date(2025, 1, 1);
        let last = from.checked_add(jiff::Span::new().days(399)).expect("a date");
        assert_eq!(DateRange::new(from, last).expect("a range").days().count(), 400);
        let error = DateRange::new(from, last.tomorrow().expect("a date"));
        assert_eq!(error, Err(RangeError::TooLong { max: 400, actual: 401, unit: "days" }));
        assert_eq!(DateRange::new(last, from), Err(RangeError::Reversed));
    }
}
