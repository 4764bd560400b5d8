//! A shard of the stream: how far it is counted, and the one write that adds to statistics and
//! moves its checkpoint.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use crate::additions::Additions;
use crate::declaration::RESERVED_PREFIX;
use crate::error::StoreError;
use crate::error::unless_condition_failed;
use crate::table::{Item, TTL_ATTRIBUTE, Table};
use crate::trail::Trail;
use crate::{SequenceNumber, ShardHash};

/// How long a checkpoint is kept after its last move. A stream keeps its records for 24 hours, so
/// no older record can come back. A settled quarantined record is kept as long.
pub(crate) const RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The name used instead of a stream ARN in the checkpoints of an operator: the one of the repairs,
/// and one for each redriven item. They never expire, since an operator may come back at any time.
pub(crate) const OPERATOR: &str = "operator";

const SEQUENCE_NUMBER: &str = "sequenceNumber";
const VERSION: &str = "version";
const BUFFER: &str = "buffer";
const MOVED_AT: &str = "movedAt";
const DECLARATION: &str = "declaration";
const QUARANTINED: &str = "quarantined";
const TRAIL: &str = "trail";

/// A shard of a stream. Shard ids are unique only within their stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shard {
    stream_arn: String,
    shard_id: String,
}

/// The state of a shard's checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Checkpoint {
    /// The last record that is counted; `None` before the first.
    pub(crate) number: Option<SequenceNumber>,
    /// Grows by one with each write; 0 before the first.
    pub(crate) version: u64,
    /// Counted, but not yet added to the statistics.
    pub(crate) buffer: Additions,
    /// The fingerprint of the declaration that the last write was counted with.
    pub(crate) declaration: Option<String>,
    /// Whether records of the shard, or of a shard before it, may wait in quarantine.
    pub(crate) has_quarantined: bool,
    /// The records of the last batch.
    pub(crate) trail: Trail,
}

/// What a commit writes.
#[derive(Debug, Clone)]
pub(crate) struct Commit<'a> {
    /// The record to which the checkpoint moves; `None` if it stays.
    pub(crate) to: Option<SequenceNumber>,
    /// The additions to the statistics.
    pub(crate) written: &'a Additions,
    /// What the checkpoint then has in its buffer.
    pub(crate) buffer: Additions,
    /// Another write of the same transaction.
    pub(crate) also: Option<TransactWriteItem>,
}

/// Why a commit had no effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitError {
    /// Another invocation, or an earlier try of this one, has written the checkpoint.
    #[error("the checkpoint has moved since it was read")]
    CheckpointMoved,
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CommitError {
    /// Whether the same request may succeed soon.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_transient())
    }
}

impl Shard {
    pub(crate) fn new(stream_arn: impl Into<String>, shard_id: impl Into<String>) -> Self {
        Self { stream_arn: stream_arn.into(), shard_id: shard_id.into() }
    }

    pub(crate) fn id(&self) -> &str {
        &self.shard_id
    }

    pub(crate) fn stream_arn(&self) -> &str {
        &self.stream_arn
    }

    /// The short hash that first-seen records and holdings contain.
    pub(crate) fn hash(&self) -> ShardHash {
        let hash = Sha256::new().chain_update(&self.stream_arn).chain_update("\n").chain_update(&self.shard_id);
        let mut short = [0; 8];
        short.copy_from_slice(&hash.finalize()[..8]);
        ShardHash(short)
    }

    /// The checkpoint of the repairs. They share one, so they run one after the other.
    #[cfg(feature = "recount")]
    pub(crate) fn repair() -> Self {
        Self::new(OPERATOR, "repair")
    }

    /// The partition key and the sort key of the checkpoint.
    pub(crate) fn key_texts(&self, rollup: &str) -> (String, String) {
        (checkpoint_partition(rollup, &self.stream_arn), self.shard_id.clone())
    }

    fn key(&self, table: &Table, rollup: &str) -> Item {
        let (partition, sort) = self.key_texts(rollup);
        table.key(partition, sort)
    }

