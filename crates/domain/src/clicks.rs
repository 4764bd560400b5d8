//! The click.

use std::fmt;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::UserId;

/// A click as the writer stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Click {
    /// The user who clicked.
    pub user_id: UserId,
    /// The time of the click. With the user id it is the key of the click.
    pub time: ClickTime,
    /// How many clicks the record stands for.
    pub count: ClickCount,
    /// The target of a click.
    pub target: Option<ClickTarget>,
}

/// The target of a click, such as a button or a page: 1 to 100 characters, no control characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClickTarget(String);

/// Why a text is not a [`ClickTarget`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClickTargetError {
    /// The text is empty or has only spaces.
    #[error("must not be empty")]
    Empty,
    /// The text has more than [`ClickTarget::CHARS_MAX`] characters.
    #[error("must have at most {max} characters", max = ClickTarget::CHARS_MAX)]
    TooLong,
    /// The text contains a control character, such as a line break, a tab or a NUL.
    #[error("must not contain control characters")]
    ControlCharacter,
}

impl ClickTarget {
    /// The most characters (not bytes) of a target.
    pub const CHARS_MAX: usize = 100;

    /// Checks the rules of the type. Spaces around the text are removed.
    pub fn new(text: &str) -> Result<Self, ClickTargetError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ClickTargetError::Empty);
        }
        if text.chars().nth(Self::CHARS_MAX).is_some() {
            return Err(ClickTargetError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(ClickTargetError::ControlCharacter);
        }
        Ok(Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// How many clicks one record stands for: 1 to 1,000; the default is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClickCount(u32);

/// The count is outside of 1 to 1,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number from 1 to {max}", max = ClickCount::MAX)]
pub struct ClickCountError;

impl ClickCount {
    /// The largest count that the writer accepts.
    pub const MAX: u32 = 1_000;

    /// Checks the bounds.
    pub fn new(count: u32) -> Result<Self, ClickCountError> {
        (1..=Self::MAX).contains(&count).then_some(Self(count)).ok_or(ClickCountError)
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Default for ClickCount {
    fn default() -> Self {
        Self(1)
    }
}

/// A time with millisecond precision, printed as JavaScript's `toISOString` does:
/// `2025-10-02T10:30:00.000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClickTime(Timestamp);

/// Why a time is not valid for a click.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClickTimeError {
    /// The year does not fit four digits, or the time is in the last hours of 9999, which the time
    /// library does not support.
    #[error("must lie between 0000-01-01 and 9999-12-30")]
    OutOfRange,
    /// The text is not an RFC 3339 time.
    #[error("expected a time as 2025-10-02T10:30:00.000Z")]
    NotATime,
}

impl ClickTime {
    /// How far a time given by a client may be ahead of the server's clock.
    pub const SKEW_MAX: SignedDuration = SignedDuration::from_mins(5);

    /// How old a click sent by a client may be. Clicks made offline can be sent for a day.
    pub const AGE_MAX: SignedDuration = SignedDuration::from_hours(24);

    /// The time that is this number of milliseconds after 1970-01-01T00:00:00Z.
    pub fn from_millisecond(millisecond: i64) -> Result<Self, ClickTimeError> {
        let time = Self(Timestamp::from_millisecond(millisecond).map_err(|_| ClickTimeError::OutOfRange)?);
        (0..=9999).contains(&time.date().year()).then_some(time).ok_or(ClickTimeError::OutOfRange)
    }

    /// Parses RFC 3339. Digits finer than a millisecond are cut off.
    pub fn parse(text: &str) -> Result<Self, ClickTimeError> {
        let timestamp: Timestamp = text.parse().map_err(|_| ClickTimeError::NotATime)?;
        Self::from_millisecond(timestamp.as_millisecond())
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub fn as_millisecond(self) -> i64 {
        self.0.as_millisecond()
    }

    /// The time `steps` milliseconds later.
    pub fn plus(self, steps: u16) -> Result<Self, ClickTimeError> {
        Self::from_millisecond(self.as_millisecond() + i64::from(steps))
    }

    /// The UTC day that the click belongs to.
    pub fn date(self) -> Date {
        self.0.to_zoned(TimeZone::UTC).date()
    }

    /// Whether the writer accepts a click with this time at `now`.
    pub fn is_accepted_at(self, now: Timestamp) -> bool {
        let age = now.duration_since(self.0);
        -Self::SKEW_MAX <= age && age <= Self::AGE_MAX
    }
}

/// Where a click may be stored.
#[derive(Debug, PartialEq, Eq)]
pub enum Slot<H> {
    /// The click is already stored, by this holder of a slot.
    Own(H),
    /// The first millisecond that is not known to be taken.
    Free(ClickTime),
    /// All milliseconds are taken.
    None,
}

impl<H> Slot<H> {
    /// The number of milliseconds that a click may take: its own and the following ones.
    pub const MAX: u16 = 64;

    /// Searches the milliseconds of a click in order. This makes a repetition find its click: any
    /// slot that the first request took comes before every slot that is free now. For the same
    /// reason, a click may be stored only where all earlier slots are known to belong to others.
    pub fn find(click: ClickTime, holder_of: impl Fn(ClickTime) -> Option<H>, is_own: impl Fn(&H) -> bool) -> Self {
        for time in (0..Self::MAX).map_while(|step| click.plus(step).ok()) {
            match holder_of(time) {
                None => return Self::Free(time),
                Some(holder) if is_own(&holder) => return Self::Own(holder),
                Some(_) => {}
            }
        }
        Self::None
    }
}

impl fmt::Display for ClickTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_printed_with_its_milliseconds() {
        let time = |ms| ClickTime::from_millisecond(ms).map(|time| time.to_string());
        assert_eq!(time(1_759_401_000_000).as_deref(), Ok("2025-10-02T10:30:00.000Z"));
        assert_eq!(time(1_759_401_000_007).as_deref(), Ok("2025-10-02T10:30:00.007Z"));
        assert_eq!(time(-1).as_deref(), Ok("1969-12-31T23:59:59.999Z"));
        assert_eq!(time(253_402_300_800_000), Err(ClickTimeError::OutOfRange));
    }

    #[test]
    fn the_next_millisecond_may_belong_to_the_next_month() {
        let time = ClickTime::parse("2025-10-31T23:59:59.999Z").expect("a time");
        assert_eq!(time.date().to_string(), "2025-10-31");
        assert_eq!(time.plus(1).expect("a time").date().to_string(), "2025-11-01");
    }

    #[test]
    fn click_time_is_within_last_day_or_next_five_minutes() {
        let now: Timestamp = "2025-10-02T10:30:00Z".parse().expect("a time");
        let at = |text| ClickTime::parse(text).expect("a time").is_accepted_at(now);
        assert!(at("2025-10-01T10:30:00.000Z") && at("2025-10-02T10:35:00.000Z"));
        assert!(!at("2025-10-01T10:29:59.999Z") && !at("2025-10-02T10:35:00.001Z"));
    }

    #[test]
    fn a_click_finds_itself_before_a_free_millisecond() {
        let (begin, own) = (ClickTime::parse("2025-10-02T10:30:00.000Z").expect("a time"), 7);
        let find = |held: &[i64]| {
            let holder_of =
                |time: ClickTime| held.get(usize::try_from(time.as_millisecond() - begin.as_millisecond()).ok()?);
            Slot::find(begin, |time| holder_of(time).copied(), |holder| *holder == own)
        };
        assert_eq!(find(&[]), Slot::Free(begin));
        assert_eq!(find(&[1, 2]), Slot::Free(begin.plus(2).expect("a time")));
        assert_eq!(find(&[1, own, 2]), Slot::Own(own));
        assert_eq!(find(&[1; 64]), Slot::None);
    }

    #[test]
    fn click_target_is_one_line_of_at_most_100_characters() {
        let target = |text: &str| ClickTarget::new(text).map(|target| target.0);
        assert_eq!(target(" 購入ボタン "), Ok("購入ボタン".to_owned()));
        assert_eq!(target(&"é".repeat(100)), Ok("é".repeat(100)));
        assert_eq!(target(&"é".repeat(101)), Err(ClickTargetError::TooLong));
        assert_eq!(target("  "), Err(ClickTargetError::Empty));
        assert_eq!(target("a\nb"), Err(ClickTargetError::ControlCharacter));
    }

    #[test]
    fn counts_go_from_one_to_a_thousand() {
        assert_eq!(ClickCount::new(0), Err(ClickCountError));
        assert_eq!(ClickCount::new(1_000).map(ClickCount::get), Ok(1_000));
        assert_eq!(ClickCount::new(1_001), Err(ClickCountError));
        assert_eq!(ClickCount::default().get(), 1);
    }
}
