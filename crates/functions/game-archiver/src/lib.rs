//! Archives games from the table's stream: adds finished turns to the history, stores each finished
//! drawing as one item, deletes old chat, and closes a finished game with an entry in the journal.
//!
//! The stream delivers at least once. The key and the content of each written item depend only on
//! the record and on data that no longer changes, so a second delivery writes the same item or
//! finds it written.

mod archiver;
mod plan;

use jiff::Timestamp;
use lambda_kit::stream::{BatchError, BatchProgress, StreamEvent, StreamReply};
use metrics::counter;
use serde_json::value::RawValue;
use store::StoreError;

pub use archiver::Archiver;

use archiver::BatchCounts;

/// Archives one batch, given as its event's JSON.
///
/// # Errors
/// [`BatchError`]. What DynamoDB fails at is answered with the first record that has to come again.
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
