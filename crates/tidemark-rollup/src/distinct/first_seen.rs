//! First-seen records: the first stream record that showed a value in a statistic. They make exact
//! distinct counts when nothing is taken back.
//!
//! An entry takes 25 bytes, so that the item of a user who comes every day still fits the one
//! kilobyte that one write unit pays for.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::additions::ItemKey;
use crate::distinct::{Cache, DistinctChanges, ItemChanges, REQUESTS_MAX};
use crate::error::StoreError;
use crate::rules::Rules;
use crate::table::{BATCH_GET_MAX, Item, Table};
use crate::{FirstSeen, SequenceNumber, ShardHash};

/// The entries of an item. An entry never changes, so a cached one stays valid. Whether its value
/// has been *counted* does change: [`FirstSeen::is_uncounted_by`] is asked each time.
pub(crate) type Entries = HashMap<String, FirstSeen>;

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

fn entries(item: &Item) -> Entries {
    item.iter().filter_map(|(name, value)| Some((name.clone(), decode(value)?))).collect()
}

/// Writes first-seen records. Its requests are `UpdateItem` and `BatchGetItem`.
#[derive(Debug, Default)]
pub(crate) struct FirstSeenRecords {
    cache: Cache<Entries>,
}

impl FirstSeenRecords {
    /// Writes the missing entries for `shard`. Returns the number of values of each statistic that
    /// the shard has still to count.
    ///
    /// An entry is skipped if the cache or a batched read shows that it is counted already or
    /// belongs to another shard. Those reads are only hints; a write decides. An entry of this
    /// shard that is not counted yet is never skipped.
    pub(crate) async fn record(
        &mut self,
        table: &Table,
        shard: ShardHash,
        checkpoint: Option<SequenceNumber>,
        items: &BTreeMap<ItemKey, ItemChanges>,
        rules: Rules,
    ) -> Result<DistinctChanges, StoreError> {
        self.read_unknown(table, items.keys()).await?;
        let mut writes: Vec<(&ItemKey, BTreeMap<&str, FirstSeen>)> = Vec::new();
        for (key, item) in items {
            let mut open = BTreeMap::new();
            for (sequence_number, entry, _) in &item.changes {
                let known = self.cache.get(key).and_then(|entries| entries.get(entry));
                if known.is_none_or(|first_seen| rules.is_open(*first_seen, shard, checkpoint)) {
                    let first_seen = FirstSeen { shard, sequence_number: *sequence_number };
                    open.entry(entry.as_str()).or_insert(first_seen);
                }
            }
            if !open.is_empty() {
                writes.push((key, open));
            }
        }
        let written: Vec<_> = stream::iter(writes)
            .map(|(key, open)| async move { Ok::<_, StoreError>((key, write(table, key, &open).await?, open)) })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;

        let mut changes = DistinctChanges::new();
        for (key, all, open) in written {
            let is_new = |entry: &str| all.get(entry).is_some_and(|first| first.is_uncounted_by(shard, checkpoint));
            for entry in open.into_keys().filter(|entry| is_new(entry)) {
                let Some(stat) = items.get(key).and_then(|item| item.entries.get(entry)) else { continue };
                *changes.entry(stat.clone()).or_default() += 1;
            }
            self.cache.insert(key.clone(), all);
        }
        Ok(changes)
    }

    /// Reads the items that the cache does not have. An eventually consistent read costs a tenth of
    /// a write that finds its entries already there.
    async fn read_unknown(&mut self, table: &Table, keys: impl Iterator<Item = &ItemKey>) -> Result<(), StoreError> {
        let unknown: Vec<_> = keys.filter(|key| self.cache.get(key).is_none()).collect();
        let found: Vec<Vec<Item>> = stream::iter(unknown.chunks(BATCH_GET_MAX))
            .map(|keys| {
                table.batch_get(keys.iter().map(|(partition, sort)| table.key(partition, sort)).collect(), false)
            })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;
        for item in found.iter().flatten() {
            if let Some(key) = table.key_of(item) {
                self.cache.insert(key, entries(item));
            }
        }
        Ok(())
    }
}

/// The entries of some items, read strongly consistently.
#[cfg(feature = "recount")]
pub(crate) async fn read(
    table: &Table,
    keys: &std::collections::BTreeSet<ItemKey>,
) -> Result<HashMap<ItemKey, Entries>, StoreError> {
    let keys = keys.iter().map(|(partition, sort)| table.key(partition, sort)).collect();
    let items = table.batch_get(keys, true).await?;
    Ok(items.iter().filter_map(|item| Some((table.key_of(item)?, entries(item)))).collect())
}

/// Writes entries that are missing, and returns all that the item then has.
pub(crate) async fn write(
    table: &Table,
    (partition, sort): &ItemKey,
    open: &BTreeMap<&str, FirstSeen>,
) -> Result<Entries, StoreError> {
    let mut request = table.update_item(table.key(partition, sort));
    let mut sets = Vec::with_capacity(open.len());
    for (index, (entry, first_seen)) in open.iter().enumerate() {
        // Stops two shards from both counting a value: the first entry stays, and all later writes
        // read it back.
        sets.push(format!("#e{index} = if_not_exists(#e{index}, :e{index})"));
        request = request.expression_attribute_names(format!("#e{index}"), *entry);
        request = request.expression_attribute_values(format!(":e{index}"), encode(*first_seen));
    }
    let request = request.update_expression(format!("SET {}", sets.join(", "))).return_values(ReturnValue::AllNew);
    let all = entries(&request.send().await?.attributes.unwrap_or_default());
    if !open.keys().all(|entry| all.contains_key(*entry)) {
        return Err(StoreError::Unreadable("a first-seen record without the entry that was just made".to_owned()));
    }
    Ok(all)
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
