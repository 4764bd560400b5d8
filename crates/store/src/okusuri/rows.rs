//! The items of Okusuri's table as they are stored. The service and the migration write the very same rows.
//!
//! Each item has `PK`, `SK` and `Type`, `TypePartition` and `TypeSort` for the index of types, and `TTL` (epoch seconds) where it expires; these are made
//! from the row's own attributes by [`item`]. Times are RFC 3339 in UTC, dates `2025-08-30`. Attributes that a row does not know are left alone
//! by every update, which is why none of them replaces an item.

use std::collections::BTreeMap;

use domain::okusuri::{Course, Runs, Summary};
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_with::skip_serializing_none;

use super::keys::{
    self, Item, Key, PARTITION_KEY, SORT_KEY, TTL, TYPE_PARTITION, TYPE_SORT, index_shard, n, s, sortable,
};
use crate::StoreError;

/// What every row tells of itself.
pub trait Row: Serialize + DeserializeOwned {
    /// The attribute `Type`.
    const TYPE: &'static str;

    /// Where it lies.
    fn key(&self) -> Key;

    /// Whose it is: the user's id, or what else its partition is named after.
    fn owner(&self) -> &str;

    /// What the listing of its type is sorted by: the time of its creation, where there is nothing better.
    fn listed_by(&self) -> String;

    /// When TTL may remove it. Until then, and after it too, it is the row's reader who refuses what has expired.
    fn expires_at(&self) -> Option<Timestamp> {
        None
    }
}

/// A row as an item, with all of its attributes.
pub fn item<R: Row>(row: &R) -> Result<Item, StoreError> {
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(row.key().item());
    item.extend([
        ("Type".to_owned(), s(R::TYPE)),
        (TYPE_PARTITION.to_owned(), s(keys::type_partition(R::TYPE, index_shard(row.owner())))),
        (TYPE_SORT.to_owned(), s(row.listed_by())),
    ]);
    if let Some(at) = row.expires_at() {
        item.insert(TTL.to_owned(), n(at.as_second()));
    }
    Ok(item)
}

/// Reads an item; one that is not what its key promises is an error that names the key.
pub fn read<R: DeserializeOwned>(item: Item) -> Result<R, StoreError> {
    let key = [PARTITION_KEY, SORT_KEY].map(|name| item.get(name).and_then(|value| value.as_s().ok()).cloned());
    serde_dynamo::from_item(item).map_err(|error| {
        let [partition, sort] = key.map(Option::unwrap_or_default);
        StoreError::unreadable(format!("{partition} {sort}: {error}"))
    })
}

/// Ids are checked when an item is written; one that an item holds is as good as its key.
fn of_user(id: &str, sort: impl Into<String>) -> Key {
    Key::new(format!("USER#{id}"), sort)
}

/// A user: `USER#<user id>` `PROFILE`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct User {
    /// The id: a UUIDv7, or what better-auth made.
    pub user_id: String,
    /// What the user is to be called.
    pub name: Option<String>,
    /// As it was given, not normalised.
    pub email: Option<String>,
    /// Whether a code sent to the address came back.
    pub email_verified: bool,
    /// A picture: an URL of at most 2 KB, or `self:<etag>` for one that lies in [`UserImage`].
    pub image: Option<String>,
    /// An IANA name, which says when the user's days begin.
    pub time_zone: String,
    /// Sessions made before are refused: signing out everywhere is this one write.
    pub sessions_from: Option<Timestamp>,
    /// Since when everything of the user is being deleted. Nobody is signed in then.
    pub deleting: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for User {
    const TYPE: &'static str = "user";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::PROFILE)
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}

/// A user's picture, kept out of the profile, which is read with each request: `USER#<user id>` `IMAGE`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UserImage {
    /// Whose.
    pub user_id: String,
    /// `image/png`, `image/jpeg` or `image/webp`.
    pub content_type: String,
    /// At most 256 KB.
    pub bytes: ByteBuf,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for UserImage {
    const TYPE: &'static str = "user_image";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::IMAGE)
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}

