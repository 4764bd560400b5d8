//! Storing entries, each once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use domain::journal::{Entry, EntryId, JournalStream, Retention};
use jiff::Timestamp;
use jiff::civil::Date;

use super::keys::{Day, Item, JournalShards, PARTITION_KEY, days, entry, feed, item, key, n};
use crate::{StoreError, Table};

/// How many days an instance remembers. Somebody who brings in an old log goes through many; everybody else writes today.
const DAYS_REMEMBERED_MAX: usize = 1_000;

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOutcome {
    /// It is stored.
    New,
    /// It was stored before.
    Known,
    /// Another entry was stored before under its id. That one stays.
    Different,
    /// It is older than what its stream keeps, and was not stored.
    Expired,
}

/// Appends entries. Its requests are `UpdateItem` of days, `PutItem` of entries, and `GetItem` of entries on days that have grown.
#[derive(Debug, Clone)]
pub struct Journal {
    table: Table,
    shards: JournalShards,
    retention: Retention,
    days: Arc<Mutex<HashMap<(JournalStream, Date), Day>>>,
}

impl Journal {
    /// A journal in `table`, in which a day gets `shards` partitions, unless it has more already.
    pub fn new(table: &Table, shards: JournalShards, retention: Retention) -> Self {
        Self { table: table.clone(), shards, retention, days: Arc::default() }
    }

    /// Stores the entry, if nothing is stored under its id; the same one again changes nothing.
    ///
    /// While the number of shards is being raised, an instance that does not know of it yet and one that does may both store an entry that is told
    /// twice. Readers show it once.
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

    async fn put(&self, new: &Entry, shard: u8) -> Result<AppendOutcome, StoreError> {
        // Rounded up: an entry that is still shown is never gone.
        let expires_at = self.retention.of(&new.stream).map(|kept| new.id.at().as_second() + 1 + kept.as_secs());
        let outcome = self
            .table
            .put_item(item(new, shard, expires_at)?)
            // Stops an event that is told twice, at once or after a lost reply, from replacing what it has stored.
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
                    let holder =
                        holder.ok_or_else(|| StoreError::unreadable("a refused put came without its holder"))?;
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

    /// The day, which from now on has at least as many shards as this journal gives.
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
            // Stops an instance with a lower number, one of an earlier configuration, from hiding the shards above it.
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
        Day::read(item.ok_or_else(|| StoreError::unreadable("an update of a day came without the day"))?)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<(JournalStream, Date), Day>> {
        // Whoever panicked had either inserted a day or not.
        self.days.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compare(new: &Entry, known: &Entry) -> AppendOutcome {
    if new == known { AppendOutcome::Known } else { AppendOutcome::Different }
}
