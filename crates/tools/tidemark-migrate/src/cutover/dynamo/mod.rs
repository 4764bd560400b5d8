//! The DynamoDB side. Everything that must be atomic is one request.
//!
//! The cutover stores these items beside the application's; a rollback removes them:
//!
//! | partition key | sort key | |
//! |---|---|---|
//! | `MIGRATION#<run>#OWNERSHIP#<user id>` | `OWNERSHIP` | `Epoch`, `Version` |
//! | `MIGRATION#<run>#REPLICATION#<0..=15>` | `REPLICATION` | exists from dual writes until a rollback; without it, no user's first change is replicated |
//! | `MIGRATION#FINISHED` | `<run>` | the cutover is finished; stays after it |
//! | `MIGRATION#<run>#OUTBOX#<0..=15>` | `<user id>#<version, 16 digits>` | a change that PostgreSQL may not have: `Source`, and `After`, or `Before` of a deleted row |

mod finished;
mod outbox;

use std::collections::BTreeMap;
use std::sync::Arc;

use aws_sdk_dynamodb::types::TransactWriteItem;
use backon::Retryable;
use store_base::{StoreError, Table, TransactionOutcome, n, patient_backoff, s, unless_condition_failed};

use super::item_writes::ItemWrites;
use super::outbox_entry::OutboxEntry;
use super::ownership::{Ownership, bucket};
use crate::item::{Attributes, Item, Key, text};
use crate::mapping::{Extension, Target, World};
use crate::{Failure, FailureKind};

pub(crate) use finished::finished_runs;
pub(super) use outbox::OutboxPlace;

/// The prefix of the partition keys of all items that the cutover stores.
pub const PREFIX: &str = "MIGRATION#";

/// The prefix of the partition keys of one run's items: its ownership records, outbox and flags.
pub(crate) fn prefix_of(run: &str) -> String {
    format!("{PREFIX}{run}#")
}

/// The longest user id that fits into the sort key of the outbox, in bytes
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html)).
const USER_BYTES_MAX: usize = 1_024 - 17;

/// A transaction has at most 100 actions
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html));
/// two are for the ownership record and the outbox entry.
const WRITES_MAX: usize = 98;

/// The most bytes of the items of a transaction, which may have 4 MB with the outbox entry
/// ([limits](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html)).
const BYTES_MAX: usize = 3 * 1024 * 1024;

/// The number of partitions of the outbox, and of replication flags.
const SHARDS: u8 = 16;

/// The largest version with 16 digits.
const VERSION_MAX: u64 = 9_999_999_999_999_999;

/// The DynamoDB side of the cutover.
#[derive(Debug, Clone)]
pub struct Dynamo {
    table: Table,
    target: Target,
    extension: Option<Arc<dyn Extension>>,
    run: String,
}

