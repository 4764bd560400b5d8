//! When and where a user is told something.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use serde::{Deserialize, Serialize};

use super::{Row, of_user};
use crate::keys;

/// When a user is reminded: `USER#<user id>` `REMINDER`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Reminder {
    /// Whose.
    pub user_id: String,
    /// Whether at all.
    pub is_enabled: bool,
    /// The time of day, in `TimeZone`; seconds are 0.
    pub time: Time,
    /// The user's, as of the last change.
    pub time_zone: String,
    /// The partition in `DueIndex`; none while the reminder is disabled, so the index is sparse.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_partition: Option<String>,
    /// The next time, in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// The user's day of the last reminder: a day has one at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_reminded_on: Option<Date>,
    /// The number of the last claim. A run whose answer was lost recognizes its own claim by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<u32>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    Reminder as "reminder", owner user_id,
    key |row| of_user(&row.user_id, keys::REMINDER),
    optional [keys::DUE_PARTITION, keys::DUE_AT, "LastRemindedOn", "ClaimId"]
}

/// Reminders of a user's doses: `USER#<user id>` `REMINDER#DOSES`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct DoseReminder {
    /// Whose.
    pub user_id: String,
    /// Whether at all.
    pub is_enabled: bool,
    /// When that was last switched on.
    pub enabled_at: Timestamp,
    /// Whether a mail is sent when no browser takes the message.
    pub is_mailed: bool,
    /// The language of the mail: `ja` or `en`.
    pub language: String,
    /// The partition in `DueIndex`; none while no dose asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_partition: Option<String>,
    /// The next time that a dose asks, in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Timestamp>,
    /// Doses that asked up to then have been handled: a time is handled once at most.
    pub handled_until: Timestamp,
    /// The day of UTC of the last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_on: Option<Date>,
    /// The messages of that day.
    pub sent: u32,
    /// The number of the last claim. A run whose answer was lost recognizes its own claim by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<u32>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    DoseReminder as "dose_reminder", owner user_id,
    key |row| of_user(&row.user_id, keys::DOSE_REMINDER),
    optional [keys::DUE_PARTITION, keys::DUE_AT, "SentOn", "ClaimId"]
}

/// A row of `DueIndex`.
pub trait DueRow: Row {
    /// Its sort key.
    const SORT: &'static str;

    /// When it is due.
    fn due_at(&self) -> Option<Timestamp>;

    /// When it was changed last.
    fn updated_at(&self) -> Timestamp;

    /// The number of the last claim.
    fn claim_id(&self) -> Option<u32>;
}

/// Implements [`DueRow`].
macro_rules! due_row {
    ($row:ident, $sort:expr) => {
        impl DueRow for $row {
            const SORT: &'static str = $sort;

            fn due_at(&self) -> Option<Timestamp> {
                self.due_at
            }

            fn updated_at(&self) -> Timestamp {
                self.updated_at
            }

            fn claim_id(&self) -> Option<u32> {
                self.claim_id
            }
        }
    };
}

due_row!(Reminder, keys::REMINDER);
due_row!(DoseReminder, keys::DOSE_REMINDER);

/// Whether a platform may notify: `USER#<user id>` `NOTIFICATION#<platform>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct NotificationSetting {
    /// Whose.
    pub user_id: String,
    /// `web`, `ios` or `android`.
    pub platform: String,
    /// Whether it may.
    pub is_enabled: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    NotificationSetting as "notification_setting", owner user_id,
    key |row| of_user(&row.user_id, format!("{}{}", keys::NOTIFICATION_PREFIX, row.platform))
}

/// Where notifications are pushed to: `USER#<user id>` `NOTIFICATION#<platform>#<hash of the
/// endpoint>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct PushSubscription {
    /// Whose.
    pub user_id: String,
    /// `web`, `ios` or `android`.
    pub platform: String,
    /// The push service's URL for this browser.
    pub endpoint: String,
    /// The browser's public key, base64url.
    pub p256dh: String,
    /// The browser's secret, base64url.
    pub auth: String,
    /// Whether it is sent to.
    pub is_enabled: bool,
    /// Why not: what the push service answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_because: Option<String>,
    /// How often in a row it could not be reached.
    pub failures: u32,
    /// When something reached it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_sent_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    PushSubscription as "push_subscription", owner user_id,
    key |row| of_user(&row.user_id, keys::push_subscription(&row.platform, &row.endpoint)),
    optional ["DisabledBecause", "LastSentAt"]
}
