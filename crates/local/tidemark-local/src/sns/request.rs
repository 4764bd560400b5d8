//! Requests in AWS's query protocol: a form with numbered fields.
//!
//! Source: <https://docs.aws.amazon.com/sns/latest/api/API_Publish.html>.

use std::collections::BTreeMap;

use super::{Attribute, Message};
use crate::queues::is_number;

/// Limits of SNS.
///
/// Source: <https://docs.aws.amazon.com/general/latest/gr/sns.html>.
pub(super) const MESSAGE_BYTES_MAX: usize = 262_144;
pub(super) const BATCH_ENTRIES_MAX: usize = 10;
const ENTRY_ID_LENGTH_MAX: usize = 80;
const FIFO_ID_LENGTH_MAX: usize = 128;
const SUBJECT_CHARS_MAX: usize = 100;

/// Maximum number of attributes that are read from a message; a message with raw delivery has at
/// most 10.
const ATTRIBUTES_MAX: usize = 100;

/// The error of a request, with its HTTP status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RequestError {
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
}

/// Builds an error of the caller.
pub(super) fn wrong(code: &'static str, message: impl Into<String>) -> RequestError {
    RequestError { status: 400, code, message: message.into() }
}

fn invalid(problem: &str) -> RequestError {
    wrong("InvalidParameter", format!("Invalid parameter: {problem}"))
}

/// The fields of a form.
#[derive(Debug)]
pub(super) struct Fields(BTreeMap<String, String>);

impl Fields {
    /// Reads a form.
    pub(super) fn parse(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// A field that is not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn has_prefix(&self, prefix: &str) -> bool {
        self.0.range(prefix.to_owned()..).next().is_some_and(|(name, _)| name.starts_with(prefix))
    }

    /// The message whose fields begin with `prefix`.
    pub(super) fn message(&self, prefix: &str) -> Result<Message, RequestError> {
        let field = |name: &str| self.get(&format!("{prefix}{name}"));
        let text = field("Message").ok_or_else(|| invalid("Empty message"))?.to_owned();
        if text.len() > MESSAGE_BYTES_MAX {
            return Err(invalid("Message too long"));
        }
        let subject = field("Subject").map(str::to_owned);
        if subject.as_ref().is_some_and(|subject| {
            subject.chars().nth(SUBJECT_CHARS_MAX).is_some() || subject.chars().any(char::is_control)
        }) {
            return Err(invalid("Subject"));
        }
        let attributes = self.attributes(prefix)?;
        let fifo_id = |name: &str| match field(name) {
            Some(id) if id.len() > FIFO_ID_LENGTH_MAX || !id.chars().all(|c| c.is_ascii_graphic()) => {
                Err(invalid(&format!("{name} Reason: it has 1 to 128 letters, digits and punctuation characters")))
            }
            id => Ok(id.map(str::to_owned)),
        };
        let (group, deduplication) = (fifo_id("MessageGroupId")?, fifo_id("MessageDeduplicationId")?);
        match field("MessageStructure") {
            None => Ok(Message { text, subject, attributes, group, deduplication, ..Message::default() }),
            Some("json") => {
                let texts: BTreeMap<String, String> = serde_json::from_str(&text)
                    .map_err(|_| invalid("Message Structure - JSON message body failed to parse"))?;
                let default = texts.get("default");
                let text = default
                    .ok_or_else(|| invalid("Message Structure - No default entry in JSON message body"))?
                    .clone();
                Ok(Message { text, subject, attributes, texts, group, deduplication })
            }
            Some(_) => Err(invalid("MessageStructure")),
        }
    }

    fn attributes(&self, prefix: &str) -> Result<BTreeMap<String, Attribute>, RequestError> {
        let mut attributes = BTreeMap::new();
        for number in 1..=ATTRIBUTES_MAX {
            let entry = format!("{prefix}MessageAttributes.entry.{number}.");
            let Some(name) = self.get(&format!("{entry}Name")) else { break };
            let field = |name: &str| self.get(&format!("{entry}Value.{name}"));
            let data_type = field("DataType").unwrap_or_default();
            let value = if data_type.starts_with("Binary") { field("BinaryValue") } else { field("StringValue") };
            let Some(value) = value else {
                let message = format!(
                    "The message attribute '{name}' must contain non-empty message attribute value for message \
                     attribute type '{data_type}'."
                );
                return Err(wrong("ParameterValueInvalid", message));
            };
            if !["String", "Number", "Binary"].iter().any(|known| data_type.starts_with(known)) {
                let message = format!(
                    "The message attribute '{name}' has an invalid message attribute type, the set of supported type \
                     prefixes is Binary, Number, and String."
                );
                return Err(wrong("ParameterValueInvalid", message));
            }
            if data_type.starts_with("Number") && !is_number(value) {
                let message = format!("Could not cast message attribute '{name}' value to number.");
                return Err(wrong("ParameterValueInvalid", message));
            }
            attributes.insert(name.to_owned(), Attribute { data_type: data_type.to_owned(), value: value.to_owned() });
        }
        Ok(attributes)
    }

