//! A summary of all logs, so that neither the status nor a new log has to read them all.
//!
//! A past streak is kept only as its length: the summary counts the streaks of each length. A life
//! of daily logs has fewer than 260 different lengths, because different lengths add up to at least
//! 1 + 2 + 3 + ...; a year has at most 25. So a change in the past only needs the logs around it.
//! The streaks that it ends, begins, joins or splits are subtracted and added, and the best streak
//! stays correct.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::log_window::{Anchor, LogWindow, MissingLogs};
use super::streak::{BLEEDING_DAYS_MAX, REST_DAYS, StreakState, days_before};
use super::{Log, Regimen};

/// Past streaks: the number of streaks of each length in days.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastStreaks(BTreeMap<u32, u32>);

impl PastStreaks {
    /// Restores the stored counts; entries with a length or count of 0 are dropped.
    pub fn new(counts: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self(counts.into_iter().filter(|(length, count)| *length > 0 && *count > 0).collect())
    }

    /// Each length and its count, shortest first.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|(length, count)| (*length, *count))
    }

    /// The length of the longest past streak; 0 without any.
    pub fn longest(&self) -> u32 {
        self.0.last_key_value().map_or(0, |(length, _)| *length)
    }

    fn add(&mut self, length: u32) {
        *self.0.entry(length).or_default() += 1;
    }

    /// Removes one streak; `None` if there is none of this length.
    fn remove(&mut self, length: u32) -> Option<()> {
        let count = self.0.get_mut(&length)?;
        *count -= 1;
        if *count == 0 {
            self.0.remove(&length);
        }
        Some(())
    }
}

/// The summary of at least one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The day of the oldest log.
    pub first_on: Date,
    /// The day of the newest log.
    pub last_on: Date,
    /// The state of that day.
    pub streak_state: StreakState,
    /// The number of logs.
    pub logs: u32,
    /// The past streaks; the current one is in `streak_state`.
    pub runs: PastStreaks,
    /// The regimen that all of this was computed under. Under another one it is worth nothing.
    pub regimen: Regimen,
}

/// A change of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogChange {
    /// The day is logged, or its log is replaced.
    Put(Log),
    /// The log of the day is deleted.
    Delete(Date),
}

impl LogChange {
    /// The day.
    pub fn date(self) -> Date {
        match self {
            Self::Put(log) => log.date,
            Self::Delete(date) => date,
        }
    }
}

/// Why the summary after a change cannot be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// More logs have to be read.
    #[error(transparent)]
    Missing(#[from] MissingLogs),
    /// The summary does not match the logs: they were changed without it.
    #[error("the summary does not fit the logs")]
    Mismatch,
}

/// The state of a user on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Days in a row, including today if it is logged. An unlogged today does not end the streak. 0
    /// in a rest that bleeding started; a rest of a cycle keeps it.
    pub streak: u32,
    /// The longest streak ever.
    pub best_streak: u32,
    /// Bleeding days in a row that may start a rest; 0 in a rest, and under other regimens.
    pub consecutive_bleeding_days: u8,
    /// Whether today is a day of rest.
    pub is_resting: bool,
    /// The remaining days of rest, including today.
    pub rest_days_left: u8,
    /// Whether today has a log that counts.
    pub logged_today: bool,
    /// The day of the newest log.
    pub last_log_on: Option<Date>,
}

impl Status {
    /// The status on `today` of a user with this summary, or without any log. Future logs exist
    /// after the user moved to an earlier time zone, and they count. In that case `is_logged` says
    /// whether today is logged, because the summary does not know it.
    pub fn of(summary: Option<&Summary>, regimen: Regimen, today: Date, is_logged: bool) -> Self {
        let status = summary.map_or_else(Self::default, |summary| summary.status(today, is_logged));
        match regimen.rest_left(today) {
            0 => status,
            rest_days_left => Self { is_resting: true, rest_days_left, ..status },
        }
    }
}

/// A walk from log to log that computes the streak.
#[derive(Debug, Clone, PartialEq)]
struct Walk {
    regimen: Regimen,
    on: Date,
    streak_state: StreakState,
    /// The lengths of the streaks that ended on the way.
    ended: Vec<u32>,
}

impl Walk {
    fn log(&mut self, log: Log) {
        let before = self.streak_state.skip(self.regimen.active_between(self.on, log.date));
        let streak_state = before.next(Some(self.regimen.starts_rest(log)));
        let streak = self.streak_state.streak();
        if streak > 0 && streak_state.streak() != streak + 1 {
            self.ended.push(streak);
        }
        (self.on, self.streak_state) = (log.date, streak_state);
    }

    fn is_where(&self, other: &Self) -> bool {
        (self.on, self.streak_state) == (other.on, other.streak_state)
    }
}

impl Summary {
    /// The summary of all logs, oldest first, at most one for each day. `None` without logs.
    pub fn of(logs: impl IntoIterator<Item = Log>, regimen: Regimen) -> Option<Self> {
        logs.into_iter().fold(None, |summary, log| Some(Self::append(summary, log, regimen)))
    }

    /// The summary after one more log that is newer than all others; `regimen` is that of the
    /// first.
    pub fn append(summary: Option<Self>, log: Log, regimen: Regimen) -> Self {
        let Some(mut summary) = summary else {
            let streak_state = StreakState::START.next(Some(regimen.starts_rest(log)));
            let (first_on, last_on) = (log.date, log.date);
            return Self { first_on, last_on, streak_state, logs: 1, runs: PastStreaks::default(), regimen };
        };
        let mut walk = summary.walk(summary.last_on, summary.streak_state);
        walk.log(log);
        walk.ended.into_iter().for_each(|length| summary.runs.add(length));
        Self { last_on: walk.on, streak_state: walk.streak_state, logs: summary.logs + 1, ..summary }
    }

