//! Writes operator events of the clicks table into the journal: records that could not be counted,
//! the outcome of their quarantine, and repairs of statistics.
//!
//! The stream delivers at least once. An entry's id is derived from its event, so a repeated
//! delivery finds the entry stored.

use clicks_store::{OperatorEvent, OperatorEventImage};
use domain::journal::{Entry, SuiteEvent};
use jiff::Timestamp;
use journal_store::{AppendOutcome, Journal};
use lambda_kit::stream::{BatchError, BatchProgress, StreamEvent, StreamReply};
use serde_json::value::RawValue;
use store_base::StoreError;

/// Handles one batch, given as its event's JSON.
///
/// # Errors
/// [`BatchError`]. If DynamoDB fails, the reply names the first record to deliver again.
pub async fn handle(
    journal: &Journal,
    event: Box<RawValue>,
    now: Timestamp,
) -> Result<StreamReply, BatchError<StoreError>> {
    let event = StreamEvent::parse(&event)?;
    let records = event.read::<OperatorEventImage, OperatorEventImage, _, _>(|record| {
        OperatorEvent::of(record.change.old_image.as_ref(), record.change.new_image.as_ref())
    });
    let mut appended = 0;
    let progress =
        BatchProgress::process(records, StoreError::is_unreadable, async |operator_event: Option<OperatorEvent>| {
            if let Some(operator_event) = operator_event
                && journal.append(&entry(&operator_event), now).await? == AppendOutcome::New
            {
                appended += 1;
            }
            Ok(())
        })
        .await
        .map_err(BatchError::Store)?;
    let BatchProgress { unreadable, failed_from } = progress;
    tracing::info!(records = event.records.len(), appended, unreadable, failed_from);
    Ok(StreamReply::new(&event, failed_from))
}

fn entry(operator_event: &OperatorEvent) -> Entry {
    match operator_event {
        OperatorEvent::Quarantined { reason, at, name } => SuiteEvent::RecordQuarantined { reason }.entry(*at, name),
        OperatorEvent::Settled { ending, at, name } => SuiteEvent::RecordSettled { ending }.entry(*at, name),
        OperatorEvent::Repaired { at, name } => SuiteEvent::StatisticsRepaired.entry(*at, name),
    }
}