/// What makes an e-mail address unique: `EMAIL#<normalised>` `EMAIL`, written in the transaction that gives it to a user.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct EmailOwner {
    /// Normalised.
    pub email: String,
    /// Whose.
    pub user_id: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Row for EmailOwner {
    const TYPE: &'static str = "email";

    fn key(&self) -> Key {
        keys::email(&self.email)
    }

    fn owner(&self) -> &str {
        &self.email
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.email)
    }
}

/// A session, found by its token: `SESSION#<hash of the token>` `SESSION`. Read consistently.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Session {
    /// Whose.
    pub user_id: String,
    /// What the session is called where its token must not be shown.
    pub session_id: String,
    /// SHA-256 of the token, lower-case hexadecimal.
    pub token_hash: String,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    /// Where it was begun.
    pub ip_address: Option<String>,
    /// With which browser.
    pub user_agent: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for Session {
    const TYPE: &'static str = "session";

    fn key(&self) -> Key {
        keys::session(&self.token_hash)
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }

    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

/// A session among its user's: `USER#<user id>` `SESSION#<session id>`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UserSession {
    /// Whose.
    pub user_id: String,
    /// What the session is called where its token must not be shown.
    pub session_id: String,
    /// SHA-256 of the token, lower-case hexadecimal.
    pub token_hash: String,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    /// Where it was begun.
    pub ip_address: Option<String>,
    /// With which browser.
    pub user_agent: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for UserSession {
    const TYPE: &'static str = "user_session";

    fn key(&self) -> Key {
        of_user(&self.user_id, format!("{}{}", keys::SESSION_PREFIX, self.session_id))
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }

    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

/// A login at a provider: `USER#<user id>` `ACCOUNT#<provider>#<subject>`. Tokens are encrypted.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Account {
    /// Whose.
    pub user_id: String,
    /// The provider's id, without `#`.
    pub provider: String,
    /// Who the user is there.
    pub subject: String,
    /// Encrypted.
    pub access_token: Option<ByteBuf>,
    /// Encrypted.
    pub refresh_token: Option<ByteBuf>,
    /// Encrypted.
    pub id_token: Option<ByteBuf>,
    /// As the provider said.
    pub access_token_expires_at: Option<Timestamp>,
    /// As the provider said.
    pub refresh_token_expires_at: Option<Timestamp>,
    /// What was granted.
    pub scope: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for Account {
    const TYPE: &'static str = "account";

    fn key(&self) -> Key {
        of_user(&self.user_id, format!("{}{}#{}", keys::ACCOUNT_PREFIX, self.provider, self.subject))
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}

/// What makes a login at a provider unique: `ACCOUNT#<provider>#<subject>` `ACCOUNT`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AccountOwner {
    /// The provider's id, without `#`.
    pub provider: String,
    /// Who the user is there.
    pub subject: String,
    /// Whose.
    pub user_id: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl Row for AccountOwner {
    const TYPE: &'static str = "account_owner";

    fn key(&self) -> Key {
        keys::account_owner(&self.provider, &self.subject)
    }

    fn owner(&self) -> &str {
        &self.subject
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.subject)
    }
}

/// A day's log: `USER#<user id>` `MEDICATION#<date>`, so there is one for each day.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MedicationLog {
    /// Whose.
    pub user_id: String,
    /// The day in the user's time zone.
    pub date: Date,
    /// Whether there was bleeding.
    pub has_bleeding: bool,
    /// What the log was called before it went by its day.
    pub log_id: String,
    /// At most 500 characters.
    pub note: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for MedicationLog {
    const TYPE: &'static str = "medication_log";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::medication(self.date))
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", self.date, self.user_id)
    }
}

/// What follows from all of a user's logs: `USER#<user id>` `SUMMARY`. It changes in the transaction that changes a log, and its version is what
/// concurrent changes meet at.
///
/// Without `Logs` it is stale, and the next change computes it anew from the logs. Whoever writes logs in another way has it forgotten before:
/// [`super::Logs::forget_summary`].
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct LogSummary {
    /// Whose.
    pub user_id: String,
    /// Counts every change of any log, from 1 on.
    pub version: u64,
    /// How many logs there are.
    pub logs: Option<u32>,
    /// The day of the oldest log.
    pub first_on: Option<Date>,
    /// The day of the newest log.
    pub last_on: Option<Date>,
    /// The streak at that day; none when it is a day of rest.
    pub streak: Option<u32>,
    /// The bleeding days in a row at that day.
    pub bleeding: Option<u8>,
    /// The days of rest at that day, itself included.
    pub rest_left: Option<u8>,
    /// How many streaks of each length, in days, have been before.
    pub runs: Option<BTreeMap<u32, u32>>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl LogSummary {
    /// The row of a summary, which is `None` without any log.
    pub fn new(user: &str, summary: Option<&Summary>, version: u64, created_at: Timestamp, now: Timestamp) -> Self {
        let course = summary.map(|summary| summary.course);
        let (streak, bleeding, rest_left) = match course {
            Some(Course::Taking { streak, bleeding }) => (Some(streak), Some(bleeding), None),
            Some(Course::Resting { left }) => (None, None, Some(left)),
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
            created_at,
            updated_at: now,
        }
    }

    /// What it says: `None` when it is stale, or not what it should be, and `Some(None)` without any log.
    pub fn summary(&self) -> Option<Option<Summary>> {
        let logs = self.logs?;
        if logs == 0 {
            return Some(None);
        }
        let course = match (self.streak, self.bleeding, self.rest_left) {
            (Some(streak), Some(bleeding), None) => Course::Taking { streak, bleeding },
            (None, None, Some(left)) => Course::Resting { left },
            _ => return None,
        };
        let runs = Runs::new(self.runs.iter().flatten().map(|(length, count)| (*length, *count)));
        Some(Some(Summary { first_on: self.first_on?, last_on: self.last_on?, course, logs, runs }))
    }
}

impl Row for LogSummary {
    const TYPE: &'static str = "summary";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::SUMMARY)
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}

/// A medicine with its times: `USER#<user id>` `MEDICINE#<id>`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Medicine {
    /// Whose.
    pub user_id: String,
    /// A UUIDv7.
    pub medicine_id: String,
    /// What it is called.
    pub name: String,
    /// How much of it, in words.
    pub dose: String,
    /// When on each day, earliest first; seconds are 0.
    pub times: Vec<Time>,
    /// The first day.
    pub from: Date,
    /// The last day.
    pub until: Option<Date>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for Medicine {
    const TYPE: &'static str = "medicine";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::medicine(&self.medicine_id))
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}

/// What is recorded of a dose: `USER#<user id>` `DOSE#<date>#<HH:MM>#<medicine id>`. One of which nothing is has no item.
#[skip_serializing_none]
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
    /// When that was said.
    pub at: Timestamp,
    /// When it is to be asked for again.
    pub snoozed_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// What is recorded of a dose.
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

impl Row for Dose {
    const TYPE: &'static str = "dose";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::dose(self.date, self.time, &self.medicine_id))
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", self.date, self.user_id)
    }
}

/// When a user is reminded: `USER#<user id>` `REMINDER`.
#[skip_serializing_none]
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
    /// The partition in `DueIndex`; none while it is switched off, so that the index holds only what is due.
    pub due_partition: Option<String>,
    /// The next time, in whole seconds.
    pub due_at: Option<Timestamp>,
    /// The user's day of the last reminder: a day has one at most.
    pub last_reminded_on: Option<Date>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for Reminder {
    const TYPE: &'static str = "reminder";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::REMINDER)
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}

/// Whether a platform may notify: `USER#<user id>` `NOTIFICATION#<platform>`.
#[skip_serializing_none]
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

impl Row for NotificationSetting {
    const TYPE: &'static str = "notification_setting";

    fn key(&self) -> Key {
        of_user(&self.user_id, format!("{}{}", keys::NOTIFICATION_PREFIX, self.platform))
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}

/// Where notifications are pushed to: `USER#<user id>` `NOTIFICATION#<platform>#<hash of the endpoint>`.
#[skip_serializing_none]
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
    pub disabled_because: Option<String>,
    /// How often in a row it could not be reached.
    pub failures: u32,
    /// When something reached it last.
    pub last_sent_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for PushSubscription {
    const TYPE: &'static str = "push_subscription";

    fn key(&self) -> Key {
        of_user(&self.user_id, keys::push_subscription(&self.platform, &self.endpoint))
    }

    fn owner(&self) -> &str {
        &self.user_id
    }

    fn listed_by(&self) -> String {
        format!("{}#{}", sortable(self.created_at), self.user_id)
    }
}
