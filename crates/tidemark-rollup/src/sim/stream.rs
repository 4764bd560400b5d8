//! The table's stream as an event source mapping sees it: shards that split and roll, each with its
//! records in order.
//!
//! The records are the engine's own. Their shards and sequence numbers are given here, in the
//! manner of DynamoDB: a shard has a range of partition keys' hashes, a closed shard has one or two
//! children, and the numbers have 21 to 39 digits.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use fastrand::Rng;
use serde_json::{Value, json};

use super::faults::Fault;

/// The most shards that a history begins with, and that may come to be open at once.
const SHARDS_FIRST_MAX: u64 = 4;
const SHARDS_OPEN_MAX: usize = 6;

/// The stream's name. The engine's own has the time of day in it, and a checkpoint's key has the
/// stream's name.
pub(crate) const ARN: &str = "arn:aws:dynamodb:us-east-1:000000000000:table/items/stream/2025-10-01T00:00:00.000";

/// Hashes of partition keys.
const HASHES: u64 = 1 << 32;

/// The stream.
pub(crate) struct Stream {
    pub(crate) shards: Vec<Shard>,
    /// The text of each record that has to end in quarantine, once.
    pub(crate) unreadable: Vec<String>,
    /// The keys of items that TTL deletes.
    pub(crate) expiring: HashSet<(String, String)>,
    /// How many of the shards the stream has forgotten: the first ones.
    pub(crate) forgotten: usize,
}

/// One shard.
pub(crate) struct Shard {
    pub(crate) id: String,
    pub(crate) parent: Option<usize>,
    pub(crate) records: Vec<Record>,
    /// How many of the records are done, as far as the mapping knows.
    pub(crate) settled: usize,
    /// No more records will come.
    pub(crate) is_closed: bool,
    hashes: Range<u64>,
    last_number: u128,
}

/// One record.
pub(crate) struct Record {
    /// Its sequence number as text; empty in a record that has none.
    pub(crate) number: String,
    /// The record.
    pub(crate) json: String,
}

impl Shard {
    fn new(rng: &mut Rng, hashes: Range<u64>, parent: Option<usize>) -> Self {
        // A little below a power of ten, so that the number of digits changes on the way.
        let last_number = 10_u128.pow(rng.u32(21..=38)) - rng.u128(1..20_000);
        let id = format!("shardId-{:020}-{:08x}", rng.u64(1_000..9_999_999_999), rng.u32(..));
        Self { id, parent, records: Vec::new(), settled: 0, is_closed: false, hashes, last_number }
    }

    /// Whether all records have come and are done.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_closed && self.settled >= self.records.len()
    }
}

impl Stream {
    /// A stream with a few shards.
    pub(crate) fn new(rng: &mut Rng) -> Self {
        let shards = rng.u64(1..=SHARDS_FIRST_MAX);
        let bound = |index| HASHES * index / shards;
        let shards = (0..shards).map(|index| Shard::new(rng, bound(index)..bound(index + 1), None)).collect();
        Self { shards, unreadable: Vec::new(), expiring: HashSet::new(), forgotten: 0 }
    }

    /// The event of some records of a shard.
    pub(crate) fn event(&self, shard: usize, records: Range<usize>) -> String {
        let shard = &self.shards[shard];
        let texts: Vec<_> = shard.records[records].iter().map(|record| record.json.as_str()).collect();
        format!(
            r#"{{"Records":[{}],"window":{{"start":"2025-10-02T10:30:00Z","end":"2025-10-02T10:31:00Z"}},"state":{{}},"shardId":"{}","eventSourceARN":"{}","isFinalInvokeForWindow":{},"isWindowTerminatedEarly":false}}"#,
            texts.join(","),
            shard.id,
            ARN,
            texts.is_empty(),
        )
    }

    pub(crate) fn push(&mut self, rng: &mut Rng, key: &(String, String), mut record: Value) {
        let mut hasher = DefaultHasher::new();
        key.0.hash(&mut hasher);
        let hash = hasher.finish() % HASHES;
        if record["eventName"] == "REMOVE" && self.expiring.remove(key) {
            record["userIdentity"] = json!({"type": "Service", "principalId": "dynamodb.amazonaws.com"});
        }

        let Some(shard) = self.shards.iter_mut().find(|shard| !shard.is_closed && shard.hashes.contains(&hash)) else {
            return;
        };
        shard.last_number += rng.u128(1..1_000);
        let number = shard.last_number.to_string();
        record["dynamodb"]["SequenceNumber"] = json!(number);
        record["eventSourceARN"] = json!(ARN);
        shard.records.push(Record { number, json: record.to_string() });
    }

    /// Puts a record into a shard that cannot be read.
    pub(crate) fn push_garbage(&mut self, rng: &mut Rng) {
        let open: Vec<_> = (0..self.shards.len()).filter(|index| !self.shards[*index].is_closed).collect();
        let Some(&shard) = rng.choice(&open) else { return };
        let id = rng.u64(1..1 << 50);
        let json = match rng.u8(..3) {
            0 => id.to_string(),
            1 => format!(r#"{{"eventName":"INSERT","dynamodb":{id}}}"#),
            _ => format!(r#"{{"eventName":"INSERT","dynamodb":{{"SequenceNumber":"x{id}","NewImage":{{}}}}}}"#),
        };
        self.unreadable.push(json.clone());
        self.shards[shard].records.push(Record { number: String::new(), json });
    }

    /// A day passes: all records are trimmed, and all shards are new.
    pub(crate) fn forget(&mut self, rng: &mut Rng) {
        self.forgotten = self.shards.len();
        for index in 0..self.forgotten {
            if !std::mem::replace(&mut self.shards[index].is_closed, true) {
                let hashes = self.shards[index].hashes.clone();
                self.shards.push(Shard::new(rng, hashes, Some(index)));
            }
        }
    }

    /// Closes an open shard and opens its children.
    pub(crate) fn change(&mut self, rng: &mut Rng, fault: Fault) -> bool {
        let open: Vec<_> = (0..self.shards.len()).filter(|index| !self.shards[*index].is_closed).collect();
        let Some(&index) = rng.choice(&open).filter(|_| fault == Fault::Roll || open.len() < SHARDS_OPEN_MAX) else {
            return false;
        };
        self.shards[index].is_closed = true;
        let Range { start, end } = self.shards[index].hashes.clone();
        let middle = if fault == Fault::Split { start + (end - start) / 2 } else { end };
        for hashes in [start..middle, middle..end].into_iter().filter(|hashes| !hashes.is_empty()) {
            self.shards.push(Shard::new(rng, hashes, Some(index)));
        }
        true
    }
}
