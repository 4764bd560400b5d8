//! Follows the shop table's stream: writes entries into the suite's journal, announces low and
//! empty stock, and releases the goods of reservations that TTL deleted.
//!
//! The stream delivers at least once. The key of a journal entry is derived from its event, and a
//! release is guarded by an idempotency marker. So a repeated delivery changes nothing.

mod journal_entries;
mod watcher;

use jiff::Timestamp;
use lambda_kit::stream::{BatchError, BatchProgress, StreamEvent, StreamReply};
use metrics::counter;
use serde_json::value::RawValue;
use store_base::StoreError;

pub use watcher::Watcher;

use watcher::BatchCounts;

/// Handles one batch, given as its event's JSON.
///
/// # Errors
/// [`BatchError`]. If DynamoDB fails, the reply names the first record to deliver again.
pub async fn handle(
    watcher: &Watcher,
    event: Box<RawValue>,
    now: Timestamp,
) -> Result<StreamReply, BatchError<StoreError>> {
    let event = StreamEvent::parse(&event)?;
    let (counts, progress) = watcher.watch(&event, now).await.map_err(BatchError::Store)?;
    report(&event, &counts, &progress);
    Ok(StreamReply::new(&event, progress.failed_from))
}

/// One log line and the metrics of a batch.
fn report(event: &StreamEvent<'_>, counts: &BatchCounts, progress: &BatchProgress) {
    let BatchCounts { journaled, low, out, released } = counts;
    let BatchProgress { unreadable, failed_from } = progress;
    counter!("ProductsLow").increment(*low);
    counter!("ProductsOut").increment(*out);
    counter!("ReservationsExpired").increment(*released);
    tracing::info!(records = event.records.len(), journaled, low, out, released, unreadable, failed_from);
}
