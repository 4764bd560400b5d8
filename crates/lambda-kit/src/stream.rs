//! Batches of a DynamoDB stream, with a tumbling window: the event, its records, and the answer.
//!
//! A batch is parsed in two steps. The envelope leaves each record as raw JSON, so that an
//! unreadable record does not fail the whole batch. A record then borrows from the envelope where
//! it can.

use std::borrow::Cow;
use std::fmt::Display;

use jiff::{SignedDuration, Timestamp};
use lambda_runtime::Diagnostic;
use metrics::counter;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The event of one batch ([tumbling
/// windows](https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-windows.html)).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamEvent<'a> {
    /// The records, each still as JSON. Empty in the last event of a window.
    #[serde(rename = "Records", borrow, default)]
    pub records: Vec<&'a RawValue>,
    /// The shard. The event names it only if the mapping has a tumbling window.
    #[serde(borrow)]
    pub shard_id: Option<Cow<'a, str>>,
    /// The ARN of the stream.
    #[serde(rename = "eventSourceARN", borrow)]
    pub event_source_arn: Option<Cow<'a, str>>,
    /// The `state` of this window's previous reply; it must be returned.
    #[serde(borrow)]
    pub state: Option<&'a RawValue>,
}

/// One record, with its new image as `I`, and its old image as `O` if the handler needs it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "I: Deserialize<'de>, O: Deserialize<'de>"))]
pub struct StreamRecord<'a, I, O = IgnoredAny> {
    /// `INSERT`, `MODIFY` or `REMOVE`.
    #[serde(borrow)]
    pub event_name: Cow<'a, str>,
    /// The changed item, before and after.
    #[serde(rename = "dynamodb", borrow)]
    pub change: Change<'a, I, O>,
    #[serde(borrow, default)]
    user_identity: Option<UserIdentity<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserIdentity<'a> {
    #[serde(borrow)]
    principal_id: Cow<'a, str>,
}

impl<I, O> StreamRecord<'_, I, O> {
    /// Whether
    /// [TTL](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html),
    /// and not a request, deleted the item.
    pub fn is_expiry(&self) -> bool {
        let identity = self.user_identity.as_ref();
        self.event_name == "REMOVE"
            && identity.is_some_and(|identity| identity.principal_id == "dynamodb.amazonaws.com")
    }
}

/// The changed item, before and after.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase", bound(deserialize = "I: Deserialize<'de>, O: Deserialize<'de>"))]
pub struct Change<'a, I, O = IgnoredAny> {
    /// The record's position in its shard: 21 to 40 digits.
    #[serde(borrow)]
    pub sequence_number: Cow<'a, str>,
    #[serde(borrow, default)]
    approximate_creation_date_time: Option<&'a RawValue>,
    /// The item after the change; `None` if it was deleted.
    pub new_image: Option<I>,
    /// The item before the change; `None` if it was inserted.
    pub old_image: Option<O>,
}

impl<I> Change<'_, I> {
    /// When the change was made, to the second on AWS. `None` if the record does not say so in
    /// epoch seconds.
    pub fn made_at(&self) -> Option<Timestamp> {
        // Parsed only on request: a batch needs the time of one record.
        let seconds: f64 = serde_json::from_str(self.approximate_creation_date_time?.get()).ok()?;
        Timestamp::from_duration(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
    }
}

/// A record of a batch, parsed as far as possible.
#[derive(Debug)]
pub struct ReadRecord<'a, T> {
    number: Option<String>,
    /// The parsed content, or why it cannot be read.
    pub content: Result<T, String>,
    raw: &'a RawValue,
}

/// The result of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct BatchProgress {
    /// Records that could not be read and were skipped.
    pub unreadable: u64,
    /// The sequence number of the first record that is not done.
    pub failed_from: Option<String>,
}

/// Why a batch failed as a whole. Lambda delivers it again.
#[derive(Debug, thiserror::Error)]
pub enum BatchError<E> {
    /// The event does not come from a DynamoDB stream.
    #[error("the event is not a batch of a DynamoDB stream: {0}")]
    NotABatch(serde_json::Error),
    /// The store failed, and no record has a sequence number from which to continue.
    #[error(transparent)]
    Store(E),
}

impl<E: Display> From<BatchError<E>> for Diagnostic {
    fn from(error: BatchError<E>) -> Self {
        let error_type = match error {
            BatchError::NotABatch(_) => "not-a-batch",
            BatchError::Store(_) => "store",
        };
        Self { error_type: error_type.to_owned(), error_message: error.to_string() }
    }
}

impl<'e> StreamEvent<'e> {
    /// Parses the envelope of a batch.
    pub fn parse<E>(event: &'e RawValue) -> Result<Self, BatchError<E>> {
        serde_json::from_str(event.get()).map_err(BatchError::NotABatch)
    }

