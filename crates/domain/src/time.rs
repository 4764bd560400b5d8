//! Moments and time ranges of the time series.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::calendar::parse_date;

/// A time in the years 1 to 9999 with nanosecond precision, printed in UTC with exactly nine
/// fraction digits: `2024-01-15T10:30:00.123000000Z`. With a fixed number of digits, the texts sort
/// in the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Timestamp);

/// Why a text is not a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MomentError {
    /// The text is not an RFC 3339 time, or has no offset from UTC.
    #[error("expected a time with its zone, as 2024-01-15T10:30:00Z or 2024-01-15T19:30:00.5+09:00")]
    NotAMoment,
    /// The time is outside of the years 1 to 9999, or in the last hours of 9999, which the time
    /// library does not support.
    #[error("must lie between 0001-01-01 and 9999-12-30")]
    OutOfRange,
}

impl Moment {
    /// The moment of a timestamp.
    pub fn new(timestamp: Timestamp) -> Result<Self, MomentError> {
        let moment = Self(timestamp);
        (1..=9999).contains(&moment.date().year()).then_some(moment).ok_or(MomentError::OutOfRange)
    }

    /// Parses RFC 3339 with an offset or `Z`, and at most nine fraction digits.
    pub fn parse(text: &str) -> Result<Self, MomentError> {
        Self::new(text.parse().map_err(|_| MomentError::NotAMoment)?)
    }

    /// Parses a moment, or a day as `2024-01-15`, which stands for its first nanosecond in UTC.
    pub fn parse_or_day(text: &str) -> Result<Self, MomentError> {
        parse_date(text).map_or_else(|_| Self::parse(text), Self::start_of)
    }

    /// Parses the exclusive end of a range: a moment, or a day. A day is part of the range with its
    /// last nanosecond.
    pub fn parse_end(text: &str) -> Result<Self, MomentError> {
        let Ok(day) = parse_date(text) else { return Self::parse(text) };
        Self::start_of(day.tomorrow().map_err(|_| MomentError::OutOfRange)?)
    }

    /// The first moment of a UTC day.
    pub fn start_of(day: Date) -> Result<Self, MomentError> {
        let start = day.to_zoned(TimeZone::UTC).map_err(|_| MomentError::OutOfRange)?;
        Self::new(start.timestamp())
    }

    /// The UTC day that the moment belongs to.
    pub fn date(self) -> Date {
        self.0.to_zoned(TimeZone::UTC).date()
    }

    /// The moment one nanosecond later.
    pub fn next(self) -> Result<Self, MomentError> {
        let later = self.0.checked_add(jiff::SignedDuration::from_nanos(1)).map_err(|_| MomentError::OutOfRange)?;
        Self::new(later)
    }

    /// Whether the moment has no fraction of a second.
    pub fn is_whole_second(self) -> bool {
        self.0.subsec_nanosecond() == 0
    }

    /// The moment as a timestamp.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}", self.0)
    }
}

/// The time from a moment (included) to a later one (excluded). `None` means no limit on that side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeRange {
    from: Option<Moment>,
    to: Option<Moment>,
}

/// Why two moments are not a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeRangeError {
    /// `from` equals `to`. The end is excluded, so the range would be empty.
    #[error("`from` is `to`, and `to` is not included, so the range is empty")]
    Empty,
    /// `from` is after `to`.
    #[error("`from` is after `to`")]
    Reversed,
}

impl TimeRange {
    /// Checks the order.
    pub fn new(from: Option<Moment>, to: Option<Moment>) -> Result<Self, TimeRangeError> {
        match (from, to) {
            (Some(from), Some(to)) if from == to => Err(TimeRangeError::Empty),
            (Some(from), Some(to)) if from > to => Err(TimeRangeError::Reversed),
            _ => Ok(Self { from, to }),
        }
    }

    /// The first moment.
    pub fn from(&self) -> Option<Moment> {
        self.from
    }

    /// The first moment after the range.
    pub fn to(&self) -> Option<Moment> {
        self.to
    }

