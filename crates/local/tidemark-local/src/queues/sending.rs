//! `SendMessage`: what SQS accepts as a message.
//!
//! Source: <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use std::time::Instant;

use super::error::{Answer, ApiError};
use super::md5;
use super::queue::{NewMessage, Queue, Sent};
use super::request::{seconds, text};

const DELAY_S_MAX: u64 = 900;
const ATTRIBUTES_MAX: usize = 10;
const ATTRIBUTE_NAME_LENGTH_MAX: usize = 256;

/// Maximum length of a group and of a deduplication id.
const FIFO_ID_LENGTH_MAX: usize = 128;

/// The only system attribute that a sender can set.
pub(super) const TRACE_HEADER: &str = "AWSTraceHeader";

/// Sends the message of a request, or of an entry of a batch. `trace` is the request's own trace.
pub(super) fn send(queue: &Queue, request: &Value, trace: Option<&str>, now: Instant) -> Answer {
    let definition = queue.definition();
    let body = text(request, "MessageBody").filter(|body| !body.is_empty());
    let body = body.ok_or_else(|| ApiError::missing("MessageBody"))?.to_owned();
    check_characters(&body)?;
    let object = |name: &str| request.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let (attributes, system) = (object("MessageAttributes"), object("MessageSystemAttributes"));
    if attributes.len() > ATTRIBUTES_MAX {
        let message = format!("Number of message attributes [{}] exceeds the allowed maximum [10].", attributes.len());
        return Err(ApiError::invalid(message));
    }
    attributes.iter().try_for_each(|(name, attribute)| check_attribute(name, attribute))?;
    let own_trace = trace_header(&system)?;
    let delay = seconds(request, "DelaySeconds", DELAY_S_MAX)?;
    if let Some(delay) = delay.filter(|delay| definition.fifo && !delay.is_zero()) {
        let reason = "The request include parameter that is not valid for this queue type.";
        return Err(ApiError::value("DelaySeconds", &delay.as_secs().to_string(), reason));
    }
    let (group, deduplication) = (fifo_id(request, "MessageGroupId")?, fifo_id(request, "MessageDeduplicationId")?);
    if let Some(id) = deduplication.as_ref().filter(|_| !definition.fifo) {
        let reason = "The request includes a parameter that is not valid for this queue type.";
        return Err(ApiError::value("MessageDeduplicationId", id, reason));
    }
    let (body_sum, attributes_sum) = (md5::of_body(&body), md5::of_attributes(&attributes));
    let trace = own_trace.or(trace).map(str::to_owned);
    let Sent { id, sequence } = queue.send(NewMessage { body, attributes, delay, group, deduplication, trace }, now)?;
    let mut answer = json!({ "MessageId": id, "MD5OfMessageBody": body_sum });
    let sums =
        [("MD5OfMessageAttributes", attributes_sum), ("MD5OfMessageSystemAttributes", md5::of_attributes(&system))];
    for (name, sum) in sums.into_iter().filter_map(|(name, sum)| Some((name, sum?))) {
        answer[name] = sum.into();
    }
    if definition.fifo {
        answer["SequenceNumber"] = format!("{sequence:020}").into();
    }
    Ok(answer)
}

/// The size of a message in the sense of SQS's limits.
pub(super) fn size(body: &str, attributes: &Map<String, Value>) -> usize {
    let attribute = |(name, attribute): (&String, &Value)| {
        let length = |field: &str| text(attribute, field).map_or(0, str::len);
        // Base64 has four characters for three bytes.
        name.len() + length("DataType") + length("StringValue") + length("BinaryValue") / 4 * 3
    };
    body.len() + attributes.iter().map(attribute).sum::<usize>()
}

/// The size of an entry of a batch.
pub(super) fn entry_size(entry: &Value) -> usize {
    let attributes = entry.get("MessageAttributes").and_then(Value::as_object);
    let body = text(entry, "MessageBody").unwrap_or_default();
    attributes.map_or(body.len(), |attributes| size(body, attributes))
}

/// Refuses the characters that XML 1.0 does not have.
fn check_characters(text: &str) -> Result<(), ApiError> {
    let is_valid = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..);
    let Some(character) = text.chars().find(|character| !is_valid(*character)) else { return Ok(()) };
    let message = format!(
        "Invalid binary character '#x{:X}' was found in the message body, the set of allowed characters is #x9 | #xA | \
         #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF",
        u32::from(character)
    );
    Err(ApiError::new("InvalidMessageContents", "InvalidMessageContents", message))
}

