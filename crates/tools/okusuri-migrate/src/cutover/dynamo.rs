//! The DynamoDB side. All that has to be atomic is one request.
//!
//! What the cutover keeps here lies beside the application's items, and is removed in the end:
//!
//! | `PK` | `SK` | |
//! |---|---|---|
//! | `MIGRATION#<run>#OWNERSHIP#<user id>` | `OWNERSHIP` | `Epoch`, `Version` |
//! | `MIGRATION#<run>#REPLICATION#<0..=15>` | `REPLICATION` | there from dual writes until a rollback: without it nobody is told a first change |
//! | `MIGRATION#<run>#OUTBOX#<0..=15>` | `<user id>#<version, 16 digits>` | a change that PostgreSQL may not have: `Source`, and `After`, or `Before` of a row that is gone |

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use backon::Retryable;
use domain::UserId;
use store::okusuri::{Key, Logs};
use store::{StoreError, Table, TransactionOutcome, n, patient_backoff, s, unless_condition_failed};

use super::item_writes::ItemWrites;
use super::outbox_entry::OutboxEntry;
use super::ownership::{Ownership, bucket};
use super::postgres::table_of;
use crate::source::Row;
use crate::transform::Item;
use crate::{Failure, FailureKind};

/// What the keys of everything begin with that the cutover keeps here.
pub const PREFIX: &str = "MIGRATION#";

/// A transaction has at most 100 actions
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html));
/// two are the ownership and the outbox's.
const WRITES_MAX: usize = 98;

/// Partitions of the outbox, and gates.
const SHARDS: u8 = 16;

/// The last of 16 digits.
const VERSION_MAX: u64 = 9_999_999_999_999_999;

type Attributes = HashMap<String, AttributeValue>;

/// DynamoDB as the cutover sees it.
#[derive(Debug, Clone)]
pub struct Dynamo {
    table: Table,
    run: String,
}

/// What a change rests on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fence<'a> {
    /// This side owns the user: the user's ownership as it was read, and what the other side is to
    /// be told.
    Own(Ownership, &'a OutboxEntry),
    /// The other side made this version.
    Replicated(u64),
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DynamoWrite {
    /// It is there.
    Written,
    /// The ownership is not as it should be; nothing was written.
    Stale,
    /// Another user has the marker with this key; nothing was written.
    Taken(Key),
}

fn number<T: std::str::FromStr + Default>(item: &Attributes, name: &str) -> T {
    let number = item.get(name).and_then(|value| value.as_n().ok());
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn text<'a>(item: &'a Attributes, name: &str) -> &'a str {
    item.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str)
}

fn refused(error: impl std::fmt::Display) -> Failure {
    FailureKind::TableRefused.because(error)
}

fn failed(error: impl Into<StoreError>) -> Failure {
    error.into().into()
}

impl Dynamo {
    /// Okusuri's table, in the cutover of that id.
    pub fn new(table: Table, run: &str) -> Self {
        Self { table, run: run.to_owned() }
    }

    fn ownership_key(&self, user: &str) -> Attributes {
        Key { partition: format!("{PREFIX}{}#OWNERSHIP#{user}", self.run), sort: "OWNERSHIP".to_owned() }.item()
    }

    fn outbox_partition(&self, shard: u8) -> String {
        format!("{PREFIX}{}#OUTBOX#{shard}", self.run)
    }

    fn replication_flag_key(&self, shard: u8) -> Attributes {
        Key { partition: format!("{PREFIX}{}#REPLICATION#{shard}", self.run), sort: "REPLICATION".to_owned() }.item()
    }

    fn outbox_key(&self, user: &str, version: u64) -> Attributes {
        Key { partition: self.outbox_partition(bucket(user) % SHARDS), sort: format!("{user}#{version:016}") }.item()
    }

    /// From here on this side may be told.
    pub(super) async fn enable_replication(&self) -> Result<(), Failure> {
        for shard in 0..SHARDS {
            self.table.put_item(self.replication_flag_key(shard)).send().await.map_err(failed)?;
        }
        Ok(())
    }

    /// A user's ownership on this side.
    pub(super) async fn ownership(&self, user: &str) -> Result<Ownership, Failure> {
        let request = self.table.get_item(self.ownership_key(user));
        let item = request.consistent_read(true).send().await.map_err(failed)?.item;
        Ok(item.as_ref().map_or_else(Ownership::default, ownership))
    }

