//! The id of a journal entry or of a shop activity, which contains the time of the entry.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use uuid::{Builder, Uuid, Variant};

/// The namespace of derived ids. A UUIDv5 hashes a name with its namespace, so a name that another
/// system hashes gives another id.
const NAMESPACE: Uuid = Uuid::from_u128(0x7469_6465_6d61_726b_8a6f_7572_6e61_6c21);

/// The id of an entry: a UUIDv7. Its first 48 bits are the time of the entry in milliseconds.
///
/// Ids sort by time, as values and as texts. Entries of the same millisecond have an arbitrary but
/// stable order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(Uuid);

/// Why a UUID is not the id of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryIdError {
    /// The text is not a UUID, or a UUID of another version.
    #[error("must be a UUID of version 7")]
    NotAUuidV7,
    /// The time in the UUID is after the year 9999.
    #[error("its time lies after the year 9999")]
    OutOfRange,
}

impl EntryId {
    /// Checks version, variant and time.
    pub fn new(uuid: Uuid) -> Result<Self, EntryIdError> {
        if uuid.get_version_num() != 7 || uuid.get_variant() != Variant::RFC4122 {
            return Err(EntryIdError::NotAUuidV7);
        }
        Timestamp::from_millisecond(millisecond(uuid)).map(|_| Self(uuid)).map_err(|_| EntryIdError::OutOfRange)
    }

    /// The id of an event with a time and a unique name. The same event always gets the same id, so
    /// it is one entry even if it is reported twice. Digits finer than a millisecond are cut off. A
    /// time before 1970 becomes 1970-01-01T00:00:00Z.
    pub fn derived(at: Timestamp, name: &str) -> Self {
        let hash = Uuid::new_v5(&NAMESPACE, name.as_bytes());
        let mut bits = [0; 10];
        // Version and variant are in the same places in UUIDv5 and UUIDv7, so all other bits of
        // this part of the hash are used.
        bits.copy_from_slice(&hash.as_bytes()[6..]);
        Self::of_millisecond(at, &bits)
    }

    /// The lowest id of the first millisecond that does not begin before `at`. Entries at or after
    /// that millisecond have this id or a higher one.
    pub fn first_from(at: Timestamp) -> Self {
        let is_between = at.as_nanosecond().rem_euclid(1_000_000) > 0;
        // The calendar's last millisecond has no next one. No id has a later time.
        let from = at.checked_add(jiff::SignedDuration::from_millis(i64::from(is_between))).unwrap_or(at);
        Self::of_millisecond(from, &[0; 10])
    }

    fn of_millisecond(at: Timestamp, bits: &[u8; 10]) -> Self {
        let millisecond = at.as_millisecond().max(0).unsigned_abs();
        Self(Builder::from_unix_timestamp_millis(millisecond, bits).into_uuid())
    }

    /// The time of the entry, in milliseconds.
    pub fn at(self) -> Timestamp {
        // Each constructor checks that the time is in range.
        Timestamp::from_millisecond(millisecond(self.0)).unwrap_or(Timestamp::MAX)
    }

    /// The UTC day of the entry.
    pub fn day(self) -> Date {
        self.at().to_zoned(TimeZone::UTC).date()
    }

    /// The UUID.
    pub fn uuid(self) -> Uuid {
        self.0
    }
}

fn millisecond(uuid: Uuid) -> i64 {
    // A number of 48 bits fits an `i64` without a sign.
    (uuid.as_u64_pair().0 >> 16) as i64
}

impl FromStr for EntryId {
    type Err = EntryIdError;

    fn from_str(text: &str) -> Result<Self, EntryIdError> {
        Self::new(Uuid::try_parse(text).map_err(|_| EntryIdError::NotAUuidV7)?)
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn an_id_contains_the_time_and_the_day() {
        let id: EntryId = "0190a4cd-d3e7-7222-9f99-fdb74feee752".parse().expect("an id");
        assert_eq!(id.at(), time("2024-07-12T02:37:50.951Z"));
        assert_eq!(id.day().to_string(), "2024-07-12");
        assert_eq!(id.to_string(), "0190a4cd-d3e7-7222-9f99-fdb74feee752");
        let midnight = EntryId::derived(time("2024-12-31T23:59:59.999999999Z"), "x");
        assert_eq!(midnight.day().to_string(), "2024-12-31");
    }

    #[test]
    fn entry_id_is_a_uuid_v7_within_the_calendar() {
        for text in ["", "x", "0190a4cd-d3e7-4222-9f99-fdb74feee752", "0190a4cd-d3e7-7222-1f99-fdb74feee752"] {
            assert_eq!(text.parse::<EntryId>(), Err(EntryIdError::NotAUuidV7), "{text:?}");
        }
        assert_eq!("ffffffff-ffff-7fff-bfff-ffffffffffff".parse::<EntryId>(), Err(EntryIdError::OutOfRange));
    }

    #[test]
    fn derived_entry_ids_are_equal_only_for_the_same_event() {
        let at = time("2024-07-12T02:37:50.951Z");
        let id = EntryId::derived(at, "game 7");
        assert_eq!(id, EntryId::derived(at + jiff::SignedDuration::from_nanos(999_999), "game 7"));
        assert_ne!(id, EntryId::derived(at, "game 8"));
        assert_ne!(id, EntryId::derived(at + jiff::SignedDuration::from_millis(1), "game 7"));
        assert_eq!(EntryId::new(id.uuid()), Ok(id));
        // A recorded value: derived ids must stay the same in each version.
        assert_eq!(id.to_string(), "0190a4cd-d3e7-780f-b692-ac474e2a2bde");
        assert_eq!(EntryId::derived(time("1969-07-20T20:17:40Z"), "x").at(), Timestamp::UNIX_EPOCH);
    }

    proptest! {
        #[test]
        fn entry_id_lower_bound_orders_ids_like_their_times(
            at_ns in 0..4_000_000_000_000_000_000_i128, apart_ns in -3_000_000..3_000_000_i128, name in ".{0,8}"
        ) {
            let moment = |ns| Timestamp::from_nanosecond(ns).expect("a time");
            let bound = EntryId::first_from(moment(at_ns));
            let id = EntryId::derived(moment((at_ns + apart_ns).max(0)), &name);
            prop_assert_eq!(id >= bound, id.at() >= moment(at_ns));
            prop_assert_eq!(id.to_string() >= bound.to_string(), id >= bound);
        }
    }
}
