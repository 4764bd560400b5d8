//! The keys of the clicks table. Only the modules beside this one use them.

use domain::clicks::ClickTime;
use jiff::civil::Date;

use store_base::shard;
pub(crate) use store_base::{Item, n, s};

pub(crate) const PARTITION_KEY: &str = "userId";
pub(crate) const SORT_KEY: &str = "createDateTime";
pub(crate) const DATE_INDEX: &str = "DateIndex";

pub(crate) const DAILY: &str = "STAT#DAILY";
pub(crate) const MONTHLY: &str = "STAT#MONTHLY";
pub(crate) const HOURLY: &str = "STAT#HOURLY";
pub(crate) const WEEKLY: &str = "STAT#WEEKLY";
/// The prefix of the partition with the days of a target.
pub(crate) const TARGET: &str = "STAT#TARGET#";
/// The index of the targets of a day by their clicks, and its partition key.
pub(crate) const TARGET_INDEX: &str = "TargetIndex";
pub(crate) const TARGET_DAY: &str = "targetDay";
pub(crate) const TOTAL: &str = "STAT#TOTAL";
pub(crate) const TOTAL_SORT: &str = "METADATA";
/// The partition of the visitors of all time. Their sort key is that of the total.
pub(crate) const VISITORS: &str = "STAT#VISITORS";
pub(crate) const LAYOUT: &str = "LAYOUT#CLICKS";

/// The prefix of a click's sort key in the index.
pub(crate) const CLICK_PREFIX: &str = "CLICK#";
/// The first text after all texts that begin with [`CLICK_PREFIX`]: `$` follows `#`.
pub(crate) const CLICK_PREFIX_END: &str = "CLICK$";

/// The prefixes of the partitions that do not belong to a user. A [`domain::UserId`] has no `#`, so
/// it cannot begin with one.
pub const RESERVED_PREFIXES: [&str; 3] = ["STAT#", "LAYOUT#", rollup::RESERVED_PREFIX];

pub(crate) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([(PARTITION_KEY.to_owned(), s(partition)), (SORT_KEY.to_owned(), s(sort))])
}

pub(crate) fn date_key(date: Date) -> String {
    format!("DATE#{date}")
}

pub(crate) fn record_sort(time: ClickTime, user_id: &str) -> String {
    format!("{CLICK_PREFIX}{time}#{user_id}")
}

/// The number of index partitions over which the clicks of a day are spread.
///
/// With 1, a day is one partition of the index, which takes at most 1,000 writes a second
/// ([partition
/// limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)).
/// With more, the `dateKey` of a click is `DATE#<day>#<nn>`. The number may be raised and lowered:
/// the table keeps the largest number so far ([`DateShards::remember`]), and readers query that
/// many partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateShards(u8);

impl DateShards {
    /// The most partitions of a day: two digits number them.
    pub const MAX: u8 = 100;

    /// The number of partitions, if it is from 1 to [`DateShards::MAX`].
    pub fn new(shards: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&shards).then_some(Self(shards))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }

    /// How many index partitions a reader of one day has to query.
    pub fn partitions_of_a_day(self) -> u64 {
        if self.0 == 1 { 1 } else { 1 + u64::from(self.0) }
    }

    /// The `dateKey` of a user's click. All clicks of a user on one day are in the same partition.
    pub(crate) fn date_key(self, date: Date, user_id: &str) -> String {
        match self.0 {
            1 => date_key(date),
            shards => format!("{}#{:02}", date_key(date), shard(user_id.as_bytes(), shards)),
        }
    }

    /// Each `dateKey` under which clicks of this day may be. The one without a number is included,
    /// for clicks that were written while the number was 1.
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

/// Whether `date_key_read` is a key of this day, with any number of partitions.
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
    fn a_reader_queries_each_partition_that_may_have_a_click() {
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
    fn the_key_of_another_day_is_not_accepted() {
        let day = date(2025, 10, 2);
        for key in
            ["DATE#2025-10-03", "DATE#2025-10-02#", "DATE#2025-10-02#1", "DATE#2025-10-02#ab", "MONTH#2025-10", ""]
        {
            assert!(!is_date_key_of(key, day), "{key}");
        }
    }
}