    /// Parses each record, and converts it with `read`.
    pub fn read<'a, I, O, T, E>(
        &'a self,
        read: impl Fn(&StreamRecord<'a, I, O>) -> Result<T, E>,
    ) -> Vec<ReadRecord<'a, T>>
    where
        I: Deserialize<'a>,
        O: Deserialize<'a>,
        E: Display,
    {
        let records = self.records.iter().map(|raw| match serde_json::from_str(raw.get()) {
            Ok(record) => {
                let content = read(&record).map_err(|error| error.to_string());
                ReadRecord { number: Some(record.change.sequence_number.into_owned()), content, raw }
            }
            Err(error) => ReadRecord { number: None, content: Err(error.to_string()), raw },
        });
        records.collect()
    }
}

impl BatchProgress {
    /// Handles records in order, up to the first that fails. A record that cannot be read would be
    /// unreadable at each retry, too. So it is skipped and counted in the metric
    /// `RecordsUnreadable`, also if only the handler finds that out.
    ///
    /// # Errors
    /// The error of a failed record without a sequence number: the batch cannot continue from it,
    /// so the whole batch is delivered again.
    pub async fn process<T, E: Display>(
        records: Vec<ReadRecord<'_, T>>,
        is_unreadable: impl Fn(&E) -> bool,
        mut handle: impl AsyncFnMut(T) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut progress = Self::default();
        for ReadRecord { number, content, raw } in records {
            let outcome = match content {
                Ok(content) => handle(content).await,
                Err(why) => {
                    progress.skip_unreadable(&why, number.as_deref(), raw);
                    continue;
                }
            };
            match outcome {
                Ok(()) => {}
                Err(error) if is_unreadable(&error) => progress.skip_unreadable(&error, number.as_deref(), raw),
                Err(error) => {
                    tracing::warn!(%error, sequence_number = number, "a record failed and will be delivered again");
                    let Some(number) = number else { return Err(error) };
                    progress.failed_from = Some(number);
                    break;
                }
            }
        }
        counter!("RecordsUnreadable").increment(progress.unreadable);
        Ok(progress)
    }

    fn skip_unreadable(&mut self, error: &dyn Display, sequence_number: Option<&str>, raw: &RawValue) {
        self.unreadable += 1;
        tracing::error!(%error, sequence_number, size_bytes = raw.get().len(), "a record cannot be read");
    }
}

/// The reply to a batch.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamReply {
    batch_item_failures: Vec<BatchItemFailure>,
    /// A mapping without a window has no state.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchItemFailure {
    item_identifier: String,
}

impl StreamReply {
    /// The records before `failed` are done; `failed` and all later records are delivered again.
    /// `None`: all are done.
    pub fn new(event: &StreamEvent<'_>, failed: Option<String>) -> Self {
        let state = event.state.map(ToOwned::to_owned);
        let failures = failed.map(|item_identifier| BatchItemFailure { item_identifier });
        Self { batch_item_failures: failures.into_iter().collect(), state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unreadable_record_leaves_the_others_readable() {
        let event = r#"{"Records":[{"eventName":"INSERT","dynamodb":{"SequenceNumber":"1"}},{"eventName":7},"x"],
            "shardId":"shardId-1","eventSourceARN":"arn:x","state":{"a":1},"window":{"start":"..."}}"#;
        let event: StreamEvent = serde_json::from_str(event).expect("an event");
        let read: Vec<_> =
            event.records.iter().map(|record| serde_json::from_str::<StreamRecord<()>>(record.get()).is_ok()).collect();
        assert_eq!((read, event.shard_id.as_deref()), (vec![true, false, false], Some("shardId-1")));
    }

    #[test]
    fn stream_record_creation_time_is_read_from_seconds() {
        let made_at = |member: &str| {
            let change = format!(r#"{{"SequenceNumber":"1"{member}}}"#);
            let change: Change<()> = serde_json::from_str(&change).expect("a change");
            change.made_at().map(|time| time.to_string())
        };
        let time = |seconds: &str| made_at(&format!(r#","ApproximateCreationDateTime":{seconds}"#));
        assert_eq!(time("1759401000").as_deref(), Some("2025-10-02T10:30:00Z"));
        assert_eq!(time("1759401000.5").as_deref(), Some("2025-10-02T10:30:00.5Z"));
        assert_eq!(time("1.759401E9").as_deref(), Some("2025-10-02T10:30:00Z"));
        for other in [r#""1759401000""#, "{}", "null", "1e300", "-1e300"] {
            assert_eq!(time(other), None, "{other}");
        }
        assert_eq!(made_at(""), None);
    }

    #[test]
    fn the_state_of_a_window_is_returned_unchanged() {
        let event: StreamEvent = serde_json::from_str(r#"{"state":{"a": 1}}"#).expect("an event");
        let text = |failed| serde_json::to_string(&StreamReply::new(&event, failed)).expect("JSON");
        assert_eq!(text(None), r#"{"batchItemFailures":[],"state":{"a": 1}}"#);
        assert_eq!(text(Some("7".into())), r#"{"batchItemFailures":[{"itemIdentifier":"7"}],"state":{"a": 1}}"#);
        let without: StreamEvent = serde_json::from_str(r#"{"Records":[]}"#).expect("an event");
        let reply = serde_json::to_string(&StreamReply::new(&without, None)).expect("JSON");
        assert_eq!(reply, r#"{"batchItemFailures":[]}"#);
    }
}
