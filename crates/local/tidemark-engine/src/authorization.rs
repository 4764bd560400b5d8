//! Translates a request into the accesses that IAM policies name, and asks an [`Authorizer`].
//!
//! Sources:
//! <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazondynamodb.html>,
//!  <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis-iam.html>.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::arn;
use crate::call::Call;
use crate::database::Database;
use crate::streams;
use crate::throttle::{TableSchema, queried_key};

/// The largest call that is read on the thread that received it.
const AT_ONCE_BYTES_MAX: usize = 64 * 1024;

/// Decides whether a caller may do an access. Without one, the engine allows every request.
pub trait Authorizer: Debug + Send + Sync {
    /// Whether requests of this caller (an access key id) are checked at all.
    fn applies_to(&self, caller: &str) -> bool;

    /// Checks whether the caller may do this.
    ///
    /// # Errors
    /// The message for the caller, sent in an `AccessDeniedException`.
    fn authorize(&self, caller: &str, access: &Access) -> Result<(), String>;
}

/// One action on one resource. One request may need several accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// `dynamodb:PutItem`. A transaction needs one access for each of its actions.
    pub action: String,
    /// The ARN of the table, index or stream; `*` if the action names none.
    pub resource: String,
    /// `dynamodb:LeadingKeys`: the partition keys that the request names, without duplicates. Empty
    /// for a scan.
    pub leading_keys: Vec<String>,
}

/// A cache of table schemas: every checked request needs one.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache(Mutex<HashMap<String, Arc<TableSchema>>>);

