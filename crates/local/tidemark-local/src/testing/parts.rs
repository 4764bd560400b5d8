//! Tables and queues of a test.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::DisplayErrorContext;
use aws_sdk_dynamodb::types::AttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Number, Value};

use super::{TestError, UnknownName};
use crate::queues::{NewMessage, Queues};

/// Maximum number of pages of a scan, of 1 MB each.
const PAGES_MAX: usize = 1_000;

/// A table. Items are JSON: sets are arrays, binary values are base64.
#[derive(Debug)]
pub struct Table {
    client: Client,
    name: Result<String, UnknownName>,
}

impl Table {
    pub(super) fn new(client: Client, name: Result<String, UnknownName>) -> Self {
        Self { client, name }
    }

    /// All items, at most 1 GB.
    ///
    /// # Errors
    /// [`TestError::Unknown`] if the template has no such table, [`TestError::Answer`] with the
    /// error of DynamoDB.
    pub async fn scan(&self) -> Result<Vec<Value>, TestError> {
        let scan = self.client.scan().table_name(self.name.clone()?).consistent_read(true);
        let (mut items, mut start) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = scan.clone().set_exclusive_start_key(start).send().await.map_err(failed)?;
            items.extend(page.items.unwrap_or_default().iter().map(item));
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(items);
            }
        }
        Err(TestError::Answer("the table is too large for a scan".to_owned()))
    }

    /// Puts an item of texts, numbers, booleans, nulls, lists and objects.
    ///
    /// # Errors
    /// As [`scan`](Self::scan); [`TestError::Answer`] if the item is not an object.
    pub async fn put(&self, item: Value) -> Result<(), TestError> {
        let Value::Object(item) = item else { return Err(TestError::Answer(format!("not an item: {item}"))) };
        let item = item.into_iter().map(|(name, value)| (name, attribute(value))).collect();
        self.client.put_item().table_name(self.name.clone()?).set_item(Some(item)).send().await.map_err(failed)?;
        Ok(())
    }
}

fn failed(error: impl std::error::Error) -> TestError {
    TestError::Answer(format!("DynamoDB: {}", DisplayErrorContext(error)))
}

fn item(item: &HashMap<String, AttributeValue>) -> Value {
    let entries: Map<_, _> = item.iter().map(|(name, attribute)| (name.clone(), value(attribute))).collect();
    Value::Object(entries)
}

/// An attribute as JSON. A number that JSON's numbers cannot hold stays text.
fn value(attribute: &AttributeValue) -> Value {
    let number = |text: &String| {
        let number = text.parse::<i64>().map(Number::from).ok();
        number.or_else(|| text.parse().ok().and_then(Number::from_f64)).map_or_else(|| text.clone().into(), Value::from)
    };
    let binary = |bytes: &[u8]| Value::from(STANDARD.encode(bytes));
    match attribute {
        AttributeValue::S(text) => text.clone().into(),
        AttributeValue::N(text) => number(text),
        AttributeValue::Bool(value) => (*value).into(),
        AttributeValue::B(bytes) => binary(bytes.as_ref()),
        AttributeValue::L(values) => values.iter().map(value).collect(),
        AttributeValue::M(entries) => item(entries),
        AttributeValue::Ss(texts) => texts.clone().into(),
        AttributeValue::Ns(numbers) => numbers.iter().map(number).collect(),
        AttributeValue::Bs(values) => values.iter().map(|bytes| binary(bytes.as_ref())).collect(),
        _ => Value::Null,
    }
}

fn attribute(value: Value) -> AttributeValue {
    match value {
        Value::Null => AttributeValue::Null(true),
        Value::Bool(value) => AttributeValue::Bool(value),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        Value::String(text) => AttributeValue::S(text),
        Value::Array(values) => AttributeValue::L(values.into_iter().map(attribute).collect()),
        Value::Object(entries) => {
            AttributeValue::M(entries.into_iter().map(|(name, value)| (name, attribute(value))).collect())
        }
    }
}

/// A queue.
#[derive(Debug)]
pub struct Queue<'a> {
    queues: &'a Queues,
    arn: Result<String, UnknownName>,
}

impl<'a> Queue<'a> {
    pub(super) fn new(queues: &'a Queues, arn: Result<String, UnknownName>) -> Self {
        Self { queues, arn }
    }

    /// Sends a message. In a FIFO queue, all messages that a test sends so are of one group.
    ///
    /// # Errors
    /// [`TestError::Unknown`] if the template has no such queue, [`TestError::Answer`] if the queue
    /// refuses the message.
    pub fn send(&self, body: &str) -> Result<(), TestError> {
        let message = NewMessage { body: body.to_owned(), ..NewMessage::default() };
        self.queues.send(&self.arn.clone()?, message).map_err(|error| TestError::Answer(error.to_string()))
    }

    /// The bodies of all messages in the order of sending, received or not. They stay in the queue.
    ///
    /// # Errors
    /// [`TestError::Unknown`] if the template has no such queue, or a function has deleted it.
    pub fn messages(&self) -> Result<Vec<String>, TestError> {
        let arn = self.arn.clone()?;
        self.queues.bodies(&arn).ok_or_else(|| super::unknown("queue", &arn, std::iter::empty()).into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_keep_their_values_as_json() {
        let json =
            json!({ "text": "a", "n": 12, "f": 0.5, "is": true, "no": null, "list": [1, "b"], "map": { "x": -3 } });
        let Value::Object(entries) = json.clone() else { panic!("an object") };
        let stored = entries.into_iter().map(|(name, value)| (name, attribute(value))).collect();
        assert_eq!(item(&stored), json);
        assert_eq!(value(&AttributeValue::Ns(vec!["7".to_owned(), "1e400".to_owned()])), json!([7, "1e400"]));
        assert_eq!(value(&AttributeValue::Bs(vec![vec![255].into()])), json!(["/w=="]));
    }
}
