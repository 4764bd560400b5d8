//! The streak_state of a streak: a machine that walks over days.

use jiff::civil::Date;

/// This many bleeding days in a row begin a rest.
pub const BLEEDING_DAYS_MAX: u8 = 3;

/// How many days a rest has.
pub const REST_DAYS: u8 = 4;

/// How a day stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreakState {
    /// A day on which the medication is taken, or should be.
    Taking {
        /// How many days in a row it has been taken, this one included.
        streak: u32,
        /// How many days in a row there was bleeding, this one included: up to
        /// [`BLEEDING_DAYS_MAX`], and then the next day is one of rest.
        bleeding: u8,
    },
    /// A day of rest, logged or not.
    Resting {
        /// How many days of rest there still are, this one included: from [`REST_DAYS`] down to 1.
        left: u8,
    },
}

impl StreakState {
    /// A day of which nothing is known, and what a missed day leaves.
    pub const START: Self = Self::Taking { streak: 0, bleeding: 0 };

    /// The day after, which is logged, with bleeding or without, or is not.
    pub fn next(self, has_bleeding: Option<bool>) -> Self {
        let (streak, bleeding) = match self {
            Self::Taking { bleeding: BLEEDING_DAYS_MAX.., .. } => return Self::Resting { left: REST_DAYS },
            Self::Resting { left: left @ 2.. } => return Self::Resting { left: left - 1 },
            Self::Resting { .. } => (0, 0),
            Self::Taking { streak, bleeding } => (streak, bleeding),
        };
        match has_bleeding {
            None => Self::START,
            Some(false) => Self::Taking { streak: streak + 1, bleeding: 0 },
            Some(true) => Self::Taking { streak: streak + 1, bleeding: bleeding + 1 },
        }
    }

    /// As many days later, none of them logged.
    pub fn skip(self, days: u32) -> Self {
        // A rest is over by then, whenever it began, and one missed day begins anew.
        (0..days.min(u32::from(REST_DAYS) + 1)).fold(self, |streak_state, _| streak_state.next(None))
    }

    /// How many days in a row.
    pub fn streak(self) -> u32 {
        match self {
            Self::Taking { streak, .. } => streak,
            Self::Resting { .. } => 0,
        }
    }
}

/// Days between two, neither of them included; 0 when they follow each other.
pub(super) fn days_between(earlier: Date, later: Date) -> u32 {
    // Two dates are less than eight million days apart.
    u32::try_from((later - earlier).get_days() - 1).unwrap_or(0)
}

/// As many days earlier, or the first day that there is.
pub(super) fn days_before(date: Date, days: u32) -> Date {
    date.saturating_sub(jiff::Span::new().days(i64::from(days)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(days: &str) -> Vec<StreakState> {
        let days = days.chars().map(|day| match day {
            'B' => Some(true),
            't' => Some(false),
            _ => None,
        });
        days.scan(StreakState::START, |streak_state, day| {
            *streak_state = streak_state.next(day);
            Some(*streak_state)
        })
        .collect()
    }

    #[test]
    fn three_bleeding_days_begin_a_rest_of_four_and_then_a_streak_begins_anew() {
        let taking = |streak, bleeding| StreakState::Taking { streak, bleeding };
        let resting = |left| StreakState::Resting { left };
        let rest = [resting(4), resting(3), resting(2), resting(1)];
        let before = [taking(1, 0), taking(2, 1), taking(3, 2), taking(4, 3)];
        let expected = [&before[..], &rest, &[taking(1, 0)]].concat();
        assert_eq!(walk("tBBB....t"), expected);
        // A log counts for nothing in a rest, and bleeding does not make it longer.
        assert_eq!(walk("tBBBtBBBt"), expected);
    }

    #[test]
    fn bleeding_is_counted_in_a_row_and_a_missed_day_ends_both_counts() {
        assert_eq!(walk("BBtBB").last(), Some(&StreakState::Taking { streak: 5, bleeding: 2 }));
        assert_eq!(walk("BB.B").last(), Some(&StreakState::Taking { streak: 1, bleeding: 1 }));
        assert_eq!(walk("tt.").last(), Some(&StreakState::START));
    }

    #[test]
    fn days_that_nobody_logged_are_skipped_as_if_they_were_walked() {
        for streak_state in walk("tBBB....").into_iter().chain([StreakState::START]) {
            for days in 0..12 {
                assert_eq!(
                    streak_state.skip(days),
                    (0..days).fold(streak_state, |streak_state, _| streak_state.next(None)),
                    "{streak_state:?} {days}"
                );
            }
            assert_eq!(streak_state.skip(u32::MAX), StreakState::START);
        }
    }
}
