//! What one change of an item does to the statistics.

use std::collections::BTreeMap;

use crate::declaration::{Policy, Rollup};
use crate::measure::MeasureKind;

/// [The longest partition key and sort key](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys),
/// bytes.
const PARTITION_KEY_BYTES_MAX: usize = 2048;
const SORT_KEY_BYTES_MAX: usize = 1024;

/// A change of an item, with the images that the stream shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<T> {
    /// A new item.
    Insert(T),
    /// An item was replaced.
    Modify {
        /// Before the change.
        old: T,
        /// After it.
        new: T,
    },
    /// An item was modified so that it is no longer counted.
    Withdraw(T),
    /// An item was deleted by a client.
    Remove(T),
    /// An item was deleted by DynamoDB, because its time to live had passed.
    Expire(T),
}

/// One statistic: its group and the values of the group's dimensions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StatKey {
    pub(crate) group: usize,
    pub(crate) values: Vec<String>,
}

/// A statistic cannot have the key that its template and the item's values give.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    #[error("group `{group}`: the {part} would have {bytes} bytes; 1 to {max} are possible")]
    Length {
        group: String,
        /// `partition key` or `sort key`.
        part: &'static str,
        /// The length that the key would have.
        bytes: usize,
        max: usize,
    },
    #[error("group `{group}`: the time is not in the years 0 to 9999")]
    Year { group: String },
}

impl KeyError {
    /// The stable code of the reason.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "key-length",
            Self::Year { .. } => "year",
        }
    }
}

/// What a change adds to one statistic.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Contribution {
    /// By attribute, in units of the measure's scale. Never zero.
    pub(crate) sums: BTreeMap<(usize, Part), i128>,
    /// By measure and value: 1 when an item begins to hold the value, -1 when one ends.
    pub(crate) holdings: BTreeMap<(usize, String), i64>,
    /// By measure: a candidate for the minimum or maximum.
    pub(crate) extremes: BTreeMap<usize, i64>,
}

/// The attribute of a measure that a sum belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Part {
    /// The only one, or the sum of an average.
    Sum,
    /// The count of an average.
    Count,
}

impl Contribution {
    fn is_empty(&self) -> bool {
        self.sums.is_empty() && self.holdings.is_empty() && self.extremes.is_empty()
    }

    fn add(&mut self, measure: usize, part: Part, amount: i128) {
        *self.sums.entry((measure, part)).or_default() += amount;
    }
}

impl<T> Rollup<T> {
    /// What a change adds to each statistic. A modification that moves an item from one statistic
    /// to another takes from the first and adds to the second; one that changes nothing is empty.
    pub(crate) fn contributions(&self, change: &Change<T>) -> BTreeMap<StatKey, Contribution> {
        let retracted = |policy: Policy| policy == Policy::Retract;
        let (old, new) = match change {
            Change::Insert(new) => (None, Some(new)),
            Change::Modify { old, new } if retracted(self.on_modify) => (Some(old), Some(new)),
            Change::Withdraw(old) if retracted(self.on_modify) => (Some(old), None),
            Change::Remove(old) if retracted(self.on_remove) => (Some(old), None),
            Change::Expire(old) if retracted(self.on_ttl) => (Some(old), None),
            Change::Modify { .. } | Change::Withdraw(_) | Change::Remove(_) | Change::Expire(_) => (None, None),
        };
        let mut all = BTreeMap::new();
        for (item, sign) in old.map(|old| (old, -1)).into_iter().chain(new.map(|new| (new, 1))) {
            self.add_item(item, sign, &mut all);
        }
        for contribution in all.values_mut() {
            contribution.sums.retain(|_, amount| *amount != 0);
            contribution.holdings.retain(|_, change| *change != 0);
        }
        all.retain(|_, contribution| !contribution.is_empty());
        all
    }

