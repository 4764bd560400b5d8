//! The part of a user's logs that has been read so far.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::streak::days_before;
use super::{Log, REST_DAYS, Regimen};

/// The logs that have to be read before a question can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MissingLogs {
    /// The logs before the known ones, newest first.
    #[error("earlier logs have to be known")]
    Earlier,
    /// The logs after the known ones, oldest first.
    #[error("later logs have to be known")]
    Later,
}

/// The logs of a range of days. It grows in both directions as more logs are read. The default is
/// the complete history of a user without logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogWindow {
    logs: BTreeMap<Date, bool>,
    /// The first known day; with `None`, all earlier days are known.
    from: Option<Date>,
    /// The first unknown day after the range; with `None`, all later days are known.
    to: Option<Date>,
}

/// The kind of day to search for, going backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A day after which a streak starts at 0, whatever the days before it are.
    Streak,
    /// A day after which no rest and no row of bleeding days continues; the streak may continue.
    Rest,
}

impl LogWindow {
    /// An empty window that grows from `date`: earlier days before it, later days from it on. There
    /// are no logs outside `first_on` to `last_on`.
    pub fn at(date: Date, (first_on, last_on): (Date, Date)) -> Self {
        Self { logs: BTreeMap::new(), from: (date > first_on).then_some(date), to: (date <= last_on).then_some(date) }
    }

    /// The same, for a day whose own log is known: later days begin after it.
    pub fn around(date: Date, ends: (Date, Date)) -> Self {
        let to = date.tomorrow().ok().filter(|_| date < ends.1);
        Self { to, ..Self::at(date, ends) }
    }

    /// Adds the newest logs before the window, back to a day; with `None`, all of them.
    pub fn extend_earlier(&mut self, logs: impl IntoIterator<Item = Log>, from: Option<Date>) {
        self.logs.extend(logs.into_iter().map(|log| (log.date, log.has_bleeding)));
        self.from = from;
    }

    /// Adds the oldest logs after the window, through a day; with `None`, all of them.
    pub fn extend_later(&mut self, logs: impl IntoIterator<Item = Log>, through: Option<Date>) {
        self.logs.extend(logs.into_iter().map(|log| (log.date, log.has_bleeding)));
        self.to = through.and_then(|day| day.tomorrow().ok());
    }

    /// The day before which reading continues for [`MissingLogs::Earlier`].
    pub fn from(&self) -> Option<Date> {
        self.from
    }

    /// The day from which reading continues for [`MissingLogs::Later`].
    pub fn to(&self) -> Option<Date> {
        self.to
    }

    /// The log of a known day.
    pub(super) fn log(&self, date: Date) -> Option<bool> {
        self.logs.get(&date).copied()
    }

    /// The known logs between two days, excluding both, oldest first.
    pub(super) fn between(&self, after: Date, before: Date) -> impl Iterator<Item = Log> {
        let logs = self.logs.range(after..).skip_while(move |(date, _)| **date == after);
        logs.take_while(move |(date, _)| **date < before).map(|(date, has_bleeding)| log(*date, *has_bleeding))
    }

    /// The known logs after a day, oldest first.
    pub(super) fn after(&self, date: Date) -> impl Iterator<Item = Log> {
        let logs = self.logs.range(date..).skip_while(move |(known, _)| **known == date);
        logs.map(|(date, has_bleeding)| log(*date, *has_bleeding))
    }

    /// The newest known log before a day; `None` if there is none at all.
    pub(super) fn last_before(&self, date: Date) -> Result<Option<Date>, MissingLogs> {
        match self.logs.range(..date).next_back() {
            Some((date, _)) => Ok(Some(*date)),
            None if self.from.is_none() => Ok(None),
            None => Err(MissingLogs::Earlier),
        }
    }

    /// Checks that all days from this day to the window are known.
    pub(super) fn reaches_back_to(&self, date: Date) -> Result<(), MissingLogs> {
        if self.from.is_none_or(|from| from <= date) { Ok(()) } else { Err(MissingLogs::Earlier) }
    }

    /// Checks that all days through this day are known.
    pub(super) fn reaches(&self, date: Date) -> Result<(), MissingLogs> {
        if self.to.is_none_or(|to| date < to) { Ok(()) } else { Err(MissingLogs::Later) }
    }

    /// The last day before `date` that is an anchor. Three bleeding days in a row may start a rest;
    /// a day that such a rest could cover and that is not its last is no anchor.
    pub(super) fn anchor(&self, date: Date, anchor: Anchor, regimen: Regimen) -> Result<Date, MissingLogs> {
        let mut day = date;
        loop {
            day = days_before(day, 1);
            if regimen != Regimen::Continuous {
                // No rest follows from logs: the calendar says which days are due.
                self.reaches_back_to(day)?;
                if anchor == Anchor::Rest || (self.log(day).is_none() && regimen.rest_left(day) == 0) {
                    return Ok(day);
                }
                continue;
            }
            // A rest that continues after `day` has its three bleeding days in this range.
            self.reaches_back_to(days_before(day, u32::from(REST_DAYS) + 1))?;
            let is_calm = match anchor {
                Anchor::Streak => self.log(day).is_none(),
                Anchor::Rest => self.log(day) != Some(true),
            };
            let begins_rest = |third| (0..3).all(|days| self.log(days_before(third, days)) == Some(true));
            if is_calm && !(1..u32::from(REST_DAYS)).any(|days| begins_rest(days_before(day, days))) {
                return Ok(day);
            }
        }
    }
}

fn log(date: Date, has_bleeding: bool) -> Log {
    Log { date, has_bleeding }
}
