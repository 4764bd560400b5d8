//! Reads and writes the holdings of distinct values; see [`crate::distinct::holding`] for the
//! rules.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::additions::ItemKey;
use crate::distinct::holding::{Holding, SHARD_RETENTION};
use crate::distinct::{Cache, DistinctChanges, ItemChanges, REQUESTS_MAX};
use crate::error::StoreError;
use crate::error::unless_condition_failed;
use crate::rules::Rules;
use crate::shard::{CommitError, Shard};
use crate::table::{BATCH_GET_MAX, Item, Retry, Table};
use crate::{SequenceNumber, ShardHash};

/// How long known checkpoints are used before they are read again to fold holdings.
const PASSED_AGE: SignedDuration = SignedDuration::from_mins(1);

/// A holding as an item. Each write replaces it, on the condition that its version is the one that
/// was read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HoldingItem {
    version: u64,
    #[serde(flatten)]
    pub(crate) holding: Holding,
}

impl HoldingItem {
    /// A holding as an item without its key, to know its size.
    pub(crate) fn sample(holding: &Holding) -> Item {
        let version = 1_700_000_000_000_000;
        serde_dynamo::to_item(Self { version, holding: holding.clone() }).unwrap_or_default()
    }
}

/// Writes holdings. Its requests are `PutItem`, `GetItem` and `BatchGetItem`.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    /// Possibly outdated: the condition of each write finds that out.
    cache: Cache<HoldingItem>,
    /// Checkpoints of the stream's shards. They only grow, so outdated ones are safe.
    passed: BTreeMap<ShardHash, SequenceNumber>,
    /// When they were read.
    passed_at: Option<Timestamp>,
}

/// Where a chunk stands in its shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position<'p> {
    pub(crate) rollup: &'p str,
    pub(crate) shard: &'p Shard,
    pub(crate) checkpoint: Option<SequenceNumber>,
    /// The last record of the chunk.
    pub(crate) through: SequenceNumber,
    pub(crate) rules: Rules,
}

impl Position<'_> {
    /// Stops an invocation whose checkpoint is outdated from applying records once more to a
    /// holding that was read before, and that has folded its shard.
    async fn check(&self, table: &Table, holding: &Holding) -> Result<(), CommitError> {
        if !holding.may_have_folded(self.shard.hash()) {
            return Ok(());
        }
        let now = self.shard.checkpoint(table, self.rollup).await?.number;
        if now == self.checkpoint { Ok(()) } else { Err(CommitError::CheckpointMoved) }
    }
}

impl Holdings {
    /// Applies the changes of a chunk. Returns what its commit adds to the distinct counts.
    pub(crate) async fn apply(
        &mut self,
        table: &Table,
        position: Position<'_>,
        items: &BTreeMap<ItemKey, ItemChanges>,
        now: Timestamp,
    ) -> Result<DistinctChanges, CommitError> {
        self.read_unknown(table, items.keys()).await?;
        self.read_passed(table, position, items.keys(), now).await?;
        let hash = position.shard.hash();
        // One check for all: they were read before.
        let folded = items.keys().filter_map(|key| self.cache.get(key)).find(|of| of.holding.may_have_folded(hash));
        if let Some(folded) = folded {
            position.check(table, &folded.holding).await?;
        }
        let known = |key| self.cache.get(key).cloned().unwrap_or_default();
        let passed = &self.passed;
        let applied: Vec<_> = stream::iter(items)
            .map(|(key, changes)| {
                let known = known(key);
                async move { (key, changes, apply(table, position, key, changes, (known, passed), now).await) }
            })
            .buffer_unordered(REQUESTS_MAX)
            .collect()
            .await;

        let mut counts = DistinctChanges::new();
        for (key, changes, item) in applied {
            // The state of a failed write is unknown.
            let item = item.inspect_err(|_| self.cache.remove(key))?;
            for (entry, change) in item.holding.uncommitted(hash, position.checkpoint, position.through) {
                let Some(stat) = changes.entries.get(entry) else { continue };
                *counts.entry(stat.clone()).or_default() += change;
            }
            self.cache.insert(key.clone(), item);
        }
        Ok(counts)
    }

