//! Lists a stream's shards, and chooses those that may be read.

use std::collections::BTreeSet;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::error::SdkError;
use aws_sdk_dynamodbstreams::operation::describe_stream::DescribeStreamError;

/// The maximum number of `DescribeStream` pages to read (100 shards each).
const PAGES_MAX: usize = 1_000;

/// A shard of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shard {
    /// Its id.
    pub id: String,
    /// The shard that it continues.
    pub parent: Option<String>,
    /// The shard takes no more records.
    pub closed: bool,
}

/// All shards of the stream that are not trimmed.
///
/// # Errors
/// The error of the Streams API.
pub(super) async fn list(client: &Client, stream_arn: &str) -> Result<Vec<Shard>, SdkError<DescribeStreamError>> {
    let mut shards = Vec::new();
    let mut last = None;
    for _ in 0..PAGES_MAX {
        let page = client.describe_stream().stream_arn(stream_arn).set_exclusive_start_shard_id(last).send().await?;
        let Some(description) = page.stream_description else { break };
        shards.extend(description.shards.unwrap_or_default().into_iter().filter_map(|shard| {
            let range = shard.sequence_number_range;
            let closed = range.is_some_and(|range| range.ending_sequence_number.is_some());
            Some(Shard { id: shard.shard_id?, parent: shard.parent_shard_id, closed })
        }));
        last = description.last_evaluated_shard_id;
        if last.is_none() {
            break;
        }
    }
    Ok(shards)
}

/// The shards that can start now: neither drained nor being read, and their parent is drained or no
/// longer listed.
#[must_use]
pub(super) fn readable<'a>(
    shards: &'a [Shard],
    drained: &BTreeSet<String>,
    reading: &BTreeSet<String>,
) -> Vec<&'a Shard> {
    let is_listed = |id: &String| shards.iter().any(|shard| shard.id == *id);
    let waits_for = |parent: &String| reading.contains(parent) || (is_listed(parent) && !drained.contains(parent));
    let is_new = |shard: &&Shard| !drained.contains(&shard.id) && !reading.contains(&shard.id);
    shards.iter().filter(is_new).filter(|shard| !shard.parent.as_ref().is_some_and(waits_for)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family() -> Vec<Shard> {
        let shard = |id: &str, parent: Option<&str>, closed| Shard {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            closed,
        };
        vec![
            shard("parent", Some("trimmed"), true),
            shard("left", Some("parent"), false),
            shard("right", Some("parent"), false),
            shard("other", None, false),
        ]
    }

    fn ids(shards: &[Shard], drained: &[&str], reading: &[&str]) -> Vec<String> {
        let set = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        readable(shards, &set(drained), &set(reading)).into_iter().map(|shard| shard.id.clone()).collect()
    }

    #[test]
    fn a_shard_is_read_after_its_parent() {
        assert_eq!(ids(&family(), &[], &[]), ["parent", "other"]);
        assert_eq!(ids(&family(), &[], &["parent", "other"]), [""; 0]);
        assert_eq!(ids(&family(), &["parent"], &["other"]), ["left", "right"]);
    }

    #[test]
    fn a_trimmed_parent_that_is_still_being_read_comes_first() {
        let children = &family()[1..];
        assert_eq!(ids(children, &[], &["parent", "other"]), [""; 0]);
        assert_eq!(ids(children, &[], &["other"]), ["left", "right"]);
    }
}