    /// The ids of a batch's entries, each with the prefix of its fields.
    pub(super) fn batch(&self) -> Result<Vec<(String, String)>, RequestError> {
        let mut entries: Vec<(String, String)> = Vec::new();
        for number in 1..=BATCH_ENTRIES_MAX + 1 {
            let prefix = format!("PublishBatchRequestEntries.member.{number}.");
            if !self.has_prefix(&prefix) {
                break;
            }
            let id = self.get(&format!("{prefix}Id")).unwrap_or_default().to_owned();
            let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
            if id.is_empty() || id.len() > ENTRY_ID_LENGTH_MAX || !id.chars().all(is_valid) {
                let message = "The Id of a batch entry in a batch request doesn't abide by the specification.";
                return Err(wrong("InvalidBatchEntryId", message));
            }
            if entries.iter().any(|(other, _)| *other == id) {
                let message = "Two or more batch entries in the request have the same Id.";
                return Err(wrong("BatchEntryIdsNotDistinct", message));
            }
            entries.push((id, prefix));
        }
        let bytes = |prefix: &String| self.get(&format!("{prefix}Message")).map_or(0, str::len);
        if entries.is_empty() {
            return Err(wrong("EmptyBatchRequest", "The batch request doesn't contain any entries."));
        }
        if entries.len() > BATCH_ENTRIES_MAX {
            return Err(wrong(
                "TooManyEntriesInBatchRequest",
                "The batch request contains more entries than permissible.",
            ));
        }
        if entries.iter().map(|(_, prefix)| bytes(prefix)).sum::<usize>() > MESSAGE_BYTES_MAX {
            return Err(wrong(
                "BatchRequestTooLong",
                "The length of all the batch messages put together is more than the limit.",
            ));
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Fields {
        Fields(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_form_gives_a_message_with_its_attributes() {
        let form = "Action=Publish&Message=a%20b%2Bc&Subject=s&MessageAttributes.entry.1.Name=n\
                    &MessageAttributes.entry.1.Value.DataType=Number&MessageAttributes.entry.1.Value.StringValue=5";
        let message = Fields::parse(form.as_bytes()).message("").unwrap();
        assert_eq!((message.text.as_str(), message.subject.as_deref()), ("a b+c", Some("s")));
        assert_eq!(message.attributes["n"], Attribute { data_type: "Number".to_owned(), value: "5".to_owned() });
    }

    #[test]
    fn a_json_structure_gives_each_protocol_its_text() {
        let json = |text| fields(&[("Message", text), ("MessageStructure", "json")]).message("");
        let message = json(r#"{"default": "d", "lambda": "l"}"#).unwrap();
        assert_eq!((message.text.as_str(), message.texts["lambda"].as_str()), ("d", "l"));
        assert_eq!(
            json("{}").unwrap_err().message,
            "Invalid parameter: Message Structure - No default entry in JSON message body"
        );
        assert!(json("no").is_err());
    }

    #[test]
    fn invalid_messages_and_batches_are_refused() {
        let long = "x".repeat(MESSAGE_BYTES_MAX + 1);
        for pairs in [
            &[("Message", "")][..],
            &[("Message", long.as_str())],
            &[("Message", "m"), ("Subject", "two\nlines")],
            &[("Message", "m"), ("MessageAttributes.entry.1.Name", "n")],
            &[
                ("Message", "m"),
                ("MessageAttributes.entry.1.Name", "n"),
                ("MessageAttributes.entry.1.Value.DataType", "Number"),
                ("MessageAttributes.entry.1.Value.StringValue", "abc"),
            ],
        ] {
            assert_eq!(fields(pairs).message("").unwrap_err().status, 400);
        }
        let entry =
            |number: usize, id: usize| (format!("PublishBatchRequestEntries.member.{number}.Id"), id.to_string());
        let batch = |ids: &[usize]| {
            Fields(ids.iter().enumerate().map(|(index, id)| entry(index + 1, *id)).collect())
                .batch()
                .map(|all| all.len())
        };
        assert_eq!(batch(&[1, 2]), Ok(2));
        assert_eq!(batch(&[1, 1]).unwrap_err().code, "BatchEntryIdsNotDistinct");
        assert_eq!(batch(&[]).unwrap_err().code, "EmptyBatchRequest");
        assert_eq!(batch(&(0..11).collect::<Vec<_>>()).unwrap_err().code, "TooManyEntriesInBatchRequest");
    }
}
