//! How many items hold a distinct value in a statistic, exact while items change and go.
//!
//! One item of the table has these counts for a value, an entry for each statistic. Shards write it
//! before they commit, in a request of its own. So it also keeps, for each shard, the last record
//! that was applied and the records at which the value came or went. A crash between this write and
//! the commit leaves both behind. The replay skips the applied records, and finds the arrivals and
//! departures that its checkpoint has not passed.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{SequenceNumber, ShardHash};

/// How long the state of a shard that no longer comes is kept. A stream keeps its records for 24
/// hours, so no older record can come back.
pub(crate) const SHARD_RETENTION: SignedDuration = SignedDuration::from_hours(3 * 24);

/// How many shards a holding has before those are folded whose checkpoint has passed them. A shard
/// takes about 77 bytes. Without this, a table with 300 partitions would fill the 400 KB of an item
/// in three days.
pub(crate) const SHARDS_MAX: usize = 32;

/// The state of one value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holding {
    /// By entry: the number of items that hold the value. Never zero.
    pub(crate) held: BTreeMap<String, i64>,
    /// What each shard has applied, by the shard's hash.
    pub(crate) shards: BTreeMap<ShardHash, Applied>,
    /// Whether shards were folded. A shard that is missing here may have been one of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) folded: bool,
}

/// The records of one shard that are part of [`Holding::held`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Applied {
    /// The last of them.
    pub(crate) through: SequenceNumber,
    /// When it was applied, in epoch seconds.
    pub(crate) at: i64,
    /// The entries in which the value came (1) or went (-1), with the record. Those that are
    /// counted are removed with the next write.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) crossings: Vec<(SequenceNumber, String, i8)>,
}

impl Holding {
    /// Applies the changes of a shard's records that were not applied before. `checkpoint` is the
    /// checkpoint of the shard, and the changes are in its order. Returns whether there were any.
    pub(crate) fn apply(
        &mut self,
        shard: ShardHash,
        checkpoint: Option<SequenceNumber>,
        changes: &[(SequenceNumber, String, i64)],
        now: Timestamp,
    ) -> bool {
        let before = self.shards.get(&shard);
        let done = before.map(|applied| applied.through).max(checkpoint);
        let new = changes.iter().filter(|(record, ..)| done.is_none_or(|done| *record > done));
        let mut crossings = before.map(|applied| applied.crossings.clone()).unwrap_or_default();
        let mut through = None;
        for (record, entry, change) in new {
            let held = self.held.entry(entry.clone()).or_default();
            let was_held = *held > 0;
            *held += change;
            through = Some(*record);
            match (was_held, *held > 0) {
                (false, true) => crossings.push((*record, entry.clone(), 1)),
                (true, false) => crossings.push((*record, entry.clone(), -1)),
                _ => {}
            }
        }
        let Some(through) = through else { return false };
        crossings.retain(|(record, ..)| checkpoint.is_none_or(|checkpoint| *record > checkpoint));
        self.held.retain(|_, held| *held != 0);
        self.shards.retain(|_, applied| applied.at > (now - SHARD_RETENTION).as_second());
        self.shards.insert(shard, Applied { through, at: now.as_second(), crossings });
        true
    }

    /// The holding of a value that all shards of a table have changed for some days.
    pub(crate) fn after_days(partitions: usize) -> Self {
        // Every four hours for the time that a shard is kept.
        let ever = partitions * usize::try_from(SHARD_RETENTION.as_hours() / 4).unwrap_or_default();
        let shards = ever.min(partitions.max(SHARDS_MAX)) - 1;
        let through = SequenceNumber::MAX;
        let applied = Applied { through, at: 1_700_000_000, crossings: Vec::new() };
        let hash = |index: usize| ShardHash((index as u64).to_be_bytes());
        Self { shards: (0..shards).map(|index| (hash(index), applied.clone())).collect(), ..Self::default() }
    }

    /// Removes the shards whose checkpoint has passed all that they have applied: their replays skip
    /// it because of the checkpoint. `passed` has checkpoints, which may be outdated.
    pub(crate) fn fold(&mut self, passed: &BTreeMap<ShardHash, SequenceNumber>, shards_max: usize) {
        if self.shards.len() > shards_max {
            self.shards.retain(|shard, applied| passed.get(shard).is_none_or(|passed| *passed < applied.through));
            self.folded = true;
        }
    }

    /// Whether the shard may have been folded. An invocation that still has the checkpoint from
    /// before would apply its records once more: it must read the checkpoint again.
    pub(crate) fn may_have_folded(&self, shard: ShardHash) -> bool {
        self.folded && !self.shards.contains_key(&shard)
    }

