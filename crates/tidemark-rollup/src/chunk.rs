//! Adds the records of a batch up to chunks that one transaction can commit.

use std::collections::BTreeMap;

use crate::SequenceNumber;
use crate::contribution::{Contribution, Part, StatKey};
use crate::declaration::Rollup;

/// The most statistics that one chunk may touch: the [100 actions of a
/// transaction](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less one for the checkpoint.
pub const TRANSACTION_STATS_MAX: usize = 99;

/// Consecutive records of one shard, added up.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Chunk {
    /// The last record that the chunk covers; the checkpoint moves to it. `None` only in a chunk
    /// that is still open.
    pub(crate) through: Option<SequenceNumber>,
    /// What the chunk adds to each statistic, except its distinct counts.
    pub(crate) stats: BTreeMap<StatKey, StatDelta>,
    /// The values that items begin or end to hold, each with its changes in the shard's order.
    pub(crate) values: BTreeMap<DistinctValue, Vec<(SequenceNumber, i64)>>,
}

/// One value of a distinct measure in one statistic.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DistinctValue {
    pub(crate) value: String,
    pub(crate) stat: StatKey,
    pub(crate) measure: usize,
}

/// What a chunk adds to one statistic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StatDelta {
    /// By measure and attribute, in units of the measure's scale.
    pub(crate) sums: BTreeMap<(usize, Part), i128>,
    /// By measure: the smallest or the largest value.
    pub(crate) extremes: BTreeMap<usize, i64>,
}

/// Splits records, given in the order of their shard, into as few chunks as possible; each fits one
/// transaction. The last chunk reaches `through`, the last record of the batch, even if that record
/// adds nothing. Without records there is one empty chunk, which only moves the checkpoint.
///
/// A declaration has so few groups that one record always fits.
pub(crate) fn chunks<'c, T>(
    rollup: &Rollup<T>,
    records: impl IntoIterator<Item = (SequenceNumber, &'c BTreeMap<StatKey, Contribution>)>,
    through: SequenceNumber,
) -> Vec<Chunk> {
    let mut done = Vec::new();
    let mut open = Chunk::default();
    for (number, contributions) in records {
        let new = contributions.keys().filter(|key| !open.stats.contains_key(key)).count();
        if open.stats.len() + new > TRANSACTION_STATS_MAX {
            done.push(std::mem::take(&mut open));
        }
        for (key, contribution) in contributions {
            open.add(rollup, number, key.clone(), contribution.clone());
        }
        open.through = Some(number);
    }
    open.through = Some(through);
    done.push(open);
    done
}

impl Chunk {
    fn add<T>(&mut self, rollup: &Rollup<T>, number: SequenceNumber, key: StatKey, contribution: Contribution) {
        for ((measure, value), change) in contribution.holdings {
            let value = DistinctValue { value, stat: key.clone(), measure };
            self.values.entry(value).or_default().push((number, change));
        }
        let delta = self.stats.entry(key).or_default();
        for (place, amount) in contribution.sums {
            *delta.sums.entry(place).or_default() += amount;
        }
        for (measure, candidate) in contribution.extremes {
            let is_minimum = rollup.measures.get(measure).is_some_and(|(_, of)| of.is_first());
            let extreme = delta.extremes.entry(measure).or_insert(candidate);
            *extreme = if is_minimum { candidate.min(*extreme) } else { candidate.max(*extreme) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contribution::Change;
    use crate::votes::{Vote, builder, keeping, vote};
    use crate::{maximum, minimum};

    fn number(n: usize) -> SequenceNumber {
        n.to_string().parse().expect("digits")
    }

    fn of(rollup: &Rollup<Vote>, votes: &[Vote], through: usize) -> Vec<Chunk> {
        let contributions = |vote: &Vote| rollup.contributions(&Change::Insert(vote.clone()));
        let all: Vec<_> = votes.iter().map(contributions).collect();
        chunks(rollup, all.iter().enumerate().map(|(n, of)| (number(n + 1), of)), number(through))
    }

    #[test]
    fn records_of_one_statistic_are_added_up() {
        let rollup = builder().build().expect("a declaration");
        let chunks = of(&rollup, &[vote("ann", "", 2, 0), vote("bob", "", 3, 1), vote("ann", "", -1, 2)], 7);
        let [chunk] = chunks.as_slice() else { panic!("{chunks:?}") };
        assert_eq!((chunk.through, chunk.stats.len()), (Some(number(7)), 2), "the total and the day");
        for delta in chunk.stats.values() {
            let sums = [((0, Part::Sum), 3), ((1, Part::Sum), 4), ((2, Part::Sum), 4), ((2, Part::Count), 3)];
            assert_eq!(delta.sums, BTreeMap::from(sums));
        }
        let ann = chunk.values.iter().filter(|(value, _)| value.value == "ann").map(|(_, changes)| changes.clone());
        assert_eq!(ann.collect::<Vec<_>>(), vec![vec![(number(1), 1), (number(3), 1)]; 2]);
    }

    #[test]
    fn large_batch_is_split_where_a_transaction_is_full() {
        let rollup = builder().build().expect("a declaration");
        let votes: Vec<_> = (0..120).map(|day| vote("ann", &format!("p{day}"), 1, day * 24)).collect();
        let chunks = of(&rollup, &votes, 500);
        assert!(chunks.iter().all(|chunk| chunk.stats.len() <= TRANSACTION_STATS_MAX));
        let through: Vec<_> = chunks.iter().filter_map(|chunk| chunk.through).collect();
        // The total, and two statistics for each day.
        assert_eq!(through, [number(49), number(98), number(500)]);
    }

    #[test]
    fn a_batch_without_contributions_still_moves_the_checkpoint() {
        let rollup = builder().build().expect("a declaration");
        assert_eq!(of(&rollup, &[], 3), [Chunk { through: Some(number(3)), ..Chunk::default() }]);
    }

    #[test]
    fn chunk_extremes_are_its_smallest_and_largest_values() {
        let rollup = keeping()
            .measure("lowest", minimum(|vote: &Vote| vote.score))
            .measure("highest", maximum(|vote: &Vote| vote.score));
        let chunks =
            of(&rollup.build().expect("a declaration"), &[3, -2, 5, 0].map(|score| vote("ann", "", score, 0)), 9);
        for delta in chunks[0].stats.values() {
            assert_eq!(delta.extremes, BTreeMap::from([(4, -2), (5, 5)]));
        }
    }
}