/// The condition under which a change is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fence<'a> {
    /// This side owns the user: the ownership record as it was read, and the outbox entry for the
    /// other side.
    Own(Ownership, &'a OutboxEntry),
    /// The other side made the versions after `after`, up to `last`.
    Replicated { after: u64, last: u64 },
    /// A repair, which is no change: the ownership record stays as it was read.
    Unchanged(Ownership),
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DynamoWrite {
    Written,
    /// The ownership record has changed; nothing was written.
    Stale,
    /// Another user has the marker with this key; nothing was written.
    Taken(Key),
}

fn number<T: std::str::FromStr + Default>(item: &Attributes, name: &str) -> T {
    let number = item.get(name).and_then(|value| value.as_n().ok());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn refused(error: impl std::fmt::Display) -> Failure {
    FailureKind::TableRefused.because(error)
}

fn failed(error: impl Into<StoreError>) -> Failure {
    error.into().into()
}

impl Dynamo {
    /// The application's table, for the cutover with this id.
    pub fn new(table: Table, world: &World, run: &str) -> Self {
        let (target, extension) = (world.mapping.target.clone(), world.extension.clone());
        Self { table, target, extension, run: run.to_owned() }
    }

    pub(super) fn run(&self) -> &str {
        &self.run
    }

    fn key(&self, partition: String, sort: String) -> Attributes {
        Key { partition, sort }.attributes(&self.target)
    }

    fn sort_of<'a>(&self, item: &'a Attributes) -> &'a str {
        text(item, &self.target.sort)
    }

    fn ownership_key(&self, user: &str) -> Attributes {
        self.key(format!("{PREFIX}{}#OWNERSHIP#{user}", self.run), "OWNERSHIP".to_owned())
    }

    fn outbox_partition(&self, shard: u8) -> String {
        format!("{PREFIX}{}#OUTBOX#{shard}", self.run)
    }

    fn replication_flag_key(&self, shard: u8) -> Attributes {
        self.key(format!("{PREFIX}{}#REPLICATION#{shard}", self.run), "REPLICATION".to_owned())
    }

    fn outbox_key(&self, user: &str, version: u64) -> Attributes {
        self.key(self.outbox_partition(bucket(user) % SHARDS), format!("{user}#{version:016}"))
    }

    /// Whether a user with this id can have items. Users with a longer id are not migrated: the
    /// transformation rejects their rows, and their changes make no item.
    pub fn can_store(user: &str) -> bool {
        user.len() <= USER_BYTES_MAX
    }

    /// Counts a change of PostgreSQL without applying it.
    pub(super) async fn skip(&self, user: &str, version: u64) -> Result<DynamoWrite, Failure> {
        self.write(user, Fence::Replicated { after: version - 1, last: version }, &ItemWrites::default()).await
    }

    /// Whether this table is that of a cutover in or after the phase dual.
    pub(super) async fn is_replicating(&self) -> Result<bool, Failure> {
        let request = self.table.get_item(self.replication_flag_key(0)).consistent_read(true);
        Ok(request.send().await.map_err(failed)?.item.is_some())
    }

    /// From here on changes may be replicated to this side.
    pub(super) async fn enable_replication(&self) -> Result<(), Failure> {
        for shard in 0..SHARDS {
            self.table.put_item(self.replication_flag_key(shard)).send().await.map_err(failed)?;
        }
        Ok(())
    }

    /// A user's ownership record on this side.
    pub(super) async fn ownership(&self, user: &str) -> Result<Ownership, Failure> {
        if !Self::can_store(user) {
            return Ok(Ownership::default());
        }
        let request = self.table.get_item(self.ownership_key(user));
        let item = request.consistent_read(true).send().await.map_err(failed)?.item;
        Ok(item.as_ref().map_or_else(Ownership::default, ownership))
    }

    /// The ownership records of at most 100 users.
    pub(super) async fn ownerships(&self, users: &[String]) -> Result<BTreeMap<String, Ownership>, Failure> {
        let mut found: BTreeMap<_, _> = users.iter().map(|user| (user.clone(), Ownership::default())).collect();
        let keys = users.iter().filter(|user| Self::can_store(user)).map(|user| self.ownership_key(user)).collect();
        for item in self.table.batch_get(keys, true).await? {
            if let Some((_, user)) = text(&item, &self.target.partition).split_once("#OWNERSHIP#") {
                found.insert(user.to_owned(), ownership(&item));
            }
        }
        Ok(found)
    }

    /// Increases an ownership's epoch by one, if it is `from` and the version is `at`, if given.
    pub(super) async fn advance_epoch(&self, user: &str, from: u32, at: Option<u64>) -> Result<bool, Failure> {
        // Two movers may act on the same user, or the ownership may have changed since it was read:
        // the second request must change nothing.
        let mut condition = "(Epoch = :from OR (:from = :zero AND attribute_not_exists(Epoch)))".to_owned();
        let mut request = self.table.update_item(self.ownership_key(user));
        if let Some(at) = at {
            condition.push_str(" AND (Version = :at OR (:at = :zero AND attribute_not_exists(Version)))");
            request = request.expression_attribute_values(":at", n(at));
        }
        let request = request
            .update_expression("SET Epoch = :to, Version = if_not_exists(Version, :zero)")
            .condition_expression(condition)
            .expression_attribute_values(":from", n(from))
            .expression_attribute_values(":to", n(from + 1))
            .expression_attribute_values(":zero", n(0));
        Ok(unless_condition_failed(request.send().await)?.is_some())
    }

    /// Whether one transaction takes all writes of a change, beside its fence.
    pub(super) fn takes_at_once(writes: &ItemWrites) -> bool {
        let bytes: usize = writes.puts.values().map(Item::bytes).sum();
        writes.puts.len() + writes.deletes.len() <= WRITES_MAX && bytes <= BYTES_MAX
    }

    /// Writes a change and its fence in one transaction. A change of many or large items is written
    /// in several transactions, each under the same condition.
    pub(super) async fn write(
        &self,
        user: &str,
        fence: Fence<'_>,
        writes: &ItemWrites,
    ) -> Result<DynamoWrite, Failure> {
        if !Self::can_store(user) {
            return Ok(DynamoWrite::Written);
        }
        if let Some(extension) = &self.extension {
            let keys: Vec<_> = writes.puts.keys().chain(writes.deletes.keys()).cloned().collect();
            extension.before_write(&self.table, user, &keys).await?;
        }
        let puts = writes.puts.iter().map(|(key, item)| (key, item.bytes(), self.put(user, item)));
        let deletes = writes.deletes.iter().map(|(key, is_own)| (key, 0, self.delete(user, key, *is_own)));
        let (mut actions, mut all_bytes) = (Vec::new(), 0);
        for (key, bytes, action) in puts.chain(deletes) {
            if actions.len() == WRITES_MAX || all_bytes + bytes > BYTES_MAX {
                let first = std::mem::take(&mut actions);
                all_bytes = 0;
                match self.transact(vec![self.check(user, fence)?], first).await? {
                    DynamoWrite::Written => {}
                    other => return Ok(other),
                }
            }
            actions.push((key.clone(), action?));
            all_bytes += bytes;
        }
        self.transact(self.raise(user, fence)?, actions).await
    }

    async fn transact(
        &self,
        mut all: Vec<TransactWriteItem>,
        actions: Vec<(Key, TransactWriteItem)>,
    ) -> Result<DynamoWrite, Failure> {
        let own = all.len();
        let (keys, actions): (Vec<_>, Vec<_>) = actions.into_iter().unzip();
        all.extend(actions);
        // Retries a transaction that conflicted with another one, or that was throttled.
        let sent = || async {
            match self.table.transact(all.clone()).await? {
                TransactionOutcome::Conflict => Err(StoreError::conflict()),
                outcome => Ok(outcome),
            }
        };
        match sent.retry(patient_backoff()).when(StoreError::is_transient).await? {
            TransactionOutcome::ConditionFailed { action, .. } if action < own => Ok(DynamoWrite::Stale),
            TransactionOutcome::ConditionFailed { action, .. } => {
                let key = keys.get(action - own).cloned();
                key.map(DynamoWrite::Taken).ok_or_else(|| refused("an unexpected condition failed"))
            }
            TransactionOutcome::Written | TransactionOutcome::Conflict => Ok(DynamoWrite::Written),
        }
    }

    /// The condition of a fence, and its values.
    fn condition(fence: Fence<'_>) -> (&'static str, Attributes) {
        match fence {
            // A user's first change may have come since.
            Fence::Unchanged(Ownership { epoch: 0, version: 0 }) => (
                "attribute_not_exists(Version) OR (Epoch = :zero AND Version = :zero)",
                [(":zero".to_owned(), n(0))].into(),
            ),
            // Another writer may have made the next change, or closed the ownership, since it was
            // read.
            Fence::Own(ownership, _) | Fence::Unchanged(ownership) => (
                "Epoch = :epoch AND Version = :version",
                [(":epoch".to_owned(), n(ownership.epoch)), (":version".to_owned(), n(ownership.version))].into(),
            ),
            // Another process may have replicated the change already, or an earlier change is
            // missing.
            Fence::Replicated { after: 0, .. } => {
                ("attribute_not_exists(Version) OR Version = :version", [(":version".to_owned(), n(0))].into())
            }
            Fence::Replicated { after, .. } => ("Version = :version", [(":version".to_owned(), n(after))].into()),
        }
    }

    fn check(&self, user: &str, fence: Fence<'_>) -> Result<TransactWriteItem, Failure> {
        let (condition, values) = Self::condition(fence);
        let check = self
            .table
            .condition_check(self.ownership_key(user))
            .condition_expression(condition)
            .set_expression_attribute_values(Some(values));
        Ok(TransactWriteItem::builder().condition_check(check.build().map_err(refused)?).build())
    }

    fn raise(&self, user: &str, fence: Fence<'_>) -> Result<Vec<TransactWriteItem>, Failure> {
        let (condition, mut values) = Self::condition(fence);
        let version = match fence {
            Fence::Own(_, entry) => entry.version,
            Fence::Replicated { last, .. } => last,
            Fence::Unchanged(_) => return Ok(vec![self.check(user, fence)?]),
        };
        values.extend([(":next".to_owned(), n(version)), (":zero".to_owned(), n(0))]);
        let ownership = self
            .table
            .update(self.ownership_key(user))
            .update_expression("SET Version = :next, Epoch = if_not_exists(Epoch, :zero)")
            .condition_expression(condition)
            .set_expression_attribute_values(Some(values));
        let mut actions = vec![TransactWriteItem::builder().update(ownership.build().map_err(refused)?).build()];
        if matches!(fence, Fence::Replicated { after: 0, .. }) {
            // A rollback removes the ownership records. Without this condition, a late writer would
            // then take an existing user for a new one. Only a user's first change checks the flag,
            // so it is no hot item.
            let flag = self
                .table
                .condition_check(self.replication_flag_key(bucket(user) % SHARDS))
                .condition_expression("attribute_exists(#partition)")
                .expression_attribute_names("#partition", &self.target.partition);
            actions.push(TransactWriteItem::builder().condition_check(flag.build().map_err(refused)?).build());
        }
        if let Fence::Own(_, entry) = fence {
            let mut item = self.outbox_key(user, version);
            item.insert("Source".to_owned(), s(&entry.table.name));
            if let Some((name, row)) = entry.kept().map_err(refused)? {
                item.insert(name.to_owned(), s(row));
            }
            let put = self.table.put(item);
            actions.push(TransactWriteItem::builder().put(put.build().map_err(refused)?).build());
        }
        Ok(actions)
    }

    fn put(&self, user: &str, item: &Item) -> Result<TransactWriteItem, Failure> {
        let mut put = self.table.put(item.attributes.clone());
        if !item.is_own {
            put = put
                .condition_expression(NOT_OF_OTHERS)
                .expression_attribute_names("#partition", &self.target.partition)
                .expression_attribute_names("#owner", &self.target.owner)
                .expression_attribute_values(":owner", s(user));
        }
        Ok(TransactWriteItem::builder().put(put.build().map_err(refused)?).build())
    }

    fn delete(&self, user: &str, key: &Key, is_own: bool) -> Result<TransactWriteItem, Failure> {
        let mut delete = self.table.delete(key.attributes(&self.target));
        if !is_own {
            delete = delete
                .condition_expression(NOT_OF_OTHERS)
                .expression_attribute_names("#partition", &self.target.partition)
                .expression_attribute_names("#owner", &self.target.owner)
                .expression_attribute_values(":owner", s(user));
        }
        Ok(TransactWriteItem::builder().delete(delete.build().map_err(refused)?).build())
    }

    async fn query(&self, partition: &str) -> Result<Vec<Attributes>, Failure> {
        query(&self.table, &self.target, partition).await
    }

    /// All items of partitions that belong to one owner.
    pub(super) async fn items_of(&self, partitions: &[String]) -> Result<Vec<Attributes>, Failure> {
        let mut all = Vec::new();
        for partition in partitions {
            all.extend(self.query(partition).await?);
        }
        Ok(all)
    }

    pub(super) async fn get(&self, key: &Key) -> Result<Option<Attributes>, Failure> {
        let request = self.table.get_item(key.attributes(&self.target)).consistent_read(true);
        Ok(request.send().await.map_err(failed)?.item)
    }
}

/// The condition for an item whose key does not hold its owner. By now it may belong to another
/// owner, for example an address that two users have had.
const NOT_OF_OTHERS: &str = "attribute_not_exists(#partition) OR #owner = :owner";

async fn query(table: &Table, target: &Target, partition: &str) -> Result<Vec<Attributes>, Failure> {
    let request = table.query().consistent_read(true);
    let request = request
        .key_condition_expression("#partition = :partition")
        .expression_attribute_names("#partition", &target.partition)
        .expression_attribute_values(":partition", s(partition));
    let mut pages = request.into_paginator().items().send();
    let mut all = Vec::new();
    while let Some(item) = pages.next().await {
        all.push(item.map_err(failed)?);
    }
    Ok(all)
}

fn ownership(item: &Attributes) -> Ownership {
    Ownership { epoch: number(item, "Epoch"), version: number(item, "Version") }
}
