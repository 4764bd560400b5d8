//! The table's stream as programs read it that are no event source mapping: the operations of the
//! streams API, answered from the simulated shards.

use serde_json::{Value, json};

use crate::stream::ARN;
use crate::world::World;

/// Records of one page.
const PAGE: usize = 50;

impl World {
    /// Carries one request out, on the table or on its stream.
    pub(crate) fn answer(&mut self, operation: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let answer = match operation {
            "DescribeTable" => self.describe_table(body),
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

    /// The engine names its own stream, which nobody reads here.
    fn describe_table(&mut self, body: &[u8]) -> anyhow::Result<Value> {
        let (status, answer) = self.table.answer("DescribeTable", body);
        anyhow::ensure!(status == 200, "DescribeTable was answered {status}");
        let mut answer: Value = serde_json::from_slice(&answer)?;
        answer["Table"]["LatestStreamArn"] = json!(ARN);
        Ok(answer)
    }

    fn read_stream(&mut self, operation: &str, body: &[u8]) -> anyhow::Result<Value> {
        self.pump()?;
        let request: Value = serde_json::from_slice(body)?;
        let shards = &self.stream.shards[self.stream.forgotten..];
        let text = |name: &str| request[name].as_str().unwrap_or_default();
        match operation {
            "DescribeStream" => {
                let shards: Vec<_> = shards.iter().map(|shard| json!({"ShardId": shard.id})).collect();
                Ok(json!({"StreamDescription": {"StreamArn": ARN, "Shards": shards}}))
            }
            "GetShardIterator" => {
                let index = shards.iter().position(|shard| shard.id == text("ShardId"));
                let index = index.ok_or_else(|| anyhow::anyhow!("no such shard"))?;
                let from = match text("ShardIteratorType") {
                    "AFTER_SEQUENCE_NUMBER" => {
                        let after: u128 = text("SequenceNumber").parse()?;
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
                let (index, from): (usize, usize) = (index.parse()?, from.parse()?);
                let shard = shards.get(index).ok_or_else(|| anyhow::anyhow!("no such shard"))?;
                let to = (from + PAGE).min(shard.records.len());
                // A poison record exists only in the mapping, not in the stream.
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
