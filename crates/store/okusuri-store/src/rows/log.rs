//! A user's logs, and what follows from all of them.

use std::collections::BTreeMap;

use domain::UserId;
use domain::okusuri::{Log, PastStreaks, Regimen, StreakState, Summary};
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::of_user;
use crate::keys;

/// A day's log: `USER#<user id>` `MEDICATION#<date>`, so there is one for each day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MedicationLog {
    /// Whose.
    pub user_id: String,
    /// The day in the user's time zone.
    pub date: Date,
    /// Whether there was bleeding.
    pub has_bleeding: bool,
    /// Whether the medication was taken. Only `false` is stored: older items, and those of the
    /// migration, have no such attribute.
    #[serde(default = "was_taken", skip_serializing_if = "Clone::clone")]
    pub is_taken: bool,
    /// What the log was called before it went by its day.
    pub log_id: String,
    /// At most 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The name of a [`domain::okusuri::Flow`]; only with bleeding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Names of [`domain::okusuri::Symptom`], in its order. Stored only if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

fn was_taken() -> bool {
    true
}

impl MedicationLog {
    /// A new log of a day with the medication that says nothing else.
    pub fn new(user: &UserId, Log { date, has_bleeding }: Log, log_id: impl Into<String>, at: Timestamp) -> Self {
        Self {
            user_id: user.to_string(),
            date,
            has_bleeding,
            is_taken: true,
            log_id: log_id.into(),
            note: None,
            flow: None,
            symptoms: Vec::new(),
            created_at: at,
            updated_at: at,
        }
    }

    /// What the rules of a regimen count of it.
    pub fn counted(&self, regimen: Regimen) -> Option<Log> {
        Log { date: self.date, has_bleeding: self.has_bleeding }.counted(self.is_taken, regimen)
    }
}

row! {
    MedicationLog as "medication_log", owner user_id,
    key |row| of_user(&row.user_id, keys::medication(row.date)),
    optional ["IsTaken", "Note", "Flow", "Symptoms"],
    listed |row| format!("{}#{}", row.date, row.user_id)
}

/// What follows from all of a user's logs: `USER#<user id>` `SUMMARY`. It changes in the
/// transaction that changes a log, and its version is what concurrent changes meet at.
///
/// Without `Logs` it is stale, and the next change computes it anew from the logs. Whoever writes
/// logs in another way has it forgotten before:
/// [`Logs::forget_summary`](crate::Logs::forget_summary). So it is when it was computed under
/// another regimen than the user's: of a change of the regimen and one of a log at once, either may
/// be written last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct LogSummary {
    /// Whose.
    pub user_id: String,
    /// Counts every change of any log, from 1 on.
    pub version: u64,
    /// How many logs there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs: Option<u32>,
    /// The day of the oldest log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_on: Option<Date>,
    /// The day of the newest log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_on: Option<Date>,
    /// The streak at that day; none when it is a day of rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streak: Option<u32>,
    /// The bleeding days in a row at that day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bleeding: Option<u8>,
    /// The days of rest at that day, itself included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest_left: Option<u8>,
    /// How many streaks of each length, in days, have been before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<BTreeMap<u32, u32>>,
    /// The regimen that it was computed under; none for [`Regimen::default`], as before there was a
    /// choice.
    #[serde(default, with = "super::as_text", skip_serializing_if = "Option::is_none")]
    pub regimen: Option<Regimen>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl LogSummary {
    /// The row of a summary, which is `None` without any log that counts under the regimen.
    pub fn new(
        user: &str,
        summary: Option<&Summary>,
        regimen: Regimen,
        version: u64,
        created_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        let streak_state = summary.map(|summary| summary.streak_state);
        let (streak, bleeding, rest_left) = match streak_state {
            Some(StreakState::Taking { streak, bleeding }) => (Some(streak), Some(bleeding), None),
            Some(StreakState::Resting { left }) => (None, None, Some(left)),
            None => (None, None, None),
        };
        Self {
            user_id: user.to_owned(),
            version,
            logs: Some(summary.map_or(0, |summary| summary.logs)),
            first_on: summary.map(|summary| summary.first_on),
            last_on: summary.map(|summary| summary.last_on),
            streak,
            bleeding,
            rest_left,
            runs: summary.map(|summary| summary.runs.counts().collect()),
            regimen: Some(regimen).filter(|regimen| *regimen != Regimen::default()),
            created_at,
            updated_at: now,
        }
    }

    /// The summary under a regimen: `None` if it is stale or invalid, and `Some(None)` for a user
    /// without any log that counts.
    pub fn summary(&self, regimen: Regimen) -> Option<Option<Summary>> {
        let logs = self.logs.filter(|_| self.regimen.unwrap_or_default() == regimen)?;
        if logs == 0 {
            return Some(None);
        }
        let streak_state = match (self.streak, self.bleeding, self.rest_left) {
            (Some(streak), Some(bleeding), None) => StreakState::Taking { streak, bleeding },
            (None, None, Some(left)) => StreakState::Resting { left },
            _ => return None,
        };
        let runs = PastStreaks::new(self.runs.iter().flatten().map(|(length, count)| (*length, *count)));
        Some(Some(Summary { first_on: self.first_on?, last_on: self.last_on?, streak_state, logs, runs, regimen }))
    }
}

row! {
    LogSummary as "summary", owner user_id,
    key |row| of_user(&row.user_id, keys::SUMMARY),
    optional ["Logs", "FirstOn", "LastOn", "Streak", "Bleeding", "RestLeft", "Runs", "Regimen"]
}
