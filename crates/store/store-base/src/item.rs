//! Items and their attribute values.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

/// An item, or the key of one.
pub type Item = HashMap<String, AttributeValue>;

/// A text attribute.
pub fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
