//! Token buckets, one per partition key of a table or index.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Limits of one partition key, units per second, as in AWS. A bucket holds one second's worth.
const WRITE_UNITS_PER_S: f64 = 1_000.0;
const READ_UNITS_PER_S: f64 = 3_000.0;

/// Above this number of buckets, the full ones are removed: a new bucket starts full, so nothing is
/// lost.
const BUCKETS_MAX: usize = 100_000;

/// The kind of capacity units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum UnitKind {
    Read,
    Write,
}

impl UnitKind {
    fn units_per_s(self) -> f64 {
        match self {
            Self::Read => READ_UNITS_PER_S,
            Self::Write => WRITE_UNITS_PER_S,
        }
    }
}

/// One partition key of a table, or of one of its indexes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Partition {
    pub(crate) table: String,
    pub(crate) index: Option<String>,
    /// The key's value in DynamoDB JSON.
    pub(crate) key: String,
}

/// All buckets.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    levels: Mutex<HashMap<(UnitKind, Partition), Level>>,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    units: f64,
    at: Instant,
}

impl Level {
    fn after(self, kind: UnitKind, now: Instant) -> Self {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * kind.units_per_s();
        Self { units: (self.units + gained).min(kind.units_per_s()), at: now }
    }
}

impl Buckets {
    /// The first of `partitions` with an empty bucket.
    pub(super) fn empty<'a>(&self, kind: UnitKind, partitions: &'a [Partition], now: Instant) -> Option<&'a Partition> {
        let levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        partitions.iter().find(|partition| {
            let level = levels.get(&(kind, (*partition).clone()));
            level.is_some_and(|level| level.after(kind, now).units <= 0.0)
        })
    }

    /// Takes `units`; the level may become negative.
    pub(super) fn take(&self, kind: UnitKind, partition: Partition, units: f64, now: Instant) {
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        if levels.len() >= BUCKETS_MAX {
            levels.retain(|(kind, _), level| level.after(*kind, now).units < kind.units_per_s());
        }
        let full = Level { units: kind.units_per_s(), at: now };
        let level = levels.entry((kind, partition)).or_insert(full);
        *level = level.after(kind, now);
        level.units -= units;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn partition(key: &str) -> Partition {
        Partition { table: "t".to_owned(), index: None, key: key.to_owned() }
    }

    #[test]
    fn partition_takes_one_second_of_burst_then_its_rate() {
        let (buckets, now) = (Buckets::default(), Instant::now());
        let hot = [partition("hot")];
        buckets.take(UnitKind::Write, partition("hot"), 999.0, now);
        assert_eq!(buckets.empty(UnitKind::Write, &hot, now), None);
        buckets.take(UnitKind::Write, partition("hot"), 101.0, now);
        assert_eq!(buckets.empty(UnitKind::Write, &hot, now), Some(&hot[0]));
        assert_eq!(buckets.empty(UnitKind::Write, &hot, now + Duration::from_millis(99)), Some(&hot[0]));
        assert_eq!(buckets.empty(UnitKind::Write, &hot, now + Duration::from_millis(101)), None);
    }

    #[test]
    fn hot_partition_throttles_neither_other_partitions_nor_its_reads() {
        let (buckets, now) = (Buckets::default(), Instant::now());
        buckets.take(UnitKind::Write, partition("hot"), 2_000.0, now);
        assert_eq!(buckets.empty(UnitKind::Write, &[partition("cold")], now), None);
        assert_eq!(buckets.empty(UnitKind::Read, &[partition("hot")], now), None);
    }
}