    /// Whether a moment is in the range.
    pub fn contains(&self, moment: Moment) -> bool {
        self.from.is_none_or(|from| from <= moment) && self.to.is_none_or(|to| moment < to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).expect("a moment")
    }

    #[test]
    fn a_moment_is_printed_with_nine_digits_in_utc() {
        for (text, printed) in [
            ("2024-01-15T10:30:00Z", "2024-01-15T10:30:00.000000000Z"),
            ("2024-01-15T10:30:00.123Z", "2024-01-15T10:30:00.123000000Z"),
            ("2024-01-15T10:30:00.123456789Z", "2024-01-15T10:30:00.123456789Z"),
            ("2024-01-01T00:00:00.5+09:00", "2023-12-31T15:00:00.500000000Z"),
            ("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000000Z"),
        ] {
            assert_eq!(moment(text).to_string(), printed);
        }
    }

    #[test]
    fn a_time_without_an_offset_is_not_a_moment() {
        for text in
            ["2024-01-15T10:30:00", "2024-01-15", "10:30:00Z", "yesterday", "", "2024-01-15T10:30:00.1234567891Z"]
        {
            assert_eq!(Moment::parse(text), Err(MomentError::NotAMoment), "{text:?}");
        }
        assert_eq!(Moment::parse("0000-12-31T23:59:59Z"), Err(MomentError::OutOfRange));
        assert_eq!(Moment::parse("-000001-01-01T00:00:00Z"), Err(MomentError::OutOfRange));
    }

    #[test]
    fn a_day_stands_for_its_first_nanosecond() {
        assert_eq!(Moment::parse_or_day("2024-02-29"), Ok(moment("2024-02-29T00:00:00Z")));
        assert_eq!(Moment::parse_or_day("2024-01-15T09:30:00+09:00"), Ok(moment("2024-01-15T00:30:00Z")));
        assert_eq!(Moment::parse_or_day("2023-02-29"), Err(MomentError::NotAMoment));
    }

    #[test]
    fn range_end_includes_its_day_but_not_its_moment() {
        assert_eq!(Moment::parse_end("2024-02-29"), Ok(moment("2024-03-01T00:00:00Z")));
        assert_eq!(Moment::parse_end("2024-02-29T00:00:00Z"), Ok(moment("2024-02-29T00:00:00Z")));
        assert_eq!(Moment::parse_end("2023-02-29"), Err(MomentError::NotAMoment));
        assert_eq!(Moment::parse_end("9999-12-31"), Err(MomentError::OutOfRange));
    }

    #[test]
    fn next_moment_is_one_nanosecond_later_across_years() {
        let last = moment("2024-12-31T23:59:59.999999999Z");
        assert_eq!(last.next().map(|next| next.to_string()).as_deref(), Ok("2025-01-01T00:00:00.000000000Z"));
        assert_eq!(Moment(Timestamp::MAX).next(), Err(MomentError::OutOfRange));
    }

    #[test]
    fn a_range_includes_its_start_and_excludes_its_end() {
        let (from, to) = (moment("2024-01-01T00:00:00Z"), moment("2024-02-01T00:00:00Z"));
        let january = TimeRange::new(Some(from), Some(to)).expect("a range");
        assert!(january.contains(from) && january.contains(moment("2024-01-31T23:59:59.999999999Z")));
        assert!(!january.contains(to) && !january.contains(moment("2023-12-31T23:59:59.999999999Z")));
        assert_eq!(TimeRange::new(Some(to), Some(from)), Err(TimeRangeError::Reversed));
        assert_eq!(TimeRange::new(Some(to), Some(to)), Err(TimeRangeError::Empty));
        assert!(TimeRange::default().contains(from));
    }

    proptest! {
        #[test]
        fn texts_sort_in_the_order_of_their_moments(a in -62_135_596_800_i64..253_402_000_000, b in 0..1_000_000_000_i32, c in -62_135_596_800_i64..253_402_000_000, d in 0..1_000_000_000_i32) {
            let [a, b] = [(a, b), (c, d)].map(|(s, ns)| Moment::new(Timestamp::new(s, ns).expect("a time")).expect("a moment"));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!(Moment::parse(&a.to_string()), Ok(a));
        }
    }
}
