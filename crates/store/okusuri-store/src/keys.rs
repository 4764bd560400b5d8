//! How the keys of Okusuri's table are spelled. Nothing outside of this module's siblings knows.

use domain::UserId;
use domain::okusuri::clock_time;
use jiff::Timestamp;
use jiff::civil::{Date, Time};
use sha2::{Digest, Sha256};

use store_base::shard;
pub(crate) use store_base::{Item, n, s};

pub(crate) const PARTITION_KEY: &str = "PK";
pub(crate) const SORT_KEY: &str = "SK";
pub(crate) const TTL: &str = "TTL";

/// The index of reminders by when they are due.
pub(crate) const DUE_INDEX: &str = "DueIndex";
pub(crate) const DUE_PARTITION: &str = "DuePartition";
pub(crate) const DUE_AT: &str = "DueAt";

/// The index of all items by their type, for administrators.
pub(crate) const TYPE_INDEX: &str = "TypeIndex";
pub(crate) const TYPE_PARTITION: &str = "TypePartition";
pub(crate) const TYPE_SORT: &str = "TypeSort";

/// Partitions of each type and of each hour in the indexes: four times the 1,000 writes a second of
/// one.
pub(crate) const INDEX_SHARDS: u8 = 4;

pub(crate) const PROFILE: &str = "PROFILE";
pub(crate) const IMAGE: &str = "IMAGE";
pub(crate) const SUMMARY: &str = "SUMMARY";
pub(crate) const REMINDER: &str = "REMINDER";
pub(crate) const DOSE_REMINDER: &str = "REMINDER#DOSES";

/// What the sort keys of a user's items of one kind begin with.
pub(crate) const SESSION_PREFIX: &str = "SESSION#";
pub(crate) const ACCOUNT_PREFIX: &str = "ACCOUNT#";
pub(crate) const ACCESS_PREFIX: &str = "ACCESS#";
pub(crate) const MEDICATION_PREFIX: &str = "MEDICATION#";
pub(crate) const MEDICINE_PREFIX: &str = "MEDICINE#";
pub(crate) const DOSE_PREFIX: &str = "DOSE#";
pub(crate) const NOTIFICATION_PREFIX: &str = "NOTIFICATION#";

/// Where an item lies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// `PK`.
    pub partition: String,
    /// `SK`.
    pub sort: String,
}

impl Key {
    pub(crate) fn new(partition: impl Into<String>, sort: impl Into<String>) -> Self {
        Self { partition: partition.into(), sort: sort.into() }
    }

    /// Whether a day's log lies there.
    pub fn is_log(&self) -> bool {
        self.sort.starts_with(MEDICATION_PREFIX)
    }

    /// The key as a request wants it.
    pub fn item(&self) -> Item {
        Item::from([(PARTITION_KEY.to_owned(), s(self.partition.clone())), (SORT_KEY.to_owned(), s(self.sort.clone()))])
    }
}

pub(crate) fn user(id: &UserId) -> String {
    format!("USER#{id}")
}

/// The marker that makes an e-mail address unique, once it is normalised.
pub(crate) fn email(normalised: &str) -> Key {
    Key::new(format!("EMAIL#{normalised}"), "EMAIL")
}

/// A session, by the hash of its token: whoever reads the table cannot sign in with it.
pub(crate) fn session(token_hash: &str) -> Key {
    Key::new(format!("SESSION#{token_hash}"), "SESSION")
}

/// The marker that makes a login at a provider unique.
pub(crate) fn account_owner(provider: &str, subject: &str) -> Key {
    Key::new(format!("ACCOUNT#{provider}#{subject}"), "ACCOUNT")
}

/// The code of a mailbox, and its counters: for devices that its owner signed in on, and for all
/// others.
pub(crate) fn verification(mailbox: &str, is_known_device: bool) -> Key {
    Key::new(format!("VERIFICATION#{mailbox}"), if is_known_device { "CODE#DEVICE" } else { "CODE" })
}

/// The counters of a source of requests.
pub(crate) fn source_limit(source: &str) -> Key {
    Key::new(format!("LIMIT#SOURCE#{source}"), "CODES")
}

/// The counter of the mails of one kind that the whole service sends, in the window that begins with
/// this second.
pub(crate) fn service_limit(kind: &str, window_from: i64) -> Key {
    Key::new(format!("LIMIT#SERVICE#{window_from}"), kind)
}

pub(crate) fn oauth_state(state_hash: &str) -> Key {
    Key::new(format!("OAUTH#{state_hash}"), "STATE")
}

pub(crate) fn medication(date: Date) -> String {
    format!("{MEDICATION_PREFIX}{date}")
}

pub(crate) fn medicine(id: &str) -> String {
    format!("{MEDICINE_PREFIX}{id}")
}

pub(crate) fn dose(date: Date, time: Time, medicine_id: &str) -> String {
    format!("{DOSE_PREFIX}{date}#{}#{medicine_id}", clock_time(time))
}

/// The sort key of a subscription: one for each endpoint, whose text may be longer than a key.
pub(crate) fn push_subscription(platform: &str, endpoint: &str) -> String {
    let hash = sha256_hex(endpoint.as_bytes());
    format!("{NOTIFICATION_PREFIX}{platform}#{}", &hash[..32])
}

/// The partition of a reminder in its index: by the hour of the day in UTC, so that it is one of 24
/// times `INDEX_SHARDS`.
pub fn due_partition(due_at: Timestamp, user: &UserId) -> String {
    let hour = due_at.to_zoned(jiff::tz::TimeZone::UTC).hour();
    due_partition_of(hour, index_shard(user.as_str()))
}

pub(crate) fn due_partition_of(hour: i8, shard: u8) -> String {
    format!("DUE#{hour:02}#{shard}")
}

pub(crate) fn type_partition(kind: &str, shard: u8) -> String {
    format!("{kind}#{shard}")
}

pub(crate) fn index_shard(owner: &str) -> u8 {
    shard(owner.as_bytes(), INDEX_SHARDS)
}

/// A time with six digits, so that texts are sorted as times are.
pub(crate) fn sortable(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// The SHA-256 of something that a key holds in its place.
pub fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_lower_case_hexadecimal() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn sortable_times_are_sorted_as_texts_whatever_their_fraction() {
        let times =
            ["2025-08-30T10:00:00Z", "2025-08-30T10:00:00.000001Z", "2025-08-30T10:00:00.1Z", "2025-08-30T10:00:01Z"];
        let texts = times.map(|time| sortable(time.parse().unwrap()));
        assert!(texts.is_sorted(), "{texts:?}");
        assert_eq!(texts[2], "2025-08-30T10:00:00.100000Z");
    }

    #[test]
    fn due_partition_is_the_utc_hour_of_the_reminder() {
        let user = UserId::new("user-1").unwrap();
        let partition = due_partition("2025-08-30T13:05:00Z".parse().unwrap(), &user);
        assert_eq!(partition, format!("DUE#13#{}", index_shard("user-1")));
    }
}
