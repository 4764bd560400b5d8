//! The times of the newest records. `ferrokinesis` keeps whole seconds, and Kinesis milliseconds.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// Maximum number of records.
const KEPT_MAX: usize = 100_000;

/// The times by stream and sequence number, milliseconds since the epoch.
#[derive(Debug, Default)]
pub(super) struct Arrivals(Mutex<BTreeMap<(String, String), i64>>);

impl Arrivals {
    /// Keeps the time of the records in the answer to `PutRecord` or `PutRecords`.
    pub(super) fn keep(&self, stream: &str, answer: &[u8], time_ms: i64) {
        let answer: Value = serde_json::from_slice(answer).unwrap_or_default();
        let many = answer["Records"].as_array().map(Vec::as_slice).unwrap_or_default();
        let numbers = many.iter().chain([&answer]).filter_map(|record| record["SequenceNumber"].as_str());
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(numbers.map(|number| ((stream.to_owned(), number.to_owned()), time_ms)));
        while kept.len() > KEPT_MAX {
            kept.pop_first();
        }
    }

    pub(super) fn get(&self, stream: &str, number: &str) -> Option<i64> {
        let key = (stream.to_owned(), number.to_owned());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).copied()
    }
}
