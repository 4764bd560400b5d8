//! The number of partitions over which a product's activities are spread. The table keeps the
//! largest number so far.

use domain::EntryId;

use super::keys::key;
use store_base::shard;
use store_base::{StoreError, Table, shard_count};

/// The item with the largest number of suffixes so far.
const LAYOUT: &str = "LAYOUT#ACTIVITIES";
const LAYOUT_SORT: &str = "suffixes";

/// The number of partitions over which the activities of a product's day are spread.
///
/// With 1, a product's day is one partition, which takes at most 1,000 write units a second
/// ([partition
/// limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)).
/// The number in use never falls: the table keeps the largest number so far
/// ([`ActivitySuffixes::remembered`]), so readers query each partition that may have rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivitySuffixes(pub(super) u8);

impl ActivitySuffixes {
    /// The most partitions of a day. All of them are read at once.
    pub const MAX: u8 = 100;

    /// The number of partitions, if it is from 1 to [`ActivitySuffixes::MAX`].
    pub fn new(suffixes: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&suffixes).then_some(Self(suffixes))
    }

    /// The larger of this number and the one stored in `table`, which is raised if necessary. Its
    /// requests are `GetItem`, and `PutItem` when the number has grown.
    pub async fn remembered(self, table: &Table) -> Result<Self, StoreError> {
        let stored_key = || key(LAYOUT, LAYOUT_SORT);
        match shard_count::read(table, stored_key()).await? {
            Some(most) if most >= self.0 => {
                Self::new(most).ok_or_else(|| StoreError::unreadable(format!("{LAYOUT} {LAYOUT_SORT}: {most}")))
            }
            _ => shard_count::raise(table, stored_key(), self.0).await.map(|()| self),
        }
    }

    pub(super) fn of(self, id: EntryId) -> u8 {
        shard(id.uuid().as_bytes(), self.0)
    }
}

impl Default for ActivitySuffixes {
    fn default() -> Self {
        Self(10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_spreads_evenly_over_its_suffixes() {
        let suffixes = ActivitySuffixes::default();
        let mut counts = [0; 10];
        for n in 0..10_000 {
            let id = format!("0199a478-bc40-7abc-8def-{n:012x}").parse().expect("an id");
            counts[usize::from(suffixes.of(id))] += 1;
        }
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        assert_eq!((ActivitySuffixes::new(0), ActivitySuffixes::new(101)), (None, None));
    }
}