    /// What a commit of the shard from `checkpoint` to `through` adds to the number of distinct
    /// values, by entry.
    pub(crate) fn uncommitted(
        &self,
        shard: ShardHash,
        checkpoint: Option<SequenceNumber>,
        through: SequenceNumber,
    ) -> BTreeMap<&str, i64> {
        let crossings = self.shards.get(&shard).map(|applied| applied.crossings.as_slice()).unwrap_or_default();
        let mut changes = BTreeMap::new();
        for (record, entry, change) in crossings {
            if checkpoint.is_none_or(|checkpoint| *record > checkpoint) && *record <= through {
                *changes.entry(entry.as_str()).or_default() += i64::from(*change);
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn number(n: usize) -> SequenceNumber {
        n.to_string().parse().expect("digits")
    }

    /// A shard whose records are changes of a value: each an item that begins or ends to hold it.
    struct Shard {
        id: ShardHash,
        records: Vec<(usize, i64)>,
        /// The number of committed records.
        committed: usize,
    }

    impl Shard {
        fn checkpoint(&self) -> Option<SequenceNumber> {
            (self.committed > 0).then(|| number(self.committed))
        }

        /// Delivers the records from `from` on, which may be counted already, in a batch that ends
        /// after `length` records. The function may crash before the commit.
        fn deliver(
            &mut self,
            values: &mut BTreeMap<usize, Holding>,
            distinct: &mut i64,
            (from, length): (usize, usize),
            crash_after: Option<usize>,
        ) {
            let end = (from + length).min(self.records.len());
            if end <= self.committed {
                return;
            }
            let mut changes: BTreeMap<usize, Vec<(SequenceNumber, String, i64)>> = BTreeMap::new();
            for (index, (value, change)) in self.records[..end].iter().enumerate().skip(self.committed) {
                let entry = ["a", "b"][value % 2].to_owned();
                changes.entry(*value / 2).or_default().push((number(index + 1), entry, *change));
            }
            let checkpoint = self.checkpoint();
            let mut added = 0;
            for (writes, (value, changes)) in changes.iter().enumerate() {
                if crash_after.is_some_and(|after| writes >= after) {
                    return;
                }
                let holding = values.entry(*value).or_default();
                holding.apply(self.id, checkpoint, changes, Timestamp::UNIX_EPOCH);
                added += holding.uncommitted(self.id, checkpoint, number(end)).values().sum::<i64>();
            }
            if crash_after.is_none() {
                *distinct += added;
                self.committed = end;
            }
        }
    }

    /// Records in which each item holds at most one value at a time: of two shards, as items never
    /// change their shard.
    fn records(choices: &[(u8, u8)]) -> Vec<(usize, i64)> {
        let mut items: BTreeMap<u8, usize> = BTreeMap::new();
        let mut records = Vec::new();
        for (item, value) in choices {
            if let Some(old) = items.remove(item) {
                records.push((old, -1));
            }
            if *value > 0 {
                records.push((usize::from(*value), 1));
                items.insert(*item, usize::from(*value));
            }
        }
        records
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn distinct_values_are_exact_after_crashes_and_replays(
            choices in proptest::array::uniform2(proptest::collection::vec((0..3_u8, 0..4_u8), 0..20)),
            deliveries in proptest::collection::vec((0..2_usize, 0..4_usize, 1..9_usize, proptest::option::of(0..4_usize)), 0..60),
        ) {
            let mut shards = choices.each_ref().map(|choices| records(choices));
            let mut shards: Vec<_> = shards.iter_mut().enumerate().map(|(index, records)| {
                Shard { id: ShardHash([index as u8; 8]), records: std::mem::take(records), committed: 0 }
            }).collect();
            let (mut values, mut distinct) = (BTreeMap::new(), 0);
            for (shard, back, length, crash_after) in deliveries {
                let from = shards[shard].committed.saturating_sub(back);
                shards[shard].deliver(&mut values, &mut distinct, (from, length), crash_after);
            }
            for shard in &mut shards {
                let from = shard.committed;
                shard.deliver(&mut values, &mut distinct, (from, usize::MAX / 2), None);
            }
            let mut held: BTreeMap<usize, i64> = BTreeMap::new();
            for (value, change) in shards.iter().flat_map(|shard| &shard.records) {
                *held.entry(*value).or_default() += change;
            }
            prop_assert_eq!(distinct, held.values().filter(|held| **held > 0).count() as i64);
            for (value, held) in held {
                let stored = values.get(&(value / 2)).and_then(|holding| holding.held.get(["a", "b"][value % 2]));
                prop_assert_eq!(stored.copied().unwrap_or_default(), held);
            }
        }
    }
}
