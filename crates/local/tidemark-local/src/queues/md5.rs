//! The MD5 sums with which SDKs check bodies and attributes.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html>.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::{Digest, Md5};
use serde_json::{Map, Value};

/// The sum of a body.
pub(super) fn of_body(body: &str) -> String {
    sum(body.as_bytes())
}

/// The sum of message attributes, sorted by name; `None` without attributes.
pub(super) fn of_attributes(attributes: &Map<String, Value>) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut sorted: Vec<_> = attributes.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    let mut bytes = Vec::new();
    for (name, attribute) in sorted {
        let text = |field: &str| attribute.get(field).and_then(Value::as_str);
        add(&mut bytes, name.as_bytes());
        add(&mut bytes, text("DataType").unwrap_or_default().as_bytes());
        match text("BinaryValue") {
            Some(binary) => {
                bytes.push(2);
                add(&mut bytes, &STANDARD.decode(binary).unwrap_or_default());
            }
            None => {
                bytes.push(1);
                add(&mut bytes, text("StringValue").unwrap_or_default().as_bytes());
            }
        }
    }
    Some(sum(&bytes))
}

/// Adds a part after its length.
fn add(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(part);
}

fn sum(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sums_are_those_of_sqs() {
        assert_eq!(of_body("hello"), "5d41402abc4b2a76b9719d911017c592");
        assert_eq!(of_attributes(&Map::new()), None);
        let one = json!({ "a": { "DataType": "String", "StringValue": "b" } });
        // printf '\0\0\0\1a\0\0\0\6String\1\0\0\0\1b' | md5sum
        assert_eq!(of_attributes(one.as_object().expect("a map")).as_deref(), Some("bef8bf215374a0a228d67533b1a488be"));
    }
}
