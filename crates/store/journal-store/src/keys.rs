//! The keys of the journal's table, and its items.

use std::collections::{BTreeMap, BTreeSet};

use domain::Attributes;
use domain::EntryId;
use domain::calendar::parse_date;
use domain::journal::{Entry, JournalStream, Message};
use jiff::civil::Date;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

pub(super) use store_base::{Item, n, s};
use store_base::{StoreError, shard};

pub(super) const PARTITION_KEY: &str = "PK";
pub(super) const SORT_KEY: &str = "SK";

pub(super) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([(PARTITION_KEY.to_owned(), s(partition)), (SORT_KEY.to_owned(), s(sort))])
}

/// The partition with one item for each day of a stream.
pub(super) fn days(stream: &JournalStream) -> String {
    format!("FEEDDAYS#{stream}")
}

/// One of the partitions of a day of a stream.
pub(super) fn feed(stream: &JournalStream, day: Date, shard: u8) -> String {
    format!("FEED#{stream}#{day}#{shard}")
}

/// The number of partitions over which the entries of a day are spread. One partition takes at most
/// 1,000 writes a second ([partition
/// limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)).
/// The number may be raised at any time, also during a day. The number of a day never falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalShards(u8);

impl JournalShards {
    /// The most partitions of a day. A page needs one query for each of them.
    pub const MAX: u8 = 100;

    /// The number of partitions, if it is from 1 to [`JournalShards::MAX`].
    pub fn new(shards: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&shards).then_some(Self(shards))
    }

    /// The number.
    pub fn get(self) -> u8 {
        self.0
    }

    /// The shard of an entry.
    pub(super) fn shard(self, id: EntryId) -> u8 {
        shard(id.uuid().as_bytes(), self.0)
    }
}

impl<'de> Deserialize<'de> for JournalShards {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(u8::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("not a number of shards"))
    }
}

/// A day, as the list of its stream has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Day {
    #[serde(rename = "SK", deserialize_with = "date")]
    pub(super) day: Date,
    /// The number of shards of the day.
    pub(super) shards: JournalShards,
    /// All numbers of shards that the day has had, the current one included.
    counts: BTreeSet<JournalShards>,
}

fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
    parse_date(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

impl Day {
    pub(super) fn read(item: Item) -> Result<Self, StoreError> {
        serde_dynamo::from_item(item).map_err(StoreError::unreadable)
    }

    /// The shards in which an entry may have been stored when the day had fewer shards, without the
    /// shard for it now.
    pub(super) fn earlier_shards(&self, id: EntryId) -> BTreeSet<u8> {
        let now = self.shards.shard(id);
        self.counts.iter().map(|count| count.shard(id)).filter(|shard| *shard != now).collect()
    }
}

/// The stored form of an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    #[serde(rename = "PK")]
    partition: String,
    #[serde(rename = "SK")]
    id: String,
    message: String,
    attributes: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<i64>,
}

/// The item of an entry. `expires_at` is in epoch seconds.
pub(super) fn item(entry: &Entry, shard: u8, expires_at: Option<i64>) -> Result<Item, StoreError> {
    let row = Row {
        partition: feed(&entry.stream, entry.id.day(), shard),
        id: entry.id.to_string(),
        message: entry.message.as_str().to_owned(),
        attributes: entry.attributes.pairs().clone(),
        ttl: expires_at,
    };
    serde_dynamo::to_item(row).map_err(StoreError::unreadable)
}

/// The entry of an item.
pub(super) fn entry(stream: &JournalStream, item: Item) -> Result<Entry, StoreError> {
    let row: Row = serde_dynamo::from_item(item).map_err(StoreError::unreadable)?;
    Ok(Entry {
        stream: stream.clone(),
        id: row.id.parse().map_err(StoreError::unreadable)?,
        message: Message::new(row.message).map_err(StoreError::unreadable)?,
        attributes: Attributes::new(row.attributes).map_err(StoreError::unreadable)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;
    use jiff::civil::date;

    #[test]
    fn the_stream_and_the_day_are_parts_of_the_key() {
        let suite = JournalStream::suite();
        assert_eq!(feed(&suite, date(2024, 7, 12), 3), "FEED#suite#2024-07-12#3");
        assert_eq!(days(&suite), "FEEDDAYS#suite");
    }

    #[test]
    fn entries_spread_over_shards_and_keep_their_shard() {
        let shards = JournalShards::new(7).expect("in range");
        let ids = (0..500).map(|n| EntryId::derived(Timestamp::UNIX_EPOCH, &n.to_string()));
        let used: BTreeSet<_> = ids.map(|id| shards.shard(id)).collect();
        assert_eq!(used, (0..7).collect());
        let id = EntryId::derived(Timestamp::UNIX_EPOCH, "x");
        // Recorded values: each version must look for an entry where an earlier version has put it.
        assert_eq!([1, 4, 10, 100].map(|n| JournalShards(n).shard(id)), [0, 0, 4, 24]);
        assert_eq!((JournalShards::new(0), JournalShards::new(101)), (None, None));
    }

    #[test]
    fn resharded_day_knows_earlier_shards_of_its_entries() {
        let day = |counts: &[u8]| Day {
            day: date(2024, 7, 12),
            shards: JournalShards(*counts.last().expect("one")),
            counts: counts.iter().map(|count| JournalShards(*count)).collect(),
        };
        let ids = (0..100).map(|n| EntryId::derived(Timestamp::UNIX_EPOCH, &n.to_string()));
        for id in ids {
            assert_eq!(day(&[4]).earlier_shards(id), BTreeSet::new());
            let grown = day(&[1, 4, 9]).earlier_shards(id);
            let places = [0, JournalShards(4).shard(id)];
            assert!(places.iter().all(|place| grown.contains(place) || JournalShards(9).shard(id) == *place), "{id}");
        }
    }
}
