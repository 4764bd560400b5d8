//! A part of a user's logs: those that were read so far.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::streak::days_before;
use super::{Log, REST_DAYS};

/// The logs to read before the answer is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MissingLogs {
    /// The logs before those that are known, newest first.
    #[error("earlier logs have to be known")]
    Earlier,
    /// The logs after those that are known, oldest first.
    #[error("later logs have to be known")]
    Later,
}

/// The logs of some days that follow each other. It grows to both sides, as more is read. By
/// default it is all of no logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogWindow {
    logs: BTreeMap<Date, bool>,
    /// The first day that is known; without one, all days before are known.
    from: Option<Date>,
    /// The first day after it that is not known; without one, all days after are known.
    to: Option<Date>,
}

/// What a [`LogWindow`] is searched for, going backwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A day after which a streak begins, regardless of earlier logs.
    Streak,
    /// A day after which it is certain that there is neither a rest nor bleeding; of the streak
    /// nothing is said.
    Rest,
}

impl LogWindow {
    /// Nothing is known yet but that there is no log outside of `first_on` to `last_on`. It will
    /// begin to grow before `date`, and at `date`.
    pub fn at(date: Date, (first_on, last_on): (Date, Date)) -> Self {
        Self { logs: BTreeMap::new(), from: (date > first_on).then_some(date), to: (date <= last_on).then_some(date) }
    }

    /// The same, with one day known otherwise: it begins to grow on both sides of it.
    pub fn around(date: Date, ends: (Date, Date)) -> Self {
        let to = date.tomorrow().ok().filter(|_| date < ends.1);
        Self { to, ..Self::at(date, ends) }
    }

    /// Adds the newest logs before the known ones, back to a day, or all of them without a day.
    pub fn extend_earlier(&mut self, logs: impl IntoIterator<Item = Log>, from: Option<Date>) {
        self.logs.extend(logs.into_iter().map(|log| (log.date, log.has_bleeding)));
        self.from = from;
    }

    /// Adds the oldest logs after the known ones, through a day, or all of them without a day.
    pub fn extend_later(&mut self, logs: impl IntoIterator<Item = Log>, through: Option<Date>) {
        self.logs.extend(logs.into_iter().map(|log| (log.date, log.has_bleeding)));
        self.to = through.and_then(|day| day.tomorrow().ok());
    }

    /// Where reading goes on for [`MissingLogs::Earlier`]: before this day.
    pub fn from(&self) -> Option<Date> {
        self.from
    }

    /// Where reading goes on for [`MissingLogs::Later`]: from this day on.
    pub fn to(&self) -> Option<Date> {
        self.to
    }

    /// The log of a day that is known.
    pub(super) fn log(&self, date: Date) -> Option<bool> {
        self.logs.get(&date).copied()
    }

    /// The known logs between two days, neither included, oldest first.
    pub(super) fn between(&self, after: Date, before: Date) -> impl Iterator<Item = Log> {
        let logs = self.logs.range(after..).skip_while(move |(date, _)| **date == after);
        logs.take_while(move |(date, _)| **date < before).map(|(date, has_bleeding)| log(*date, *has_bleeding))
    }

    /// The known logs after a day, oldest first.
    pub(super) fn after(&self, date: Date) -> impl Iterator<Item = Log> {
        let logs = self.logs.range(date..).skip_while(move |(known, _)| **known == date);
        logs.map(|(date, has_bleeding)| log(*date, *has_bleeding))
    }

    /// The newest known log before a day; `None` when there is none at all.
    pub(super) fn last_before(&self, date: Date) -> Result<Option<Date>, MissingLogs> {
        match self.logs.range(..date).next_back() {
            Some((date, _)) => Ok(Some(*date)),
            None if self.from.is_none() => Ok(None),
            None => Err(MissingLogs::Earlier),
        }
    }

    /// Whether everything from a day on is known, up to where this begins.
    pub(super) fn reaches_back_to(&self, date: Date) -> Result<(), MissingLogs> {
        if self.from.is_none_or(|from| from <= date) { Ok(()) } else { Err(MissingLogs::Earlier) }
    }

    /// Whether everything through a day is known.
    pub(super) fn reaches(&self, date: Date) -> Result<(), MissingLogs> {
        if self.to.is_none_or(|to| date < to) { Ok(()) } else { Err(MissingLogs::Later) }
    }

    /// The last day before `date` that is an anchor. A day with a rest that could reach beyond it
    /// is none, and three bleeding days are what could be one's beginning.
    pub(super) fn anchor(&self, date: Date, anchor: Anchor) -> Result<Date, MissingLogs> {
        let mut day = date;
        loop {
            day = days_before(day, 1);
            // The last of the three has to lie this far back, or the rest is over with `day`.
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
