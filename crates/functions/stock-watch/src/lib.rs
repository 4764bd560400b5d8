//! Watches the shop, told by its table's stream: what has happened goes into the suite's journal, a stock that runs low or out is announced,
//! and goods whose reservation TTL has deleted are given back.
//!
//! The stream tells at least once. An entry of the journal is named by what it tells of, and goods are given back under a marker, so a second time
//! changes nothing.

mod news;
mod watcher;

use jiff::Timestamp;
use lambda_kit::stream::{BatchError, Progress, StreamEvent, StreamReply};
use metrics::counter;
use serde_json::value::RawValue;
use store::StoreError;

pub use watcher::Watcher;

use watcher::Watched;

/// Watches one batch, given as its event's JSON.
///
/// # Errors
/// [`BatchError`]. What DynamoDB fails at is answered with the first record that has to come again.
pub async fn handle(
    watcher: &Watcher,
    event: Box<RawValue>,
    now: Timestamp,
) -> Result<StreamReply, BatchError<StoreError>> {
    let event = StreamEvent::parse(&event)?;
    let (watched, progress) = watcher.watch(&event, now).await.map_err(BatchError::Store)?;
    report(&event, &watched, &progress);
    Ok(StreamReply::new(&event, progress.failed_from))
}

/// One log line and the metrics of a batch.
fn report(event: &StreamEvent<'_>, watched: &Watched, progress: &Progress) {
    let Watched { told, low, out, given_back } = watched;
    let Progress { unreadable, failed_from } = progress;
    counter!("ProductsLow").increment(*low);
    counter!("ProductsOut").increment(*out);
    counter!("ReservationsExpired").increment(*given_back);
    tracing::info!(records = event.records.len(), told, low, out, given_back, unreadable, failed_from);
}
