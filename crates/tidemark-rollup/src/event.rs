//! The event of a stream batch and its reply, as Lambda gives and takes them.
//!
//! A batch is parsed in two steps. The envelope leaves each record as raw JSON, so that an
//! unreadable record does not fail the whole batch.

use std::borrow::Cow;
use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::SequenceNumber;

/// The event of one batch ([tumbling
/// windows](https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-windows.html)).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event<'a> {
    /// The records, each still as JSON. Empty in the last event of a window.
    #[serde(rename = "Records", borrow, default)]
    pub(crate) records: Vec<&'a RawValue>,
    /// The event names the shard only if the mapping has a tumbling window.
    #[serde(borrow)]
    pub(crate) shard_id: Option<Cow<'a, str>>,
    #[serde(rename = "eventSourceARN", borrow)]
    pub(crate) stream_arn: Option<Cow<'a, str>>,
    #[serde(rename = "isFinalInvokeForWindow", default)]
    pub(crate) is_final: bool,
    /// The state of the window's previous reply; it must be returned.
    #[serde(borrow)]
    state: Option<&'a RawValue>,
}

/// One record of a batch.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record<'a> {
    #[serde(borrow)]
    pub(crate) event_name: Cow<'a, str>,
    #[serde(rename = "dynamodb", borrow)]
    pub(crate) change: Images<'a>,
    #[serde(borrow, default)]
    user_identity: Option<UserIdentity<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UserIdentity<'a> {
    #[serde(borrow, default)]
    principal_id: Cow<'a, str>,
}

/// The changed item, before and after.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Images<'a> {
    /// The record's position in its shard.
    #[serde(borrow)]
    pub(crate) sequence_number: Cow<'a, str>,
    #[serde(borrow, default)]
    approximate_creation_date_time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) keys: HashMap<Cow<'a, str>, &'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) new_image: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) old_image: Option<&'a RawValue>,
}

/// A key attribute that is a string.
#[derive(Deserialize)]
struct Text<'a> {
    #[serde(rename = "S", borrow)]
    text: Cow<'a, str>,
}

impl Record<'_> {
    /// Whether
    /// [TTL](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html),
    /// and not a request, deleted the item.
    pub(crate) fn is_expiry(&self) -> bool {
        self.user_identity.as_ref().is_some_and(|identity| identity.principal_id == "dynamodb.amazonaws.com")
    }
}

impl Images<'_> {
    /// A key attribute; `None` if there is none of the name, or it is not a string.
    pub(crate) fn key(&self, name: &str) -> Option<String> {
        serde_json::from_str::<Text<'_>>(self.keys.get(name)?.get()).ok().map(|key| key.text.into_owned())
    }

    /// When the change was made, to the second on AWS. `None` if the record does not say so in
    /// epoch seconds.
    pub(crate) fn made_at(&self) -> Option<Timestamp> {
        let seconds: f64 = serde_json::from_str(self.approximate_creation_date_time?.get()).ok()?;
        Timestamp::from_duration(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
    }
}

/// The reply to a batch. Return it from the function.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    batch_item_failures: Vec<BatchItemFailure>,
    state: Box<RawValue>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchItemFailure {
    item_identifier: String,
}

/// Every record is done.
impl Default for Reply {
    fn default() -> Self {
        Self { batch_item_failures: Vec::new(), state: RawValue::NULL.to_owned() }
    }
}

impl Reply {
    /// The records before `failed_from` are done; it and all later ones are delivered again.
    pub(crate) fn new(event: &Event<'_>, failed_from: Option<String>) -> Self {
        let state = event.state.map_or_else(|| RawValue::NULL.to_owned(), ToOwned::to_owned);
        let failures = failed_from.map(|item_identifier| BatchItemFailure { item_identifier });
        Self { batch_item_failures: failures.into_iter().collect(), state }
    }

    /// The reply for a batch that two rollups have counted: all records are delivered again that
    /// one of them has not counted. The other finds them counted.
    pub fn and(mut self, other: Self) -> Self {
        let number = |failure: &BatchItemFailure| failure.item_identifier.parse::<SequenceNumber>().ok();
        self.batch_item_failures.extend(other.batch_item_failures);
        self.batch_item_failures.sort_by_key(number);
        self.batch_item_failures.truncate(1);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_record_creation_time_is_read_from_seconds() {
        let made_at = |member: &str| {
            let change = format!(r#"{{"SequenceNumber":"1"{member}}}"#);
            let change: Images<'_> = serde_json::from_str(&change).expect("a change");
            change.made_at().map(|time| time.to_string())
        };
        let time = |seconds: &str| made_at(&format!(r#","ApproximateCreationDateTime":{seconds}"#));
        assert_eq!(time("1759401000").as_deref(), Some("2025-10-02T10:30:00Z"));
        assert_eq!(time("1759401000.5").as_deref(), Some("2025-10-02T10:30:00.5Z"));
        for other in [r#""1759401000""#, "{}", "null", "1e300", "-1e300"] {
            assert_eq!(time(other), None, "{other}");
        }
        assert_eq!(made_at(""), None);
    }

    #[test]
    fn the_state_of_a_window_is_returned_unchanged() {
        let event: Event<'_> = serde_json::from_str(r#"{"state":{"a": 1}}"#).expect("an event");
        let text = |failed| serde_json::to_string(&Reply::new(&event, failed)).expect("JSON");
        assert_eq!(text(None), r#"{"batchItemFailures":[],"state":{"a": 1}}"#);
        assert_eq!(text(Some("7".into())), r#"{"batchItemFailures":[{"itemIdentifier":"7"}],"state":{"a": 1}}"#);
    }

    #[test]
    fn records_that_either_rollup_missed_are_delivered_again() {
        let event: Event<'_> = serde_json::from_str("{}").expect("an event");
        let reply = |failed: Option<&str>| Reply::new(&event, failed.map(ToOwned::to_owned));
        for (one, other, expected) in
            [(None, None, "[]"), (Some("9"), None, "9"), (None, Some("9"), "9"), (Some("9"), Some("10"), "9")]
        {
            for (one, other) in [(one, other), (other, one)] {
                let both = serde_json::to_string(&reply(one).and(reply(other))).expect("JSON");
                assert!(both.contains(expected) && both.matches("itemIdentifier").count() <= 1, "{both}");
            }
        }
    }
}
