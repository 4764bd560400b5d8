//! How a user takes the daily medication: on which days, and whether bleeding starts a rest.

use std::fmt;
use std::str::FromStr;

use jiff::Span;
use jiff::civil::Date;

use super::log::{FIRST_DATE, Log};

/// The regimen of a user. It applies to all logs: another regimen counts earlier days anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Regimen {
    /// Every day, without days of rest; bleeding is not asked for.
    Medicines,
    /// Every day, until bleeding starts a rest: the rules of the original design. It is the regimen
    /// of users who never chose one.
    #[default]
    Continuous,
    /// Days of intake and days of rest in turn.
    Cycle(Cycle),
}

/// A cycle of days of intake, then days of rest. It repeats before its start, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle {
    active: u16,
    rest: u8,
    start: Date,
}

/// Why something is no [`Regimen`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegimenError {
    /// Too few or too many days of intake.
    #[error("must have 1 to {max} days of intake", max = Cycle::ACTIVE_MAX)]
    Active,
    /// Too few or too many days of rest.
    #[error("must have 1 to {max} days of rest", max = Cycle::REST_MAX)]
    Rest,
    /// A start before [`FIRST_DATE`].
    #[error("must not start before {FIRST_DATE}")]
    Start,
    /// A text of another form.
    #[error("is not a regimen")]
    Text,
}

impl Cycle {
    /// The most days of intake.
    pub const ACTIVE_MAX: u16 = 365;

    /// The most days of rest.
    pub const REST_MAX: u8 = 90;

    /// A cycle whose first day of intake is `start`.
    ///
    /// # Errors
    /// [`RegimenError`] for a number or a date out of bounds.
    pub fn new(active: u16, rest: u8, start: Date) -> Result<Self, RegimenError> {
        match () {
            () if !(1..=Self::ACTIVE_MAX).contains(&active) => Err(RegimenError::Active),
            () if !(1..=Self::REST_MAX).contains(&rest) => Err(RegimenError::Rest),
            () if start < FIRST_DATE => Err(RegimenError::Start),
            () => Ok(Self { active, rest, start }),
        }
    }

    /// The number of days of intake.
    pub fn active(self) -> u16 {
        self.active
    }

    /// The number of days of rest.
    pub fn rest(self) -> u8 {
        self.rest
    }

    /// The first day of intake.
    pub fn start(self) -> Date {
        self.start
    }

    fn length(self) -> i32 {
        i32::from(self.active) + i32::from(self.rest)
    }

    /// The number of the cycle that a day is in, and of the day in it, both from 0.
    fn position(self, date: Date) -> (i32, i32) {
        let days = (date - self.start).get_days();
        (days.div_euclid(self.length()), days.rem_euclid(self.length()))
    }
}

impl Regimen {
    /// The remaining days of rest of a cycle, including `date`; 0 on a day of intake. The rests of
    /// [`Regimen::Continuous`] follow from the logs, not from the calendar.
    pub fn rest_left(self, date: Date) -> u8 {
        let Self::Cycle(cycle) = self else { return 0 };
        let (_, day) = cycle.position(date);
        if day < i32::from(cycle.active) { 0 } else { u8::try_from(cycle.length() - day).unwrap_or(0) }
    }

    /// Whether a log counts for a rest that bleeding starts.
    pub(super) fn starts_rest(self, log: Log) -> bool {
        self == Self::Continuous && log.has_bleeding
    }

    /// The number of the first day of intake that is not before `date`. Consecutive days of intake
    /// have consecutive numbers.
    fn number(self, date: Date) -> i32 {
        let Self::Cycle(cycle) = self else { return (date - FIRST_DATE).get_days() };
        let (cycles, day) = cycle.position(date);
        cycles * i32::from(cycle.active) + day.min(i32::from(cycle.active))
    }

    /// The number of days of intake from a day to another one, which is not counted.
    pub(super) fn active_days(self, from: Date, to: Date) -> u32 {
        u32::try_from(self.number(to) - self.number(from)).unwrap_or(0)
    }

