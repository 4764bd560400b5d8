//! Pending clicks: clicks in the stream that no checkpoint has passed yet.

use std::collections::{BTreeMap, HashMap, HashSet};

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{AttributeValue, OperationType, Record, ShardIteratorType};
use domain::clicks::{ClickKey, FirstSeen, SequenceNumber, ShardHash};

use super::checkpoints::ShardCheckpoint;
use super::keys::{PARTITION_KEY, SORT_KEY};
use crate::StoreError;

/// The most shards of a stream that are read. A hundred partitions have about 700: each gets a new
/// shard every four hours, and the stream keeps them for a day.
const SHARDS_MAX: usize = 1_000;

/// The most requests for the records of one shard, at up to 1,000 records each.
const PAGES_MAX: usize = 10_000;

/// How many empty pages in a row are taken for the end of an open shard. Such a shard does not tell
/// that its end is reached, and an empty page may have records after it
/// ([GetRecords](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html)).
const EMPTY_PAGES_MAX: usize = 3;

/// DynamoDB's own sequence numbers have at least this many digits. Checkpoints store them with
/// zeros in front, up to 40 digits.
const DIGITS_MIN: usize = 21;

/// The inserted items after the checkpoints of the shards.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// The keys of the items.
    pub(super) keys: HashSet<ClickKey>,
    /// All shards that the stream still has, each with its checkpoint.
    checkpoints: HashMap<ShardHash, Option<SequenceNumber>>,
}

impl Pending {
    /// Whether a shard may still count the visitor of its first-seen entry. The stream may no
    /// longer have the record for which the entry was written. Any record of the visitor makes the
    /// shard count, as long as its checkpoint has not passed the number in the entry.
    pub(super) fn may_count(&self, first_seen: FirstSeen) -> bool {
        self.checkpoints
            .get(&first_seen.shard)
            .is_some_and(|checkpoint| first_seen.is_uncounted_by(first_seen.shard, *checkpoint))
    }
}

/// Reads the stream after the checkpoints. A shard without a checkpoint is read from its beginning.
pub(super) async fn pending(
    streams: &Client,
    stream_arn: &str,
    checkpoints: &BTreeMap<String, SequenceNumber>,
) -> Result<Pending, StoreError> {
    let mut pending = Pending::default();
    for shard in shards(streams, stream_arn).await? {
        let checkpoint = checkpoints.get(&shard).copied();
        pending.checkpoints.insert(ShardCheckpoint::new(stream_arn, &shard).id(), checkpoint);
        read(streams, stream_arn, &shard, checkpoint, &mut pending.keys).await?;
    }
    Ok(pending)
}

async fn shards(streams: &Client, stream_arn: &str) -> Result<Vec<String>, StoreError> {
    let mut shards = Vec::new();
    let mut start = None;
    while shards.len() <= SHARDS_MAX {
        let request = streams.describe_stream().stream_arn(stream_arn).set_exclusive_start_shard_id(start);
        let Some(page) = request.send().await?.stream_description else { break };
        shards.extend(page.shards.unwrap_or_default().into_iter().filter_map(|shard| shard.shard_id));
        start = page.last_evaluated_shard_id;
        if start.is_none() {
            return Ok(shards);
        }
    }
    Err(StoreError::unreadable("the stream has too many shards"))
}

async fn read(
    streams: &Client,
    stream_arn: &str,
    shard: &str,
    checkpoint: Option<SequenceNumber>,
    keys: &mut HashSet<ClickKey>,
) -> Result<(), StoreError> {
    let mut iterator = iterator(streams, stream_arn, shard, checkpoint).await?;
    let mut empty_pages = 0;
    for _ in 0..PAGES_MAX {
        let Some(next) = iterator else { return Ok(()) };
        let page = match streams.get_records().shard_iterator(next).send().await {
            Ok(page) => page,
            // A shard that the stream has dropped has no pending records.
            Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) => {
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        let records = page.records.unwrap_or_default();
        empty_pages = if records.is_empty() { empty_pages + 1 } else { 0 };
        keys.extend(records.iter().filter_map(|record| inserted(record, checkpoint)));
        if empty_pages == EMPTY_PAGES_MAX {
            return Ok(());
        }
        iterator = page.next_shard_iterator;
    }
    Err(StoreError::unreadable("the shard has too many pages of records"))
}

async fn iterator(
    streams: &Client,
    stream_arn: &str,
    shard: &str,
    checkpoint: Option<SequenceNumber>,
) -> Result<Option<String>, StoreError> {
    let request = |from| streams.get_shard_iterator().stream_arn(stream_arn).shard_id(shard).shard_iterator_type(from);
    if let Some(checkpoint) = checkpoint {
        let request = request(ShardIteratorType::AfterSequenceNumber).sequence_number(spelled(checkpoint));
        match request.send().await {
            Ok(answer) => return Ok(answer.shard_iterator),
            // The checkpoint is older than the oldest record of the stream, so all records are
            // after it.
            Err(error) if error.as_service_error().is_some_and(|error| error.is_trimmed_data_access_exception()) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(request(ShardIteratorType::TrimHorizon).send().await?.shard_iterator)
}

/// The number as DynamoDB prints it, without the zeros that a checkpoint puts in front.
fn spelled(number: SequenceNumber) -> String {
    format!("{:0>DIGITS_MIN$}", number.to_string().trim_start_matches('0'))
}

/// The key of an item that was inserted after the checkpoint.
fn inserted(record: &Record, checkpoint: Option<SequenceNumber>) -> Option<ClickKey> {
    let change = record.dynamodb.as_ref().filter(|_| record.event_name == Some(OperationType::Insert))?;
    let number: SequenceNumber = change.sequence_number.as_ref()?.parse().ok()?;
    let keys = change.keys.as_ref().filter(|_| checkpoint.is_none_or(|checkpoint| number > checkpoint))?;
    let text = |name| keys.get(name).and_then(|value: &AttributeValue| value.as_s().ok()).cloned();
    Some((text(PARTITION_KEY)?, text(SORT_KEY)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_sequence_number_as_dynamodb_prints_it() {
        let number = |text: &str| text.parse().map(spelled).expect("digits");
        assert_eq!(number(&format!("{:0>40}", "4421584500000000017450439091")), "4421584500000000017450439091");
        assert_eq!(number("7"), format!("{:0>21}", 7));
    }
}
