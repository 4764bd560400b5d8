//! The calendar: the state of each day of a range.

use jiff::civil::Date;

use super::log_window::{Anchor, LogWindow, MissingLogs};
use super::streak::{StreakState, days_before};
use super::{Log, Regimen};
use crate::calendar::DateRange;

/// The state of a day in the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DayState {
    /// Logged, without bleeding.
    Taken,
    /// Logged, with bleeding.
    Bleeding,
    /// A day of rest, logged or not; it may be in the future.
    Rest,
    /// In the past, and not logged.
    Missed,
    /// In the future.
    Future,
    /// Today while it is not logged, or a day before the first log.
    None,
}

impl DayState {
    /// The value in the API.
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
    /// The day.
    pub date: Date,
    /// Whether there was bleeding; `None` if it is not logged.
    pub log: Option<bool>,
    /// The state.
    pub state: DayState,
}

/// Each day of a range, as of `today`. `first_on` is the day of the oldest log.
///
/// # Errors
/// The logs that `known` lacks.
pub fn days(
    range: DateRange,
    today: Date,
    first_on: Option<Date>,
    regimen: Regimen,
    known: &LogWindow,
) -> Result<Vec<Day>, MissingLogs> {
    known.reaches(range.to())?;
    let anchor = known.anchor(range.from(), Anchor::Rest, regimen)?;
    let is_before_first = |date| first_on.is_none_or(|first| date < first);
    // A cycle that began before the first log is shown from its start.
    let is_before_all =
        |date| is_before_first(date) && matches!(regimen, Regimen::Cycle(cycle) if date < cycle.start());
    let walked = std::iter::successors(anchor.tomorrow().ok(), |day| day.tomorrow().ok());
    let days = walked.take_while(|day| *day <= range.to()).scan(StreakState::START, |streak_state, date| {
        let log = known.log(date);
        *streak_state = streak_state.next(log.map(|has_bleeding| regimen.starts_rest(Log { date, has_bleeding })));
        let state = match (*streak_state, log) {
            (StreakState::Resting { .. }, _) => DayState::Rest,
            _ if regimen.rest_left(date) > 0 && !is_before_all(date) => DayState::Rest,
            (_, Some(true)) => DayState::Bleeding,
            (_, Some(false)) => DayState::Taken,
            (_, None) if date > today => DayState::Future,
            (_, None) if date == today || is_before_first(date) => DayState::None,
            (_, None) => DayState::Missed,
        };
        Some(Day { date, log, state })
    });
    Ok(days.filter(|day| day.date >= range.from()).collect())
}

/// How many of the due times the medication was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Adherence {
    /// The number of times it was due.
    pub due: u32,
    /// The number of times it was taken.
    pub taken: u32,
}

/// The number of days that adherence covers.
pub const ADHERENCE_DAYS: u8 = 30;

/// The last [`ADHERENCE_DAYS`] days, including today.
pub fn adherence_range(today: Date) -> DateRange {
    let from = days_before(today, u32::from(ADHERENCE_DAYS) - 1);
    // The first of thirty days in order is before the last.
    DateRange::new(from, today).unwrap_or_else(|_| unreachable!("{from} to {today}"))
}

impl Adherence {
    /// The adherence of logged days. A day of rest and a day that is not over are not due.
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
