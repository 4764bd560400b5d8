//! A summary of all logs, so that neither the status nor the next log has to read them.
//!
//! A streak that is over is kept by its length alone: how often there was one of so many days.
//! Lengths that differ add up to at least their triangle, so a life of daily logs has fewer than
//! 260 of them, and a year at most 25. With that, a change in the past is a matter of its own
//! surroundings: the streaks that it ends, begins, joins or parts are counted out and in, and the
//! best of all stays right without another being looked at.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::Log;
use super::log_window::{Anchor, LogWindow, MissingLogs};
use super::streak::{BLEEDING_DAYS_MAX, REST_DAYS, StreakState, days_before, days_between};

/// Streaks that are over: how many there were of each length in days.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastStreaks(BTreeMap<u32, u32>);

impl PastStreaks {
    /// As they were kept. A length or a number of 0 says nothing.
    pub fn new(counts: impl IntoIterator<Item = (u32, u32)>) -> Self {
        Self(counts.into_iter().filter(|(length, count)| *length > 0 && *count > 0).collect())
    }

    /// Each length, and how many there were of it, shortest first.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|(length, count)| (*length, *count))
    }

    /// The longest; 0 without any.
    pub fn longest(&self) -> u32 {
        self.0.last_key_value().map_or(0, |(length, _)| *length)
    }

    fn add(&mut self, length: u32) {
        *self.0.entry(length).or_default() += 1;
    }

    /// Takes one away; `None` when there is none of this length.
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
    /// How that day stands.
    pub streak_state: StreakState,
    /// How many logs there are.
    pub logs: u32,
    /// The streaks before the one that `streak_state` has, if it has one.
    pub runs: PastStreaks,
}

/// The change of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogChange {
    /// It is logged, or logged otherwise.
    Put(Log),
    /// It is logged no longer.
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

/// Why the summary after a change is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SummaryError {
    /// More logs have to be read.
    #[error(transparent)]
    Missing(#[from] MissingLogs),
    /// The summary is not one of these logs: somebody changed them behind its back.
    #[error("the summary does not fit the logs")]
    Mismatch,
}

/// How somebody stands on a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Status {
    /// Days in a row, today included when it is logged. A day that is not over breaks nothing; a
    /// rest has 0.
    pub streak: u32,
    /// The longest streak ever.
    pub best_streak: u32,
    /// Bleeding days in a row; 0 in a rest.
    pub consecutive_bleeding_days: u8,
    /// Whether today is a day of rest.
    pub is_resting: bool,
    /// Days of rest that are still to come, today included when it is one.
    pub rest_days_left: u8,
    /// Whether today is logged.
    pub logged_today: bool,
    /// The day of the newest log.
    pub last_log_on: Option<Date>,
}

/// A walk from log to log.
#[derive(Debug, Clone, PartialEq)]
struct Walk {
    on: Date,
    streak_state: StreakState,
    /// The lengths of the streaks that ended on the way.
    ended: Vec<u32>,
}

impl Walk {
    fn log(&mut self, log: Log) {
        let before = self.streak_state.skip(days_between(self.on, log.date));
        let streak_state = before.next(Some(log.has_bleeding));
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
    /// The summary of all logs, oldest first, one of a day. `None` without any.
    pub fn of(logs: impl IntoIterator<Item = Log>) -> Option<Self> {
        logs.into_iter().fold(None, |summary, log| Some(Self::append(summary, log)))
    }

    /// The summary with one log more, of a day after all others.
    pub fn append(summary: Option<Self>, log: Log) -> Self {
        let Some(mut summary) = summary else {
            let streak_state = StreakState::START.next(Some(log.has_bleeding));
            return Self { first_on: log.date, last_on: log.date, streak_state, logs: 1, runs: PastStreaks::default() };
        };
        let mut walk = Walk { on: summary.last_on, streak_state: summary.streak_state, ended: Vec::new() };
        walk.log(log);
        walk.ended.into_iter().for_each(|length| summary.runs.add(length));
        Self { last_on: walk.on, streak_state: walk.streak_state, logs: summary.logs + 1, ..summary }
    }

    /// The days of the oldest and the newest log.
    pub fn ends(&self) -> (Date, Date) {
        (self.first_on, self.last_on)
    }

    /// The longest streak ever.
    pub fn best_streak(&self) -> u32 {
        self.runs.longest().max(self.streak_state.streak())
    }

    /// The summary after a change of a day up to the newest log's: `was` is the day's log so far,
    /// and `known` has the logs around it ([`LogWindow::around`]). `None` if no log is left.
    ///
    /// # Errors
    /// The logs that are missing in `known`, if any.
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

    /// Somewhere before a change from where one can walk to it: behind it lies no day that the walk
    /// would have to know.
    fn approach(&self, change: LogChange, known: &LogWindow) -> Result<Walk, SummaryError> {
        let date = change.date();
        let takes_last = change == LogChange::Delete(self.last_on);
        let walk = |on, streak_state| Ok(Walk { on, streak_state, ended: Vec::new() });
        let streak = self.streak_state.streak();
        let run_begins = days_before(self.last_on, streak.saturating_sub(1));
        if takes_last && self.logs == 1 {
            return walk(days_before(date, 1), StreakState::START);
        }
        // In the streak that is going on, the summary knows how many days are behind. Bleeding is
        // counted from two days before at most: with a third one there would have been a rest.
        let is_in_run = streak > 0 && run_begins <= date;
        if is_in_run && !(takes_last && streak == 1) {
            let from = run_begins.max(days_before(date, 2));
            known.reaches_back_to(from)?;
            let days = days_between(run_begins, from.tomorrow().map_err(|_| SummaryError::Mismatch)?);
            return walk(days_before(from, 1), StreakState::Taking { streak: days, bleeding: 0 });
        }
        // Without the newest log, the one before it becomes the newest: how that day stands has to
        // be walked.
        let end = if takes_last { known.last_before(date)?.ok_or(SummaryError::Mismatch)? } else { date };
        walk(known.anchor(end, Anchor::Streak)?, StreakState::START)
    }

    /// The status of a user with this summary `today`. Logs of future days, of a user who moved to
    /// an earlier time zone, count already. Then `is_logged` has to say whether today is logged,
    /// because the summary does not know.
    pub fn status(&self, today: Date, is_logged: bool) -> Status {
        let best_streak = self.best_streak();
        let status = Status { best_streak, last_log_on: Some(self.last_on), ..Status::default() };
        let logged_today = self.last_on == today || (self.last_on > today && is_logged);
        let streak_state = if self.last_on >= today {
            self.streak_state
        } else {
            let yesterday = self.streak_state.skip(days_between(self.last_on, today));
            match yesterday.next(None) {
                resting @ StreakState::Resting { .. } => resting,
                // Nothing is missed yet.
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
