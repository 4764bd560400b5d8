//! Reads one shard page by page, and replaces iterators that expire.

use std::sync::Arc;
use std::time::Duration;

use super::source::{ReadError, SourceRecord, StreamSource};

/// The maximum number of records in one `GetRecords` reply of DynamoDB.
///
/// Source:
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_streams_GetRecords.html>.
pub(super) const PAGE_RECORDS_MAX: usize = 1_000;

/// The longest pause after a failed request.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A position in one shard.
#[derive(Debug)]
pub(super) struct ShardReader {
    source: Arc<dyn StreamSource>,
    shard_id: String,
    iterator: Option<String>,
    after: Option<String>,
    closed: bool,
    failures: u32,
    has_lost: bool,
}

impl ShardReader {
    /// Starts after that sequence number, or at the oldest record of the stream.
    pub(super) fn new(source: Arc<dyn StreamSource>, shard_id: String, after: Option<String>) -> Self {
        Self { source, shard_id, iterator: None, after, closed: false, failures: 0, has_lost: false }
    }

    /// Whether the shard is closed and read to its end.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether records at its position were trimmed since the last call.
    pub(super) fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.has_lost)
    }

    /// The next records, possibly none. A failed request is logged and gives none after a pause;
    /// reading is retried for as long as the stack runs.
    pub(super) async fn page(&mut self) -> Vec<SourceRecord> {
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

    async fn try_page(&mut self) -> Result<Vec<SourceRecord>, ReadError> {
        let iterator = match self.iterator.take() {
            Some(iterator) => iterator,
            None => match self.source.iterator(&self.shard_id, self.after.as_deref()).await {
                Err(ReadError::Trimmed) => return Ok(self.skip_trimmed()),
                iterator => iterator?,
            },
        };
        let page = match self.source.page(&self.shard_id, &iterator).await {
            Ok(page) => page,
            Err(ReadError::Trimmed) => return Ok(self.skip_trimmed()),
            // After some minutes, or after an engine restart, an iterator is replaced.
            Err(ReadError::Expired) => return Ok(Vec::new()),
            Err(error) => {
                // The iterator is still valid.
                self.iterator = Some(iterator);
                return Err(error);
            }
        };
        self.closed = page.next.is_none();
        self.iterator = page.next;
        if let Some(last) = page.records.last() {
            self.after = Some(last.sequence_number.clone());
        }
        Ok(page.records)
    }

    /// Continues with the oldest record that is left.
    fn skip_trimmed(&mut self) -> Vec<SourceRecord> {
        tracing::error!("shard {}: records after the checkpoint were trimmed and are lost", self.shard_id);
        self.after = None;
        self.has_lost = true;
        Vec::new()
    }
}
