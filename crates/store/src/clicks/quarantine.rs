//! The quarantine: stream records that could not be read, each with the reason. Without it, such a
//! record would block its shard.

use aws_sdk_dynamodb::operation::put_item::PutItemError;
#[cfg(feature = "recount")]
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
#[cfg(feature = "recount")]
use domain::clicks::ClickKey;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::checkpoints::ShardCheckpoint;
use super::keys::{PARTITION_KEY, QUARANTINE, SORT_KEY, key, s};
use crate::{StoreError, Table};

/// How many bytes of a record fit an item beside its other attributes ([400 KB in
/// all](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items)).
/// A longer record is cut; the item that it describes is in the table.
const RECORD_BYTES_MAX: usize = 380 * 1024;

/// A record that is being quarantined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewQuarantinedRecord<'a> {
    /// The record's sequence number as it was received; `None` when it could not be read.
    pub sequence_number: Option<&'a str>,
    /// Why it could not be read, as a stable code.
    pub reason: &'a str,
    /// The reason, for people.
    pub detail: String,
    /// The record's JSON.
    pub record: &'a str,
}

/// A quarantined record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuarantinedRecord {
    /// `<shard id>#<sequence number>`: the id of the record in the quarantine.
    #[serde(rename(deserialize = "createDateTime"))]
    pub id: String,
    /// When it was quarantined, as RFC 3339.
    pub quarantined_at: String,
    /// Why it could not be read, as a stable code.
    pub reason: String,
    /// The reason, for people.
    pub detail: String,
    /// The stream of the record.
    pub stream_arn: String,
    /// The shard of the record.
    pub shard_id: String,
    /// The sequence number as it was received; empty when it could not be read.
    pub sequence_number: String,
    /// The record's JSON, cut if it does not fit an item.
    pub record: String,
    /// How it was settled; `None` while an operator still has to settle it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<QuarantineEnding>,
    /// When it was settled, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<String>,
}

/// How a quarantined record was settled. The record stays in the quarantine, so that it can be
/// looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuarantineEnding {
    /// The click of the record has been counted.
    Counted,
    /// The click of the record was no longer in the table, so there was nothing to count.
    Gone,
    /// An operator decided that the click is not to be counted.
    Dismissed,
    /// Another record of the same click has been settled.
    Duplicate,
}

impl QuarantineEnding {
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

/// The attributes of a record that are needed to find its click. Most unreadable records still have
/// them.
#[cfg(feature = "recount")]
#[derive(Deserialize)]
struct Record {
    dynamodb: Change,
}

#[cfg(feature = "recount")]
#[derive(Deserialize)]
struct Change {
    #[serde(rename = "Keys")]
    keys: Option<Keys>,
    #[serde(rename = "NewImage")]
    new_image: Option<Keys>,
}

#[cfg(feature = "recount")]
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Keys {
    user_id: Text,
    create_date_time: Text,
}

#[cfg(feature = "recount")]
#[derive(Deserialize)]
struct Text {
    #[serde(rename = "S")]
    string: String,
}

#[cfg(feature = "recount")]
impl QuarantinedRecord {
    /// The key of the click that the record is about; `None` when that cannot be read either.
    pub fn click_key(&self) -> Option<ClickKey> {
        let Change { keys, new_image } = serde_json::from_str::<Record>(&self.record).ok()?.dynamodb;
        let Keys { user_id, create_date_time } = keys.or(new_image)?;
        Some((user_id.string, create_date_time.string))
    }
}

/// Stores and lists quarantined records. The aggregator's request is `PutItem`; an operator's are
/// `GetItem`, `Query` and `UpdateItem`.
#[derive(Debug, Clone)]
pub struct Quarantine {
    table: Table,
}

impl Quarantine {
    /// The quarantine in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Stores a record. Storing the same record again changes nothing.
    pub async fn put(
        &self,
        shard: &ShardCheckpoint,
        record: &NewQuarantinedRecord<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let number = match record.sequence_number {
            Some(number) => number.to_owned(),
            None => {
                Sha256::digest(record.record).iter().fold("unnumbered-".to_owned(), |text, b| format!("{text}{b:02x}"))
            }
        };
        let mut item = key(QUARANTINE, format!("{}#{number}", shard.shard_id()));
        let json = &record.record[..record.record.floor_char_boundary(RECORD_BYTES_MAX)];
        let attributes = [
            ("streamArn", shard.stream_arn()),
            ("shardId", shard.shard_id()),
            ("sequenceNumber", record.sequence_number.unwrap_or_default()),
            ("reason", record.reason),
            ("detail", &record.detail),
            ("record", json),
            ("quarantinedAt", &now.to_string()),
        ];
        item.extend(attributes.map(|(name, value)| (name.to_owned(), s(value))));
        let outcome = self
            .table
            .put_item(item)
            // Stops a batch that is delivered again from undoing an operator's changes to the item.
            .condition_expression("attribute_not_exists(#key)")
            .expression_attribute_names("#key", PARTITION_KEY)
            .send()
            .await;
        match outcome {
            Ok(_) => Ok(()),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(()),
                _ => Err(error.into()),
            },
        }
    }

