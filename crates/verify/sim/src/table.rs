//! The clicks table: requests in DynamoDB's wire format, answered by an engine.
//!
//! [`Embedded`] is the emulator that `tidemark-engine` embeds, without the HTTP server in front of
//! it: a request is applied in one go on the caller's thread, so that time can be virtual and a
//! seed always gives the same history. A test plays histories against the whole engine over HTTP.

use dynoxide::errors::DynoxideError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The table's name.
pub const TABLE: &str = "clicks";

/// Bounds the pages of one scan or one look at the stream.
const PAGES_MAX: usize = 10_000;

/// Something that answers DynamoDB's operations, table API and streams API.
pub trait Database: Send {
    /// The status and the body for an operation (`PutItem`) with a body.
    fn answer(&mut self, operation: &str, body: &[u8]) -> (u16, Vec<u8>);
}

/// The emulator in this process and in memory.
pub struct Embedded(dynoxide::Database);

impl Embedded {
    /// An empty one.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self(dynoxide::Database::memory()?))
    }
}

impl Database for Embedded {
    fn answer(&mut self, operation: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let database = &self.0;
        let outcome = match operation {
            "CreateTable" => carry_out(body, |request| database.create_table(request)),
            "GetItem" => carry_out(body, |request| database.get_item(request)),
            "PutItem" => carry_out(body, |request| database.put_item(request)),
            "UpdateItem" => carry_out(body, |request| database.update_item(request)),
            "BatchGetItem" => carry_out(body, |request| database.batch_get_item(request)),
            "TransactWriteItems" => carry_out(body, |request| database.transact_write_items(request)),
            "DeleteItem" => carry_out(body, |request| database.delete_item(request)),
            "DescribeTable" => carry_out(body, |request| database.describe_table(request)),
            "Query" => carry_out(body, |request| database.query(request)),
            "Scan" => carry_out(body, |request| database.scan(request)),
            "DescribeStream" => carry_out(body, |request| database.describe_stream(request)),
            "GetShardIterator" => carry_out(body, |request| database.get_shard_iterator(request)),
            "GetRecords" => carry_out(body, |request| database.get_records(request)),
            other => Err(DynoxideError::ValidationException(format!("the simulation does not know {other}"))),
        };
        match outcome {
            Ok(body) => (200, body),
            Err(error) => (error.status_code(), error.to_json().into_bytes()),
        }
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

/// The table and the place up to which its stream has been read.
pub(crate) struct Table {
    database: Box<dyn Database>,
    iterator: String,
    /// Whether something may have been streamed since the last look.
    has_news: bool,
}

impl Table {
    /// Makes the table in an empty database.
    pub(crate) fn create(mut database: Box<dyn Database>) -> anyhow::Result<Self> {
        let attributes = ["userId", "createDateTime", "dateKey", "recordSort"];
        let attributes = attributes.map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
        let key = |hash, range| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
        let request = json!({
            "TableName": TABLE,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": attributes,
            "KeySchema": key("userId", "createDateTime"),
            "GlobalSecondaryIndexes": [{
                "IndexName": "DateIndex",
                "KeySchema": key("dateKey", "recordSort"),
                "Projection": {"ProjectionType": "ALL"},
            }],
            "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        });
        let table = ask(&mut *database, "CreateTable", &request)?;
        let stream_arn = text(&table["TableDescription"]["LatestStreamArn"])?;
        let stream = ask(&mut *database, "DescribeStream", &json!({"StreamArn": stream_arn}))?;
        let shard_id = text(&stream["StreamDescription"]["Shards"][0]["ShardId"])?;
        let from = json!({"StreamArn": stream_arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"});
        let iterator = text(&ask(&mut *database, "GetShardIterator", &from)?["ShardIterator"])?;
        Ok(Self { database, iterator, has_news: false })
    }

    /// Carries one request out.
    pub(crate) fn answer(&mut self, operation: &str, body: &[u8]) -> (u16, Vec<u8>) {
        self.has_news |= !matches!(operation, "GetItem" | "BatchGetItem" | "Query" | "Scan" | "DescribeTable");
        self.database.answer(operation, body)
    }

    /// Puts an item like a foreign client: without a condition.
    pub(crate) fn put(&mut self, item: &Value) -> anyhow::Result<()> {
        self.change("PutItem", json!({"Item": item}))
    }

    /// Does to an item what some program does, or somebody at a console.
    pub(crate) fn change(&mut self, operation: &str, mut request: Value) -> anyhow::Result<()> {
        self.has_news = true;
        request["TableName"] = json!(TABLE);
        ask(&mut *self.database, operation, &request).map(drop)
    }

    /// The stream's records since the last call.
    pub(crate) fn new_records(&mut self) -> anyhow::Result<Vec<Value>> {
        let mut records = Vec::new();
        if !std::mem::take(&mut self.has_news) {
            return Ok(records);
        }
        for _ in 0..PAGES_MAX {
            let mut page = ask(&mut *self.database, "GetRecords", &json!({"ShardIterator": self.iterator}))?;
            let Value::Array(new) = page["Records"].take() else { anyhow::bail!("no records in {page}") };
            self.iterator = text(&page["NextShardIterator"])?;
            if new.is_empty() {
                return Ok(records);
            }
            records.extend(new);
        }
        anyhow::bail!("the stream does not end")
    }

    /// Every item.
    pub(crate) fn items(&mut self) -> anyhow::Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut request = json!({"TableName": TABLE, "ConsistentRead": true});
        for _ in 0..PAGES_MAX {
            let mut page = ask(&mut *self.database, "Scan", &request)?;
            let Value::Array(new) = page["Items"].take() else { anyhow::bail!("no items in {page}") };
            items.extend(new);
            match page["LastEvaluatedKey"].take() {
                Value::Null => return Ok(items),
                key => request["ExclusiveStartKey"] = key,
            }
        }
        anyhow::bail!("the scan does not end")
    }
}

pub(crate) fn ask(database: &mut dyn Database, operation: &str, request: &Value) -> anyhow::Result<Value> {
    let (status, body) = database.answer(operation, &serde_json::to_vec(request)?);
    anyhow::ensure!(status == 200, "{operation} was answered {status}: {}", String::from_utf8_lossy(&body));
    Ok(serde_json::from_slice(&body)?)
}

pub(crate) fn text(value: &Value) -> anyhow::Result<String> {
    value.as_str().map(ToOwned::to_owned).ok_or_else(|| anyhow::anyhow!("expected a text, got {value}"))
}
