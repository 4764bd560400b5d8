//! What a declaration costs: read and write units for sample batches.
//!
//! The batches are played in memory, with the sizes that the items would have. The result assumes a
//! warm instance, one shard, no faults, and no statistics before the first batch.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;

use crate::SequenceNumber;
use crate::additions::{Addition, Additions, ItemKey};
use crate::chunk::{Chunk, TRANSACTION_STATS_MAX, chunks};
use crate::contribution::Change;
use crate::declaration::{Policy, Rollup};
use crate::declared::Declared;
use crate::distinct::holding::Holding;
use crate::distinct::holdings::HoldingItem;
use crate::distinct::{self, DistinctChanges};
use crate::empty;
use crate::guard::{DECLARATIONS, Entry};
use crate::layout::Layout;
use crate::shard::{Checkpoint, Shard};
use crate::table::Item;
use crate::trail::Trail;

/// A [write unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html)
/// pays for one kilobyte.
const WRITE_UNIT_BYTES: usize = 1024;

/// A strongly consistent read unit pays for four kilobytes, and half of it for an eventually
/// consistent read.
const READ_UNIT_BYTES: usize = 4 * 1024;

/// A global secondary index that has statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// Its partition key, an attribute that groups set. Statistics without it are not in the index.
    pub partition_key: String,
    /// Its sort key. If this is a measure, each change moves the statistic in the index, which
    /// costs two writes.
    pub sort_key: String,
}

/// What batches cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cost {
    /// The changes of items.
    pub records: u64,
    /// Write units of the table and its indexes.
    pub write_units: f64,
    /// Read units.
    pub read_units: f64,
}

impl Cost {
    /// Write units for each record.
    pub fn writes_per_record(&self) -> f64 {
        self.write_units / self.records.max(1) as f64
    }

    /// Read units for each record.
    pub fn reads_per_record(&self) -> f64 {
        self.read_units / self.records.max(1) as f64
    }
}

/// `1000 records: 0.310 write units and 0.155 read units each`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (records, writes, reads) = (self.records, self.writes_per_record(), self.reads_per_record());
        write!(f, "{records} records: {writes:.3} write units and {reads:.3} read units each")
    }
}

/// The table after some batches.
#[derive(Debug, Default)]
struct Model {
    stats: BTreeMap<ItemKey, Addition>,
    first_seen: BTreeMap<ItemKey, BTreeSet<String>>,
    holdings: BTreeMap<ItemKey, Holding>,
    /// A holding that no batch has changed yet.
    known: Holding,
    checkpoint: Checkpoint,
    cost: Cost,
}

impl<T> Rollup<T> {
    /// The cost of batches, each with the changes of its records, in a new table with one shard. One
    /// tumbling window ends after the last batch. `key_names` are the names of the table's keys.
    pub fn explain(
        &self,
        layout: Layout,
        key_names: [&str; 2],
        indexes: &[Index],
        batches: impl IntoIterator<Item = Vec<Change<T>>>,
    ) -> Cost {
        self.explain_model(Model::default(), layout, key_names, indexes, batches)
    }

    /// The same after some days in a table with so many partitions, if the distinct values come
    /// from all of them. Each partition gets a new shard every four hours. With retraction, the
    /// item of a value remembers the shards that have changed it, so it is larger.
    pub fn explain_with_partitions(
        &self,
        partitions: u16,
        layout: Layout,
        key_names: [&str; 2],
        indexes: &[Index],
        batches: impl IntoIterator<Item = Vec<Change<T>>>,
    ) -> Cost {
        let model = Model { known: Holding::after_days(partitions.into()), ..Model::default() };
        self.explain_model(model, layout, key_names, indexes, batches)
    }

    fn explain_model(
        &self,
        mut model: Model,
        layout: Layout,
        key_names: [&str; 2],
        indexes: &[Index],
        batches: impl IntoIterator<Item = Vec<Change<T>>>,
    ) -> Cost {
        // A new rollup enters its declaration. A new shard reads it, and what waits in quarantine.
        let declared = Declared::of(self);
        model.checkpoint.declaration = Some(declared.fingerprint());
        let entry = item_bytes(&Entry::sample(declared));
        model.cost.write_units +=
            write_units(entry + key_bytes(key_names, &(DECLARATIONS.to_owned(), self.name.clone())));
        model.cost.read_units += if self.on_modify == Policy::Retract { 2.0 } else { 1.0 };
        let shard = Shard::new(
            "arn:aws:dynamodb:us-east-1:123456789012:table/table/stream/2025-10-01T00:00:00.000",
            "shardId-00000001700000000000-00000000",
        );
        let mut number = SequenceNumber::after(None);
        let now = Timestamp::UNIX_EPOCH;
        let bytes = |item: &Item, key: &ItemKey| item_bytes(item) + key_bytes(key_names, key);
        for changes in batches {
            model.cost.records += changes.len() as u64;
            let mut records = Vec::with_capacity(changes.len());
            for change in &changes {
                number = SequenceNumber::after(Some(number));
                records.push((number, self.contributions(change)));
            }
            records.retain(|(_, contributions)| !contributions.is_empty());
            if records.is_empty() {
                continue;
            }
            model.cost.read_units +=
                read_units(bytes(&model.checkpoint.item(now), &shard.key_texts(&self.name))).max(1.0);
            let numbers: Vec<_> = records.iter().map(|(number, _)| *number).collect();
            for chunk in chunks(self, records.iter().map(|(number, all)| (*number, all)), number) {
                let distinct = self.record(&mut model, &shard, &chunk, now, &bytes);
                let additions = Additions::of(self, &chunk, &distinct);
                model.checkpoint.trail = Trail::of(&numbers, number);
                let together = model.checkpoint.buffer.clone().plus(additions);
                let is_kept =
                    layout == Layout::Buffers && together.fits_buffer() && together.0.len() <= TRANSACTION_STATS_MAX;
                let (written, kept) =
                    if is_kept { (Additions::default(), together) } else { (together, Additions::default()) };
                model.cost.write_units += empty::candidates(self, &written).len() as f64;
                model.commit(&shard.key_texts(&self.name), chunk.through, (written, kept), now, key_names, indexes);
            }
        }
        // The end of the window reads the checkpoint and looks for buffers of other shards.
        model.cost.read_units += 2.0;
        if !model.checkpoint.buffer.0.is_empty() {
            let written = std::mem::take(&mut model.checkpoint.buffer);
            model.cost.write_units += empty::candidates(self, &written).len() as f64;
            model.commit(&shard.key_texts(&self.name), None, (written, Additions::default()), now, key_names, indexes);
        }
        model.cost
    }