    fn walk(&self, on: Date, streak_state: StreakState) -> Walk {
        Walk { regimen: self.regimen, on, streak_state, ended: Vec::new() }
    }

    /// The days of the oldest and the newest log.
    pub fn ends(&self) -> (Date, Date) {
        (self.first_on, self.last_on)
    }

    /// The longest streak ever.
    pub fn best_streak(&self) -> u32 {
        self.runs.longest().max(self.streak_state.streak())
    }

    /// The summary after a change of a day that is not after the newest log. `was` is the log of
    /// the day before the change; `known` has the logs around it ([`LogWindow::around`]). `None` if
    /// no log is left.
    ///
    /// # Errors
    /// The logs that `known` lacks.
    pub fn change(
        &self,
        change: LogChange,
        was: Option<bool>,
        known: &LogWindow,
    ) -> Result<Option<Self>, SummaryError> {
        let date = change.date();
        let mut walk = self.approach(change, known)?;
        known.between(walk.on, date).for_each(|log| walk.log(log));
        let mut before = Walk { ended: Vec::new(), ..walk };
        let mut after = before.clone();
        was.into_iter().for_each(|has_bleeding| before.log(Log { date, has_bleeding }));
        if let LogChange::Put(log) = change {
            after.log(log);
        }
        let mut is_same = before.is_where(&after) && before.on == date;
        for log in known.after(date) {
            if is_same {
                break;
            }
            before.log(log);
            after.log(log);
            is_same = before.is_where(&after);
        }
        let mut summary = self.clone();
        if !is_same {
            known.reaches(self.last_on)?;
            if (before.on, before.streak_state) != (self.last_on, self.streak_state) {
                return Err(SummaryError::Mismatch);
            }
            (summary.last_on, summary.streak_state) = (after.on, after.streak_state);
        }
        before.ended.into_iter().try_for_each(|length| summary.runs.remove(length)).ok_or(SummaryError::Mismatch)?;
        after.ended.into_iter().for_each(|length| summary.runs.add(length));
        match change {
            LogChange::Put(_) => {
                summary.first_on = summary.first_on.min(date);
                summary.logs += u32::from(was.is_none());
            }
            LogChange::Delete(_) => {
                summary.logs -= u32::from(was.is_some());
                if date == summary.first_on && summary.logs > 0 {
                    let next = known.after(date).next().map(|log| log.date);
                    known.reaches(next.unwrap_or(self.last_on))?;
                    summary.first_on = next.ok_or(SummaryError::Mismatch)?;
                }
            }
        }
        Ok((summary.logs > 0).then_some(summary))
    }

    /// A day before the change with a known state, from which the change can be replayed.
    fn approach(&self, change: LogChange, known: &LogWindow) -> Result<Walk, SummaryError> {
        let date = change.date();
        let takes_last = change == LogChange::Delete(self.last_on);
        let walk = |on, streak_state| Ok(self.walk(on, streak_state));
        let streak = self.streak_state.streak();
        let run_begins = self.regimen.active_days_before(self.last_on, streak.saturating_sub(1));
        if takes_last && self.logs == 1 {
            return walk(days_before(date, 1), StreakState::START);
        }
        // In the current streak, the summary gives the number of days before the change. At most
        // two earlier days count for bleeding: a third one would have started a rest.
        let is_in_run = streak > 0 && run_begins <= date;
        if is_in_run && !(takes_last && streak == 1) {
            let from = run_begins.max(self.regimen.active_days_before(date, 2));
            known.reaches_back_to(from)?;
            let days = self.regimen.active_days(run_begins, from);
            return walk(days_before(from, 1), StreakState::Taking { streak: days, bleeding: 0 });
        }
        // When the newest log is deleted, the log before it becomes the newest; its state has to be
        // computed.
        let end = if takes_last { known.last_before(date)?.ok_or(SummaryError::Mismatch)? } else { date };
        walk(known.anchor(end, Anchor::Streak, self.regimen)?, StreakState::START)
    }

    /// [`Status::of`], without the rests of a cycle.
    fn status(&self, today: Date, is_logged: bool) -> Status {
        let best_streak = self.best_streak();
        let status = Status { best_streak, last_log_on: Some(self.last_on), ..Status::default() };
        let logged_today = self.last_on == today || (self.last_on > today && is_logged);
        let streak_state = if self.last_on >= today {
            self.streak_state
        } else {
            let yesterday = self.streak_state.skip(self.regimen.active_between(self.last_on, today));
            match yesterday.next(None) {
                resting @ StreakState::Resting { .. } => resting,
                // After a rest, an unlogged today is not missed yet.
                StreakState::Taking { .. } if matches!(yesterday, StreakState::Resting { .. }) => StreakState::START,
                StreakState::Taking { .. } => yesterday,
            }
        };
        match streak_state {
            StreakState::Taking { streak, bleeding } => Status {
                streak,
                consecutive_bleeding_days: bleeding,
                rest_days_left: if bleeding == BLEEDING_DAYS_MAX { REST_DAYS } else { 0 },
                logged_today,
                ..status
            },
            StreakState::Resting { left } => Status { is_resting: true, rest_days_left: left, logged_today, ..status },
        }
    }
}