    /// The number of days of intake between two days, excluding both.
    pub(super) fn active_between(self, after: Date, before: Date) -> u32 {
        self.active_days(after.tomorrow().unwrap_or(after), before)
    }

    /// The day of intake that is this many days of intake before another one, or the earliest
    /// possible date.
    pub(super) fn active_days_before(self, date: Date, days: u32) -> Date {
        let number = i64::from(self.number(date)) - i64::from(days);
        let (first, days) = match self {
            Self::Cycle(cycle) => {
                let active = i64::from(cycle.active);
                let cycles = number.div_euclid(active) * i64::from(cycle.length());
                (cycle.start, cycles + number.rem_euclid(active))
            }
            Self::Medicines | Self::Continuous => (FIRST_DATE, number),
        };
        first.saturating_add(Span::new().days(days.clamp(-JIFF_DAYS_MAX, JIFF_DAYS_MAX)))
    }
}

/// The most days of a span; more panic.
const JIFF_DAYS_MAX: i64 = 7_304_484;

/// The stored text: `medicines`, `continuous` or `21/7 from 2026-11-02`.
impl fmt::Display for Regimen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Medicines => f.write_str("medicines"),
            Self::Continuous => f.write_str("continuous"),
            Self::Cycle(Cycle { active, rest, start }) => write!(f, "{active}/{rest} from {start}"),
        }
    }
}

impl FromStr for Regimen {
    type Err = RegimenError;

    fn from_str(text: &str) -> Result<Self, RegimenError> {
        match text {
            "medicines" => return Ok(Self::Medicines),
            "continuous" => return Ok(Self::Continuous),
            _ => {}
        }
        let cycle = || {
            let (days, start) = text.split_once(" from ")?;
            let (active, rest) = days.split_once('/')?;
            Some(Cycle::new(active.parse().ok()?, rest.parse().ok()?, start.parse().ok()?))
        };
        cycle().ok_or(RegimenError::Text)?.map(Self::Cycle)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn a_cycle_rests_after_its_days_of_intake() {
        let start = date(2026, 11, 2);
        let cycle = Regimen::Cycle(Cycle::new(21, 7, start).unwrap());
        let left = |day: i8| cycle.rest_left(date(2026, 11, day));
        assert_eq!([1, 2, 22, 23, 29, 30].map(left), [1, 0, 0, 7, 1, 0]);
        assert_eq!(cycle.rest_left(FIRST_DATE), cycle.rest_left(FIRST_DATE + Span::new().days(28)));
        assert_eq!(cycle.active_days(date(2026, 11, 22), date(2026, 11, 30)), 1);
        assert_eq!(cycle.active_days_before(date(2026, 11, 30), 1), date(2026, 11, 22));
        assert_eq!(cycle.active_days_before(date(2026, 11, 2), 21), date(2026, 10, 5));
        assert_eq!(cycle.active_days_before(date(2026, 11, 2), u32::MAX), Date::MIN);
    }

    #[test]
    fn a_cycle_out_of_bounds_is_refused() {
        let start = date(2026, 11, 2);
        for (active, rest, start, expected) in [
            (0, 7, start, RegimenError::Active),
            (366, 7, start, RegimenError::Active),
            (21, 0, start, RegimenError::Rest),
            (21, 91, start, RegimenError::Rest),
            (21, 7, date(1899, 12, 31), RegimenError::Start),
        ] {
            assert_eq!(Cycle::new(active, rest, start), Err(expected));
        }
    }

    #[test]
    fn a_regimen_survives_its_stored_text() {
        let cycle = Regimen::Cycle(Cycle::new(365, 90, FIRST_DATE).unwrap());
        for regimen in [Regimen::Medicines, Regimen::Continuous, cycle] {
            assert_eq!(regimen.to_string().parse(), Ok(regimen));
        }
        for text in ["", "cycle", "21/7", "21/7 from today", "0/7 from 2026-11-02"] {
            assert!(text.parse::<Regimen>().is_err(), "{text}");
        }
    }
}