    /// Reads the checkpoints of the stream if a holding has too many shards.
    async fn read_passed(
        &mut self,
        table: &Table,
        position: Position<'_>,
        mut keys: impl Iterator<Item = &ItemKey>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_fresh = self.passed_at.is_some_and(|at| now.duration_since(at).abs() < PASSED_AGE);
        let shards_max = position.rules.shards_max();
        let is_full = |key| self.cache.get(key).is_some_and(|item| item.holding.shards.len() >= shards_max);
        if !is_fresh && keys.any(is_full) {
            self.passed = position.shard.checkpoints(table, position.rollup).await?;
            self.passed_at = Some(now);
        }
        Ok(())
    }

    async fn read_unknown(&mut self, table: &Table, keys: impl Iterator<Item = &ItemKey>) -> Result<(), StoreError> {
        let unknown: Vec<_> = keys.filter(|key| self.cache.get(key).is_none()).collect();
        let found: Vec<Vec<Item>> = stream::iter(unknown.chunks(BATCH_GET_MAX))
            .map(|keys| {
                table.batch_get(keys.iter().map(|(partition, sort)| table.key(partition, sort)).collect(), false)
            })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;
        for item in found.into_iter().flatten() {
            if let Some(key) = table.key_of(&item) {
                self.cache.insert(key, read(item)?);
            }
        }
        Ok(())
    }
}

/// Some holdings, read strongly consistently.
#[cfg(feature = "recount")]
pub(crate) async fn read_all(
    table: &Table,
    keys: &std::collections::BTreeSet<ItemKey>,
) -> Result<BTreeMap<ItemKey, Holding>, StoreError> {
    let keys = keys.iter().map(|(partition, sort)| table.key(partition, sort)).collect();
    let items = table.batch_get(keys, true).await?;
    let holding = |item: Item| Some(table.key_of(&item).map(|key| Ok((key, read(item)?.holding))));
    items.into_iter().filter_map(|item| holding(item).flatten()).collect()
}

/// Applies the changes to one item. `known` may be outdated.
async fn apply(
    table: &Table,
    position: Position<'_>,
    key: &ItemKey,
    changes: &ItemChanges,
    (mut known, passed): (HoldingItem, &BTreeMap<ShardHash, SequenceNumber>),
    now: Timestamp,
) -> Result<HoldingItem, CommitError> {
    let mut retry = Retry::new();
    loop {
        let version = known.version;
        if !known.holding.apply(position.shard.hash(), position.checkpoint, &changes.changes, now) {
            return Ok(known);
        }
        position.rules.fold(&mut known.holding, passed);
        // A new item begins with the time, so that no instance knows its versions from an item that
        // was deleted.
        known.version = if version == 0 { u64::try_from(now.as_microsecond()).unwrap_or(1) } else { version + 1 };
        // When nothing is held, only replays need the item.
        let expires_at = known.holding.held.is_empty().then(|| (now + SHARD_RETENTION).as_second());
        if put(table, key, &known, version, expires_at).await? {
            return Ok(known);
        }
        if !retry.wait().await {
            return Err(StoreError::Busy(format!("the holding {} {} changes all the time", key.0, key.1)).into());
        }
        let item = table.get(table.key(&key.0, &key.1)).await?;
        known = item.map(read).transpose()?.unwrap_or_default();
        position.check(table, &known.holding).await?;
    }
}

/// Replaces an item; `false` if its version is not `version`. `expires_at` is in epoch seconds.
async fn put(
    table: &Table,
    (partition, sort): &ItemKey,
    item: &HoldingItem,
    version: u64,
    expires_at: Option<i64>,
) -> Result<bool, StoreError> {
    let unwritable = |error: serde_dynamo::Error| StoreError::Refused(error.to_string());
    let mut attributes: Item = serde_dynamo::to_item(item).map_err(unwritable)?;
    attributes.extend(table.key(partition, sort));
    attributes.extend(expires_at.map(|at| (table.ttl_name().to_owned(), AttributeValue::N(at.to_string()))));
    let request = table.put_item(attributes).expression_attribute_names("#version", "version");
    let request = if version == 0 {
        request.condition_expression("attribute_not_exists(#version)")
    } else {
        let read = AttributeValue::N(version.to_string());
        request.condition_expression("#version = :read").expression_attribute_values(":read", read)
    };
    Ok(unless_condition_failed(request.send().await)?.is_some())
}

fn read(item: Item) -> Result<HoldingItem, StoreError> {
    serde_dynamo::from_item(item).map_err(|error| StoreError::Unreadable(format!("a holding: {error}")))
}