    fn record(
        &self,
        model: &mut Model,
        shard: &Shard,
        chunk: &Chunk,
        now: Timestamp,
        bytes: &dyn Fn(&Item, &ItemKey) -> usize,
    ) -> DistinctChanges {
        let mut counts = DistinctChanges::new();
        for (key, item) in distinct::items(self, chunk) {
            if self.retracts() {
                let is_new = !model.holdings.contains_key(&key);
                // A warm instance has read or written the other items.
                model.cost.read_units += if is_new { 0.5 } else { 0.0 };
                let known = || model.known.clone();
                let holding = model.holdings.entry(key.clone()).or_insert_with(known);
                let before = bytes(&HoldingItem::sample(holding), &key);
                if !holding.apply(shard.hash(), model.checkpoint.number, &item.changes, now) {
                    continue;
                }
                let after = bytes(&HoldingItem::sample(holding), &key);
                model.cost.write_units += write_units(if is_new { after } else { before.max(after) });
                let through = chunk.through.unwrap_or(SequenceNumber::ZERO);
                for (entry, change) in holding.uncommitted(shard.hash(), model.checkpoint.number, through) {
                    let Some(stat) = item.entries.get(entry) else { continue };
                    *counts.entry(stat.clone()).or_default() += change;
                }
                continue;
            }
            model.cost.read_units += if model.first_seen.contains_key(&key) { 0.0 } else { 0.5 };
            let entries = model.first_seen.entry(key.clone()).or_default();
            let new: Vec<_> = item.entries.iter().filter(|(entry, _)| entries.insert((*entry).clone())).collect();
            if !new.is_empty() {
                let size = entries.iter().map(|entry| entry.len() + 25).sum::<usize>();
                model.cost.write_units += write_units(size + bytes(&Item::new(), &key));
            }
            for (_, stat) in new {
                *counts.entry(stat.clone()).or_default() += 1;
            }
        }
        counts
    }
}

impl Model {
    fn commit(
        &mut self,
        key: &ItemKey,
        to: Option<SequenceNumber>,
        (written, kept): (Additions, Additions),
        now: Timestamp,
        key_names: [&str; 2],
        indexes: &[Index],
    ) {
        let before = item_bytes(&self.checkpoint.item(now));
        self.checkpoint = self.checkpoint.next(to, kept);
        let size = before.max(item_bytes(&self.checkpoint.item(now))) + key_bytes(key_names, key);
        let times = if written.0.is_empty() { 1.0 } else { 2.0 };
        self.cost.write_units += times * write_units(size);
        for (key, addition) in written.0 {
            let is_new = !self.stats.contains_key(&key);
            let stat = self.stats.entry(key.clone()).or_default();
            stat.set = addition.set;
            for (attribute, amount) in &addition.add {
                let sum = stat.add.get(attribute).map_or(*amount, |before| before.plus(*amount));
                stat.add.insert(attribute.clone(), sum);
            }
            let texts = stat.set.iter().map(|(name, text)| (name.clone(), AttributeValue::S(text.clone())));
            let sums = stat.add.iter().map(|(name, sum)| (name.clone(), AttributeValue::N(sum.to_string())));
            let units = write_units(item_bytes(&texts.chain(sums).collect()) + key_bytes(key_names, &key));
            self.cost.write_units += 2.0 * units;
            for index in indexes.iter().filter(|index| stat.set.contains_key(&index.partition_key)) {
                let moves = !is_new && addition.add.contains_key(&index.sort_key);
                self.cost.write_units += if moves { 2.0 * units } else { units };
            }
        }
    }
}

fn write_units(bytes: usize) -> f64 {
    bytes.div_ceil(WRITE_UNIT_BYTES).max(1) as f64
}

fn read_units(bytes: usize) -> f64 {
    bytes.div_ceil(READ_UNIT_BYTES) as f64
}

fn key_bytes(names: [&str; 2], key: &ItemKey) -> usize {
    names[0].len() + names[1].len() + key.0.len() + key.1.len()
}

/// The size of an item ([item
/// sizes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html)).
fn item_bytes(item: &Item) -> usize {
    item.iter().map(|(name, value)| name.len() + value_bytes(value)).sum()
}

fn value_bytes(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        // About one byte for two digits, and one more.
        AttributeValue::N(number) => number.trim_matches('0').len().div_ceil(2) + 1,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::M(map) => {
            3 + map.iter().map(|(name, value)| name.len() + value_bytes(value) + 1).sum::<usize>()
        }
        AttributeValue::L(list) => 3 + list.iter().map(|value| value_bytes(value) + 1).sum::<usize>(),
        _ => 1,
    }
}
