//! Tells the journal of what happens beside the clicks: records that could not be counted, what became of them, and statistics that an
//! operator has set right.
//!
//! The stream tells at least once. An entry's id is made of what it tells of, so a second time finds it stored.

use domain::journal::{Entry, News};
use jiff::Timestamp;
use lambda_kit::stream::{BatchError, Progress, StreamEvent, StreamReply};
use serde_json::value::RawValue;
use store::StoreError;
use store::clicks::{Watched, WatchedImage};
use store::journal::{Appended, Journal};

/// Tells of one batch, given as its event's JSON.
///
/// # Errors
/// [`BatchError`]. What DynamoDB fails at is answered with the first record that has to come again.
pub async fn handle(
    journal: &Journal,
    event: Box<RawValue>,
    now: Timestamp,
) -> Result<StreamReply, BatchError<StoreError>> {
    let event = StreamEvent::parse(&event)?;
    let records = event.read::<WatchedImage, WatchedImage, _, _>(|record| {
        Watched::of(record.change.old_image.as_ref(), record.change.new_image.as_ref())
    });
    let mut appended = 0;
    let progress = Progress::through(records, StoreError::is_unreadable, async |watched: Option<Watched>| {
        if let Some(watched) = watched
            && journal.append(&entry(&watched), now).await? == Appended::New
        {
            appended += 1;
        }
        Ok(())
    })
    .await
    .map_err(BatchError::Store)?;
    let Progress { unreadable, failed_from } = progress;
    tracing::info!(records = event.records.len(), appended, unreadable, failed_from);
    Ok(StreamReply::new(&event, failed_from))
}

fn entry(watched: &Watched) -> Entry {
    match watched {
        Watched::Quarantined { reason, at, name } => News::RecordQuarantined { reason }.entry(*at, name),
        Watched::Settled { ending, at, name } => News::RecordSettled { ending }.entry(*at, name),
        Watched::Repaired { at, name } => News::StatisticsRepaired.entry(*at, name),
    }
}
