//! The stream of a table, read through the Streams API. It works with any engine.

use async_trait::async_trait;
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::error::ProvideErrorMetadata;
use aws_sdk_dynamodbstreams::types::ShardIteratorType;

use super::record;
use super::source::{Page, ReadError, Shard, StreamKind, StreamSource};
use crate::arn;

/// The maximum number of `DescribeStream` pages to read (100 shards each).
const PAGES_MAX: usize = 1_000;

/// The stream of a table.
#[derive(Debug)]
pub struct DynamoDbSource {
    /// A client of the Streams API.
    pub client: Client,
    /// `LatestStreamArn` of the table.
    pub stream_arn: String,
}

#[async_trait]
impl StreamSource for DynamoDbSource {
    fn kind(&self) -> StreamKind {
        StreamKind::DynamoDb
    }

    async fn shards(&self) -> Result<Vec<Shard>, ReadError> {
        let mut shards = Vec::new();
        let mut last = None;
        for _ in 0..PAGES_MAX {
            let request = self.client.describe_stream().stream_arn(&self.stream_arn).set_exclusive_start_shard_id(last);
            let page = request.send().await.map_err(|error| describe(&error.into_service_error()))?;
            let Some(description) = page.stream_description else { break };
            shards.extend(description.shards.unwrap_or_default().into_iter().filter_map(|shard| {
                let range = shard.sequence_number_range;
                let closed = range.as_ref().is_some_and(|range| range.ending_sequence_number.is_some());
                let first = range.and_then(|range| range.starting_sequence_number?.parse::<u128>().ok());
                let before = first.map(|first| (first - 1).to_string());
                Some(Shard {
                    id: shard.shard_id?,
                    parents: shard.parent_shard_id.into_iter().collect(),
                    closed,
                    before,
                })
            }));
            last = description.last_evaluated_shard_id;
            if last.is_none() {
                break;
            }
        }
        Ok(shards)
    }

    async fn iterator(&self, shard_id: &str, after: Option<&str>) -> Result<String, ReadError> {
        let kind = match after {
            Some(_) => ShardIteratorType::AfterSequenceNumber,
            None => ShardIteratorType::TrimHorizon,
        };
        let request = self.client.get_shard_iterator().stream_arn(&self.stream_arn).shard_id(shard_id);
        let request = request.shard_iterator_type(kind).set_sequence_number(after.map(str::to_owned));
        let answer = request.send().await.map_err(|error| {
            let error = error.into_service_error();
            if error.is_trimmed_data_access_exception() { ReadError::Trimmed } else { describe(&error) }
        })?;
        answer.shard_iterator.ok_or_else(|| ReadError::Other("no shard iterator in the answer".to_owned()))
    }

    async fn page(&self, _: &str, iterator: &str) -> Result<Page, ReadError> {
        let page = self.client.get_records().shard_iterator(iterator).send().await.map_err(|error| {
            let error = error.into_service_error();
            if error.is_trimmed_data_access_exception() {
                ReadError::Trimmed
            } else if error.is_expired_iterator_exception() {
                ReadError::Expired
            } else {
                describe(&error)
            }
        })?;
        let arn = arn::of_engine(&self.stream_arn);
        let records = page.records.unwrap_or_default();
        let records = records.iter().map(|record| record::of_dynamodb(record, &arn)).collect();
        Ok(Page { records, next: page.next_shard_iterator })
    }
}

fn describe(error: &(impl ProvideErrorMetadata + std::fmt::Display)) -> ReadError {
    ReadError::Other(match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => format!("{error}: no answer from DynamoDB Streams"),
    })
}