    /// A strongly consistent read of the checkpoint.
    pub(crate) async fn checkpoint(&self, table: &Table, rollup: &str) -> Result<Checkpoint, StoreError> {
        table.get(self.key(table, rollup)).await?.as_ref().map_or(Ok(Checkpoint::default()), Checkpoint::of)
    }

    /// The checkpoints of all shards of the stream.
    pub(crate) async fn checkpoints(
        &self,
        table: &Table,
        rollup: &str,
    ) -> Result<BTreeMap<ShardHash, SequenceNumber>, StoreError> {
        let items = table.partition(&checkpoint_partition(rollup, &self.stream_arn), None).await?;
        let number = |item: &Item| {
            let shard = Self::new(&self.stream_arn, table.key_of(item)?.1);
            Some((shard.hash(), item.get(SEQUENCE_NUMBER)?.as_s().ok()?.parse().ok()?))
        };
        Ok(items.iter().filter_map(number).collect())
    }

    /// Writes all of a commit or nothing.
    pub(crate) async fn commit(
        &self,
        table: &Table,
        rollup: &str,
        read: &Checkpoint,
        Commit { to, written, buffer, also }: Commit<'_>,
        now: Timestamp,
    ) -> Result<Checkpoint, CommitError> {
        let next = read.next(to, buffer);
        let expires = self.stream_arn != OPERATOR;
        let set = next.attributes(expires.then(|| table.ttl_name()), now)?;
        // The TTL attribute has a placeholder of its own, as its name may contain any character.
        let placeholder = |name: &str| if name == table.ttl_name() { "ttl".to_owned() } else { name.to_owned() };
        let names = set.keys().map(|name| (format!("#{}", placeholder(name)), name.clone()));
        let mut names: HashMap<String, String> = names.collect();
        let mut values: HashMap<String, AttributeValue> =
            set.iter().map(|(name, value)| (format!(":{}", placeholder(name)), value.clone())).collect();
        let mut expression: Vec<_> = set.keys().map(|name| format!("#{0} = :{0}", placeholder(name))).collect();
        expression.sort_unstable();
        let removed: Vec<_> = [BUFFER, table.ttl_name()].into_iter().filter(|name| !set.contains_key(*name)).collect();
        names.extend(removed.iter().map(|name| (format!("#{}", placeholder(name)), (*name).to_owned())));
        let removed: Vec<_> = removed.iter().map(|name| format!("#{}", placeholder(name))).collect();
        let expression = format!("SET {} REMOVE {}", expression.join(", "), removed.join(", "));
        // Stops two deliveries of one record from both adding it: the first changes the version.
        let condition = if read.version == 0 { "attribute_not_exists(#version)" } else { "#version = :read" };
        if read.version > 0 {
            values.insert(":read".to_owned(), AttributeValue::N(read.version.to_string()));
        }

        if written.0.is_empty() && also.is_none() {
            let request = table.update_item(self.key(table, rollup));
            let request = request.update_expression(expression).condition_expression(condition);
            let request =
                request.set_expression_attribute_names(Some(names)).set_expression_attribute_values(Some(values));
            return unless_condition_failed(request.send().await)?.map(|_| next).ok_or(CommitError::CheckpointMoved);
        }
        let update = table.update(self.key(table, rollup));
        let update = update.update_expression(expression).condition_expression(condition);
        let update = update.set_expression_attribute_names(Some(names)).set_expression_attribute_values(Some(values));
        let checkpoint = TransactWriteItem::builder().update(update.build().map_err(StoreError::from)?).build();
        let mut actions = vec![checkpoint];
        actions.extend(also);
        actions.extend(written.actions(table)?);
        if table.transact(actions).await? { Ok(next) } else { Err(CommitError::CheckpointMoved) }
    }

