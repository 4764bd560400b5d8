//! Over how many partitions a product's activities are spread, and that the table remembers the most.

use domain::journal::EntryId;

use super::keys::key;
use crate::series::shard;
use crate::{StoreError, Table, shard_count};

/// Where the table remembers the most suffixes that there have been.
const LAYOUT: &str = "LAYOUT#ACTIVITIES";
const LAYOUT_SORT: &str = "suffixes";

/// Over how many partitions the activities of a product's day are spread.
///
/// One is the plain layout, in which a product's day is one partition, and 1,000 write units a second are its end
/// ([partition limits](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)). The number grows and does not
/// shrink: the table remembers the most that it has been ([`ActivitySuffixes::remembered`]), so a row lies under a number that is still looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActivitySuffixes(pub(super) u8);

impl ActivitySuffixes {
    /// The most: all of a day's partitions are read at once.
    pub const MAX: u8 = 100;

    /// 1 to [`ActivitySuffixes::MAX`].
    pub fn new(suffixes: u8) -> Option<Self> {
        (1..=Self::MAX).contains(&suffixes).then_some(Self(suffixes))
    }

    /// These, or as many as the activities of `table` were ever spread over, if those are more; the table remembers it. Its requests are
    /// `GetItem`, and `PutItem` where the number has grown.
    pub async fn remembered(self, table: &Table) -> Result<Self, StoreError> {
        let place = || key(LAYOUT, LAYOUT_SORT);
        match shard_count::read(table, place()).await? {
            Some(most) if most >= self.0 => {
                Self::new(most).ok_or_else(|| StoreError::unreadable(format!("{LAYOUT} {LAYOUT_SORT}: {most}")))
            }
            _ => shard_count::raise(table, place(), self.0).await.map(|()| self),
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
