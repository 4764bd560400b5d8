//! The state of a streak: a state machine over days.

use jiff::civil::Date;

/// The number of bleeding days in a row that start a rest.
pub const BLEEDING_DAYS_MAX: u8 = 3;

/// The number of days of a rest.
pub const REST_DAYS: u8 = 4;

/// The state of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreakState {
    /// The medication was taken or should be taken on this day.
    Taking {
        /// The number of days in a row on which it was taken, including this one.
        streak: u32,
        /// The number of bleeding days in a row, including this one. After [`BLEEDING_DAYS_MAX`],
        /// the next day is a day of rest.
        bleeding: u8,
    },
    /// A day of rest, logged or not.
    Resting {
        /// The number of remaining days of rest, including this one: from [`REST_DAYS`] down to 1.
        left: u8,
    },
}

impl StreakState {
    /// The state before the first log, and after a missed day.
    pub const START: Self = Self::Taking { streak: 0, bleeding: 0 };

    /// The state of the next day: logged with or without bleeding that may start a rest, or not
    /// logged.
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

    /// The state after this many days without a log.
    pub fn skip(self, days: u32) -> Self {
        // After this many days, every rest is over and a missed day has reset the streak, so more
        // days change nothing.
        (0..days.min(u32::from(REST_DAYS) + 1)).fold(self, |streak_state, _| streak_state.next(None))
    }

    /// The length of the streak in days.
    pub fn streak(self) -> u32 {
        match self {
            Self::Taking { streak, .. } => streak,
            Self::Resting { .. } => 0,
        }
    }
}

/// The date this many days earlier, or the earliest possible date.
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
    fn three_bleeding_days_begin_four_rest_days_then_new_streak() {
        let taking = |streak, bleeding| StreakState::Taking { streak, bleeding };
        let resting = |left| StreakState::Resting { left };
        let rest = [resting(4), resting(3), resting(2), resting(1)];
        let before = [taking(1, 0), taking(2, 1), taking(3, 2), taking(4, 3)];
        let expected = [&before[..], &rest, &[taking(1, 0)]].concat();
        assert_eq!(walk("tBBB....t"), expected);
        // A log during a rest does not count, and bleeding does not prolong the rest.
        assert_eq!(walk("tBBBtBBBt"), expected);
    }

    #[test]
    fn missed_day_resets_streak_and_bleeding_count() {
        assert_eq!(walk("BBtBB").last(), Some(&StreakState::Taking { streak: 5, bleeding: 2 }));
        assert_eq!(walk("BB.B").last(), Some(&StreakState::Taking { streak: 1, bleeding: 1 }));
        assert_eq!(walk("tt.").last(), Some(&StreakState::START));
    }

    #[test]
    fn streak_skip_equals_walking_unlogged_days() {
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
