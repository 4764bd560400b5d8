//! First-seen records: the first stream records that showed a user in a month and on each of its
//! days.
//!
//! There is one item for each user and month, with an attribute `m` for the month and `d01` to
//! `d31` for its days. An entry takes 25 bytes, so that the item of a user who comes every day
//! still fits the one kilobyte that one write unit pays for.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use domain::clicks::{FirstSeen, SequenceNumber, ShardHash, Visit, VisitFirstSeen};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::Date;

use super::keys::{Item, PARTITION_KEY, SORT_KEY, first_seen_partition, key};
use crate::{BATCH_GET_MAX, StoreError, Table};

/// How many requests of one batch are in flight at once.
pub(super) const REQUESTS_MAX: usize = 32;

/// How many items an instance caches: about ten megabytes.
const CACHED_RECORDS_MAX: usize = 50_000;

/// An entry of a first-seen record: 0 is the month, 1 to 31 are its days.
pub(super) type Slot = u8;

pub(super) const MONTH: Slot = 0;

pub(super) fn slot_of(day: Date) -> Slot {
    day.day().unsigned_abs()
}

fn attribute(slot: Slot) -> String {
    match slot {
        MONTH => "m".to_owned(),
        day => format!("d{day:02}"),
    }
}

fn read_slot(attribute: &str) -> Option<Slot> {
    match attribute {
        "m" => Some(MONTH),
        day => day.strip_prefix('d')?.parse().ok(),
    }
}

/// 8 bytes of the shard's hash and 17 of the sequence number.
fn encode(first_seen: FirstSeen) -> AttributeValue {
    let mut bytes = first_seen.shard.0.to_vec();
    bytes.extend(first_seen.sequence_number.to_bytes());
    AttributeValue::B(Blob::new(bytes))
}

fn decode(value: &AttributeValue) -> Option<FirstSeen> {
    let (shard, number) = value.as_b().ok()?.as_ref().split_at_checked(8)?;
    let sequence_number = SequenceNumber::from_bytes(number.try_into().ok()?);
    Some(FirstSeen { shard: ShardHash(shard.try_into().ok()?), sequence_number })
}

pub(super) fn decode_record(record_item: &Item) -> impl Iterator<Item = (Slot, FirstSeen)> {
    record_item.iter().filter_map(|(name, value)| Some((read_slot(name)?, decode(value)?)))
}

/// The entries that this instance has read or written. An entry never changes, so a cached one
/// stays valid. Whether its visitor has been *counted* does change: [`FirstSeen::is_uncounted_by`]
/// is asked each time.
#[derive(Debug, Default)]
pub struct FirstSeenCache {
    first_seen_records: HashMap<FirstSeenKey, HashMap<Slot, FirstSeen>>,
}

/// Partition and sort key of a first-seen record.
pub(super) type FirstSeenKey = (String, String);

fn first_seen_key(visit: &Visit<'_>) -> FirstSeenKey {
    (first_seen_partition(visit.user_id), visit.month.to_string())
}

impl FirstSeenCache {
    fn learn(&mut self, key: FirstSeenKey, record_item: &Item) {
        if self.first_seen_records.len() >= CACHED_RECORDS_MAX {
            self.first_seen_records.clear();
        }
        self.first_seen_records.entry(key).or_default().extend(decode_record(record_item));
    }

    /// Whether an entry still has to be written for `shard`: it is unknown, or the shard has not
    /// counted it yet.
    fn is_open(&self, key: &FirstSeenKey, slot: Slot, shard: ShardHash, checkpoint: Option<SequenceNumber>) -> bool {
        let first_seen = self.first_seen_records.get(key).and_then(|entries| entries.get(&slot));
        first_seen.is_none_or(|first_seen| first_seen.is_uncounted_by(shard, checkpoint))
    }
}

/// Writes first-seen records. Its requests are `UpdateItem` and `BatchGetItem`.
#[derive(Debug, Clone)]
pub struct FirstSeenRecords {
    pub(super) table: Table,
}

