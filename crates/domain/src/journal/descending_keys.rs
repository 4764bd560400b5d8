//! The keys of the article in the original designs. A partition holds one day; its key is the
//! negative Unix time of the day's midnight. The sort key is a UUIDv7 with every bit inverted. The
//! article then scans, and expects days and ids in descending order.
//!
//! Only a test uses these functions. A Scan reads partitions in the order of the hashes of their
//! keys, so the days come in no order (`tests/tests/journal/descending_keys.rs` shows it). An
//! inverted UUID has lost its version and variant, and a Query can read backwards without it. See
//! `docs/decisions/0014-newest-first-across-days.md`.

use jiff::Timestamp;
use jiff::tz::Offset;
use uuid::Uuid;

const DAY_SECONDS: i64 = 24 * 60 * 60;

/// The partition key of a moment: the negative Unix time, in seconds, of the midnight of its day.
/// `offset` is the offset from UTC of the time zone of the day. The article's figures are for days
/// in Japan.
pub fn negative_unix_day(at: Timestamp, offset: Offset) -> i64 {
    let shift = i64::from(offset.seconds());
    shift - (at.as_second() + shift).div_euclid(DAY_SECONDS) * DAY_SECONDS
}

/// The midnight for which [`negative_unix_day`] gives this number; `None` outside of the calendar.
pub fn midnight(negative_unix_day: i64) -> Option<Timestamp> {
    Timestamp::from_second(negative_unix_day.checked_neg()?).ok()
}

/// The sort key of an id: every bit inverted. Inverting twice gives the id back.
pub fn inverted(id: Uuid) -> Uuid {
    Uuid::from_u128(!id.as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Variant;

    fn uuid(text: &str) -> Uuid {
        text.parse().expect("a UUID")
    }

    fn time(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn the_keys_match_the_figures_of_the_article() {
        let japan = Offset::constant(9);
        for at in ["2024-01-01T00:00:00+09:00", "2024-01-01T12:00:00+09:00", "2024-01-01T23:59:59.999999999+09:00"] {
            assert_eq!(negative_unix_day(time(at), japan), -1_704_034_800, "{at}");
        }
        assert_eq!(midnight(-1_704_034_800), Some(time("2024-01-01T00:00:00+09:00")));
        let (before, after) =
            (uuid("0190a4cd-d3e7-7222-9f99-fdb74feee752"), uuid("fe6f5b32-2c18-8ddd-6066-0248b01118ad"));
        assert_eq!((inverted(before), inverted(after)), (after, before));
    }

    #[test]
    fn days_before_1970_begin_at_midnight_too() {
        let utc = Offset::UTC;
        assert_eq!(negative_unix_day(time("1970-01-01T23:59:59Z"), utc), 0);
        assert_eq!(negative_unix_day(time("1970-01-02T00:00:00Z"), utc), -86_400);
        assert_eq!(negative_unix_day(time("1969-12-31T23:59:59Z"), utc), 86_400);
        assert_eq!(midnight(i64::MIN), None);
    }

    #[test]
    fn a_later_id_sorts_before_an_earlier_one() {
        let (earlier, later) =
            (uuid("0190a4b6-20c5-7130-a690-187196ac3d3d"), uuid("0190a4b6-a361-71cc-9e01-7ec23d9e3d3d"));
        assert!(earlier < later && inverted(later) < inverted(earlier));
        assert!(inverted(later).to_string() < inverted(earlier).to_string());
    }

    #[test]
    fn an_inverted_id_is_no_longer_a_uuid_of_version_7() {
        let id = uuid("0190a4cd-d3e7-7222-9f99-fdb74feee752");
        assert_eq!((id.get_version_num(), id.get_variant()), (7, Variant::RFC4122));
        assert_eq!((inverted(id).get_version_num(), inverted(id).get_variant()), (8, Variant::NCS));
    }
}
