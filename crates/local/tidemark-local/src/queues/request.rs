//! The parameters that several actions share.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use super::error::ApiError;

/// A text parameter.
pub(super) fn text<'a>(request: &'a Value, name: &str) -> Option<&'a str> {
    request.get(name).and_then(Value::as_str)
}

/// The texts of a list.
pub(super) fn texts<'a>(request: &'a Value, name: &str) -> Vec<&'a str> {
    request.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A number within SQS's limits.
pub(super) fn number(
    request: &Value,
    name: &str,
    limits: RangeInclusive<u64>,
    reason: &str,
) -> Result<Option<u64>, ApiError> {
    let Some(value) = request.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let number = value.as_u64().filter(|number| limits.contains(number));
    number.map(Some).ok_or_else(|| ApiError::value(name, &value.to_string(), reason))
}

/// A time in seconds, up to `max_s`.
pub(super) fn seconds(request: &Value, name: &str, max_s: u64) -> Result<Option<Duration>, ApiError> {
    let reason = format!("{name} must be >= 0 and <= {max_s}.");
    Ok(number(request, name, 0..=max_s, &reason)?.map(Duration::from_secs))
}
