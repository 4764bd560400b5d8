//! Compares the statistics, first-seen records and holdings of a moment with the items.

use std::collections::{BTreeMap, BTreeSet};

use super::changes::{self, ShardChanges};
use super::snapshot::Snapshot;
use super::{Counted, Difference, HoldingError, Measurement, Recounter, redrive};
use crate::additions::ItemKey;
use crate::amount::Amount;
use crate::chunk::DistinctValue;
use crate::contribution::{Change, Part, StatKey};
use crate::declaration::Rollup;
use crate::distinct::holding::Holding;
use crate::distinct::{first_seen, holdings, place, stat_of};
use crate::error::StoreError;
use crate::shard::Shard;
use crate::{SequenceNumber, ShardHash};

impl<T: Clone> Recounter<'_, T> {
    /// Compares the statistics of a moment with the items that it has counted.
    pub(super) async fn compare(
        &self,
        stats: &BTreeSet<ItemKey>,
        stream_arn: &str,
        moment: &Snapshot,
        counted: Counted<T>,
        held: Option<&BTreeSet<ItemKey>>,
        records: &[(String, ShardChanges)],
    ) -> Result<Measurement, StoreError> {
        let (rollup, table) = (&self.aggregator.rollup, &self.aggregator.table);
        let redrives: BTreeSet<_> = counted.waiting.iter().map(|key| redrive::shard(key).hash()).collect();
        let mut expected = Expected::of(rollup, counted.states.values());
        expected.stats.retain(|key, _| rollup.stat(key).is_some_and(|stat| stats.contains(&stat.key)));
        expected.held.retain(|value, _| expected.stats.contains_key(&value.stat));

        let mut measured = Measurement {
            items: counted.total,
            pending: counted.pending,
            quarantined: counted.kept_out,
            repair: moment.repair.clone(),
            ..Measurement::default()
        };
        let places: BTreeMap<_, _> =
            expected.held.keys().filter_map(|value| Some((place(rollup, value)?, value))).collect();
        let keys: BTreeSet<_> = places.keys().map(|(key, _)| key.clone()).collect();
        if rollup.retracts() {
            measured.holdings = self.compare_holdings(&mut expected, held, stream_arn, moment).await?;
            measured.wrong_holdings = measured.holdings.values().map(|entries| entries.len() as u64).sum();
        } else {
            let recorded = first_seen::read(table, &keys).await?;
            let shards: BTreeMap<ShardHash, Option<SequenceNumber>> = records
                .iter()
                .map(|(shard, _)| {
                    let number = moment.checkpoints.get(shard).and_then(|checkpoint| checkpoint.number);
                    (Shard::new(stream_arn, shard).hash(), number)
                })
                .collect();
            let mut pending = BTreeSet::new();
            for ((key, entry), value) in places {
                match recorded.get(&key).and_then(|entries| entries.get(&entry)) {
                    None => measured.missing.push(value.clone()),
                    // The shard that has written the record may still count the value.
                    Some(first) => {
                        let is_pending = shards.get(&first.shard);
                        let is_pending = is_pending.is_some_and(|at| first.is_uncounted_by(first.shard, *at));
                        if is_pending || redrives.contains(&first.shard) {
                            pending.insert(value.clone());
                        }
                    }
                }
            }
            for value in expected.held.keys().filter(|value| !pending.contains(value)) {
                *expected.distinct.entry((value.stat.clone(), value.measure)).or_default() += 1;
            }
            measured.unrecorded = measured.missing.len() as u64;
        }
        (measured.differences, measured.numbers) = differences(rollup, stats, moment, &expected)?;
        Ok(measured)
    }

    /// Compares the holdings with the items. `known` are all holdings of the table, if they were
    /// read. Sets the distinct counts that statistics must have.
    async fn compare_holdings(
        &self,
        expected: &mut Expected,
        known: Option<&BTreeSet<ItemKey>>,
        stream_arn: &str,
        moment: &Snapshot,
    ) -> Result<BTreeMap<ItemKey, BTreeMap<String, HoldingError>>, StoreError> {
        let (rollup, table) = (&self.aggregator.rollup, &self.aggregator.table);
        // By entry: the statistic and the measure, and how many counted items hold the value.
        type Entries = BTreeMap<String, ((StatKey, usize), i64)>;
        let mut right: BTreeMap<ItemKey, Entries> = BTreeMap::new();
        for (value, held) in &expected.held {
            let Some((key, entry)) = place(rollup, value) else { continue };
            let stat = (value.stat.clone(), value.measure);
            right.entry(key).or_default().insert(entry, (stat, *held));
        }
        let keys = right.keys().chain(known.into_iter().flatten()).cloned().collect();
        let stored = holdings::read_all(table, &keys).await?;
        // Read again, now that the holdings are known: all records that they have applied are
        // there.
        let records = changes::read(&self.streams, stream_arn, &moment.numbers()).await?;
        let later = self.applied_later(&stored, stream_arn, moment, &records);
        if known.is_some() {
            for (key, holding) in &stored {
                let crossed = holding.shards.values().flat_map(|applied| applied.crossings.iter().map(|(_, of, _)| of));
                for entry in holding.held.keys().chain(crossed) {
                    let Some(stat) = stat_of(rollup, key, entry) else { continue };
                    right.entry(key.clone()).or_default().entry(entry.clone()).or_insert((stat, 0));
                }
            }
        }
        let checkpoints: BTreeMap<ShardHash, Option<SequenceNumber>> = records
            .iter()
            .map(|(shard, _)| (Shard::new(stream_arn, shard).hash(), moment.numbers().get(shard).copied()))
            .collect();

        let mut wrong: BTreeMap<ItemKey, BTreeMap<String, HoldingError>> = BTreeMap::new();
        for (key, entries) in right {
            let holding = stored.get(&key).cloned().unwrap_or_default();
            for (entry, (stat, counted)) in entries {
                let applied = later.get(&key).and_then(|later| later.get(&entry)).copied().unwrap_or_default();
                let held = holding.held.get(&entry).copied().unwrap_or_default();
                // A commit that is still to come adds these.
                let pending: i64 = checkpoints
                    .iter()
                    .filter_map(|(shard, at)| {
                        holding.uncommitted(*shard, *at, SequenceNumber::MAX).get(&*entry).copied()
                    })
                    .sum();
                let is_held = counted + applied > 0;
                *expected.distinct.entry(stat.clone()).or_default() += i64::from(is_held) - pending;
                if counted + applied != held {
                    let crossing = i64::from(is_held) - i64::from(held > 0);
                    let error = HoldingError { stat, missing: counted + applied - held, crossing };
                    wrong.entry(key.clone()).or_default().insert(entry, error);
                }
            }
        }
        Ok(wrong)
    }

    /// What the shards have applied to holdings beyond the checkpoints of the moment.
    fn applied_later(
        &self,
        stored: &BTreeMap<ItemKey, Holding>,
        stream_arn: &str,
        moment: &Snapshot,
        records: &[(String, ShardChanges)],
    ) -> BTreeMap<ItemKey, BTreeMap<String, i64>> {
        let mut later: BTreeMap<ItemKey, BTreeMap<String, i64>> = BTreeMap::new();
        for (shard, changes) in records {
            let hash = Shard::new(stream_arn, shard).hash();
            let checkpoint = moment.checkpoints.get(shard).and_then(|checkpoint| checkpoint.number);
            for change in changes.iter().filter(|change| Some(change.number) > checkpoint) {
                for (stat, contribution) in self.contributions(change) {
                    for ((measure, value), amount) in contribution.holdings {
                        let value = DistinctValue { value, stat: stat.clone(), measure };
                        let Some((key, entry)) = place(&self.aggregator.rollup, &value) else { continue };
                        let applied = stored.get(&key).and_then(|holding| holding.shards.get(&hash));
                        if applied.is_some_and(|applied| change.number <= applied.through) {
                            *later.entry(key).or_default().entry(entry).or_default() += amount;
                        }
                    }
                }
            }
        }
        later
    }
}

