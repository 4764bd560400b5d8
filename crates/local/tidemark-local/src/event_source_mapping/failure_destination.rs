//! On-failure destinations: the message that Lambda sends to the queue, also written as a line of a
//! file.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html>. The
//! message identifies the discarded records without their content. The records can be read from the
//! stream for a day.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::record::StreamRecord;
use super::retry::DiscardCondition;
use super::source::StreamKind;
use crate::private_files;
use crate::queues::{NewMessage, Queues};

/// Receives the discarded batches of a mapping.
#[derive(Debug, Clone)]
pub(super) struct FailureDestination {
    queue: Option<String>,
    folder: Option<PathBuf>,
    messages: Arc<AtomicU64>,
    queues: Option<Arc<Queues>>,
}

/// A batch that the mapping discarded.
#[derive(Debug)]
pub(super) struct DiscardedBatch<'a> {
    /// The function's ARN.
    pub function_arn: &'a str,
    /// The stream's service.
    pub stream_kind: StreamKind,
    /// The stream's ARN.
    pub stream_arn: &'a str,
    /// The shard.
    pub shard_id: &'a str,
    /// The reason.
    pub condition: DiscardCondition,
    /// How often the function was invoked with the batch.
    pub invoke_count: u32,
    /// The discarded records, in order.
    pub records: &'a [StreamRecord],
}

impl FailureDestination {
    /// The destination `queue` of a stack with the data folder `data`. Without a folder or a queue,
    /// the message is only logged.
    pub(super) fn new(queue: Option<String>, data: Option<&Path>) -> Self {
        let folder = data.map(|data| data.join("failures"));
        let destination = Self { queue, folder, messages: Arc::default(), queues: None };
        let kept = destination.file().and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
        let kept = kept.iter().filter(|byte| **byte == b'\n').count() as u64;
        destination.messages.store(kept, Ordering::Relaxed);
        destination
    }

    /// Also sends each message to the queue in memory, from which functions receive it.
    pub(super) fn sending_to(mut self, queues: Arc<Queues>) -> Self {
        self.queues = Some(queues);
        self
    }

    /// The queue's name and the number of its messages, including earlier runs; `None` if there is
    /// no queue.
    pub(super) fn queue(&self) -> Option<(&str, u64)> {
        Some((self.queue.as_deref()?, self.messages.load(Ordering::Relaxed)))
    }

    fn file(&self) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{}.jsonl", self.queue.as_deref()?)))
    }

    /// Sends the message for a batch.
    ///
    /// # Errors
    /// When the file cannot be written; the batch must then not be skipped.
    pub(super) fn send(&self, discarded_batch: &DiscardedBatch<'_>) -> std::io::Result<()> {
        let message = message(discarded_batch, Timestamp::now());
        let queue = self.queue.as_deref().unwrap_or("nowhere: the mapping has no on-failure destination");
        tracing::error!("{} records discarded, sent to {queue}: {message}", discarded_batch.records.len());
        if let (Some(folder), Some(path)) = (&self.folder, self.file()) {
            private_files::folder(folder)?;
            let mut file = private_files::append_file(&path)?;
            // A single write, so that lines of several mappings do not mix.
            file.write_all(format!("{message}\n").as_bytes())?;
        }
        if let (Some(queues), Some(name)) = (&self.queues, &self.queue)
            && let Err(error) = queues.send(name, NewMessage { body: message.to_string(), ..NewMessage::default() })
        {
            tracing::error!("the queue {name} does not accept the message: {error}");
        }
        self.messages.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

fn message(discarded_batch: &DiscardedBatch<'_>, now: Timestamp) -> Value {
    let DiscardedBatch { function_arn, stream_kind, stream_arn, shard_id, condition, invoke_count, records } =
        discarded_batch;
    let sequence_number = |record: Option<&StreamRecord>| record.map(|record| record.sequence_number.clone());
    let arrival = |record: Option<&StreamRecord>| {
        record.and_then(|record| Timestamp::from_millisecond(record.created_ms).ok()).map(|time| format!("{time:.0}"))
    };
    let mut message = json!({
        "requestContext": {
            "requestId": Uuid::now_v7().to_string(),
            "functionArn": format!("{function_arn}:$LATEST"),
            "condition": condition,
            "approximateInvokeCount": invoke_count,
        },
        "version": "1.0",
        "timestamp": format!("{now:.3}"),
    });
    let info = match stream_kind {
        StreamKind::DynamoDb => "DDBStreamBatchInfo",
        StreamKind::Kinesis => "KinesisBatchInfo",
    };
    message[info] = json!({
        "shardId": shard_id,
        "startSequenceNumber": sequence_number(records.first()),
        "endSequenceNumber": sequence_number(records.last()),
        "approximateArrivalOfFirstRecord": arrival(records.first()),
        "approximateArrivalOfLastRecord": arrival(records.last()),
        "batchSize": records.len(),
        "streamArn": stream_arn,
    });
    // Records that were too old before the first try were never sent, so there is no response.
    if *invoke_count > 0 {
        message["responseContext"] =
            json!({ "statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled" });
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sequence_number: &str) -> StreamRecord {
        StreamRecord { sequence_number: sequence_number.to_owned(), created_ms: 1_573_690_399_000, event: None }
    }

    fn discarded_batch(records: &[StreamRecord], invoke_count: u32) -> DiscardedBatch<'_> {
        DiscardedBatch {
            function_arn: "arn:aws:lambda:us-east-1:000000000000:function:f",
            stream_kind: StreamKind::DynamoDb,
            stream_arn: "arn:stream",
            shard_id: "shardId-1",
            condition: DiscardCondition::RetryAttemptsExhausted,
            invoke_count,
            records,
        }
    }

    #[test]
    fn the_message_names_the_records_as_lambda_does() {
        let records = [record("100"), record("200")];
        let now = "2019-11-14T00:13:49.717Z".parse().expect("a time");
        let mut message = message(&discarded_batch(&records, 3), now);
        message["requestContext"]["requestId"].take();
        assert_eq!(
            message,
            json!({
                "requestContext": {
                    "requestId": null,
                    "functionArn": "arn:aws:lambda:us-east-1:000000000000:function:f:$LATEST",
                    "condition": "RetryAttemptsExhausted",
                    "approximateInvokeCount": 3
                },
                "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
                "version": "1.0",
                "timestamp": "2019-11-14T00:13:49.717Z",
                "DDBStreamBatchInfo": {
                    "shardId": "shardId-1",
                    "startSequenceNumber": "100",
                    "endSequenceNumber": "200",
                    "approximateArrivalOfFirstRecord": "2019-11-14T00:13:19Z",
                    "approximateArrivalOfLastRecord": "2019-11-14T00:13:19Z",
                    "batchSize": 2,
                    "streamArn": "arn:stream"
                }
            })
        );
    }

    #[test]
    fn each_discarded_batch_is_a_line_of_the_queues_file() {
        let data = tempfile::tempdir().expect("a folder");
        let destination = FailureDestination::new(Some("failures".to_owned()), Some(data.path()));
        for _ in 0..2 {
            destination.send(&discarded_batch(&[record("1")], 1)).expect("written");
        }
        let lines = std::fs::read_to_string(data.path().join("failures/failures.jsonl")).expect("a file");
        assert_eq!(lines.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 2);
    }
}