fn check_attribute(name: &str, attribute: &Value) -> Result<(), ApiError> {
    let refused = |problem: String| Err(ApiError::invalid(problem));
    let is_valid = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let lower = name.to_ascii_lowercase();
    let is_reserved = lower.starts_with("aws.") || lower.starts_with("amazon.");
    let is_dotted = name.starts_with('.') || name.ends_with('.') || name.contains("..");
    if name.is_empty()
        || name.len() > ATTRIBUTE_NAME_LENGTH_MAX
        || !name.chars().all(is_valid)
        || is_reserved
        || is_dotted
    {
        return refused(format!(
            "The message (user) attribute name '{name}' is invalid: it can contain letters, digits, periods, hyphens and \
             underscores, must not start or end with a period, and must not start with AWS. or Amazon."
        ));
    }
    let kind = text(attribute, "DataType").unwrap_or_default();
    let base = kind.split('.').next().unwrap_or_default();
    let field = match base {
        "String" | "Number" => "StringValue",
        "Binary" => "BinaryValue",
        _ => {
            return refused(format!(
                "The type of message (user) attribute '{name}' is invalid. You must use only the following supported \
                 type prefixes: Binary, Number, String."
            ));
        }
    };
    let Some(value) = text(attribute, field).filter(|value| !value.is_empty()) else {
        return refused(format!(
            "The message (user) attribute '{name}' must contain a non-empty value of type '{base}'."
        ));
    };
    match base {
        "Number" if !is_number(value) => {
            refused(format!("Can't cast the value of message (user) attribute '{name}' to a number."))
        }
        "Binary" if STANDARD.decode(value).is_err() => {
            refused(format!("The value of message (user) attribute '{name}' is not base64."))
        }
        "String" => check_characters(value),
        _ => Ok(()),
    }
}

/// Whether a text is a number: not `NaN`, and not infinite.
pub(crate) fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

fn trace_header(system: &Map<String, Value>) -> Result<Option<&str>, ApiError> {
    if let Some((name, _)) = system.iter().find(|(name, _)| *name != TRACE_HEADER) {
        let message = format!("Message system attribute name '{name}' is invalid.");
        return Err(ApiError::invalid(message));
    }
    let Some(attribute) = system.get(TRACE_HEADER) else { return Ok(None) };
    let value = text(attribute, "StringValue").filter(|_| text(attribute, "DataType") == Some("String"));
    let message = "The message system attribute 'AWSTraceHeader' must be a String.";
    value.map(Some).ok_or_else(|| ApiError::invalid(message))
}

fn fifo_id(request: &Value, name: &str) -> Result<Option<String>, ApiError> {
    let Some(id) = text(request, name) else { return Ok(None) };
    if (1..=FIFO_ID_LENGTH_MAX).contains(&id.len()) && id.chars().all(|c| c.is_ascii_graphic()) {
        return Ok(Some(id.to_owned()));
    }
    let reason = format!("{name} can only include alphanumeric and punctuation characters. 1 to 128 in length.");
    Err(ApiError::value(name, id, &reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_characters_of_xml_are_accepted() {
        assert_eq!(check_characters("a\t\n\r é 🌊 \u{FFFD}"), Ok(()));
        for (text, code) in [("a\0", "'#x0'"), ("\u{1f}", "'#x1F'"), ("\u{FFFE}", "'#xFFFE'")] {
            let error = check_characters(text).expect_err("refused");
            assert!(error.kind == "InvalidMessageContents" && error.message.contains(code), "{error:?}");
        }
    }

    #[test]
    fn an_attribute_has_a_type_and_a_value_of_it() {
        let string = |kind: &str, value: &str| json!({ "DataType": kind, "StringValue": value });
        for (name, attribute) in [
            ("a", string("Number", "abc")),
            ("a", string("Number", "NaN")),
            ("a", string("String", "")),
            ("a", string("Text", "x")),
            ("a", json!({ "DataType": "Binary", "BinaryValue": "-" })),
            ("AWS.a", string("String", "x")),
            ("a b", string("String", "x")),
            (".a", string("String", "x")),
        ] {
            assert!(check_attribute(name, &attribute).is_err(), "{name} {attribute}");
        }
        for attribute in [string("Number", "-1.5e3"), string("Number.int", "7"), string("String.uuid", "x")] {
            assert_eq!(check_attribute("a.b_c-d", &attribute), Ok(()));
        }
    }
}
