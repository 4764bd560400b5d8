//! Activities of users: viewing a product, adding it to a basket, searching.

use std::fmt;

use jiff::civil::Date;
use jiff::{SignedDuration, Span};

use super::ProductId;
use crate::EntryId;
use crate::{Attributes, Moment, TimeRange, UserId};

/// One thing that a user did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// The user.
    pub user_id: UserId,
    /// The kind of activity.
    pub action: Action,
    /// The product that it is about, if any.
    pub product_id: Option<ProductId>,
    /// Further facts.
    pub attributes: Attributes,
    /// The time of the activity. With the id, it identifies the activity and gives its position in
    /// the lists.
    pub at: Moment,
    /// Tells activities of the same moment apart. It is generated in the same way as the ids of the
    /// journal.
    pub id: EntryId,
}

/// The kind of an activity, chosen by the shop: 1 to 64 of the characters `A-Z`, `a-z`, `0-9`, `_`,
/// `.`, `-` and `:`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Action(String);

/// The text is not a valid [`Action`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to {max} of the characters A-Z, a-z, 0-9, `_`, `.`, `-` and `:`", max = Action::CHARS_MAX)]
pub struct ActionError;

impl Action {
    /// The most characters.
    pub const CHARS_MAX: usize = 64;

    /// The action of an activity that counts as a view of its product.
    pub const VIEW: &str = "view";

    /// The action of an activity that counts as a purchase of its product.
    pub const PURCHASE: &str = "buy";

    /// Checks length and characters.
    pub fn new(text: &str) -> Result<Self, ActionError> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-:".contains(&byte));
        ((1..=Self::CHARS_MAX).contains(&text.len()) && is_plain).then(|| Self(text.to_owned())).ok_or(ActionError)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the user viewed the product.
    pub fn is_view(&self) -> bool {
        self.0 == Self::VIEW
    }

    /// Whether the user bought the product.
    pub fn is_purchase(&self) -> bool {
        self.0 == Self::PURCHASE
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why the time of an activity is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ActivityTimeError {
    /// The time is later than a difference between clocks explains.
    #[error("must not lie more than 5 minutes after the server's time")]
    InTheFuture,
    /// The time is so long ago that it is a mistake, or that an import should be used.
    #[error("must not lie more than 400 days before the server's time")]
    TooOld,
}

impl Activity {
    /// How far the clock of a client may be ahead of the server's.
    pub const SKEW_MAX: SignedDuration = SignedDuration::from_mins(5);

    /// The most bytes of the ids of user and product, the action and the attributes together. Each
    /// of the two rows has at most a kilobyte then, and costs one write unit. Anybody may record
    /// activities, so this bounds what a stranger can cost.
    pub const TEXTS_BYTES_MAX: usize = 384;

    /// How old an activity may be when it is recorded.
    pub const AGE_MAX: SignedDuration = SignedDuration::from_hours(400 * 24);

    /// The bytes of its texts, to compare with [`Activity::TEXTS_BYTES_MAX`].
    pub fn texts_bytes(&self) -> usize {
        let Self { user_id, action, product_id, attributes, .. } = self;
        let product_id = product_id.as_ref().map_or("", ProductId::as_str);
        let texts = [user_id.as_str(), action.as_str(), product_id].map(str::len);
        let pairs = attributes.pairs().iter().map(|(name, text)| name.len() + text.len());
        texts.into_iter().chain(pairs).sum()
    }

    /// Checks that an activity at this time may be recorded at `now`.
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

/// The time range of a query for the activities of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivityRange {
    from: Moment,
    to: Moment,
}

/// The range touches more than [`ActivityRange::DAYS_MAX`] days, or one of its ends is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be closed and touch at most {max} UTC days", max = ActivityRange::DAYS_MAX)]
pub struct ActivityRangeError;

impl ActivityRange {
    /// The most UTC days. Each day costs one query for each suffix.
    pub const DAYS_MAX: usize = 31;

    /// Checks that both ends are given and that the range does not touch too many days.
    pub fn new(range: TimeRange) -> Result<Self, ActivityRangeError> {
        let (Some(from), Some(to)) = (range.from(), range.to()) else { return Err(ActivityRangeError) };
        let range = Self { from, to };
        (range.days().count() <= Self::DAYS_MAX).then_some(range).ok_or(ActivityRangeError)
    }

    /// The first moment.
    pub fn from(self) -> Moment {
        self.from
    }

    /// The first moment after the range.
    pub fn to(self) -> Moment {
        self.to
    }

    /// The days that the range touches, oldest first.
    pub fn days(self) -> impl DoubleEndedIterator<Item = Date> {
        // `to` is excluded. If it is midnight, its day is not touched.
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
    fn an_action_has_only_the_allowed_characters() {
        for text in ["view", "add_to_cart", "shop:v2.checkout-done", &"a".repeat(64)] {
            assert_eq!(Action::new(text).map(|action| action.to_string()).as_deref(), Ok(text));
        }
        for text in ["", " ", "a b", "見る", "view\n", "a#b", &"a".repeat(65)] {
            assert_eq!(Action::new(text), Err(ActionError), "{text:?}");
        }
    }

    #[test]
    fn activity_time_reaches_400_days_back_and_five_minutes_ahead() {
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
    fn activity_range_includes_each_day_it_touches_by_a_nanosecond() {
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
