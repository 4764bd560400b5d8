//! Archives games from the game table's stream: adds finished turns to the history, joins each
//! finished drawing into one item, deletes old chat lines, and closes finished games with an entry
//! in the journal.
//!
//! The stream delivers at least once. Each written item has a key that is derived from its event.
//! Its content depends only on the record and on data that no longer changes. So a repeated
//! delivery writes the same item, or finds it.

mod archiver;
mod plan;

use jiff::Timestamp;
use lambda_kit::stream::{BatchError, BatchProgress, StreamEvent, StreamReply};
use metrics::counter;
use serde_json::value::RawValue;
use store_base::StoreError;

pub use archiver::Archiver;

use archiver::BatchCounts;

/// Archives one batch, given as its event's JSON.
///
/// # Errors
/// [`BatchError`]. If DynamoDB fails, the reply names the first record to deliver again.
pub async fn handle(
    archiver: &Archiver,
    event: Box<RawValue>,
    now: Timestamp,
) -> Result<StreamReply, BatchError<StoreError>> {
    let event = StreamEvent::parse(&event)?;
    let (counts, progress) = archiver.archive(&event, now).await.map_err(BatchError::Store)?;
    report(&event, &counts, &progress);
    Ok(StreamReply::new(&event, progress.failed_from))
}

/// One log line and the metrics of a batch.
fn report(event: &StreamEvent<'_>, counts: &BatchCounts, progress: &BatchProgress) {
    let BatchCounts { turns, drawings, games, lines_deleted } = counts;
    let BatchProgress { unreadable, failed_from } = progress;
    counter!("GamesFinished").increment(*games);
    tracing::info!(records = event.records.len(), turns, drawings, games, lines_deleted, unreadable, failed_from);
}