    /// The shards of the stream whose buffers nobody has touched for `idle`. Their last batches may
    /// have failed, or their shards have ended.
    pub(crate) async fn idle_buffers(
        &self,
        table: &Table,
        rollup: &str,
        idle: SignedDuration,
        now: Timestamp,
    ) -> Result<Vec<Self>, StoreError> {
        let items = table.partition(&checkpoint_partition(rollup, &self.stream_arn), Some(BUFFER)).await?;
        let moved_at = |item: &Item| item.get(MOVED_AT)?.as_n().ok()?.parse::<i64>().ok();
        let is_idle = |item: &&Item| moved_at(item).is_some_and(|moved_at| moved_at < (now - idle).as_second());
        let shard = |item| Some(Self::new(self.stream_arn.clone(), table.key_of(item)?.1));
        Ok(items.iter().filter(is_idle).filter_map(shard).collect())
    }
}

impl Checkpoint {
    /// The checkpoint after a commit.
    pub(crate) fn next(&self, to: Option<SequenceNumber>, buffer: Additions) -> Self {
        Self { number: to.or(self.number), version: self.version + 1, buffer, ..self.clone() }
    }

    /// The item without its key, to know its size.
    pub(crate) fn item(&self, now: Timestamp) -> Item {
        self.attributes(Some(TTL_ATTRIBUTE), now).unwrap_or_default()
    }

    pub(crate) fn of(item: &Item) -> Result<Self, StoreError> {
        let unreadable = |what: &str| StoreError::Unreadable(format!("a checkpoint without {what}"));
        let number = item.get(SEQUENCE_NUMBER).and_then(|number| number.as_s().ok()?.parse().ok());
        let version = item.get(VERSION).and_then(|version| version.as_n().ok()?.parse().ok());
        let buffer = match item.get(BUFFER).map(|buffer| buffer.as_s()) {
            None => Additions::default(),
            Some(Ok(buffer)) => serde_json::from_str(buffer).map_err(|_| unreadable("a readable buffer"))?,
            Some(Err(_)) => return Err(unreadable("a readable buffer")),
        };
        let number = number.ok_or_else(|| unreadable("a sequence number"))?;
        let declaration = item.get(DECLARATION).and_then(|text| text.as_s().ok()).cloned();
        let has_quarantined = item.contains_key(QUARANTINED);
        let version = version.ok_or_else(|| unreadable("a version"))?;
        let trail =
            item.get(TRAIL).and_then(|trail| Trail::from_bytes(trail.as_b().ok()?.as_ref())).unwrap_or_default();
        Ok(Self { number: Some(number), version, buffer, declaration, has_quarantined, trail })
    }

    /// The attributes of the item beside its key. It expires if `ttl_name` is given, but a
    /// checkpoint with a buffer never does.
    fn attributes(&self, ttl_name: Option<&str>, now: Timestamp) -> Result<Item, StoreError> {
        let number = |number: i64| AttributeValue::N(number.to_string());
        let mut item = Item::from([
            (VERSION.to_owned(), AttributeValue::N(self.version.to_string())),
            (MOVED_AT.to_owned(), number(now.as_second())),
        ]);
        if let Some(last) = self.number {
            item.insert(SEQUENCE_NUMBER.to_owned(), AttributeValue::S(last.to_string()));
        }
        item.extend(self.declaration.clone().map(|text| (DECLARATION.to_owned(), AttributeValue::S(text))));
        item.extend(self.trail.to_bytes().map(|bytes| (TRAIL.to_owned(), AttributeValue::B(bytes.into()))));
        if self.has_quarantined {
            item.insert(QUARANTINED.to_owned(), AttributeValue::Bool(true));
        }
        if self.buffer.0.is_empty() {
            let expires_at = number((now + RETENTION).as_second());
            item.extend(ttl_name.map(|name| (name.to_owned(), expires_at)));
        } else {
            let buffer = serde_json::to_string(&self.buffer);
            let buffer = buffer.map_err(|error| StoreError::Refused(error.to_string()))?;
            item.insert(BUFFER.to_owned(), AttributeValue::S(buffer));
        }
        Ok(item)
    }
}

pub(crate) fn checkpoint_partition(rollup: &str, stream_arn: &str) -> String {
    format!("{RESERVED_PREFIX}{rollup}#CHECKPOINT#{stream_arn}")
}
