//! What people do: looking at a product, putting it into a basket, searching.

use std::fmt;

use jiff::civil::Date;
use jiff::{SignedDuration, Span};

use super::ProductId;
use crate::journal::EntryId;
use crate::{Attributes, Moment, TimeRange, UserId};

/// Something that a user did, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// Who.
    pub user_id: UserId,
    /// What.
    pub action: Action,
    /// With which product, if with any.
    pub product_id: Option<ProductId>,
    /// What else there is to say.
    pub attributes: Attributes,
    /// When. With the id it is the activity's identity, and its place in every list.
    pub at: Moment,
    /// Which one of that moment. It is made as the journal's ids are.
    pub id: EntryId,
}

/// What was done, in the shop's own words: 1 to 64 of `A-Z`, `a-z`, `0-9`, `_`, `.`, `-` and `:`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Action(String);

/// A text that is not an [`Action`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {max} of the characters A-Z, a-z, 0-9, `_`, `.`, `-` and `:`", max = Action::CHARS_MAX)]
pub struct ActionError;

impl Action {
    /// The most characters.
    pub const CHARS_MAX: usize = 64;

    /// Checks length and characters.
    pub fn new(text: &str) -> Result<Self, ActionError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-:".contains(&byte));
        ((1..=Self::CHARS_MAX).contains(&text.len()) && is_plain).then(|| Self(text.to_owned())).ok_or(ActionError)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a moment is not one at which an activity that is told now can have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ActivityTimeError {
    /// Later than clocks differ.
    #[error("must not lie more than 5 minutes after the server's time")]
    InTheFuture,
    /// So long ago that it is a mistake, or a matter for an import.
    #[error("must not lie more than 400 days before the server's time")]
    TooOld,
}

impl Activity {
    /// How far the clock of whoever tells of an activity may be ahead.
    pub const SKEW_MAX: SignedDuration = SignedDuration::from_mins(5);

    /// For how long an activity may be told afterwards.
    pub const AGE_MAX: SignedDuration = SignedDuration::from_hours(400 * 24);

    /// Whether an activity of that moment can be told now.
    pub fn check_time(at: Moment, now: Moment) -> Result<(), ActivityTimeError> {
        let ahead = at.timestamp().duration_since(now.timestamp());
        if ahead > Self::SKEW_MAX {
            Err(ActivityTimeError::InTheFuture)
        } else if -ahead > Self::AGE_MAX {
            Err(ActivityTimeError::TooOld)
        } else {
            Ok(())
        }
    }
}

/// The days that activities of a product are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivityRange {
    from: Moment,
    to: Moment,
}

/// A range that touches more than [`ActivityRange::DAYS_MAX`] days, or has an open end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be closed and touch at most {max} UTC days", max = ActivityRange::DAYS_MAX)]
pub struct ActivityRangeError;

impl ActivityRange {
    /// The most UTC days: each is a query for each suffix.
    pub const DAYS_MAX: usize = 31;

    /// Checks that both ends are there and the days not too many.
    pub fn new(range: TimeRange) -> Result<Self, ActivityRangeError> {
        let (Some(from), Some(to)) = (range.from(), range.to()) else { return Err(ActivityRangeError) };
        let range = Self { from, to };
        (range.days().count() <= Self::DAYS_MAX).then_some(range).ok_or(ActivityRangeError)
    }

    /// The first moment.
    pub fn from(self) -> Moment {
        self.from
    }

    /// The first moment after it.
    pub fn to(self) -> Moment {
        self.to
    }

    /// The days that it touches, oldest first.
    pub fn days(self) -> impl DoubleEndedIterator<Item = Date> {
        // `to` is not included: at midnight sharp, its day is not either.
        let days = self.from.date().series(Span::new().days(1));
        let days = days.take_while(move |day| Moment::start_of(*day).is_ok_and(|start| start < self.to));
        days.take(Self::DAYS_MAX + 1).collect::<Vec<_>>().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Moment {
        Moment::parse(text).expect("a moment")
    }

    #[test]
    fn an_action_is_a_short_plain_word() {
        for text in ["view", "add_to_cart", "shop:v2.checkout-done", &"a".repeat(64)] {
            assert_eq!(Action::new(text).map(|action| action.to_string()).as_deref(), Ok(text));
        }
        for text in ["", " ", "a b", "見る", "view\n", "a#b", &"a".repeat(65)] {
            assert_eq!(Action::new(text), Err(ActionError), "{text:?}");
        }
    }

    #[test]
    fn an_activity_is_told_at_most_five_minutes_early_and_400_days_late() {
        let now = moment("2024-03-01T00:00:00Z");
        let outcome = |text| Activity::check_time(moment(text), now);
        assert_eq!(outcome("2024-03-01T00:05:00Z"), Ok(()));
        assert_eq!(outcome("2024-03-01T00:05:00.000000001Z"), Err(ActivityTimeError::InTheFuture));
        assert_eq!(outcome("2023-01-26T00:00:00Z"), Ok(()));
        assert_eq!(outcome("2023-01-25T23:59:59.999999999Z"), Err(ActivityTimeError::TooOld));
        assert_eq!(outcome("0001-01-01T00:00:00Z"), Err(ActivityTimeError::TooOld));
    }

    fn range(from: &str, to: &str) -> Result<ActivityRange, ActivityRangeError> {
        let [from, to] = [from, to].map(|text| Some(Moment::parse_or_day(text).expect("a moment")));
        ActivityRange::new(TimeRange::new(from, to).expect("a range"))
    }

    fn days(from: &str, to: &str) -> Vec<String> {
        range(from, to).expect("a range").days().map(|day| day.to_string()).collect()
    }

    #[test]
    fn a_range_touches_the_days_of_its_nanoseconds() {
        assert_eq!(days("2024-02-29", "2024-03-01"), ["2024-02-29"]);
        assert_eq!(days("2024-02-29", "2024-03-01T00:00:00.000000001Z"), ["2024-02-29", "2024-03-01"]);
        assert_eq!(days("2023-12-31T23:59:59.999999999Z", "2024-01-01T12:00:00Z"), ["2023-12-31", "2024-01-01"]);
    }

    #[test]
    fn a_range_has_two_ends_and_at_most_31_days() {
        assert!(range("2024-01-01", "2024-02-01").is_ok());
        assert_eq!(range("2024-01-01", "2024-02-01T00:00:00.000000001Z"), Err(ActivityRangeError));
        assert_eq!(range("0001-01-01", "9999-12-30"), Err(ActivityRangeError));
        assert!(range("9999-12-29", "9999-12-30").is_ok());
        assert_eq!(ActivityRange::new(TimeRange::default()), Err(ActivityRangeError));
    }
}
