//! Reads one shard page by page, and replaces iterators that expire.

use std::time::Duration;

use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::error::ProvideErrorMetadata;
use aws_sdk_dynamodbstreams::types::{Record, ShardIteratorType};

/// The maximum number of records in one `GetRecords` reply.
///
/// Source:
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html>.
pub(super) const PAGE_RECORDS_MAX: usize = 1_000;

/// The longest pause after a failed request.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A position in one shard.
#[derive(Debug)]
pub(super) struct ShardReader {
    client: Client,
    stream_arn: String,
    shard_id: String,
    iterator: Option<String>,
    after: Option<String>,
    closed: bool,
    failures: u32,
}

impl ShardReader {
    /// Starts after that sequence number, or at the oldest record of the stream.
    #[must_use]
    pub(super) fn new(client: Client, stream_arn: String, shard_id: String, after: Option<String>) -> Self {
        Self { client, stream_arn, shard_id, iterator: None, after, closed: false, failures: 0 }
    }

    /// Whether the shard is closed and read to its end.
    #[must_use]
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The next records, possibly none. A failed request is logged and gives none after a pause;
    /// reading is retried for as long as the stack runs.
    pub(super) async fn page(&mut self) -> Vec<Record> {
        match self.try_page().await {
            Ok(records) => {
                self.failures = 0;
                records
            }
            Err(error) => {
                self.failures = self.failures.saturating_add(1);
                let pause = Duration::from_millis(50).saturating_mul(1 << self.failures.min(8)).min(PAUSE_MAX);
                tracing::warn!("shard {}: {error}; next try in {pause:?}", self.shard_id);
                tokio::time::sleep(pause).await;
                Vec::new()
            }
        }
    }

    async fn try_page(&mut self) -> Result<Vec<Record>, String> {
        let iterator = match self.iterator.take() {
            Some(iterator) => iterator,
            None => self.fresh_iterator().await?,
        };
        let page = self.client.get_records().shard_iterator(&iterator).send().await;
        let page = match page {
            Ok(page) => page,
            Err(error) => {
                let error = error.into_service_error();
                if error.is_trimmed_data_access_exception() {
                    tracing::warn!(
                        "shard {}: records after the checkpoint were trimmed (24 h): continuing with the oldest",
                        self.shard_id
                    );
                    self.after = None;
                } else if !error.is_expired_iterator_exception() {
                    // An expired iterator (after 15 minutes, or after an engine restart) is
                    // replaced. After other errors the iterator is still valid.
                    self.iterator = Some(iterator);
                    return Err(describe(&error));
                }
                return Ok(Vec::new());
            }
        };
        let records = page.records.unwrap_or_default();
        self.closed = page.next_shard_iterator.is_none();
        self.iterator = page.next_shard_iterator;
        if let Some(last) = records.last().and_then(|record| record.dynamodb()?.sequence_number()) {
            self.after = Some(last.to_owned());
        }
        Ok(records)
    }

    async fn fresh_iterator(&mut self) -> Result<String, String> {
        let kind = match self.after {
            Some(_) => ShardIteratorType::AfterSequenceNumber,
            None => ShardIteratorType::TrimHorizon,
        };
        let request = self.client.get_shard_iterator().stream_arn(&self.stream_arn).shard_id(&self.shard_id);
        let answer = request.shard_iterator_type(kind).set_sequence_number(self.after.clone()).send().await;
        match answer {
            Ok(answer) => answer.shard_iterator.ok_or_else(|| "no shard iterator in the answer".to_owned()),
            Err(error) => {
                let error = error.into_service_error();
                if error.is_trimmed_data_access_exception() {
                    self.after = None;
                }
                Err(describe(&error))
            }
        }
    }
}

fn describe(error: &(impl ProvideErrorMetadata + std::fmt::Display)) -> String {
    match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => format!("{error}: no answer from DynamoDB Streams"),
    }
}
