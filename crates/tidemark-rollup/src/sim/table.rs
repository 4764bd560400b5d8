//! The simulated table: requests in DynamoDB's wire format, answered by an engine in this process.
//! A request is applied at once on the caller's thread, so that time can be virtual and a seed
//! always gives the same history.

use dynoxide::errors::DynoxideError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::SimError;

/// The name of the table of a history.
pub const TABLE: &str = "items";

/// The name of the table of the items, if their sort keys are numbers: statistics need texts.
const NUMBERED: &str = "numbered";

/// Bounds the pages of one scan or one read of the stream.
const PAGES_MAX: usize = 10_000;

/// The table, and the place up to which its stream has been read.
pub(crate) struct SimTable {
    database: dynoxide::Database,
    iterator: String,
    /// Whether the stream may have new records.
    has_news: bool,
    /// The names of the partition key and the sort key.
    pub(crate) keys: [String; 2],
    /// Whether the items have a table of their own, with numbers as sort keys.
    pub(crate) is_numbered: bool,
}

impl SimTable {
    pub(crate) fn create(keys: [String; 2], is_numbered: bool) -> Result<Self, SimError> {
        let database = dynoxide::Database::memory().map_err(SimError::new)?;
        let mut table = Self { database, iterator: String::new(), has_news: false, keys, is_numbered };
        let mut created = table.create_table(TABLE)?;
        if is_numbered {
            created = table.create_table(NUMBERED)?;
        }
        let stream_arn = text(&created["TableDescription"]["LatestStreamArn"])?;
        let stream = table.ask("DescribeStream", &json!({"StreamArn": stream_arn}))?;
        let shard_id = text(&stream["StreamDescription"]["Shards"][0]["ShardId"])?;
        let from = json!({"StreamArn": stream_arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"});
        table.iterator = text(&table.ask("GetShardIterator", &from)?["ShardIterator"])?;
        Ok(table)
    }

    fn create_table(&mut self, name: &str) -> Result<Value, SimError> {
        let mut request = self.schema(name);
        request["TableName"] = json!(name);
        request["BillingMode"] = json!("PAY_PER_REQUEST");
        request["StreamSpecification"] = json!({"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"});
        self.ask("CreateTable", &request)
    }

    /// The key schema of a table.
    pub(crate) fn schema(&self, name: &str) -> Value {
        let [partition_key, sort_key] = &self.keys;
        let attribute = |name: &str, of| json!({"AttributeName": name, "AttributeType": of});
        let key = |name: &str, kind| json!({"AttributeName": name, "KeyType": kind});
        let sort_type = if name == NUMBERED { "N" } else { "S" };
        json!({
            "AttributeDefinitions": [attribute(partition_key, "S"), attribute(sort_key, sort_type)],
            "KeySchema": [key(partition_key, "HASH"), key(sort_key, "RANGE")],
        })
    }

    /// The name of the table whose stream is counted.
    pub(crate) fn items_name(&self) -> &'static str {
        if self.is_numbered { NUMBERED } else { TABLE }
    }

    /// The status and the body of the reply to a request.
    pub(crate) fn answer(&mut self, operation: &str, body: &[u8]) -> (u16, Vec<u8>) {
        self.has_news |= !matches!(operation, "GetItem" | "BatchGetItem" | "TransactGetItems" | "Query" | "Scan");
        let database = &self.database;
        let outcome = match operation {
            "CreateTable" => carry_out(body, |request| database.create_table(request)),
            "GetItem" => carry_out(body, |request| database.get_item(request)),
            "PutItem" => carry_out(body, |request| database.put_item(request)),
            "UpdateItem" => carry_out(body, |request| database.update_item(request)),
            "DeleteItem" => carry_out(body, |request| database.delete_item(request)),
            "BatchGetItem" => carry_out(body, |request| database.batch_get_item(request)),
            "TransactGetItems" => carry_out(body, |request| database.transact_get_items(request)),
            "TransactWriteItems" => carry_out(body, |request| database.transact_write_items(request)),
            "Query" => carry_out(body, |request| database.query(request)),
            "Scan" => carry_out(body, |request| database.scan(request)),
            "DescribeStream" => carry_out(body, |request| database.describe_stream(request)),
            "GetShardIterator" => carry_out(body, |request| database.get_shard_iterator(request)),
            "GetRecords" => carry_out(body, |request| database.get_records(request)),
            other => Err(DynoxideError::ValidationException(format!("the simulation has no {other}"))),
        };
        match outcome {
            Ok(body) => (200, body),
            Err(error) => (error.status_code(), error.to_json().into_bytes()),
        }
    }

    fn ask(&mut self, operation: &str, request: &Value) -> Result<Value, SimError> {
        let (status, body) = self.answer(operation, &serde_json::to_vec(request)?);
        if status != 200 {
            return Err(SimError::new(format!("{operation}: {status} {}", String::from_utf8_lossy(&body))));
        }
        Ok(serde_json::from_slice(&body)?)
    }

    /// The partition key and the sort key of an item in DynamoDB's JSON.
    pub(crate) fn key_of(&self, item: &Value) -> (String, String) {
        let text = |name: &str| item[name]["S"].as_str().or(item[name]["N"].as_str()).unwrap_or_default().to_owned();
        (text(&self.keys[0]), text(&self.keys[1]))
    }

    /// The key of a client's item in DynamoDB's JSON.
    pub(crate) fn key(&self, (partition, sort): &(String, String)) -> Value {
        let sort_type = if self.is_numbered { "N" } else { "S" };
        json!({&self.keys[0]: {"S": partition}, &self.keys[1]: {sort_type: sort}})
    }

    /// Writes a client's item in DynamoDB's JSON.
    pub(crate) fn put(&mut self, item: &Value) -> Result<(), SimError> {
        self.ask("PutItem", &json!({"TableName": self.items_name(), "Item": item})).map(drop)
    }

    /// Deletes a client's item.
    pub(crate) fn remove(&mut self, key: &(String, String)) -> Result<(), SimError> {
        self.ask("DeleteItem", &json!({"TableName": self.items_name(), "Key": self.key(key)})).map(drop)
    }

    /// Adds to a number of an item.
    pub(crate) fn add(&mut self, key: &Value, attribute: &str, added: i64) -> Result<(), SimError> {
        let request = json!({
            "TableName": TABLE,
            "Key": key,
            "UpdateExpression": "ADD #a :a",
            "ExpressionAttributeNames": {"#a": attribute},
            "ExpressionAttributeValues": {":a": {"N": added.to_string()}},
        });
        self.ask("UpdateItem", &request).map(drop)
    }

    /// Deletes an item beside the statistics.
    pub(crate) fn delete(&mut self, key: &Value) -> Result<(), SimError> {
        self.ask("DeleteItem", &json!({"TableName": TABLE, "Key": key})).map(drop)
    }

    /// The stream's records since the last call.
    pub(crate) fn new_records(&mut self) -> Result<Vec<Value>, SimError> {
        let mut records = Vec::new();
        if !std::mem::take(&mut self.has_news) {
            return Ok(records);
        }
        for _ in 0..PAGES_MAX {
            let mut page = self.ask("GetRecords", &json!({"ShardIterator": self.iterator}))?;
            let Value::Array(new) = page["Records"].take() else { return Err(SimError::new("no records")) };
            self.iterator = text(&page["NextShardIterator"])?;
            if new.is_empty() {
                self.has_news = false;
                return Ok(records);
            }
            records.extend(new);
        }
        Err(SimError::new("the stream does not end"))
    }

    /// All items of the table of the statistics in DynamoDB's JSON.
    pub(crate) fn items(&mut self) -> Result<Vec<Value>, SimError> {
        let mut items = Vec::new();
        let mut request = json!({"TableName": TABLE, "ConsistentRead": true});
        for _ in 0..PAGES_MAX {
            let mut page = self.ask("Scan", &request)?;
            let Value::Array(new) = page["Items"].take() else { return Err(SimError::new("no items")) };
            items.extend(new);
            match page["LastEvaluatedKey"].take() {
                Value::Null => return Ok(items),
                key => request["ExclusiveStartKey"] = key,
            }
        }
        Err(SimError::new("the scan does not end"))
    }
}

fn carry_out<Request: DeserializeOwned, Reply: Serialize>(
    body: &[u8],
    operation: impl FnOnce(Request) -> Result<Reply, DynoxideError>,
) -> Result<Vec<u8>, DynoxideError> {
    let wrong = |error: serde_json::Error| DynoxideError::SerializationException(error.to_string());
    let reply = operation(serde_json::from_slice(body).map_err(wrong)?)?;
    serde_json::to_vec(&reply).map_err(wrong)
}

fn text(value: &Value) -> Result<String, SimError> {
    value.as_str().map(ToOwned::to_owned).ok_or_else(|| SimError::new(format!("expected a text, got {value}")))
}
