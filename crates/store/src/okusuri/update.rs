//! Updates that leave alone what they do not know.

use aws_sdk_dynamodb::error::BuildError;
use aws_sdk_dynamodb::types::Update;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use std::collections::BTreeMap;

use super::keys::{Item, PARTITION_KEY, SORT_KEY};
use crate::StoreError;

/// Makes an item what `after` says: sets its attributes, and removes those of `optional` that it does not have. All others stay.
pub(super) fn update(table: &str, after: Item, optional: &[&str]) -> UpdateBuilder {
    // In the order of their names, so that the same change is the same request.
    let after: BTreeMap<_, _> = after.into_iter().collect();
    let removed = optional.iter().filter(|name| !after.contains_key(**name));
    let mut update = Update::builder().table_name(table);
    let mut removes = Vec::new();
    for (index, name) in removed.enumerate() {
        removes.push(format!("#r{index}"));
        update = update.expression_attribute_names(format!("#r{index}"), *name);
    }
    let mut sets = Vec::new();
    for (index, (name, value)) in after.into_iter().enumerate() {
        if [PARTITION_KEY, SORT_KEY].contains(&name.as_str()) {
            update = update.key(name, value);
            continue;
        }
        sets.push(format!("#n{index} = :v{index}"));
        update = update
            .expression_attribute_names(format!("#n{index}"), name)
            .expression_attribute_values(format!(":v{index}"), value);
    }
    let mut expression = format!("SET {}", sets.join(", "));
    if !removes.is_empty() {
        expression.push_str(&format!(" REMOVE {}", removes.join(", ")));
    }
    update.update_expression(expression)
}

/// A request that cannot be built.
pub(super) fn refused(error: BuildError) -> StoreError {
    StoreError::Refused(error.to_string())
}
