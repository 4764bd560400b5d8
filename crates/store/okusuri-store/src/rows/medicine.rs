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
    /// When on each day, earliest first; seconds are 0. None for a medicine as needed.
    pub times: Vec<Time>,
    /// The first day.
    pub from: Date,
    /// The last day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    /// The times before each of the last changes, in their order.
    #[serde(default)]
    pub former: Vec<Former>,
    /// What is left of it, if that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stock: Option<Stock>,
    /// Moves with each change of the medicine and of a record of its doses.
    #[serde(default)]
    pub version: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// What is left of a medicine: [`domain::okusuri::Stock`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Stock {
    /// The units that are left.
    pub left: u32,
    /// The units of a dose.
    pub per_dose: u32,
    /// The units of a pack.
    pub pack_size: u32,
    /// How many days before it runs out it is low.
    pub warn_days: u32,
    /// The number of packs that were added.
    pub packs: u32,
}

impl From<domain::okusuri::Stock> for Stock {
    fn from(stock: domain::okusuri::Stock) -> Self {
        let domain::okusuri::Stock { left, per_dose, pack_size, warn_days, packs } = stock;
        Self { left, per_dose, pack_size, warn_days, packs }
    }
}

impl From<Stock> for domain::okusuri::Stock {
    fn from(Stock { left, per_dose, pack_size, warn_days, packs }: Stock) -> Self {
        Self { left, per_dose, pack_size, warn_days, packs }
    }
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
    optional ["Until", "Stock"]
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
    /// The units that it took out of the stock, to put as many back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub units: Option<u32>,
    /// Whether it was taken as needed. Stored only if so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_as_needed: bool,
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
    optional ["SnoozedUntil", "Units", "IsAsNeeded"],
    listed |row| format!("{}#{}", row.date, row.user_id)
}