impl FirstSeenRecords {
    /// The first-seen records in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Writes the missing entries of the visits for `shard`. Returns the entries that the table
    /// then has for each visit.
    ///
    /// An entry is skipped if the cache or a batched read shows that it is counted already or
    /// belongs to another shard. Those reads are only hints; a write decides. An entry of this
    /// shard that is not counted yet is never skipped.
    pub async fn record(
        &self,
        cache: &mut FirstSeenCache,
        shard: ShardHash,
        checkpoint: Option<SequenceNumber>,
        visits: &[Visit<'_>],
    ) -> Result<Vec<VisitFirstSeen>, StoreError> {
        let keys: Vec<_> = visits.iter().map(first_seen_key).collect();
        self.read_unknown(cache, &keys).await?;

        let open: Vec<Vec<(Slot, FirstSeen)>> = visits
            .iter()
            .zip(&keys)
            .map(|(visit, key)| {
                let days = visit.days.iter().map(|(day, first)| (slot_of(*day), *first));
                std::iter::once((MONTH, visit.first))
                    .chain(days)
                    .filter(|(slot, _)| cache.is_open(key, *slot, shard, checkpoint))
                    .map(|(slot, sequence_number)| (slot, FirstSeen { shard, sequence_number }))
                    .collect()
            })
            .collect();
        let writes = open.iter().zip(&keys).enumerate().filter(|(_, (entries, _))| !entries.is_empty());
        let first_seen_records: Vec<(usize, Item)> = stream::iter(writes)
            .map(|(index, (entries, key))| async move { Ok::<_, StoreError>((index, self.write(key, entries).await?)) })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;

        let settled = |visit: &Visit<'_>| VisitFirstSeen { month: None, days: vec![None; visit.days.len()] };
        let mut visits_first_seen: Vec<_> = visits.iter().map(settled).collect();
        for (index, record_item) in first_seen_records {
            let entries: HashMap<_, _> = decode_record(&record_item).collect();
            let written =
                |slot: Slot| open[index].iter().any(|(of, _)| *of == slot).then(|| entries.get(&slot).copied());
            visits_first_seen[index].month = written(MONTH).flatten();
            for ((day, _), first_seen) in visits[index].days.iter().zip(&mut visits_first_seen[index].days) {
                *first_seen = written(slot_of(*day)).flatten();
            }
            cache.learn(keys[index].clone(), &record_item);
        }
        Ok(visits_first_seen)
    }

    /// Reads the items that the cache does not have. An eventually consistent read costs a tenth of
    /// a write that finds its entries already there.
    async fn read_unknown(&self, cache: &mut FirstSeenCache, keys: &[FirstSeenKey]) -> Result<(), StoreError> {
        let unknown: Vec<_> = keys.iter().filter(|key| !cache.first_seen_records.contains_key(*key)).collect();
        let first_seen_records: Vec<Vec<Item>> = stream::iter(unknown.chunks(BATCH_GET_MAX))
            .map(|keys| {
                self.table.batch_get(keys.iter().map(|(partition, month)| key(partition, month)).collect(), false)
            })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;
        for record_item in first_seen_records.iter().flatten() {
            let text = |name| record_item.get(name).and_then(|value| value.as_s().ok()).cloned();
            if let (Some(partition), Some(month)) = (text(PARTITION_KEY), text(SORT_KEY)) {
                cache.learn((partition, month), record_item);
            }
        }
        Ok(())
    }

    pub(super) async fn write(
        &self,
        (partition, month): &FirstSeenKey,
        entries: &[(Slot, FirstSeen)],
    ) -> Result<Item, StoreError> {
        let mut request = self.table.update_item(key(partition, month));
        let mut sets = Vec::with_capacity(entries.len());
        for (slot, first_seen) in entries {
            let name = attribute(*slot);
            // Stops two shards from both counting a visitor: the first entry stays, and all later
            // writes read it back.
            sets.push(format!("{name} = if_not_exists({name}, :{name})"));
            request = request.expression_attribute_values(format!(":{name}"), encode(*first_seen));
        }
        let request = request.update_expression(format!("SET {}", sets.join(", "))).return_values(ReturnValue::AllNew);
        let record_item = request.send().await?.attributes.unwrap_or_default();
        let exists = |slot: &Slot| record_item.get(&attribute(*slot)).and_then(decode).is_some();
        if !entries.iter().all(|(slot, _)| exists(slot)) {
            return Err(StoreError::unreadable("a first-seen record without the entry that was just made"));
        }
        Ok(record_item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_25_bytes_and_can_be_read_back() {
        let first_seen =
            FirstSeen { shard: ShardHash([7; 8]), sequence_number: "9".repeat(40).parse().expect("digits") };
        let written = encode(first_seen);
        assert_eq!(written.as_b().map(|blob| blob.as_ref().len()), Ok(25));
        assert_eq!(decode(&written), Some(first_seen));
        assert_eq!(decode(&AttributeValue::S("x".to_owned())), None);
        assert_eq!(decode(&AttributeValue::B(Blob::new([0; 24]))), None);
    }
}
