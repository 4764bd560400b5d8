//! Meters the consumed capacity by table and index. The meter adds `ReturnConsumedCapacity` to each
//! request and removes the numbers from the reply.
//!
//! Off until [`crate::Engine::meter`] is called. A request that asks for the numbers itself passes
//! unchanged and is not metered. PartiQL is not metered.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::call::Call;

/// The request's parameter.
const PARAMETER: &str = "ReturnConsumedCapacity";

/// How the SDKs end a request that wants no numbers.
const NONE: &[u8] = br#""ReturnConsumedCapacity":"NONE"}"#;

/// The reply's member.
const ANSWER: &str = "ConsumedCapacity";

/// The usage of one table or index since the meter was switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Read capacity units.
    pub read_units: f64,
    /// Write capacity units.
    pub write_units: f64,
    /// Throttled requests and throttled entries of batches; those of an index count for its table.
    pub throttled: u64,
}

/// A table's name, and the index's name for an index.
pub type TableOrIndex = (String, Option<String>);

/// The usage of one database.
#[derive(Debug, Default)]
pub struct Meter {
    on: AtomicBool,
    used: Mutex<BTreeMap<TableOrIndex, Usage>>,
}

/// Whether a request counts as reads or writes.
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

    /// The usage of each table and index since the meter was switched on.
    pub fn used(&self) -> BTreeMap<TableOrIndex, Usage> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds the parameter to a call that is to be metered and does not have it.
    pub(crate) fn request_capacity(&self, call: &mut Call) -> Option<MeteredKind> {
        if !self.on.load(Ordering::Relaxed) {
            return None;
        }
        let metered = match call.operation.as_str() {
            "GetItem" | "Query" | "Scan" | "BatchGetItem" | "TransactGetItems" => MeteredKind::Reads,
            "PutItem" | "UpdateItem" | "DeleteItem" | "BatchWriteItem" | "TransactWriteItems" => MeteredKind::Writes,
            _ => return None,
        };
        if let Some(rest) = call.body.strip_suffix(NONE) {
            call.body = Bytes::from([rest, format!("\"{PARAMETER}\":\"INDEXES\"}}").as_bytes()].concat());
            return Some(metered);
        }
        let rest = call.body.strip_prefix(b"{")?;
        let has_members = rest.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'"');
        // A body that contains the parameter's name anywhere is not metered: that is better than a
        // duplicate parameter.
        if !has_members || call.body.windows(PARAMETER.len()).any(|window| window == PARAMETER.as_bytes()) {
            return None;
        }
        call.body = Bytes::from([format!("{{\"{PARAMETER}\":\"INDEXES\",").as_bytes(), rest].concat());
        Some(metered)
    }

    /// Records the numbers of a reply and removes them from it.
    pub(crate) fn record_reply(&self, metered: MeteredKind, body: Bytes) -> Bytes {
        let Ok(mut members) = serde_json::from_slice::<BTreeMap<Cow<'_, str>, &RawValue>>(&body) else { return body };
        let Some(answer) = members.remove(ANSWER) else { return body };
        let one_or_many = if answer.get().starts_with('[') {
            serde_json::from_str(answer.get())
        } else {
            serde_json::from_str(answer.get()).map(|one| vec![one])
        };
        for consumed in one_or_many.unwrap_or_default() {
            self.record(metered, consumed);
        }
        serde_json::to_vec(&members).map_or(body.clone(), Bytes::from)
    }

    /// Counts throttled entries of a request.
    pub(crate) fn throttled(&self, body: &[u8], parts: usize) {
        if !self.on.load(Ordering::Relaxed) || parts == 0 {
            return;
        }
        let Some(table) = serde_json::from_slice(body).ok().and_then(|request| first_table(&request)) else { return };
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.entry((table, None)).or_default().throttled += parts as u64;
    }

    fn record(&self, metered: MeteredKind, consumed: Consumed) {
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

/// The table of a request; of several tables, the first.
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
            adaptation: crate::adaptation::Adaptation::None,
        }
    }

    fn meter() -> Meter {
        let meter = Meter::default();
        meter.switch_on();
        meter
    }

    #[test]
    fn only_a_metered_call_gets_the_parameter() {
        let put = r#"{"TableName": "t", "Item": {}}"#;
        let mut asking = call("PutItem", put);
        assert_eq!(meter().request_capacity(&mut asking), Some(MeteredKind::Writes));
        let body: Value = serde_json::from_slice(&asking.body).unwrap();
        assert_eq!(body, json!({ "ReturnConsumedCapacity": "INDEXES", "TableName": "t", "Item": {} }));

        let mut unasked = call("Query", r#"{"TableName":"t","ReturnConsumedCapacity":"NONE"}"#);
        assert_eq!(meter().request_capacity(&mut unasked), Some(MeteredKind::Reads));
        assert_eq!(unasked.body, r#"{"TableName":"t","ReturnConsumedCapacity":"INDEXES"}"#);

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
    fn metered_reply_is_recorded_by_index_and_loses_consumed_capacity() {
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
    fn a_reply_without_consumed_capacity_passes_unchanged() {
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
