//! Checks the lengths of attribute names.

use serde_json::{Map, Value};

use crate::api::ApiError;

/// The longest attribute name, bytes.
pub(super) const LENGTH_MAX: usize = 65_535;

/// Refuses a name that is too long, wherever a request names attributes of an item.
pub(super) fn check(request: &Map<String, Value>) -> Result<(), ApiError> {
    let keys = ["Item", "Key", "AttributeUpdates", "Expected"].iter();
    let keys = keys.filter_map(|member| request.get(*member)?.as_object()).flat_map(Map::keys);
    let texts = request.get("ExpressionAttributeNames").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let texts = texts.chain(request.get("AttributesToGet").and_then(Value::as_array).into_iter().flatten());
    if keys.map(String::as_str).chain(texts.filter_map(Value::as_str)).any(|name| name.len() > LENGTH_MAX) {
        return Err(ApiError::validation(
            "One or more parameter values were invalid: Attribute name is too large, must be less than 65536 bytes",
        ));
    }
    Ok(())
}