    /// The ownerships of at most 100 users.
    pub(super) async fn ownerships(&self, users: &[String]) -> Result<BTreeMap<String, Ownership>, Failure> {
        let mut found: BTreeMap<_, _> = users.iter().map(|user| (user.clone(), Ownership::default())).collect();
        let keys = users.iter().map(|user| self.ownership_key(user)).collect();
        for item in self.table.batch_get(keys, true).await? {
            if let Some((_, user)) = text(&item, "PK").split_once("#OWNERSHIP#") {
                found.insert(user.to_owned(), ownership(&item));
            }
        }
        Ok(found)
    }

    /// Raises an ownership's epoch from this one by one, at this version if one is given.
    pub(super) async fn advance_epoch(&self, user: &str, from: u32, at: Option<u64>) -> Result<bool, Failure> {
        // Stops a second mover, or one with an outdated read of the ownership, from changing
        // anything.
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

    /// Writes a change and checks its fence in one transaction. A change of more than 98 items
    /// takes several transactions, each under the same condition.
    pub(super) async fn write(
        &self,
        user: &str,
        fence: Fence<'_>,
        writes: &ItemWrites,
    ) -> Result<DynamoWrite, Failure> {
        if writes.touches_logs() {
            self.forget_summary(user).await?;
        }
        let puts = writes.puts.iter().map(|(key, item)| (key, self.put(user, key, item)));
        let deletes = writes.deletes.iter().map(|key| (key, self.delete(user, key)));
        let mut actions = Vec::new();
        for (key, action) in puts.chain(deletes) {
            actions.push((key.clone(), action?));
        }
        while actions.len() > WRITES_MAX {
            let rest = actions.split_off(WRITES_MAX);
            let first = std::mem::replace(&mut actions, rest);
            match self.transact(vec![self.check(user, fence)?], first).await? {
                DynamoWrite::Written => {}
                other => return Ok(other),
            }
        }
        self.transact(self.raise(user, fence)?, actions).await
    }

    /// The service keeps a summary of a user's logs, which is outdated after this write.
    async fn forget_summary(&self, user: &str) -> Result<(), Failure> {
        let user = UserId::new(user).map_err(refused)?;
        Ok(Logs::new(&self.table).forget_summary(&user).await?)
    }

    async fn transact(
        &self,
        mut all: Vec<TransactWriteItem>,
        actions: Vec<(Key, TransactWriteItem)>,
    ) -> Result<DynamoWrite, Failure> {
        let own = all.len();
        let (keys, actions): (Vec<_>, Vec<_>) = actions.into_iter().unzip();
        all.extend(actions);
        // A canceled transaction that met another one, and a throttled table, are tried again.
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
                key.map(DynamoWrite::Taken).ok_or_else(|| refused("a condition failed that was not asked for"))
            }
            TransactionOutcome::Written | TransactionOutcome::Conflict => Ok(DynamoWrite::Written),
        }
    }

    /// The condition that a fence means, and its values.
    fn condition(fence: Fence<'_>) -> (&'static str, Attributes) {
        match fence {
            // Somebody else may have made the next change, or closed the ownership, since it was
            // read.
            Fence::Own(ownership, _) => (
                "Epoch = :epoch AND Version = :version",
                [(":epoch".to_owned(), n(ownership.epoch)), (":version".to_owned(), n(ownership.version))].into(),
            ),
            // Stops a change that another replicator has written, or that has a gap before it.
            Fence::Replicated(1) => {
                ("attribute_not_exists(Version) OR Version = :version", [(":version".to_owned(), n(0))].into())
            }
            Fence::Replicated(version) => ("Version = :version", [(":version".to_owned(), n(version - 1))].into()),
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
            Fence::Replicated(version) => version,
        };
        values.extend([(":next".to_owned(), n(version)), (":zero".to_owned(), n(0))]);
        let ownership = self
            .table
            .update(self.ownership_key(user))
            .update_expression("SET Version = :next, Epoch = if_not_exists(Epoch, :zero)")
            .condition_expression(condition)
            .set_expression_attribute_values(Some(values));
        let mut actions = vec![TransactWriteItem::builder().update(ownership.build().map_err(refused)?).build()];
        if matches!(fence, Fence::Replicated(1)) {
            // After a rollback has removed the ownerships, a user without one is not a new one.
            // Only a first change asks, so this is no hot item.
            let gate = self
                .table
                .condition_check(self.replication_flag_key(bucket(user) % SHARDS))
                .condition_expression("attribute_exists(PK)");
            actions.push(TransactWriteItem::builder().condition_check(gate.build().map_err(refused)?).build());
        }
        if let Fence::Own(_, entry) = fence {
            let mut item = self.outbox_key(user, version);
            item.insert("Source".to_owned(), s(entry.table.name()));
            if let Some((name, row)) = entry.kept().map_err(refused)? {
                item.insert(name.to_owned(), s(row));
            }
            let put = self.table.put(item);
            actions.push(TransactWriteItem::builder().put(put.build().map_err(refused)?).build());
        }
        Ok(actions)
    }

    fn put(&self, user: &str, key: &Key, item: &Item) -> Result<TransactWriteItem, Failure> {
        let mut put = self.table.put(item.attributes.clone());
        if let Some((condition, values)) = of_others(user, key) {
            put = put.condition_expression(condition).set_expression_attribute_values(Some(values));
        }
        Ok(TransactWriteItem::builder().put(put.build().map_err(refused)?).build())
    }

    fn delete(&self, user: &str, key: &Key) -> Result<TransactWriteItem, Failure> {
        let mut delete = self.table.delete(key.item());
        if let Some((condition, values)) = of_others(user, key) {
            delete = delete.condition_expression(condition).set_expression_attribute_values(Some(values));
        }
        Ok(TransactWriteItem::builder().delete(delete.build().map_err(refused)?).build())
    }

    /// The first changes of a user that PostgreSQL may not have, in their order.
    pub(super) async fn outbox_entries(&self, user: &str) -> Result<Vec<OutboxEntry>, Failure> {
        let request = self.table.query().consistent_read(true).limit(50);
        let answer = request
            .key_condition_expression("PK = :partition AND SK BETWEEN :first AND :last")
            .expression_attribute_values(":partition", s(self.outbox_partition(bucket(user) % SHARDS)))
            .expression_attribute_values(":first", s(format!("{user}#{:016}", 0)))
            .expression_attribute_values(":last", s(format!("{user}#{:016}", VERSION_MAX)))
            .send()
            .await
            .map_err(failed)?;
        let unreadable =
            |error: &dyn std::fmt::Display| FailureKind::TableRefused.because(format!("the outbox: {error}"));
        let entry = |item: Attributes| {
            let table = table_of(text(&item, "Source"))?;
            let read = |name: &str| {
                let json = item.get(name).and_then(|value| value.as_s().ok());
                json.map(|json| Row::read(table, json)).transpose().map_err(|error| unreadable(&error))
            };
            let (_, version) = text(&item, "SK").rsplit_once('#').unwrap_or_default();
            let version = version.parse().map_err(|error: std::num::ParseIntError| unreadable(&error))?;
            Ok(OutboxEntry { user: user.to_owned(), version, table, before: read("Before")?, after: read("After")? })
        };
        answer.items.unwrap_or_default().into_iter().map(entry).collect()
    }

    /// PostgreSQL has it.
    pub(super) async fn remove_outbox_entry(&self, user: &str, version: u64) -> Result<(), Failure> {
        let request = self.table.delete_item(self.outbox_key(user, version));
        request.send().await.map_err(failed)?;
        Ok(())
    }

    /// The users of whom PostgreSQL has not been told everything, and how many changes wait.
    pub(super) async fn pending(&self) -> Result<(BTreeSet<String>, u64), Failure> {
        let (mut users, mut count) = (BTreeSet::new(), 0);
        for shard in 0..SHARDS {
            for item in self.query(&self.outbox_partition(shard)).await? {
                count += 1;
                users.extend(text(&item, "SK").rsplit_once('#').map(|(user, _)| user.to_owned()));
            }
        }
        Ok((users, count))
    }

    /// All items of a user's own partition.
    pub(super) async fn items_of(&self, user: &str) -> Result<Vec<Attributes>, Failure> {
        self.query(&format!("USER#{user}")).await
    }

    async fn query(&self, partition: &str) -> Result<Vec<Attributes>, Failure> {
        let request = self.table.query().consistent_read(true);
        let request =
            request.key_condition_expression("PK = :partition").expression_attribute_values(":partition", s(partition));
        let mut pages = request.into_paginator().items().send();
        let mut all = Vec::new();
        while let Some(item) = pages.next().await {
            all.push(item.map_err(failed)?);
        }
        Ok(all)
    }

    /// One item.
    pub(super) async fn get(&self, key: &Key) -> Result<Option<Attributes>, Failure> {
        let request = self.table.get_item(key.item()).consistent_read(true);
        Ok(request.send().await.map_err(failed)?.item)
    }
}

fn ownership(item: &Attributes) -> Ownership {
    Ownership { epoch: number(item, "Epoch"), version: number(item, "Version") }
}

/// What lies outside of the user's own partition may be another user's by now: an address that both
/// once had.
fn of_others(user: &str, key: &Key) -> Option<(&'static str, Attributes)> {
    let is_own = key.partition.strip_prefix("USER#") == Some(user);
    (!is_own).then(|| ("attribute_not_exists(PK) OR UserId = :user", [(":user".to_owned(), s(user))].into()))
}
