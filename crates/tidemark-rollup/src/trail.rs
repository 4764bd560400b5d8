//! The records of the last batch of a shard that was counted, in few bytes.
//!
//! A mapping with `ParallelizationFactor` 1 delivers a shard's records in order and without gaps, so
//! a batch that comes again has no record between those of an earlier one. With a larger factor,
//! each lane delivers some of the records. The checkpoint would take those of a slower lane for
//! duplicates.

use crate::SequenceNumber;

/// The most bytes of the filter.
const BYTES_MAX: usize = 64;

/// Which records the last batch had: a Bloom filter. It has two bits for a record as long as it is
/// not full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Trail {
    /// The first record of the batch. The last one is that of the checkpoint.
    first: Option<SequenceNumber>,
    filter: Vec<u8>,
}

impl Trail {
    /// The trail of a batch that is counted up to `through`.
    pub(crate) fn of(numbers: &[SequenceNumber], through: SequenceNumber) -> Self {
        let numbers = || numbers.iter().filter(|number| **number <= through);
        let mut trail =
            Self { first: numbers().min().copied(), filter: vec![0; (2 * numbers().count()).clamp(16, BYTES_MAX)] };
        for number in numbers() {
            for (byte, bit) in trail.places(*number) {
                trail.filter[byte] |= bit;
            }
        }
        trail
    }

    fn places(&self, number: SequenceNumber) -> [(usize, u8); 2] {
        // The numbers of a shard differ in their last digits: these are mixed as SplitMix64 does.
        let [.., a, b, c, d, e, f, g, h] = number.to_bytes();
        let hash = u64::from_be_bytes([a, b, c, d, e, f, g, h]);
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let hash = hash ^ (hash >> 31);
        let second = if self.filter.len() < BYTES_MAX { hash >> 32 } else { hash };
        [hash, second].map(|hash| {
            let bit = (hash & 0xffff_ffff) as usize % (self.filter.len() * 8).max(1);
            (bit / 8, 1 << (bit % 8))
        })
    }

    /// A record of another batch that no batch in order can have: it lies between counted records,
    /// but was not one of them. `numbers` are all records of the batch, and `changes` those that
    /// count.
    pub(crate) fn foreign(
        &self,
        checkpoint: Option<SequenceNumber>,
        numbers: &[SequenceNumber],
        changes: impl Iterator<Item = SequenceNumber>,
    ) -> Option<SequenceNumber> {
        let checkpoint = checkpoint?;
        let is_counted = |number: SequenceNumber| {
            let is_set = |(byte, bit): (usize, u8)| self.filter.get(byte).is_none_or(|byte| byte & bit != 0);
            self.first.is_none_or(|first| number < first) || self.places(number).into_iter().all(is_set)
        };
        let mut old = changes.filter(|number| *number <= checkpoint);
        let between = old.find(|number| !is_counted(*number));
        // A batch that begins before the checkpoint and ends after it contains its record.
        let new = numbers.iter().filter(|number| **number > checkpoint).min().copied();
        let skips = numbers.iter().any(|number| *number < checkpoint) && !numbers.contains(&checkpoint);
        between.or(new.filter(|_| skips))
    }

    /// 17 bytes of the first record, and the filter.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let first = self.first?.to_bytes();
        Some([first.as_slice(), &self.filter].concat())
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (first, filter) = bytes.split_at_checked(17)?;
        let first = SequenceNumber::from_bytes(first.try_into().ok()?);
        (!filter.is_empty()).then(|| Self { first: Some(first), filter: filter.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbers(range: std::ops::Range<u32>) -> Vec<SequenceNumber> {
        range.map(|n| (u64::from(n) * 7_919 + 10_u64.pow(18)).to_string().parse().expect("digits")).collect()
    }

    proptest! {
        #[test]
        fn no_batch_in_order_is_foreign(from in 0..40_u32, length in 1..200_u32, again in 0..60_u32, more in 1..300_u32) {
            let counted = numbers(from..from + length);
            let trail = Trail::of(&counted, counted[counted.len() - 1]);
            let trail = Trail::from_bytes(&trail.to_bytes().expect("a first record")).expect("a trail");
            let batch = numbers(again..(again + more).max(again + 1));
            let checkpoint = counted.last().copied();
            // A batch begins at or before the record after the checkpoint.
            if batch[0] <= numbers(from + length..from + length + 1)[0] {
                prop_assert_eq!(trail.foreign(checkpoint, &batch, batch.iter().copied()), None);
            }
        }
    }

    #[test]
    fn the_records_of_another_lane_are_foreign() {
        for lanes in [2, 10] {
            let all = numbers(0..2_000);
            let lane = |of: usize| all.iter().copied().skip(of).step_by(lanes).collect::<Vec<_>>();
            let (first, second) = (lane(1), lane(0));
            let trail = Trail::of(&first, first[first.len() - 1]);
            assert!(trail.foreign(first.last().copied(), &second, second.iter().copied()).is_some(), "{lanes} lanes");
        }
    }
}
