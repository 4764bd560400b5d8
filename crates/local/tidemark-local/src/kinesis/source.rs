//! A stream as the source of a mapping.

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ferrokinesis::actions::Operation;
use serde_json::{Value, json};

use super::Kinesis;
use crate::arn::{self, kinesis_stream_name};
use crate::event_source_mapping::source::{Page, ReadError, Shard, SourceRecord, StreamKind, StreamSource};

/// Records of one page.
const PAGE_RECORDS_MAX: usize = 1_000;

/// A stream with the role that reads it.
#[derive(Debug)]
pub(crate) struct KinesisSource {
    pub(crate) kinesis: Arc<Kinesis>,
    /// The ARN in events.
    pub(crate) stream_arn: String,
    /// The ARN of the function's role, if it is known.
    pub(crate) role: Option<String>,
}

#[async_trait]
impl StreamSource for KinesisSource {
    fn kind(&self) -> StreamKind {
        StreamKind::Kinesis
    }

    async fn shards(&self) -> Result<Vec<Shard>, ReadError> {
        let (mut shards, mut next) = (Vec::new(), Value::Null);
        loop {
            let request = match &next {
                Value::Null => json!({ "StreamName": kinesis_stream_name(&self.stream_arn) }),
                next => json!({ "NextToken": next }),
            };
            let mut answer = self.call(Operation::ListShards, request).await?;
            shards.extend(answer["Shards"].as_array().into_iter().flatten().filter_map(shard));
            next = answer["NextToken"].take();
            if next.is_null() {
                return Ok(shards);
            }
        }
    }

    async fn iterator(&self, shard_id: &str, after: Option<&str>) -> Result<String, ReadError> {
        let kind = if after.is_some() { "AFTER_SEQUENCE_NUMBER" } else { "TRIM_HORIZON" };
        let request = json!({
            "StreamName": kinesis_stream_name(&self.stream_arn),
            "ShardId": shard_id,
            "ShardIteratorType": kind,
            "StartingSequenceNumber": after,
        });
        let answer = self.call(Operation::GetShardIterator, request).await?;
        let iterator = answer["ShardIterator"].as_str().map(str::to_owned);
        iterator.ok_or_else(|| ReadError::Other("no shard iterator in the answer".to_owned()))
    }

    async fn page(&self, shard_id: &str, iterator: &str) -> Result<Page, ReadError> {
        let request = json!({ "ShardIterator": iterator, "Limit": PAGE_RECORDS_MAX });
        let answer = self.call(Operation::GetRecords, request).await?;
        let next = answer["NextShardIterator"].as_str().map(str::to_owned);
        let records = answer["Records"].as_array().map(Vec::as_slice).unwrap_or_default();
        // An iterator of an empty page begins at the present time. The same iterator is safe: it
        // cannot skip a record that is written at this moment.
        let next = next.map(|next| if records.is_empty() { iterator.to_owned() } else { next });
        Ok(Page { records: records.iter().filter_map(|record| self.record(shard_id, record)).collect(), next })
    }
}

impl KinesisSource {
    async fn call(&self, operation: Operation, request: Value) -> Result<Value, ReadError> {
        self.kinesis.call(operation, request).await.map_err(|problem| match problem.split(':').next() {
            Some("ExpiredIteratorException") => ReadError::Expired,
            _ => ReadError::Other(problem),
        })
    }

    /// A record in the format of Lambda's events.
    ///
    /// Source: <https://docs.aws.amazon.com/lambda/latest/dg/with-kinesis.html>.
    fn record(&self, shard_id: &str, record: &Value) -> Option<SourceRecord> {
        let sequence_number = record["SequenceNumber"].as_str()?.to_owned();
        let data = record["Data"].as_str().unwrap_or_default();
        let stored_ms = (record["ApproximateArrivalTimestamp"].as_f64().unwrap_or_default() * 1000.0) as i64;
        let arrived_ms = self.kinesis.arrivals.get(kinesis_stream_name(&self.stream_arn), &sequence_number);
        let created_ms = arrived_ms.unwrap_or(stored_ms);
        let event = json!({
            "kinesis": {
                "kinesisSchemaVersion": "1.0",
                "partitionKey": record["PartitionKey"],
                "sequenceNumber": sequence_number,
                "data": data,
                "approximateArrivalTimestamp": created_ms as f64 / 1000.0,
            },
            "eventSource": "aws:kinesis",
            "eventVersion": "1.0",
            "eventID": format!("{shard_id}:{sequence_number}"),
            "eventName": "aws:kinesis:record",
            "invokeIdentityArn": self.role,
            "awsRegion": arn::region(),
            "eventSourceARN": self.stream_arn,
        });
        // Filters see the data as JSON, and records of another form only in patterns without data.
        let decoded = STANDARD.decode(data).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let mut filtered = event.clone();
        filtered["data"] = decoded.unwrap_or_default();
        Some(SourceRecord { sequence_number, created_ms, event, filtered: Some(filtered) })
    }
}

fn shard(shard: &Value) -> Option<Shard> {
    let text = |name: &str| shard[name].as_str().map(str::to_owned);
    Some(Shard {
        id: text("ShardId")?,
        parents: ["ParentShardId", "AdjacentParentShardId"].into_iter().filter_map(text).collect(),
        closed: shard["SequenceNumberRange"].get("EndingSequenceNumber").is_some_and(|end| !end.is_null()),
        before: None,
    })
}
