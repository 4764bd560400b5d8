//! The records of the stream after some checkpoints, for a recount.

use std::collections::BTreeMap;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::types::{OperationType, Record, ShardIteratorType};

use crate::SequenceNumber;
use crate::error::StoreError;
use crate::table::Item;

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

/// The records of one shard after a checkpoint, in its order.
pub(crate) type ShardChanges = Vec<ItemChange>;

/// A change of one item.
#[derive(Debug, Clone)]
pub(crate) struct ItemChange {
    pub(crate) number: SequenceNumber,
    pub(crate) key: Item,
    pub(crate) old: Option<Item>,
    pub(crate) new: Option<Item>,
    pub(crate) is_expiry: bool,
}

/// Reads all shards of a stream, each after its checkpoint and each after its parent. A shard
/// without a checkpoint is read from its beginning.
pub(crate) async fn read(
    streams: &Client,
    stream_arn: &str,
    checkpoints: &BTreeMap<String, SequenceNumber>,
) -> Result<Vec<(String, ShardChanges)>, StoreError> {
    let mut all = Vec::new();
    for shard in shards(streams, stream_arn).await? {
        let changes = read_shard(streams, stream_arn, &shard, checkpoints.get(&shard).copied()).await?;
        all.push((shard, changes));
    }
    Ok(all)
}

/// The ids of the shards that the stream still has, parents first.
async fn shards(streams: &Client, stream_arn: &str) -> Result<Vec<String>, StoreError> {
    let mut parents: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut start = None;
    loop {
        let request = streams.describe_stream().stream_arn(stream_arn).set_exclusive_start_shard_id(start);
        let Some(page) = request.send().await?.stream_description else { break };
        let shards = page.shards.unwrap_or_default().into_iter();
        parents.extend(shards.filter_map(|shard| Some((shard.shard_id?, shard.parent_shard_id))));
        start = page.last_evaluated_shard_id;
        if start.is_none() {
            break;
        }
        if parents.len() > SHARDS_MAX {
            return Err(StoreError::Refused("the stream has too many shards".to_owned()));
        }
    }
    let mut shards: Vec<_> = parents.keys().map(|shard| (generation(&parents, shard), shard.clone())).collect();
    shards.sort_unstable();
    Ok(shards.into_iter().map(|(_, shard)| shard).collect())
}

/// The number of a shard's ancestors that the stream still has.
fn generation(parents: &BTreeMap<String, Option<String>>, shard: &str) -> usize {
    let parent = |shard: &String| parents.get(shard).cloned().flatten();
    std::iter::successors(parent(&shard.to_owned()), parent).take(parents.len()).count()
}

async fn read_shard(
    streams: &Client,
    stream_arn: &str,
    shard: &str,
    checkpoint: Option<SequenceNumber>,
) -> Result<ShardChanges, StoreError> {
    let mut changes = Vec::new();
    let mut iterator = iterator(streams, stream_arn, shard, checkpoint).await?;
    let mut empty_pages = 0;
    for _ in 0..PAGES_MAX {
        let Some(next) = iterator else { return Ok(changes) };
        let page = match streams.get_records().shard_iterator(next).send().await {
            Ok(page) => page,
            // A shard that the stream has dropped has no records after a checkpoint.
            Err(error) if error.as_service_error().is_some_and(|error| error.is_resource_not_found_exception()) => {
                return Ok(changes);
            }
            Err(error) => return Err(error.into()),
        };
        let records = page.records.unwrap_or_default();
        empty_pages = if records.is_empty() { empty_pages + 1 } else { 0 };
        let new = records.into_iter().filter_map(change);
        changes.extend(new.filter(|change| checkpoint.is_none_or(|checkpoint| change.number > checkpoint)));
        if empty_pages == EMPTY_PAGES_MAX {
            return Ok(changes);
        }
        iterator = page.next_shard_iterator;
    }
    Err(StoreError::Refused("the shard has too many pages of records".to_owned()))
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

fn change(record: Record) -> Option<ItemChange> {
    let identity = record.user_identity.and_then(|identity| identity.principal_id);
    let is_removal = record.event_name == Some(OperationType::Remove);
    let is_expiry = is_removal && identity.as_deref() == Some("dynamodb.amazonaws.com");
    let change = record.dynamodb?;
    let number = change.sequence_number?.parse().ok()?;
    let item = |image: Option<std::collections::HashMap<_, _>>| {
        image?.into_iter().map(|(name, value)| Some((name, attribute(value)?))).collect::<Option<Item>>()
    };
    Some(ItemChange {
        number,
        key: item(change.keys)?,
        old: item(change.old_image),
        new: item(change.new_image),
        is_expiry,
    })
}

/// The streams API has attribute values of its own.
fn attribute(value: aws_sdk_dynamodbstreams::types::AttributeValue) -> Option<aws_sdk_dynamodb::types::AttributeValue> {
    use aws_sdk_dynamodb::types::AttributeValue as To;
    use aws_sdk_dynamodbstreams::types::AttributeValue as From;
    Some(match value {
        From::S(text) => To::S(text),
        From::N(number) => To::N(number),
        From::B(bytes) => To::B(bytes),
        From::Bool(is_true) => To::Bool(is_true),
        From::Null(is_null) => To::Null(is_null),
        From::Ss(all) => To::Ss(all),
        From::Ns(all) => To::Ns(all),
        From::Bs(all) => To::Bs(all),
        From::L(all) => To::L(all.into_iter().map(attribute).collect::<Option<_>>()?),
        From::M(all) => {
            To::M(all.into_iter().map(|(name, value)| Some((name, attribute(value)?))).collect::<Option<_>>()?)
        }
        _ => return None,
    })
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
