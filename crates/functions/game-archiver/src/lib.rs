//! Looks after games behind the players' backs, told by the table's stream: what has been played
//! goes into the history, finished drawings into one item each, old chat away, and a finished game
//! gets its end and an entry in the journal.
//!
//! The stream tells at least once. Every item that is written here is named by what it tells of and
//! made of nothing but the record and what cannot change any more, so a second time writes the
//! same, or finds it done.

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
