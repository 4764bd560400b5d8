//! Medicines, and the records of their doses.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use serde::{Deserialize, Serialize};

use super::of_user;
use crate::keys;

/// A medicine with its times: `USER#<user id>` `MEDICINE#<id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Medicine {
    /// Whose.
    pub user_id: String,
    /// A UUIDv7.
    pub medicine_id: String,
    /// Its name.
    pub name: String,
    /// How much of it, in words.
    pub dose: String,
    /// When on each day, earliest first; seconds are 0.
    pub times: Vec<Time>,
    /// The first day.
    pub from: Date,
    /// The last day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    /// The times before each of the last changes, in their order.
    #[serde(default)]
    pub former: Vec<Former>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// Times that a medicine had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Former {
    /// When on each day; seconds are 0.
    pub times: Vec<Time>,
    /// When they were changed.
    pub until: Timestamp,
}

row! {
    Medicine as "medicine", owner user_id,
    key |row| of_user(&row.user_id, keys::medicine(&row.medicine_id)),
    optional ["Until"]
}

/// The record of a dose: `USER#<user id>` `DOSE#<date>#<HH:MM>#<medicine id>`. A dose without a
/// record has no item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Dose {
    /// Whose.
    pub user_id: String,
    /// The day in the user's time zone.
    pub date: Date,
    /// The time that the dose goes by, whenever it was taken; seconds are 0.
    pub time: Time,
    /// Of what.
    pub medicine_id: String,
    /// `TAKEN`, `SKIPPED` or `SNOOZED`.
    pub state: DoseMark,
    /// When it was taken; if the user has not said that, and for other states, when it was recorded.
    pub at: Timestamp,
    /// When it is to be asked for again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// The recorded state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum DoseMark {
    /// It was taken.
    Taken,
    /// It was left out.
    Skipped,
    /// It was put off.
    Snoozed,
}

row! {
    Dose as "dose", owner user_id,
    key |row| of_user(&row.user_id, keys::dose(row.date, row.time, &row.medicine_id)),
    optional ["SnoozedUntil"],
    listed |row| format!("{}#{}", row.date, row.user_id)
}
