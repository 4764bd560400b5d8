//! The calendar: how each day of a range stands.

use jiff::civil::Date;

use super::log_window::{Anchor, LogWindow, MissingLogs};
use super::streak::{StreakState, days_before};
use crate::calendar::DateRange;

/// What a day of the calendar shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DayState {
    /// Logged, without bleeding.
    Taken,
    /// Logged, with bleeding.
    Bleeding,
    /// A day of rest, logged or not, also one that is still to come.
    Rest,
    /// Over, and not logged.
    Missed,
    /// Still to come.
    Future,
    /// Today as long as it is not logged, and the days before the first log.
    None,
}

impl DayState {
    /// As clients read it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Bleeding => "bleeding",
            Self::Rest => "rest",
            Self::Missed => "missed",
            Self::Future => "future",
            Self::None => "none",
        }
    }
}

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// Which.
    pub date: Date,
    /// Whether there was bleeding, if it is logged.
    pub log: Option<bool>,
    /// The state of the day.
    pub state: DayState,
}

/// Each day of a range, as of `today`. `first_on` is the day of the oldest log.
///
/// # Errors
/// The logs that are missing in `known`.
pub fn days(range: DateRange, today: Date, first_on: Option<Date>, known: &LogWindow) -> Result<Vec<Day>, MissingLogs> {
    known.reaches(range.to())?;
    let anchor = known.anchor(range.from(), Anchor::Rest)?;
    let walked = std::iter::successors(anchor.tomorrow().ok(), |day| day.tomorrow().ok());
    let days = walked.take_while(|day| *day <= range.to()).scan(StreakState::START, |streak_state, date| {
        let log = known.log(date);
        *streak_state = streak_state.next(log);
        let state = match (*streak_state, log) {
            (StreakState::Resting { .. }, _) => DayState::Rest,
            (_, Some(true)) => DayState::Bleeding,
            (_, Some(false)) => DayState::Taken,
            (_, None) if date > today => DayState::Future,
            (_, None) if date == today || first_on.is_none_or(|first| date < first) => DayState::None,
            (_, None) => DayState::Missed,
        };
        Some(Day { date, log, state })
    });
    Ok(days.filter(|day| day.date >= range.from()).collect())
}

/// How regularly something was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adherence {
    /// How often it was due.
    pub due: u32,
    /// How often it was taken.
    pub taken: u32,
}

/// The days over which adherence is told.
pub const ADHERENCE_DAYS: u8 = 30;

/// The last [`ADHERENCE_DAYS`] days, today the last.
pub fn adherence_range(today: Date) -> DateRange {
    let from = days_before(today, u32::from(ADHERENCE_DAYS) - 1);
    // Thirty days in their order are a range.
    DateRange::new(from, today).unwrap_or_else(|_| unreachable!("{from} to {today}"))
}

impl Adherence {
    /// Of days that are logged once each: a rest, and a day that is not over, is not due.
    pub fn of_days(days: &[Day]) -> Self {
        days.iter().fold(Self::default(), |sum, day| match day.state {
            DayState::Taken | DayState::Bleeding => Self { due: sum.due + 1, taken: sum.taken + 1 },
            DayState::Missed => Self { due: sum.due + 1, ..sum },
            DayState::Rest | DayState::Future | DayState::None => sum,
        })
    }

    /// From 0 to 1; `None` when nothing was due.
    pub fn rate(self) -> Option<f64> {
        (self.due > 0).then(|| f64::from(self.taken) / f64::from(self.due))
    }
}