    /// Whether each statistic of the item can have its key.
    pub(crate) fn check(&self, item: &T) -> Result<(), KeyError> {
        for group in &self.groups {
            let Some(values) = group.group.values(item) else { continue };
            let window = group.group.window_dimension();
            if window.is_some_and(|(index, window)| !values.get(index).is_some_and(|label| window.is_label(label))) {
                return Err(KeyError::Year { group: group.group.name.clone() });
            }
            let keys = [
                ("partition key", group.partition.render(&values), PARTITION_KEY_BYTES_MAX),
                ("sort key", group.sort.render(&values), SORT_KEY_BYTES_MAX),
            ];
            if let Some((part, key, max)) = keys.into_iter().find(|(_, key, max)| !(1..=*max).contains(&key.len())) {
                return Err(KeyError::Length { group: group.group.name.clone(), part, bytes: key.len(), max });
            }
        }
        Ok(())
    }

    fn add_item(&self, item: &T, sign: i8, all: &mut BTreeMap<StatKey, Contribution>) {
        for (index, group) in self.groups.iter().enumerate() {
            let Some(values) = group.group.values(item) else { continue };
            let contribution = all.entry(StatKey { group: index, values }).or_default();
            for &measure in &group.measures {
                let Some((_, of)) = self.measures.get(measure) else { continue };
                let times = |value: i64| i128::from(value) * i128::from(sign);
                match &of.kind {
                    _ if of.is_ranked => {
                        let Some(rank) = of.rank(item) else { continue };
                        *contribution.holdings.entry((measure, rank)).or_default() += i64::from(sign);
                    }
                    MeasureKind::Count => contribution.add(measure, Part::Sum, times(1)),
                    MeasureKind::Sum(value) => {
                        contribution.add(measure, Part::Sum, times(value(item).unwrap_or_default()));
                    }
                    MeasureKind::Average(value) => {
                        let Some(value) = value(item) else { continue };
                        contribution.add(measure, Part::Sum, times(value));
                        contribution.add(measure, Part::Count, times(1));
                    }
                    MeasureKind::Distinct(value) => {
                        let Some(value) = value(item) else { continue };
                        *contribution.holdings.entry((measure, value)).or_default() += i64::from(sign);
                    }
                    MeasureKind::Minimum(value) | MeasureKind::Maximum(value) => {
                        // The rollup retracts nothing, so the sign is 1.
                        let Some(value) = value(item) else { continue };
                        contribution.extremes.insert(measure, value);
                    }
                    MeasureKind::First(_) | MeasureKind::Last(_) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::votes::{Vote, builder, keeping, vote};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    type All = BTreeMap<StatKey, Contribution>;

    fn contributions(rollup: &Rollup<Vote>, change: Change<Vote>) -> All {
        rollup.contributions(&change)
    }

    #[test]
    fn new_item_counts_in_each_of_its_groups() {
        let rollup = builder().build().expect("a declaration");
        let all = contributions(&rollup, Change::Insert(vote("ann", "lamp", 4, 0)));
        let groups: Vec<_> = all.keys().map(|key| (key.group, key.values.join(" "))).collect();
        assert_eq!(groups, [(0, String::new()), (1, "2025-10-02".to_owned()), (2, "2025-10-02 lamp".to_owned())]);
        let without_product = contributions(&rollup, Change::Insert(vote("ann", "", 4, 0)));
        assert_eq!(without_product.len(), 2);
    }

    #[test]
    fn a_change_within_one_statistic_adds_the_difference() {
        let rollup = builder().build().expect("a declaration");
        let change = Change::Modify { old: vote("ann", "lamp", 4, 0), new: vote("ann", "lamp", 1, 0) };
        let all = contributions(&rollup, change);
        assert_eq!(all.keys().map(|key| key.group).collect::<Vec<_>>(), [0, 1], "the product keeps no score");
        for contribution in all.values() {
            assert_eq!(contribution.sums, BTreeMap::from([((1, Part::Sum), -3), ((2, Part::Sum), -3)]));
            assert!(contribution.holdings.is_empty(), "the voter stays");
        }
        let same = Change::Modify { old: vote("ann", "lamp", 4, 0), new: vote("ann", "lamp", 4, 0) };
        assert_eq!(contributions(&rollup, same), All::new());
    }

    #[test]
    fn policies_decide_what_a_change_takes_back() {
        let (old, new) = (vote("ann", "lamp", 4, 0), vote("bob", "lamp", 4, 0));
        let changes =
            [Change::Modify { old: old.clone(), new }, Change::Remove(old.clone()), Change::Expire(old.clone())];
        let counts = |rollup: &Rollup<Vote>| changes.clone().map(|change| contributions(rollup, change).len());
        assert_eq!(counts(&builder().build().expect("a declaration")), [3, 3, 0]);
        assert_eq!(counts(&keeping().build().expect("a declaration")), [0, 0, 0]);
        let expiring = builder().on_remove(Policy::Keep).on_ttl(Policy::Retract);
        assert_eq!(counts(&expiring.build().expect("a declaration")), [3, 0, 3]);
    }

    #[test]
    fn value_that_no_key_can_hold_is_refused() {
        let rollup = builder().build().expect("a declaration");
        let long = rollup.check(&vote("ann", &"#".repeat(700), 1, 0)).expect_err("an error");
        let text = "group `products`: the partition key would have 2108 bytes; 1 to 2048 are possible";
        assert_eq!(long.to_string(), text);
        assert_eq!(rollup.check(&vote("", "lamp", 1, 0)), Ok(()));
        let early = rollup.check(&vote("ann", "lamp", 1, -24 * 366 * 2_100)).expect_err("an error");
        assert_eq!(early.to_string(), "group `daily`: the time is not in the years 0 to 9999");
    }

    /// The statistics of items, counted from the items themselves.
    fn recount(
        rollup: &Rollup<Vote>,
        items: &BTreeMap<u8, Vote>,
    ) -> BTreeMap<(usize, Vec<String>), (i128, i128, usize)> {
        let mut all: BTreeMap<_, (i128, i128, BTreeSet<&str>)> = BTreeMap::new();
        for item in items.values() {
            for (index, group) in rollup.groups.iter().enumerate() {
                let Some(values) = group.group.values(item) else { continue };
                let stat = all.entry((index, values)).or_default();
                stat.0 += 1;
                stat.1 += i128::from(item.score);
                stat.2.insert(&item.user);
            }
        }
        all.into_iter().map(|(key, (votes, score, voters))| (key, (votes, score, voters.len()))).collect()
    }

    proptest! {
        #[test]
        fn contributions_add_up_to_a_recount(
            changes in vec((0..6_u8, "[ab]", "(|x|y)", -2..3_i64, 0..50_i64, any::<bool>()), 0..60),
        ) {
            let rollup = builder().build().expect("a declaration");
            let mut items: BTreeMap<u8, Vote> = BTreeMap::new();
            let mut sums: BTreeMap<(StatKey, usize, Part), i128> = BTreeMap::new();
            let mut holdings: BTreeMap<(StatKey, usize, String), i64> = BTreeMap::new();
            for (id, user, product, score, hour, is_removal) in changes {
                let new = vote(&user, &product, score, hour);
                let change = match (items.remove(&id), is_removal) {
                    (None, _) => Change::Insert(new.clone()),
                    (Some(old), true) => Change::Remove(old),
                    (Some(old), false) => Change::Modify { old, new: new.clone() },
                };
                if !matches!(change, Change::Remove(_)) {
                    items.insert(id, new);
                }
                for (key, contribution) in contributions(&rollup, change) {
                    for ((measure, part), amount) in contribution.sums {
                        *sums.entry((key.clone(), measure, part)).or_default() += amount;
                    }
                    for ((measure, value), amount) in contribution.holdings {
                        *holdings.entry((key.clone(), measure, value)).or_default() += amount;
                    }
                }
            }
            prop_assert!(holdings.values().all(|held| *held >= 0));
            for ((group, values), (votes, score, voters)) in recount(&rollup, &items) {
                let key = StatKey { group, values };
                let sum = |measure| sums.get(&(key.clone(), measure, Part::Sum)).copied().unwrap_or_default();
                prop_assert_eq!(sum(0), votes);
                if group < 2 {
                    prop_assert_eq!(sum(1), score);
                    prop_assert_eq!(sum(2), score);
                }
                let held = holdings.iter().filter(|((of, _, _), held)| *of == key && **held > 0).count();
                prop_assert_eq!(held, voters);
                sums.retain(|(of, _, _), _| *of != key);
            }
            prop_assert!(sums.values().all(|left| *left == 0), "a statistic of no item is not zero");
        }
    }
}
