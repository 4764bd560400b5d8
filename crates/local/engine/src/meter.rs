//! What requests consume, by table and index: asked of the emulator with each request, and taken out of the reply again.
//!
//! Off until somebody wants to know. Requests that ask for themselves keep their answer; PartiQL is not metered.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::Call;

/// The member that asks.
const ASKING: &str = "ReturnConsumedCapacity";

/// The member that answers.
const ANSWER: &str = "ConsumedCapacity";

/// What one table, or one of its indexes, has taken since the meter was switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
    /// Requests, and parts of batches, that were throttled; of an index they are counted with its table.
    pub throttled: u64,
}

/// A table's name, and the index's when it is about one.
pub type TableOrIndex = (String, Option<String>);

/// The usage of one database.
#[derive(Debug, Default)]
pub struct Meter {
    on: AtomicBool,
    used: Mutex<BTreeMap<TableOrIndex, Usage>>,
}

/// How a request is metered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MeteredKind {
    Reads,
    Writes,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Consumed {
    table_name: String,
    #[serde(default)]
    capacity_units: f64,
    table: Option<Units>,
    #[serde(default)]
    global_secondary_indexes: BTreeMap<String, Units>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Units {
    #[serde(default)]
    capacity_units: f64,
}

impl Meter {
    pub(crate) fn switch_on(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    /// What each table and index has taken since the meter was switched on.
    #[must_use]
    pub fn used(&self) -> BTreeMap<TableOrIndex, Usage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the call ask for what it consumes, where it is to be metered and does not ask already.
    pub(crate) fn request_capacity(&self, call: &mut Call) -> Option<MeteredKind> {
        if !self.on.load(Ordering::Relaxed) {
            return None;
        }
        let metered = match call.operation.as_str() {
            "GetItem" | "Query" | "Scan" | "BatchGetItem" | "TransactGetItems" => MeteredKind::Reads,
            "PutItem" | "UpdateItem" | "DeleteItem" | "BatchWriteItem" | "TransactWriteItems" => MeteredKind::Writes,
            _ => return None,
        };
        let rest = call.body.strip_prefix(b"{")?;
        let has_members = rest.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'"');
        // A text that only speaks of the member goes unmetered, which is better than a member twice.
        if !has_members || call.body.windows(ASKING.len()).any(|window| window == ASKING.as_bytes()) {
            return None;
        }
        call.body = Bytes::from([format!("{{\"{ASKING}\":\"INDEXES\",").as_bytes(), rest].concat());
        Some(metered)
    }

    /// Notes what a reply says, and gives the reply without it.
    pub(crate) fn record_reply(&self, metered: MeteredKind, body: Bytes) -> Bytes {
        let Ok(mut members) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(&body) else { return body };
        let Some(answer) = members.remove(ANSWER) else { return body };
        let one_or_many = if answer.get().starts_with('[') {
            serde_json::from_str(answer.get())
        } else {
            serde_json::from_str(answer.get()).map(|one| vec![one])
        };
        for consumed in one_or_many.unwrap_or_default() {
            self.note(metered, consumed);
        }
        serde_json::to_vec(&members).map_or(body.clone(), Bytes::from)
    }

    /// Notes that so many parts of a request were throttled.
    pub(crate) fn throttled(&self, body: &[u8], parts: usize) {
        if !self.on.load(Ordering::Relaxed) || parts == 0 {
            return;
        }
        let Some(table) = serde_json::from_slice(body).ok().and_then(|request| first_table(&request)) else { return };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.entry((table, None)).or_default().throttled += parts as u64;
    }

    fn note(&self, metered: MeteredKind, consumed: Consumed) {
        let table_units = consumed.table.map_or(consumed.capacity_units, |table| table.capacity_units);
        let indexes =
            consumed.global_secondary_indexes.into_iter().map(|(name, units)| (Some(name), units.capacity_units));
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for (index, units) in indexes.chain([(None, table_units)]) {
            let usage = used.entry((consumed.table_name.clone(), index)).or_default();
            match metered {
                MeteredKind::Reads => usage.read_units += units,
                MeteredKind::Writes => usage.write_units += units,
            }
        }
    }
}

/// The table that a request is about; of several, the first.
fn first_table(request: &Value) -> Option<String> {
    if let Some(name) = request["TableName"].as_str() {
        return Some(name.to_owned());
    }
    if let Some(items) = request["RequestItems"].as_object() {
        return items.keys().next().cloned();
    }
    let action = request["TransactItems"].as_array()?.first()?.as_object()?.values().next()?;
    action["TableName"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use http::{HeaderMap, Method, Uri};
    use serde_json::json;

    use super::*;

    fn call(operation: &str, body: &str) -> Call {
        Call {
            operation: operation.to_owned(),
            method: Method::POST,
            uri: Uri::from_static("/"),
            headers: HeaderMap::new(),
            body: Bytes::from(body.to_owned()),
        }
    }

    fn meter() -> Meter {
        let meter = Meter::default();
        meter.switch_on();
        meter
    }

    #[test]
    fn a_call_asks_once_it_is_metered_and_is_else_left_as_it_is() {
        let put = r#"{"TableName": "t", "Item": {}}"#;
        let mut asking = call("PutItem", put);
        assert_eq!(meter().request_capacity(&mut asking), Some(MeteredKind::Writes));
        let body: Value = serde_json::from_slice(&asking.body).unwrap();
        assert_eq!(body, json!({ "ReturnConsumedCapacity": "INDEXES", "TableName": "t", "Item": {} }));

        let untouched = [
            (Meter::default(), "PutItem", put),
            (meter(), "CreateTable", put),
            (meter(), "PutItem", "{}"),
            (meter(), "PutItem", "no JSON"),
            (meter(), "Query", r#"{"TableName": "t", "ReturnConsumedCapacity": "TOTAL"}"#),
        ];
        for (meter, operation, body) in untouched {
            let mut left = call(operation, body);
            assert_eq!(
                (meter.request_capacity(&mut left), &left.body[..]),
                (None, body.as_bytes()),
                "{operation} {body}"
            );
        }
    }

    #[test]
    fn a_reply_is_noted_by_table_and_index_and_comes_without_what_nobody_asked_for() {
        let meter = meter();
        let reply = r#"{"ConsumedCapacity":{"TableName":"t","CapacityUnits":3.0,"Table":{"CapacityUnits":2.0},
            "GlobalSecondaryIndexes":{"i":{"CapacityUnits":1.0}}},"Attributes":{"n":{"N":"1.50"}}}"#;
        let left = meter.record_reply(MeteredKind::Writes, Bytes::from(reply));
        assert_eq!(left, r#"{"Attributes":{"n":{"N":"1.50"}}}"#);
        let many =
            r#"{"ConsumedCapacity":[{"TableName":"t","CapacityUnits":4.0},{"TableName":"u","CapacityUnits":0.5}]}"#;
        assert_eq!(meter.record_reply(MeteredKind::Reads, Bytes::from(many)), "{}");
        let at = |table: &str, index: Option<&str>| (table.to_owned(), index.map(str::to_owned));
        let used = BTreeMap::from([
            (at("t", None), Usage { read_units: 4.0, write_units: 2.0, throttled: 0 }),
            (at("t", Some("i")), Usage { write_units: 1.0, ..Usage::default() }),
            (at("u", None), Usage { read_units: 0.5, ..Usage::default() }),
        ]);
        assert_eq!(meter.used(), used);
    }

    #[test]
    fn a_reply_that_says_nothing_of_it_is_passed_on_as_it_is() {
        for reply in ["{}", "no JSON", r#"{"Item":{}}"#] {
            assert_eq!(meter().record_reply(MeteredKind::Reads, Bytes::from(reply)), reply);
        }
    }

    #[test]
    fn throttled_requests_are_counted_with_their_table() {
        let meter = meter();
        let action = json!({ "TransactItems": [{ "Put": { "TableName": "t" } }] });
        for request in [json!({ "TableName": "t" }), json!({ "RequestItems": { "t": [] } }), action] {
            meter.throttled(request.to_string().as_bytes(), 2);
        }
        meter.throttled(b"no JSON", 1);
        assert_eq!(meter.used()[&("t".to_owned(), None)].throttled, 6);
    }
}