impl SchemaCache {
    fn known(&self, table: &str) -> Option<Arc<TableSchema>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(table).cloned()
    }

    fn read(&self, database: &Database, table: &str) -> Option<Arc<TableSchema>> {
        let schema = Arc::new(TableSchema::of(&database.tables, table)?);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(table.to_owned(), Arc::clone(&schema));
        Some(schema)
    }

    /// Clears the cache if `operation` may change a schema.
    pub(crate) fn changed_by(&self, operation: &str) {
        if matches!(operation, "CreateTable" | "UpdateTable" | "DeleteTable") {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

/// All accesses that `call` needs. Reads SQLite the first time that a table is named.
pub(crate) fn accesses(database: &Database, schemas: &SchemaCache, call: &Call) -> Vec<Access> {
    Reader { database: Some(database), schemas, region: arn::region(&call.headers), missed: Cell::new(false) }.all(call)
}

/// The accesses of a small call whose tables are known: they need neither SQLite nor another
/// thread.
pub(crate) fn accesses_at_once(schemas: &SchemaCache, call: &Call) -> Option<Vec<Access>> {
    if call.body.len() > AT_ONCE_BYTES_MAX {
        return None;
    }
    let reader = Reader { database: None, schemas, region: arn::region(&call.headers), missed: Cell::new(false) };
    let accesses = reader.all(call);
    (!reader.missed.get()).then_some(accesses)
}

/// The action that permits one action of a transaction.
fn part_action(name: &str) -> &str {
    match name {
        "Get" => "GetItem",
        "Put" => "PutItem",
        "Update" => "UpdateItem",
        "Delete" => "DeleteItem",
        "ConditionCheck" => "ConditionCheckItem",
        other => other,
    }
}

struct Reader<'a> {
    /// `None`: only known schemas are used.
    database: Option<&'a Database>,
    schemas: &'a SchemaCache,
    region: &'a str,
    /// Whether a schema was not known.
    missed: Cell<bool>,
}

impl Reader<'_> {
    /// All accesses that `call` needs.
    fn all(&self, call: &Call) -> Vec<Access> {
        let request: Value = serde_json::from_slice(&call.body).unwrap_or_default();
        match call.operation.as_str() {
            "TransactWriteItems" | "TransactGetItems" => {
                let parts =
                    request["TransactItems"].as_array().into_iter().flatten().filter_map(Value::as_object).flatten();
                parts.map(|(name, part)| self.item(part_action(name), part)).collect()
            }
            operation @ ("BatchGetItem" | "BatchWriteItem") => {
                let tables = request["RequestItems"].as_object().into_iter().flatten();
                tables.map(|(table, parts)| self.batch(operation, table, parts)).collect()
            }
            operation if streams::Operation::named(operation).is_some() => vec![self.stream(operation, &request)],
            "Query" => vec![self.query(&request)],
            operation @ ("GetItem" | "PutItem" | "UpdateItem" | "DeleteItem") => vec![self.item(operation, &request)],
            operation => vec![self.table(operation, &request)],
        }
    }

    fn schema(&self, table: &str) -> Option<Arc<TableSchema>> {
        self.schemas.known(table).or_else(|| match self.database {
            Some(database) => self.schemas.read(database, table),
            None => {
                self.missed.set(true);
                None
            }
        })
    }

    /// A request, or one entry of a request, that has `Item` or `Key`.
    fn item(&self, action: &str, request: &Value) -> Access {
        let table = table_name(request);
        self.access(action, arn::table(self.region, table), self.keys(table, [request]))
    }

    fn batch(&self, action: &str, table: &str, parts: &Value) -> Access {
        let table = arn::table_name(table);
        // `BatchGetItem` lists keys. `BatchWriteItem` lists objects with one request each.
        let keys = match parts["Keys"].as_array() {
            Some(keys) => {
                let parts: Vec<Value> = keys.iter().map(|key| serde_json::json!({ "Key": key })).collect();
                self.keys(table, &parts)
            }
            None => {
                let parts = parts.as_array().into_iter().flatten().filter_map(Value::as_object);
                self.keys(table, parts.flat_map(serde_json::Map::values))
            }
        };
        self.access(action, arn::table(self.region, table), keys)
    }

    fn query(&self, request: &Value) -> Access {
        let table = table_name(request);
        let resource = self.table_or_index(table, request);
        let key = self.schema(table).and_then(|schema| text(queried_key(&schema, request)?));
        self.access("Query", resource, key.into_iter().collect())
    }

    fn stream(&self, operation: &str, request: &Value) -> Access {
        let resource = match operation {
            "ListStreams" => arn::stream(self.region, table_name(request), "*"),
            "GetRecords" => {
                let place = request["ShardIterator"].as_str().and_then(streams::stream_of_iterator);
                place.map_or_else(|| "*".to_owned(), |(table, label)| arn::stream(self.region, &table, &label))
            }
            _ => request["StreamArn"].as_str().unwrap_or("*").to_owned(),
        };
        self.access(operation, resource, Vec::new())
    }

    /// `Scan`, and the operations on whole tables.
    fn table(&self, operation: &str, request: &Value) -> Access {
        let table = table_name(request);
        let resource = if table.is_empty() { "*".to_owned() } else { self.table_or_index(table, request) };
        self.access(operation, resource, Vec::new())
    }

    fn table_or_index(&self, table: &str, request: &Value) -> String {
        match request["IndexName"].as_str() {
            Some(index) => arn::index(self.region, table, index),
            None => arn::table(self.region, table),
        }
    }

    /// The partition keys in the `Key` or `Item` of each request, without duplicates.
    fn keys<'v>(&self, table: &str, requests: impl IntoIterator<Item = &'v Value>) -> Vec<String> {
        let Some(schema) = self.schema(table) else { return Vec::new() };
        let Some(name) = schema.partition_key(None) else { return Vec::new() };
        let key = |request: &Value| ["Key", "Item"].iter().find_map(|member| text(&request[member][name]));
        let mut keys: Vec<String> = requests.into_iter().filter_map(key).collect();
        keys.sort();
        keys.dedup();
        keys
    }

    fn access(&self, action: &str, resource: String, leading_keys: Vec<String>) -> Access {
        Access { action: format!("dynamodb:{action}"), resource, leading_keys }
    }
}

fn table_name(request: &Value) -> &str {
    arn::table_name(request["TableName"].as_str().unwrap_or_default())
}

/// A key's value as a policy condition compares it.
fn text(value: &Value) -> Option<String> {
    ["S", "N", "B"].iter().find_map(|kind| value[kind].as_str()).map(str::to_owned)
}
