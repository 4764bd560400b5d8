//! What an item is made of, and the query that most access patterns are.

use std::collections::HashMap;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;

/// An item, or the key of one.
pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn s(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(crate) fn n(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// The items of a partition between two sort keys, both included. `names` are those of the two parts of the key.
pub(crate) fn between(
    client: &Client,
    table: &str,
    names: [&str; 2],
    partition: impl Into<String>,
    from: impl Into<String>,
    to: impl Into<String>,
) -> QueryFluentBuilder {
    client
        .query()
        .table_name(table)
        .key_condition_expression("#pk = :pk AND #sk BETWEEN :from AND :to")
        .expression_attribute_names("#pk", names[0])
        .expression_attribute_names("#sk", names[1])
        .expression_attribute_values(":pk", s(partition))
        .expression_attribute_values(":from", s(from))
        .expression_attribute_values(":to", s(to))
}
