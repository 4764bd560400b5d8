//! Tells the journal of what happens beside the clicks: records that could not be counted, and statistics that an operator has set right.
//!
//! The stream tells at least once. An entry's id is made of what it tells of, so a second time finds it stored.

use domain::journal::{Entry, News};
use jiff::Timestamp;
use lambda_kit::stream::{Progress, StreamEvent, StreamReply};
use lambda_runtime::Diagnostic;
use serde_json::value::RawValue;
use store::StoreError;
use store::clicks::{Watched, WatchedImage};
use store::journal::{Appended, Journal};

/// Why nothing of a batch can be told apart. Lambda delivers it again.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Not the event of a DynamoDB stream at all.
    #[error("the event is not a batch of a DynamoDB stream: {0}")]
    NotABatch(#[from] serde_json::Error),
    /// DynamoDB failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<WatchError> for Diagnostic {
    fn from(error: WatchError) -> Self {
        let error_type = match error {
            WatchError::NotABatch(_) => "not-a-batch",
            WatchError::Store(_) => "store",
        };
        Self { error_type: error_type.to_owned(), error_message: error.to_string() }
    }
}

/// Tells of one batch, given as its event's JSON.
///
/// # Errors
/// [`WatchError`]. What DynamoDB fails at is answered with the first record that has to come again.
pub async fn handle(journal: &Journal, event: Box<RawValue>, now: Timestamp) -> Result<StreamReply, WatchError> {
    let event: StreamEvent = serde_json::from_str(event.get())?;
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
    .await?;
    let Progress { unreadable, failed_from } = progress;
    tracing::info!(records = event.records.len(), appended, unreadable, failed_from);
    Ok(StreamReply::new(&event, failed_from))
}

fn entry(watched: &Watched) -> Entry {
    match watched {
        Watched::Quarantined { reason, at, name } => News::RecordQuarantined { reason }.entry(*at, name),
        Watched::Repaired { at, name } => News::StatisticsRepaired.entry(*at, name),
    }
}
