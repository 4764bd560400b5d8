//! The quarantine: stream records that could not be read, each with the reason. Without it, such a
//! record would block its shard.

#[cfg(feature = "recount")]
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::batch::Unreadable;
use crate::declaration::RESERVED_PREFIX;
use crate::error::StoreError;
#[cfg(feature = "recount")]
use crate::shard::RETENTION;
use crate::shard::Shard;
use crate::table::{Item, Table};

/// How many bytes of a record fit an item beside its other attributes ([400 KB in
/// all](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items)).
/// A longer record is cut; the item that it describes is in the table.
const RECORD_BYTES_MAX: usize = 380 * 1024;

/// A record that could not be counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QuarantinedRecord {
    /// `<shard id>#<sequence number>`: the id of the record in the quarantine.
    #[serde(skip)]
    pub id: String,
    /// The stable code of the reason.
    pub code: String,
    /// The reason, for people.
    pub message: String,
    /// When it was quarantined, as RFC 3339.
    pub quarantined_at: String,
    /// The stream of the record.
    pub stream_arn: String,
    /// The shard of the record.
    pub shard_id: String,
    /// The sequence number as it was received; empty if it cannot be read.
    #[serde(default)]
    pub sequence_number: String,
    /// The record's JSON, cut if it does not fit an item.
    pub record: String,
    /// How it was settled; `None` while it waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Ending>,
    /// When it was settled, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// How a quarantined record was settled. A settled record stays in the quarantine for 30 days, so
/// that it can be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Ending {
    /// The item of the record has been counted.
    Counted,
    /// The item of the record was no longer in the table, so there was nothing to count.
    Gone,
    /// An operator decided that the item is not to be counted.
    Dismissed,
    /// Another record of the same item has been settled.
    Duplicate,
}

impl Ending {
    /// The name in the stored item.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::Gone => "gone",
            Self::Dismissed => "dismissed",
            Self::Duplicate => "duplicate",
        }
    }
}

impl QuarantinedRecord {
    /// The keys of the record's item, if the record has them.
    #[cfg(feature = "recount")]
    pub(crate) fn item_keys(&self) -> Option<Item> {
        let record: crate::event::Record<'_> = serde_json::from_str(&self.record).ok()?;
        let keys = serde_json::to_string(&record.change.keys).ok()?;
        Some(serde_json::from_str::<serde_dynamo::Item>(&keys).ok()?.into())
    }

    /// The item that could not be read.
    #[cfg(feature = "recount")]
    pub(crate) fn new_image(&self) -> Option<Item> {
        let record: crate::event::Record<'_> = serde_json::from_str(&self.record).ok()?;
        Some(serde_json::from_str::<serde_dynamo::Item>(record.change.new_image?.get()).ok()?.into())
    }

    /// What tells the record's item from the others of `items`, if the record has its keys.
    #[cfg(feature = "recount")]
    pub(crate) fn identity(&self, items: &Table) -> Option<(String, String)> {
        crate::recount::identity(&self.item_keys()?, items.key_names()[0])
    }
}

/// Stores a record. Storing the same record again changes nothing.
pub(crate) async fn put(
    table: &Table,
    rollup: &str,
    shard: &Shard,
    unreadable: &Unreadable<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let raw = unreadable.raw.get();
    let number = unreadable.number.as_ref().map(|(_, spelled)| spelled.clone());
    let unnumbered =
        || Sha256::digest(raw).iter().fold("unnumbered-".to_owned(), |text, byte| format!("{text}{byte:02x}"));
    let id = format!("{}#{}", shard.id(), number.clone().unwrap_or_else(unnumbered));
    let record = QuarantinedRecord {
        id: id.clone(),
        code: unreadable.why.code.clone(),
        message: unreadable.why.message.clone(),
        quarantined_at: now.to_string(),
        stream_arn: shard.stream_arn().to_owned(),
        shard_id: shard.id().to_owned(),
        sequence_number: number.unwrap_or_default(),
        record: raw[..raw.floor_char_boundary(RECORD_BYTES_MAX)].to_owned(),
        ending: None,
        ended_at: None,
    };
    let unwritable = |error: serde_dynamo::Error| StoreError::Refused(error.to_string());
    let mut item: Item = serde_dynamo::to_item(&record).map_err(unwritable)?;
    item.extend(table.key(partition(rollup), id));
    let [partition_key, _] = table.key_names();
    // Stops a batch that is delivered again from undoing the ending of a record.
    let request = table.put_item(item).condition_expression("attribute_not_exists(#pk)");
    crate::error::unless_condition_failed(request.expression_attribute_names("#pk", partition_key).send().await)?;
    Ok(())
}

