//! Notifies stream readers when a table was written.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::watch;

use crate::arn;
use crate::call::Call;

/// The senders by table. Each table with a subscriber has one.
#[derive(Debug, Default)]
pub(crate) struct WriteNotifier(Mutex<HashMap<String, watch::Sender<()>>>);

/// Notifies the subscribers of a call's tables when it is dropped.
pub(crate) struct NotifyOnDrop<'a> {
    writes: &'a WriteNotifier,
    tables: Tables,
}

#[derive(Debug, PartialEq, Eq)]
enum Tables {
    These(Vec<String>),
    Any,
}

/// The members in which write operations name their tables.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TableNames<'a> {
    #[serde(borrow)]
    table_name: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    request_items: HashMap<Cow<'a, str>, IgnoredAny>,
    #[serde(borrow, default)]
    transact_items: Vec<HashMap<Cow<'a, str>, TransactAction<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TransactAction<'a> {
    #[serde(borrow)]
    table_name: Cow<'a, str>,
}

impl WriteNotifier {
    /// The receiver changes after each write to `table`.
    pub(crate) fn subscribe(&self, table: &str) -> watch::Receiver<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(table.to_owned()).or_default().subscribe()
    }

    /// Notifies all subscribers.
    pub(crate) fn notify_all(&self) {
        self.notify(&Tables::Any);
    }

    /// Notifies the subscribers of `call`'s tables when the returned value is dropped.
    pub(crate) fn notify_when_done(&self, call: &Call) -> NotifyOnDrop<'_> {
        let no_subscribers = self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        let tables = if no_subscribers { Tables::These(Vec::new()) } else { written_tables(call) };
        NotifyOnDrop { writes: self, tables }
    }

    fn notify(&self, tables: &Tables) {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match tables {
            Tables::These(tables) => {
                tables.iter().filter_map(|table| waiting.get(table)).for_each(|sender| sender.send_replace(()))
            }
            Tables::Any => waiting.values().for_each(|sender| sender.send_replace(())),
        }
    }
}

impl Drop for NotifyOnDrop<'_> {
    fn drop(&mut self) {
        self.writes.notify(&self.tables);
    }
}

/// The tables that a call writes to. An unknown operation, or one that names no table (such as
/// PartiQL), may write to any table.
fn written_tables(call: &Call) -> Tables {
    let operation = call.operation.as_str();
    let reads = matches!(operation, "Query" | "Scan" | "BatchGetItem" | "TransactGetItems");
    if reads || ["Get", "Describe", "List"].iter().any(|prefix| operation.starts_with(prefix)) {
        return Tables::These(Vec::new());
    }
    let Ok(named) = serde_json::from_slice::<TableNames<'_>>(&call.body) else { return Tables::Any };
    let parts = named.transact_items.iter().flat_map(HashMap::values).map(|part| &part.table_name);
    let names = named.table_name.iter().chain(named.request_items.keys()).chain(parts);
    let tables: Vec<String> = names.map(|name| arn::table_name(name).to_owned()).collect();
    if tables.is_empty() { Tables::Any } else { Tables::These(tables) }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, Method, Uri};
    use serde_json::{Value, json};

    use super::*;

    fn call(operation: &str, body: &Value) -> Call {
        Call {
            operation: operation.to_owned(),
            method: Method::POST,
            uri: Uri::from_static("/"),
            headers: HeaderMap::new(),
            body: Bytes::from(body.to_string()),
            adaptation: crate::adaptation::Adaptation::None,
        }
    }

    #[test]
    fn every_way_to_write_names_its_tables() {
        let of = |tables: &[&str]| Tables::These(tables.iter().map(|table| (*table).to_owned()).collect());
        let parts = json!([{ "Put": { "TableName": "a" } }, { "ConditionCheck": { "TableName": "b" } }]);
        let arn = "arn:aws:dynamodb:us-east-1:000000000000:table/a";
        for (operation, body, tables) in [
            ("PutItem", json!({ "TableName": "a", "Item": { "s": { "S": "\"\\u00e9\\n" } } }), of(&["a"])),
            ("DeleteItem", json!({ "TableName": arn }), of(&["a"])),
            ("BatchWriteItem", json!({ "RequestItems": { "a": [{ "PutRequest": {} }] } }), of(&["a"])),
            ("TransactWriteItems", json!({ "TransactItems": parts }), of(&["a", "b"])),
            ("ExecuteStatement", json!({ "Statement": "DELETE FROM a" }), Tables::Any),
            ("Query", json!({ "TableName": "a" }), of(&[])),
            ("GetItem", json!({ "TableName": "a" }), of(&[])),
        ] {
            assert_eq!(written_tables(&call(operation, &body)), tables, "{operation}");
        }
    }

    #[test]
    fn write_subscribers_are_notified_when_a_call_ends_or_drops() {
        let writes = WriteNotifier::default();
        let (mut a, mut b) = (writes.subscribe("a"), writes.subscribe("b"));
        let notice = writes.notify_when_done(&call("PutItem", &json!({ "TableName": "a" })));
        assert!(!a.has_changed().unwrap(), "nothing is written yet");
        drop(notice);
        assert!(a.has_changed().unwrap() && !b.has_changed().unwrap());
        a.mark_unchanged();
        drop(writes.notify_when_done(&call("Scan", &json!({ "TableName": "a" }))));
        assert!(!a.has_changed().unwrap());
        writes.notify_all();
        assert!(a.has_changed().unwrap() && b.has_changed().unwrap());
        b.mark_unchanged();
    }
}
