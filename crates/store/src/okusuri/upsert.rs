//! Writing a row without replacing its item: attributes that another version of the service knows survive.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;

use super::keys::{Item, PARTITION_KEY, SORT_KEY};
use super::rows::{Row, item};
use crate::StoreError;

const CREATED_AT: &str = "CreatedAt";

/// Sets each attribute of `row`, except the time of creation of an item that is there already, and takes away those of `optional` that
/// the row does not have. `request` has its table and may have a condition, whose names begin with `#` and values with `:` and a capital.
pub(super) fn upsert<R: Row>(
    request: UpdateItemFluentBuilder,
    row: &R,
    optional: &[&str],
) -> Result<UpdateItemFluentBuilder, StoreError> {
    let mut attributes: Item = item(row)?;
    attributes.retain(|name, _| name != PARTITION_KEY && name != SORT_KEY);
    let mut request = request.set_key(Some(row.key().item()));
    let (mut set, mut remove) = (Vec::new(), Vec::new());
    for (index, name) in optional.iter().filter(|name| !attributes.contains_key(**name)).enumerate() {
        request = request.expression_attribute_names(format!("#r{index}"), *name);
        remove.push(format!("#r{index}"));
    }
    for (index, (name, value)) in attributes.into_iter().enumerate() {
        let (place, placed) = (format!("#s{index}"), format!(":s{index}"));
        set.push(if name == CREATED_AT {
            format!("{place} = if_not_exists({place}, {placed})")
        } else {
            format!("{place} = {placed}")
        });
        request = request.expression_attribute_names(place, name).expression_attribute_values(placed, value);
    }
    let mut expression = format!("SET {}", set.join(", "));
    if !remove.is_empty() {
        expression.push_str(&format!(" REMOVE {}", remove.join(", ")));
    }
    Ok(request.update_expression(expression))
}
