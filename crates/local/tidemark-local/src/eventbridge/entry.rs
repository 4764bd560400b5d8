//! The entries of a `PutEvents` request.
//!
//! Source: <https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html>.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::NewEvent;

/// One entry.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Entry {
    time: Option<f64>,
    source: Option<String>,
    detail_type: Option<String>,
    detail: Option<String>,
    resources: Option<Vec<String>>,
    pub(super) event_bus_name: Option<String>,
}

/// Why EventBridge rejects one entry and not the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryError {
    code: &'static str,
    message: String,
}

impl EntryError {
    /// The result of this entry.
    pub(super) fn result(&self) -> Value {
        json!({ "ErrorCode": self.code, "ErrorMessage": self.message })
    }
}

impl Entry {
    /// Its size in the sense of the limit.
    ///
    /// Source: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevents.html>.
    pub(super) fn bytes(&self) -> usize {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let resources = self.resources.iter().flatten().map(String::len).sum::<usize>();
        let time = if self.time.is_some() { 14 } else { 0 };
        time + length(&self.source) + length(&self.detail_type) + length(&self.detail) + resources
    }

    /// The event of this entry.
    pub(super) fn event(self) -> Result<NewEvent, EntryError> {
        let source = required("Source", self.source)?;
        let detail_type = required("DetailType", self.detail_type)?;
        let detail = required("Detail", self.detail)?;
        if source.starts_with("aws.") {
            let message = "Not authorized for the source.".to_owned();
            return Err(EntryError { code: "NotAuthorizedForSource", message });
        }
        let malformed = || EntryError { code: "MalformedDetail", message: "Detail is malformed.".to_owned() };
        let detail: Value = serde_json::from_str(&detail).ok().filter(Value::is_object).ok_or_else(malformed)?;
        let time = self.time.and_then(|seconds| Timestamp::from_nanosecond(nanoseconds(seconds)).ok());
        Ok(NewEvent {
            source,
            detail_type,
            resources: self.resources.unwrap_or_default(),
            detail,
            time: time.unwrap_or_else(Timestamp::now),
        })
    }
}

/// Seconds as JSON carries them; a value out of range becomes the nearest one.
#[expect(clippy::cast_possible_truncation, reason = "a cast of a float saturates")]
fn nanoseconds(seconds: f64) -> i128 {
    (seconds * 1e9) as i128
}

fn required(name: &str, value: Option<String>) -> Result<String, EntryError> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| EntryError {
        code: "InvalidArgument",
        message: format!("Parameter {name} is not valid. Reason: {name} is a required argument."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(entry: Value) -> (&'static str, String) {
        let error = serde_json::from_value::<Entry>(entry).unwrap().event().unwrap_err();
        (error.code, error.message)
    }

    #[test]
    fn an_invalid_entry_gets_the_error_of_eventbridge() {
        let missing = json!({ "Source": "a", "DetailType": "", "Detail": "{}" });
        let sentence = "Parameter DetailType is not valid. Reason: DetailType is a required argument.";
        assert_eq!(refused(missing), ("InvalidArgument", sentence.to_owned()));
        for detail in ["{", "[]", "1"] {
            let malformed = json!({ "Source": "a", "DetailType": "b", "Detail": detail });
            assert_eq!(refused(malformed).0, "MalformedDetail", "{detail}");
        }
        let aws = json!({ "Source": "aws.s3", "DetailType": "b", "Detail": "{}" });
        assert_eq!(refused(aws).0, "NotAuthorizedForSource");
    }

    #[test]
    fn event_entry_has_its_own_time_and_size() {
        let entry = json!({
            "Source": "ab", "DetailType": "c", "Detail": "{}", "Resources": ["xyz"], "Time": 1_700_000_000.5
        });
        let entry: Entry = serde_json::from_value(entry).unwrap();
        assert_eq!(entry.bytes(), 14 + 2 + 1 + 2 + 3);
        assert_eq!(entry.event().unwrap().time.as_second(), 1_700_000_000);
    }
}