/// What the items give.
#[derive(Debug, Default)]
struct Expected {
    stats: BTreeMap<StatKey, BTreeMap<String, Amount>>,
    /// How many items hold a value.
    held: BTreeMap<DistinctValue, i64>,
    /// The distinct counts by statistic and measure, without what shards have still to commit.
    distinct: BTreeMap<(StatKey, usize), i64>,
}

impl Expected {
    fn of<'t, T: Clone + 't>(rollup: &Rollup<T>, items: impl Iterator<Item = &'t T>) -> Self {
        let mut expected = Self::default();
        for item in items {
            for (key, contribution) in rollup.contributions(&Change::Insert(item.clone())) {
                let stat = expected.stats.entry(key.clone()).or_default();
                for ((measure, part), units) in contribution.sums {
                    let Some((attribute, scale)) = rollup.attribute(measure, part) else { continue };
                    let amount = Amount { units, scale };
                    let sum = stat.get(&attribute).map_or(amount, |before| before.plus(amount));
                    stat.insert(attribute, sum);
                }
                for (measure, value) in contribution.extremes {
                    let Some((name, of)) = rollup.measures.get(measure) else { continue };
                    let candidate = i128::from(value);
                    let best = stat.entry(name.clone()).or_insert(Amount { units: candidate, scale: of.scale });
                    best.units = if of.is_first() { best.units.min(candidate) } else { best.units.max(candidate) };
                }
                for ((measure, value), change) in contribution.holdings {
                    let value = DistinctValue { value, stat: key.clone(), measure };
                    *expected.held.entry(value).or_default() += change;
                }
            }
        }
        expected
    }
}

