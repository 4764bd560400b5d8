//! When and where a user is told something.

use jiff::Timestamp;
use jiff::civil::{Date, Time};
use serde::{Deserialize, Serialize};

use super::of_user;
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
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    Reminder as "reminder", owner user_id,
    key |row| of_user(&row.user_id, keys::REMINDER),
    optional [keys::DUE_PARTITION, keys::DUE_AT, "LastRemindedOn"]
}

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
