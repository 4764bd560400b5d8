//! Compares attribute values.

use std::cmp::Ordering;

use serde_json::Value;

/// Whether `left` is greater than `right`, both of type `S`, `N` or `B`.
pub(super) fn is_greater(kind: &str, left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_str(), right.as_str()) else { return false };
    match kind {
        "S" => left > right,
        "N" => number_order(left, right) == Some(Ordering::Greater),
        "B" => base64_bytes(left) > base64_bytes(right),
        _ => false,
    }
}

/// The order of two numbers; `None` if a double cannot tell them apart.
fn number_order(left: &str, right: &str) -> Option<Ordering> {
    left.parse::<f64>().ok()?.partial_cmp(&right.parse::<f64>().ok()?)
}

fn base64_bytes(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).unwrap_or_default()
}
