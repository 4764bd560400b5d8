//! Records that could not be read: kept, with the reason, and out of the way of their shard.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::keys::{PARTITION_KEY, QUARANTINE, key, s};
use super::lanes::Lane;
use crate::StoreError;

/// How much of a record an item can hold beside its other attributes
/// ([400 KB in all](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items)).
/// A longer record is cut; the item that it tells of is in the table.
const RECORD_BYTES_MAX: usize = 380 * 1024;

/// A record on its way into quarantine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuarantinedRecord<'a> {
    /// The record's sequence number as it came; `None` when that was what could not be read.
    pub sequence_number: Option<&'a str>,
    /// A stable code.
    pub reason: &'a str,
    /// The same for people.
    pub detail: String,
    /// The record's JSON.
    pub record: &'a str,
}

/// Puts records into quarantine. Its request is `PutItem`.
#[derive(Debug, Clone)]
pub struct Quarantine {
    client: Client,
    table: String,
}

impl Quarantine {
    /// The quarantine in `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }

    /// Keeps a record. The same record again changes nothing.
    pub async fn put(&self, lane: &Lane, record: &QuarantinedRecord<'_>, now: Timestamp) -> Result<(), StoreError> {
        let place = match record.sequence_number {
            Some(number) => number.to_owned(),
            None => {
                Sha256::digest(record.record).iter().fold("unnumbered-".to_owned(), |text, b| format!("{text}{b:02x}"))
            }
        };
        let mut item = key(QUARANTINE, format!("{}#{place}", lane.shard_id()));
        let kept = &record.record[..record.record.floor_char_boundary(RECORD_BYTES_MAX)];
        let attributes = [
            ("streamArn", lane.stream_arn()),
            ("shardId", lane.shard_id()),
            ("sequenceNumber", record.sequence_number.unwrap_or_default()),
            ("reason", record.reason),
            ("detail", &record.detail),
            ("record", kept),
            ("quarantinedAt", &now.to_string()),
        ];
        item.extend(attributes.map(|(name, value)| (name.to_owned(), s(value))));
        let outcome = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            // Stops a batch that is delivered again from undoing what an operator has done to the item meanwhile.
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
}
