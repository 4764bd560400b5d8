//! `BatchGetItem` reads each item at a moment of its own: a simulated wire reads some of them
//! before the others.

use fastrand::Rng;
use serde_json::Value;

/// Moves some keys of a `BatchGetItem` into a request of their own.
pub fn split_read(request: &mut Value, table: &str, rng: &mut Rng) -> Option<Value> {
    let keys = request["RequestItems"][table]["Keys"].as_array_mut().filter(|keys| !keys.is_empty())?;
    rng.shuffle(keys);
    let first = keys.split_off(rng.usize(1..=keys.len()));
    if first.is_empty() {
        return None;
    }
    let mut early = request.clone();
    early["RequestItems"][table]["Keys"] = first.into();
    Some(early)
}

/// The items of an answer.
pub fn take_items(answer: &mut Value, table: &str) -> Vec<Value> {
    match answer["Responses"][table].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}
