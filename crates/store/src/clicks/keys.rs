//! How the keys of the clicks table are spelled. Nothing outside of this module's siblings knows.

use domain::calendar::YearMonth;
use domain::clicks::ClickTime;
use jiff::civil::Date;
use sha2::{Digest, Sha256};

pub(crate) use crate::item::{Item, n, s};
use crate::series::shard;

pub(crate) const PARTITION_KEY: &str = "userId";
pub(crate) const SORT_KEY: &str = "createDateTime";
pub(crate) const DATE_INDEX: &str = "DateIndex";

pub(crate) const DAILY: &str = "STAT#DAILY";
pub(crate) const MONTHLY: &str = "STAT#MONTHLY";
pub(crate) const TOTAL: &str = "STAT#TOTAL";
pub(crate) const TOTAL_SORT: &str = "METADATA";
pub(crate) const QUARANTINE: &str = "QUARANTINE#CLICKS";
pub(crate) const LAYOUT: &str = "LAYOUT#CLICKS";

/// What the index's sort key of a click begins with.
pub(crate) const CLICK_PREFIX: &str = "CLICK#";
/// The first text after all that begin with [`CLICK_PREFIX`]: `$` follows `#`.
pub(crate) const CLICK_PREFIX_END: &str = "CLICK$";

/// What the partitions begin with that are not a user's. No [`domain::UserId`] can, for the `#`.
pub const RESERVED_PREFIXES: [&str; 6] =
    ["STAT#", "FIRSTSEEN#", "FIRSTSEENHASH#", "CHECKPOINT#", "QUARANTINE#", "LAYOUT#"];

/// [A partition key has at most 2,048 bytes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys).
const PARTITION_KEY_BYTES_MAX: usize = 2_048;

pub(crate) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([(PARTITION_KEY.to_owned(), s(partition)), (SORT_KEY.to_owned(), s(sort))])
}

pub(crate) fn date_key(date: Date) -> String {
    format!("DATE#{date}")
}

pub(crate) fn month_key(month: YearMonth) -> String {
    format!("MONTH#{month}")
}

pub(crate) fn record_sort(time: ClickTime, user_id: &str) -> String {
    format!("{CLICK_PREFIX}{time}#{user_id}")
}

/// Whether a partition is one that [`first_seen_partition`] makes.
#[cfg(feature = "recount")]
pub(crate) fn is_first_seen_partition(partition: &str) -> bool {
    partition.starts_with("FIRSTSEEN#") || partition.starts_with("FIRSTSEENHASH#")
}

/// The first-seen record's partition is the user's own, so that first-seen records spread as users do. A foreign client's user id may be as long as
/// a partition key; one that leaves no room for the prefix goes by its hash.
pub(crate) fn first_seen_partition(user_id: &str) -> String {
    const PREFIX: &str = "FIRSTSEEN#";
    if PREFIX.len() + user_id.len() <= PARTITION_KEY_BYTES_MAX {
        return format!("{PREFIX}{user_id}");
    }
    let hash = Sha256::digest(user_id.as_bytes());
    hash.iter().fold("FIRSTSEENHASH#".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

pub(crate) fn checkpoint_partition(stream_arn: &str) -> String {
    format!("CHECKPOINT#{stream_arn}")
}

/// Over how many index partitions the clicks of a day are spread.
///
/// One is the plain layout, in which a day is one partition of the index, and 1,000 writes a second are its end
/// ([partition limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)).
/// With more, a click's `dateKey` is `DATE#<day>#<nn>`. The number may grow and shrink: the table remembers the most that it has been
/// ([`DateShards::remember`]), and readers look into so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateShards(u8);

impl DateShards {
    /// The most partitions a day, which two digits can number.
    pub const MAX: u8 = 100;

    /// 1 to [`DateShards::MAX`].
    pub fn new(shards: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&shards).then_some(Self(shards))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }

    /// Under how many index partitions a day's clicks are looked for.
    pub fn partitions_of_a_day(self) -> u64 {
        if self.0 == 1 { 1 } else { 1 + u64::from(self.0) }
    }

    /// The `dateKey` of a user's click: a user's clicks of one day share a partition.
    pub(crate) fn date_key(self, date: Date, user_id: &str) -> String {
        match self.0 {
            1 => date_key(date),
            shards => format!("{}#{:02}", date_key(date), shard(user_id.as_bytes(), shards)),
        }
    }

    /// Every `dateKey` under which clicks of that day may lie: the plain one too, for the days before the number grew.
    pub(crate) fn date_keys(self, date: Date) -> Vec<String> {
        let plain = date_key(date);
        let shards = if self.0 == 1 { 0 } else { self.0 };
        let sharded = (0..shards).map(|shard| format!("{plain}#{shard:02}"));
        std::iter::once(plain.clone()).chain(sharded).collect()
    }
}

impl Default for DateShards {
    fn default() -> Self {
        Self(1)
    }
}

/// Whether `date_key` is one of that day's, for any number of shards.
pub(crate) fn is_date_key_of(date_key_read: &str, date: Date) -> bool {
    match date_key_read.strip_prefix(&date_key(date)) {
        Some("") => true,
        Some(shard) => shard.len() == 3 && shard.starts_with('#') && shard[1..].bytes().all(|b| b.is_ascii_digit()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    #[test]
    fn one_shard_is_the_plain_layout() {
        let day = date(2025, 10, 2);
        assert_eq!(DateShards::default().date_key(day, "ann"), "DATE#2025-10-02");
        assert_eq!(DateShards::default().date_keys(day), ["DATE#2025-10-02"]);
    }

    #[test]
    fn every_shard_a_click_may_lie_in_is_read() {
        let day = date(2025, 10, 2);
        let shards = DateShards::new(7).expect("in range");
        let keys = shards.date_keys(day);
        assert_eq!(keys.len(), 8);
        for user in 0..100 {
            let key = shards.date_key(day, &format!("user-{user}"));
            assert!(keys.contains(&key) && is_date_key_of(&key, day), "{key}");
        }
        assert_eq!((DateShards::new(0), DateShards::new(101)), (None, None));
    }

    #[test]
    fn another_days_key_is_not_this_days() {
        let day = date(2025, 10, 2);
        for key in
            ["DATE#2025-10-03", "DATE#2025-10-02#", "DATE#2025-10-02#1", "DATE#2025-10-02#ab", "MONTH#2025-10", ""]
        {
            assert!(!is_date_key_of(key, day), "{key}");
        }
    }

    #[test]
    fn the_longest_user_id_still_has_a_marker_of_its_own() {
        let (a, b) = ("x".repeat(2_048), "y".repeat(2_048));
        assert!(first_seen_partition(&a).len() <= PARTITION_KEY_BYTES_MAX);
        assert_ne!(first_seen_partition(&a), first_seen_partition(&b));
        assert_eq!(first_seen_partition("ann"), "FIRSTSEEN#ann");
    }
}
