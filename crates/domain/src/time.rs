//! Moments as time series keep them, and what lies between two of them.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::calendar::parse_date;

/// A moment of the years 1 to 9999 to the nanosecond, printed in UTC with exactly nine digits of a second:
/// `2024-01-15T10:30:00.123000000Z`. So texts sort as moments do, which texts without their trailing zeros do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(Timestamp);

/// Why a text is not a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MomentError {
    /// Not RFC 3339, or without its offset from UTC.
    #[error("expected a time with its zone, as 2024-01-15T10:30:00Z or 2024-01-15T19:30:00.5+09:00")]
    NotAMoment,
    /// Outside of the years 1 to 9999, or in the last hours of 9999, which the time library leaves out.
    #[error("must lie between 0001-01-01 and 9999-12-30")]
    OutOfRange,
}

impl Moment {
    /// The moment of a timestamp.
    pub fn new(timestamp: Timestamp) -> Result<Self, MomentError> {
        let moment = Self(timestamp);
        (1..=9999).contains(&moment.date().year()).then_some(moment).ok_or(MomentError::OutOfRange)
    }

    /// Reads RFC 3339 with an offset or `Z`, up to nine digits of a second.
    pub fn parse(text: &str) -> Result<Self, MomentError> {
        Self::new(text.parse().map_err(|_| MomentError::NotAMoment)?)
    }

    /// The same, or a day as `2024-01-15`, which stands for its first nanosecond in UTC.
    pub fn parse_or_day(text: &str) -> Result<Self, MomentError> {
        parse_date(text).map_or_else(|_| Self::parse(text), Self::start_of)
    }

    /// The end of a range, which is not in it: a moment, or a day, whose last nanosecond is in it.
    pub fn parse_end(text: &str) -> Result<Self, MomentError> {
        let Ok(day) = parse_date(text) else { return Self::parse(text) };
        Self::start_of(day.tomorrow().map_err(|_| MomentError::OutOfRange)?)
    }

    /// The first nanosecond of a UTC day.
    pub fn start_of(day: Date) -> Result<Self, MomentError> {
        let start = day.to_zoned(TimeZone::UTC).map_err(|_| MomentError::OutOfRange)?;
        Self::new(start.timestamp())
    }

    /// The UTC day that it belongs to.
    pub fn date(self) -> Date {
        self.0.to_zoned(TimeZone::UTC).date()
    }

    /// The moment that lies one nanosecond later.
    pub fn next(self) -> Result<Self, MomentError> {
        let later = self.0.checked_add(jiff::SignedDuration::from_nanos(1)).map_err(|_| MomentError::OutOfRange)?;
        Self::new(later)
    }

    /// Whether nothing of it is finer than a second.
    pub fn is_whole_second(self) -> bool {
        self.0.subsec_nanosecond() == 0
    }

    /// The same as a timestamp.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.9}", self.0)
    }
}

/// From a moment up to, and without, a later one; an end that is `None` is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeRange {
    from: Option<Moment>,
    to: Option<Moment>,
}

/// Why two moments do not make a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeRangeError {
    /// `from` is `to`: ranges are half open, so nothing lies between.
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

    /// The first moment after it.
    pub fn to(&self) -> Option<Moment> {
        self.to
    }

    /// Whether a moment lies in it.
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
    fn a_time_without_its_zone_is_no_moment() {
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
    fn a_day_that_ends_a_range_is_in_it_and_a_moment_is_not() {
        assert_eq!(Moment::parse_end("2024-02-29"), Ok(moment("2024-03-01T00:00:00Z")));
        assert_eq!(Moment::parse_end("2024-02-29T00:00:00Z"), Ok(moment("2024-02-29T00:00:00Z")));
        assert_eq!(Moment::parse_end("2023-02-29"), Err(MomentError::NotAMoment));
        assert_eq!(Moment::parse_end("9999-12-31"), Err(MomentError::OutOfRange));
    }

    #[test]
    fn the_next_moment_is_a_nanosecond_later_over_the_turn_of_the_year() {
        let last = moment("2024-12-31T23:59:59.999999999Z");
        assert_eq!(last.next().map(|next| next.to_string()).as_deref(), Ok("2025-01-01T00:00:00.000000000Z"));
        assert_eq!(Moment(Timestamp::MAX).next(), Err(MomentError::OutOfRange));
    }

    #[test]
    fn a_range_has_its_first_moment_and_not_its_last() {
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
        fn texts_sort_as_moments_do(a in -62_135_596_800_i64..253_402_000_000, b in 0..1_000_000_000_i32, c in -62_135_596_800_i64..253_402_000_000, d in 0..1_000_000_000_i32) {
            let [a, b] = [(a, b), (c, d)].map(|(s, ns)| Moment::new(Timestamp::new(s, ns).expect("a time")).expect("a moment"));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!(Moment::parse(&a.to_string()), Ok(a));
        }
    }
}
