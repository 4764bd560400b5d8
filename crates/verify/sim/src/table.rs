//! Requests in DynamoDB's wire format, answered by an engine in this process.
//!
//! [`Embedded`] is the emulator that `tidemark-engine` embeds, without the HTTP server in front of
//! it. A request is applied at once on the caller's thread, so that time can be virtual and a seed
//! always gives the same history.

use dynoxide::errors::DynoxideError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

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

pub(crate) fn ask(database: &mut dyn Database, operation: &str, request: &Value) -> anyhow::Result<Value> {
    let (status, body) = database.answer(operation, &serde_json::to_vec(request)?);
    anyhow::ensure!(status == 200, "{operation} was answered {status}: {}", String::from_utf8_lossy(&body));
    Ok(serde_json::from_slice(&body)?)
}

/// The request for a table with the key `PK` and `SK`, and with these indexes: the name, both parts
/// of the key, and the projection of each.
pub(crate) fn table_request(name: &str, indexes: &[[&str; 4]]) -> Value {
    let key = |hash: &str, range: &str| json!([{"AttributeName": hash, "KeyType": "HASH"}, {"AttributeName": range, "KeyType": "RANGE"}]);
    let names = ["PK", "SK"].iter().chain(indexes.iter().flat_map(|[_, hash, range, _]| [hash, range]));
    let attribute = |name: &&str| json!({"AttributeName": name, "AttributeType": "S"});
    let index = |[name, hash, range, projection]: &[&str; 4]| json!({"IndexName": name, "KeySchema": key(hash, range), "Projection": {"ProjectionType": projection}});
    json!({
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": names.map(attribute).collect::<Vec<_>>(),
        "KeySchema": key("PK", "SK"),
        "GlobalSecondaryIndexes": indexes.iter().map(index).collect::<Vec<_>>(),
    })
}

pub(crate) fn text(value: &Value) -> anyhow::Result<String> {
    value.as_str().map(ToOwned::to_owned).ok_or_else(|| anyhow::anyhow!("expected a text, got {value}"))
}
