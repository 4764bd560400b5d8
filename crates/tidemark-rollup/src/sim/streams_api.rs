//! The table's stream as programs read it that are not event source mappings: the operations of the
//! streams API, answered from the simulated shards.

use serde_json::{Value, json};

use super::SimError;
use super::stream::ARN;
use super::world::World;

/// Records of one page.
const PAGE: usize = 50;

impl World {
    /// The reply to a request, to the table or to its stream.
    pub(crate) fn answer(&mut self, operation: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let answer = match operation {
            // The engine names its own stream, which is not read here.
            "DescribeTable" => {
                let request = serde_json::from_slice::<Value>(body).unwrap_or_default();
                let mut table = self.table.schema(request["TableName"].as_str().unwrap_or_default());
                table["LatestStreamArn"] = json!(ARN);
                Ok(json!({"Table": table}))
            }
            "DescribeStream" | "GetShardIterator" | "GetRecords" => self.read_stream(operation, body),
            _ => return self.table.answer(operation, body),
        };
        match answer {
            Ok(answer) => (200, answer.to_string().into_bytes()),
            Err(error) => {
                (400, json!({"__type": "ValidationException", "message": error.to_string()}).to_string().into_bytes())
            }
        }
    }

    fn read_stream(&mut self, operation: &str, body: &[u8]) -> Result<Value, SimError> {
        self.pump()?;
        let request: Value = serde_json::from_slice(body)?;
        let forgotten = self.stream.forgotten;
        let shards = &self.stream.shards[forgotten..];
        let text = |name: &str| request[name].as_str().unwrap_or_default();
        match operation {
            "DescribeStream" => {
                let parent = |parent: Option<usize>| {
                    parent.and_then(|parent| shards.get(parent.checked_sub(forgotten)?)).map(|shard| shard.id.as_str())
                };
                let shards =
                    shards.iter().map(|shard| json!({"ShardId": shard.id, "ParentShardId": parent(shard.parent)}));
                Ok(json!({"StreamDescription": {"StreamArn": ARN, "Shards": shards.collect::<Vec<_>>()}}))
            }
            "GetShardIterator" => {
                let index = shards.iter().position(|shard| shard.id == text("ShardId"));
                let index = index.ok_or_else(|| SimError::new("no such shard"))?;
                let from = match text("ShardIteratorType") {
                    "AFTER_SEQUENCE_NUMBER" => {
                        let after: u128 = text("SequenceNumber").parse().map_err(SimError::new)?;
                        let is_behind = |number: &str| number.parse().is_ok_and(|number: u128| number > after);
                        let records = &shards[index].records;
                        records.iter().position(|record| is_behind(&record.number)).unwrap_or(records.len())
                    }
                    _ => 0,
                };
                Ok(json!({"ShardIterator": format!("{index} {from}")}))
            }
            _ => {
                let (index, from) = text("ShardIterator").split_once(' ').unwrap_or_default();
                let index: usize = index.parse().map_err(SimError::new)?;
                let from: usize = from.parse().map_err(SimError::new)?;
                let shard = shards.get(index).ok_or_else(|| SimError::new("no such shard"))?;
                let to = (from + PAGE).min(shard.records.len());
                // An unreadable record exists only in the mapping, not in the stream.
                let records = shard.records[from..to].iter().filter(|record| !record.number.is_empty());
                let records: Vec<Value> =
                    records.map(|record| serde_json::from_str(&record.json)).collect::<Result<_, _>>()?;
                let is_end = shard.is_closed && to == shard.records.len();
                let next = (!is_end).then(|| format!("{index} {to}"));
                Ok(json!({"Records": records, "NextShardIterator": next}))
            }
        }
    }
}
