//! FirstSeenRecords: who saw a user first in a month, and on each of its days.
//!
//! One item for each user and month, with an attribute `m` for the month and `d01` to `d31` for its days. Each holds the first-seen record
//! that stands, in 25 bytes, so that a month of daily visits still fits the one kilobyte that a write unit pays for.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use domain::clicks::{FirstSeen, SequenceNumber, ShardHash, Visit, VisitFirstSeen};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::Date;

use super::keys::{Item, PARTITION_KEY, SORT_KEY, first_seen_partition, key};
use crate::{BATCH_GET_MAX, StoreError, Table};

/// How many requests of one batch are under way at once.
pub(super) const REQUESTS_MAX: usize = 32;

/// How many users' months an instance remembers: about ten megabytes.
const CACHED_RECORDS_MAX: usize = 50_000;

/// A period within a first-seen record: 0 is the month, 1 to 31 are its days.
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

/// 8 bytes of checkpoint, 17 of sequence number.
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

/// Claims that stand, as far as this instance has seen. A first-seen record that stands never changes, so what is known stays true; whether
/// it has been *counted* is for [`FirstSeen::is_uncounted_by`] to say, each time anew.
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

    /// Whether `checkpoint` still has to ask for a period of a visit.
    fn is_open(&self, key: &FirstSeenKey, slot: Slot, shard: ShardHash, checkpoint: Option<SequenceNumber>) -> bool {
        let first_seen = self.first_seen_records.get(key).and_then(|entries| entries.get(&slot));
        first_seen.is_none_or(|first_seen| first_seen.is_uncounted_by(shard, checkpoint))
    }
}

/// Claims visits. Its requests are `UpdateItem` and `BatchGetItem`.
#[derive(Debug, Clone)]
pub struct FirstSeenRecords {
    pub(super) table: Table,
}

impl FirstSeenRecords {
    /// The first-seen records in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Claims for `checkpoint` whatever of the visits nobody has claimed, and tells for each the first-seen records that stand.
    ///
    /// What `known` or a batched read shows to be counted already, or another checkpoint's, is not asked again; those are hints, and
    /// only a write decides. An own first-seen record that is still uncounted is never skipped, however it is known.
    pub async fn record(
        &self,
        known: &mut FirstSeenCache,
        shard: ShardHash,
        checkpoint: Option<SequenceNumber>,
        visits: &[Visit<'_>],
    ) -> Result<Vec<VisitFirstSeen>, StoreError> {
        let keys: Vec<_> = visits.iter().map(first_seen_key).collect();
        self.read_unknown(known, &keys).await?;

        let open: Vec<Vec<(Slot, FirstSeen)>> = visits
            .iter()
            .zip(&keys)
            .map(|(visit, key)| {
                let days = visit.days.iter().map(|(day, first)| (slot_of(*day), *first));
                std::iter::once((MONTH, visit.first))
                    .chain(days)
                    .filter(|(slot, _)| known.is_open(key, *slot, shard, checkpoint))
                    .map(|(slot, sequence_number)| (slot, FirstSeen { shard: shard, sequence_number }))
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
        let mut standing: Vec<_> = visits.iter().map(settled).collect();
        for (index, record_item) in first_seen_records {
            let entries: HashMap<_, _> = decode_record(&record_item).collect();
            let stands =
                |slot: Slot| open[index].iter().any(|(asked, _)| *asked == slot).then(|| entries.get(&slot).copied());
            standing[index].month = stands(MONTH).flatten();
            for ((day, _), first_seen) in visits[index].days.iter().zip(&mut standing[index].days) {
                *first_seen = stands(slot_of(*day)).flatten();
            }
            known.learn(keys[index].clone(), &record_item);
        }
        Ok(standing)
    }

    /// Reads the first-seen records of visitors that this instance has not met. An eventually consistent read of a first-seen record costs a tenth
    /// of what claiming in vain does.
    async fn read_unknown(&self, known: &mut FirstSeenCache, keys: &[FirstSeenKey]) -> Result<(), StoreError> {
        let unknown: Vec<_> = keys.iter().filter(|key| !known.first_seen_records.contains_key(*key)).collect();
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
                known.learn((partition, month), record_item);
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
            // Stops two checkpoints from both counting a visitor: the first first-seen record stands, and everybody reads back the same one.
            sets.push(format!("{name} = if_not_exists({name}, :{name})"));
            request = request.expression_attribute_values(format!(":{name}"), encode(*first_seen));
        }
        let request = request.update_expression(format!("SET {}", sets.join(", "))).return_values(ReturnValue::AllNew);
        let record_item = request.send().await?.attributes.unwrap_or_default();
        let stands = |slot: &Slot| record_item.get(&attribute(*slot)).and_then(decode).is_some();
        if !entries.iter().all(|(slot, _)| stands(slot)) {
            return Err(StoreError::unreadable("a first-seen record without the entry that was just made"));
        }
        Ok(record_item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_takes_25_bytes_and_reads_back() {
        let first_seen =
            FirstSeen { shard: ShardHash([7; 8]), sequence_number: "9".repeat(40).parse().expect("digits") };
        let written = encode(first_seen);
        assert_eq!(written.as_b().map(|blob| blob.as_ref().len()), Ok(25));
        assert_eq!(decode(&written), Some(first_seen));
        assert_eq!(decode(&AttributeValue::S("x".to_owned())), None);
        assert_eq!(decode(&AttributeValue::B(Blob::new([0; 24]))), None);
    }
}