    /// One page of the quarantined records, sorted by shard and sequence number, and the id after
    /// which the next page begins, if there is one.
    pub async fn list(&self, after: Option<&str>) -> Result<(Vec<QuarantinedRecord>, Option<String>), StoreError> {
        let query = self.table.query().key_condition_expression("#pk = :pk");
        let query = query.expression_attribute_names("#pk", PARTITION_KEY);
        let query = query.expression_attribute_values(":pk", s(QUARANTINE));
        let page = query.set_exclusive_start_key(after.map(|id| key(QUARANTINE, id)));
        let page = page.consistent_read(true).send().await?;
        let next = page.last_evaluated_key.as_ref().and_then(|key| key.get(SORT_KEY)?.as_s().ok()).cloned();
        let records = serde_dynamo::from_items(page.items.unwrap_or_default()).map_err(StoreError::unreadable)?;
        Ok((records, next))
    }

    /// The quarantined record with this id, if there is one.
    pub async fn get(&self, id: &str) -> Result<Option<QuarantinedRecord>, StoreError> {
        let request = self.table.get_item(key(QUARANTINE, id));
        let item = request.consistent_read(true).send().await?.item;
        item.map(|item| serde_dynamo::from_item(item).map_err(StoreError::unreadable)).transpose()
    }

    /// The update that stores how a record was settled, as part of a transaction.
    #[cfg(feature = "recount")]
    pub(super) fn ending(&self, id: &str, ending: QuarantineEnding, now: Timestamp) -> UpdateBuilder {
        self.table
            .update(key(QUARANTINE, id))
            .update_expression(ENDING)
            // Stops the update from creating an item when the record was deleted.
            .condition_expression("attribute_exists(#key)")
            .expression_attribute_names("#key", PARTITION_KEY)
            .expression_attribute_values(":ending", s(ending.as_str()))
            .expression_attribute_values(":now", s(now.to_string()))
    }

    /// Stores how a record was settled, outside of a transaction. For a record whose click was
    /// already counted.
    #[cfg(feature = "recount")]
    pub(super) async fn end(&self, id: &str, ending: QuarantineEnding, now: Timestamp) -> Result<(), StoreError> {
        let update = self.table.update_item(key(QUARANTINE, id));
        let update = update.update_expression(ENDING);
        // Stops the update from creating an item when the record was deleted.
        let update =
            update.condition_expression("attribute_exists(#key)").expression_attribute_names("#key", PARTITION_KEY);
        let update = update.expression_attribute_values(":ending", s(ending.as_str()));
        update.expression_attribute_values(":now", s(now.to_string())).send().await?;
        Ok(())
    }
}

#[cfg(feature = "recount")]
const ENDING: &str = "SET ending = :ending, endedAt = :now";