/// The differences, and how many numbers were compared.
fn differences<T>(
    rollup: &Rollup<T>,
    stats: &BTreeSet<ItemKey>,
    moment: &Snapshot,
    expected: &Expected,
) -> Result<(Vec<Difference>, u64), StoreError> {
    // The constant attributes and the numbers of each statistic.
    type Right = (BTreeMap<String, String>, BTreeMap<String, Amount>);
    let mut recounted: BTreeMap<ItemKey, Right> = BTreeMap::new();
    for (key, numbers) in &expected.stats {
        let Some(stat) = rollup.stat(key) else { continue };
        recounted.insert(stat.key, (stat.set, numbers.clone()));
    }
    for ((key, measure), count) in &expected.distinct {
        let attribute = rollup.attribute(*measure, Part::Sum);
        let (Some(stat), Some((attribute, scale))) = (rollup.stat(key), attribute) else { continue };
        let numbers = &mut recounted.entry(stat.key).or_default().1;
        numbers.entry(attribute).or_insert(Amount { units: 0, scale }).units += i128::from(*count);
    }
    let buffered = moment.buffered();
    let zero = Amount { units: 0, scale: 0 };
    let (mut differences, mut compared) = (Vec::new(), 0);
    for key in stats {
        let Some(group) = rollup.group_of(&key.0, &key.1) else { continue };
        let (set, numbers) = recounted.remove(key).unwrap_or_default();
        let measures = group.measures.iter().filter_map(|measure| rollup.measures.get(*measure));
        let attributes =
            measures.flat_map(|(name, of)| of.attributes(name).into_iter().map(move |attribute| (of, attribute)));
        for (of, attribute) in attributes {
            compared += 1;
            let number = moment.stats.get(key).and_then(|item| item.get(&attribute));
            let wrong = || StoreError::Unreadable(format!("{} {}: {attribute} is not a number", key.0, key.1));
            let parsed = number.map(|number| number.as_n().ok().and_then(|number| number.parse::<Amount>().ok()));
            let stored = parsed.map(|parsed| parsed.ok_or_else(wrong)).transpose()?;
            let right = numbers.get(&attribute).copied();
            let waiting = buffered.0.get(key).and_then(|buffer| buffer.add.get(&attribute)).copied();
            let minimum = of.is_stored_extreme().then(|| of.is_first());
            // Items that were deleted may have given an extreme that is further out.
            let is_right = minimum.is_some_and(|is_minimum| {
                let beyond = |right: Amount| stored.map(|stored| stored.plus(right.negative()).units);
                right.is_none_or(|right| beyond(right).is_some_and(|by| if is_minimum { by <= 0 } else { by >= 0 }))
            });
            let difference = Difference {
                partition: key.0.clone(),
                sort: key.1.clone(),
                attribute,
                stored: stored.unwrap_or(zero).plus(waiting.unwrap_or(zero)),
                recounted: right.unwrap_or(zero),
                minimum,
                set: set.clone(),
            };
            if !is_right && (minimum.is_some() || difference.error().units != 0) {
                differences.push(difference);
            }
        }
    }
    Ok((differences, compared))
}