/// The records in quarantine, of all shards, waiting and settled.
pub(crate) async fn list(table: &Table, rollup: &str) -> Result<Vec<QuarantinedRecord>, StoreError> {
    let items = table.partition(&partition(rollup), None).await?;
    items.into_iter().map(|item| read(table, item)).collect()
}

/// Some of the records that wait: those of one page.
pub(crate) async fn waiting(table: &Table, rollup: &str) -> Result<Vec<QuarantinedRecord>, StoreError> {
    let items = table.page(&partition(rollup), "ending").await?;
    items.into_iter().map(|item| read(table, item)).collect()
}

/// One record.
pub(crate) async fn get(table: &Table, rollup: &str, id: &str) -> Result<Option<QuarantinedRecord>, StoreError> {
    let item = table.get(table.key(partition(rollup), id)).await?;
    item.map(|item| read(table, item)).transpose()
}

/// Deletes one record.
pub(crate) async fn delete(table: &Table, rollup: &str, id: &str) -> Result<(), StoreError> {
    table.delete(table.key(partition(rollup), id)).await
}

fn read(table: &Table, item: Item) -> Result<QuarantinedRecord, StoreError> {
    let id = table.key_of(&item).map(|(_, sort)| sort).unwrap_or_default();
    let record: QuarantinedRecord =
        serde_dynamo::from_item(item).map_err(|error| StoreError::Unreadable(error.to_string()))?;
    Ok(QuarantinedRecord { id, ..record })
}

fn partition(rollup: &str) -> String {
    format!("{RESERVED_PREFIX}{rollup}#QUARANTINE")
}

#[cfg(feature = "recount")]
const SETTLE: &str = "SET #ending = :ending, #endedAt = :now, #expiresAt = :expiresAt";

/// The values of [`SETTLE`].
#[cfg(feature = "recount")]
fn settled(ending: Ending, now: Timestamp) -> [(&'static str, AttributeValue); 3] {
    [
        (":ending", AttributeValue::S(ending.as_str().to_owned())),
        (":now", AttributeValue::S(now.to_string())),
        (":expiresAt", AttributeValue::N((now + RETENTION).as_second().to_string())),
    ]
}

/// The names of [`SETTLE`] and of the conditions.
#[cfg(feature = "recount")]
fn names(table: &Table) -> [(&'static str, String); 4] {
    let [partition_key, _] = table.key_names();
    let own =
        [("#ending", "ending"), ("#endedAt", "endedAt"), ("#expiresAt", table.ttl_name()), ("#pk", partition_key)];
    own.map(|(name, attribute)| (name, attribute.to_owned()))
}

/// Settles a record, as a part of a transaction.
#[cfg(feature = "recount")]
pub(crate) fn ending(
    table: &Table,
    rollup: &str,
    id: &str,
    ending: Ending,
    now: Timestamp,
) -> Result<TransactWriteItem, StoreError> {
    let update = table.update(table.key(partition(rollup), id)).update_expression(SETTLE);
    // Stops the update from creating an item when the record has expired.
    let update = update.condition_expression("attribute_exists(#pk)");
    let update =
        names(table).into_iter().fold(update, |update, (name, of)| update.expression_attribute_names(name, of));
    let values = settled(ending, now).into_iter();
    let update = values.fold(update, |update, (name, value)| update.expression_attribute_values(name, value));
    Ok(TransactWriteItem::builder().update(update.build()?).build())
}

/// Settles a record unless it is settled already.
#[cfg(feature = "recount")]
pub(crate) async fn end(
    table: &Table,
    rollup: &str,
    id: &str,
    ending: Ending,
    now: Timestamp,
) -> Result<(), StoreError> {
    let update = table.update_item(table.key(partition(rollup), id)).update_expression(SETTLE);
    // Stops the update from replacing an earlier ending, and from creating an item when the record
    // has expired.
    let update = update.condition_expression("attribute_exists(#pk) AND attribute_not_exists(#ending)");
    let update =
        names(table).into_iter().fold(update, |update, (name, of)| update.expression_attribute_names(name, of));
    let values = settled(ending, now).into_iter();
    let update = values.fold(update, |update, (name, value)| update.expression_attribute_values(name, value));
    crate::error::unless_condition_failed(update.send().await).map(drop)
}
