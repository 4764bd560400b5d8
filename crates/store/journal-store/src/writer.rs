//! Stores entries, each at most once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use domain::EntryId;
use domain::journal::{Entry, JournalStream, Retention};
use jiff::Timestamp;
use jiff::civil::Date;

use super::keys::{Day, Item, JournalShards, PARTITION_KEY, days, entry, feed, item, key, n};
use store_base::{StoreError, Table};

/// How many days an instance caches. An import of an old log may need many; normally there is only
/// today.
const DAYS_REMEMBERED_MAX: usize = 1_000;

/// The result of appending an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    /// The entry is stored now.
    New,
    /// The same entry was stored before.
    Known,
    /// Another entry with this id was stored before. It is kept.
    Different,
    /// The entry is older than the retention of its stream and was not stored.
    Expired,
}

/// Appends entries. Its requests are `UpdateItem` of days, `PutItem` of entries, and `GetItem` of
/// entries on days whose number of shards has been raised.
#[derive(Debug, Clone)]
pub struct Journal {
    table: Table,
    shards: JournalShards,
    retention: Retention,
    days: Arc<Mutex<HashMap<(JournalStream, Date), Day>>>,
}

impl Journal {
    /// A journal in `table`. A day gets `shards` partitions, unless it has more already.
    pub fn new(table: &Table, shards: JournalShards, retention: Retention) -> Self {
        Self { table: table.clone(), shards, retention, days: Arc::default() }
    }

    /// Stores the entry if no entry has its id. Storing the same entry again changes nothing.
    ///
    /// While the number of shards is being raised, some instances still use the old number. Two
    /// instances may then both store an entry that is reported twice. Readers show it once.
    pub async fn append(&self, entry: &Entry, now: Timestamp) -> Result<AppendOutcome, StoreError> {
        if self.retention.first_kept(&entry.stream, now).is_some_and(|first| entry.id < first) {
            return Ok(AppendOutcome::Expired);
        }
        let day = self.day(&entry.stream, entry.id.day()).await?;
        for shard in day.earlier_shards(entry.id) {
            if let Some(known) = self.get(&entry.stream, entry.id, shard).await? {
                return Ok(compare(entry, &known));
            }
        }
        self.put(entry, day.shards.shard(entry.id)).await
    }

    /// Deletes an entry, in whatever shard of its day it is.
    pub async fn delete(&self, stream: &JournalStream, id: EntryId) -> Result<(), StoreError> {
        let day = self.day(stream, id.day()).await?;
        let shards = day.earlier_shards(id).into_iter().chain([day.shards.shard(id)]);
        self.table.batch_delete(shards.map(|shard| key(feed(stream, id.day(), shard), id.to_string()))).await
    }

    async fn put(&self, new: &Entry, shard: u8) -> Result<AppendOutcome, StoreError> {
        // Rounded up, so that an entry does not expire while it is still shown.
        let expires_at = self.retention.of(&new.stream).map(|kept| new.id.at().as_second() + 1 + kept.as_secs());
        let outcome = self
            .table
            .put_item(item(new, shard, expires_at)?)
            // Stops an event that is reported twice, at the same time or after a lost reply, from
            // replacing the entry that it has stored.
            .condition_expression("attribute_not_exists(#key)")
            .expression_attribute_names("#key", PARTITION_KEY)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match outcome {
            Ok(_) => Ok(AppendOutcome::New),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(refused)) => {
                    let holder = refused.item().cloned();
                    let holder = holder.ok_or_else(|| StoreError::unreadable("a refused put returned no item"))?;
                    Ok(compare(new, &entry(&new.stream, holder)?))
                }
                _ => Err(error.into()),
            },
        }
    }

    async fn get(&self, stream: &JournalStream, id: EntryId, shard: u8) -> Result<Option<Entry>, StoreError> {
        let key = key(feed(stream, id.day(), shard), id.to_string());
        let request = self.table.get_item(key).consistent_read(true);
        request.send().await?.item.map(|item| entry(stream, item)).transpose()
    }

    /// The day. From now on it has at least the number of shards of this journal.
    async fn day(&self, stream: &JournalStream, date: Date) -> Result<Day, StoreError> {
        let name = (stream.clone(), date);
        if let Some(day) = self.remembered().get(&name) {
            return Ok(day.clone());
        }
        let day = self.open(stream, date).await?;
        let mut remembered = self.remembered();
        if remembered.len() >= DAYS_REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(name, day.clone());
        Ok(day)
    }

    async fn open(&self, stream: &JournalStream, date: Date) -> Result<Day, StoreError> {
        let shards = n(self.shards.get());
        let outcome = self
            .table
            .update_item(key(days(stream), date.to_string()))
            .update_expression("SET shards = :shards ADD counts :count")
            // Stops an instance with an older configuration and a lower number from hiding the
            // shards above its number.
            .condition_expression("attribute_not_exists(shards) OR shards < :shards")
            .expression_attribute_values(":shards", shards)
            .expression_attribute_values(":count", AttributeValue::Ns(vec![self.shards.get().to_string()]))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        let item: Option<Item> = match outcome {
            Ok(answer) => answer.attributes,
            Err(error) => match error.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(refused)) => refused.item().cloned(),
                _ => return Err(error.into()),
            },
        };
        Day::read(item.ok_or_else(|| StoreError::unreadable("an update of a day returned no day"))?)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<(JournalStream, Date), Day>> {
        // A panic cannot leave the map in an invalid state: a day is inserted or not.
        self.days.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compare(new: &Entry, known: &Entry) -> AppendOutcome {
    if new == known { AppendOutcome::Known } else { AppendOutcome::Different }
}
