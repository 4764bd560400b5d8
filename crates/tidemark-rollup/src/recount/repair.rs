//! Repairs statistics, while records are still counted.
//!
//! Counting does not change the error of a statistic, so its correction may be added at any time.
//! It must not be added twice. All repairs therefore share one checkpoint. Each of their
//! transactions moves it, on the condition that it is still where it was when the error was
//! measured.

use std::collections::BTreeMap;

use backon::Retryable;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;

use crate::additions::{Additions, ItemKey};
use crate::amount::Amount;
use crate::chunk::DistinctValue;
use crate::contribution::Part;
use crate::distinct::first_seen;
use crate::distinct::holdings::{Holdings, Position};
use crate::distinct::{ItemChanges, REQUESTS_MAX, place};
use crate::error::StoreError;
use crate::recount::{Measurement, Recounter};
use crate::shard::{Checkpoint, Commit, CommitError, Shard};
use crate::table::patient_backoff;
use crate::{FirstSeen, SequenceNumber, extremes};

/// The most statistics of one transaction: the [100
/// actions](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less one for the checkpoint.
const REPAIR_STATS_MAX: usize = 99;

/// A repair may lower one number in so many without [`Lowering::UpTo`].
const SMALL_SHARE: u64 = 20;

/// What a repair may lower. A statistic that is too high is wrong, or its items were deleted and
/// kept, or the recount read the wrong ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lowering {
    /// Nothing.
    #[default]
    Nothing,
    /// At most one in 20 of the numbers that were compared.
    SmallShare,
    /// At most so many numbers: those of a measurement that somebody has looked at, from
    /// [`Measurement::too_high`].
    UpTo(u64),
}

/// A number that was added to a statistic.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Correction {
    /// The partition key of the statistic.
    pub partition: String,
    /// Its sort key.
    pub sort: String,
    /// The attribute.
    pub attribute: String,
    /// The number; negative if the statistic was too high.
    pub added: Amount,
}

/// The result of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// The numbers that were added to statistics.
    pub corrections: Vec<Correction>,
    /// The number of values for which a missing first-seen record was written.
    pub recorded: u64,
    /// The number of holdings that were corrected.
    pub holdings: u64,
    /// Whether a changed declaration was accepted, so that aggregators count with it.
    pub accepted: bool,
}

/// Why a repair did not finish. The transactions before the error have taken effect. Another
/// measurement shows the rest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// Another repair, or an earlier try of this one whose reply was lost, has run since the
    /// measurement.
    #[error("another repair came in between")]
    ConcurrentRepair,
    /// The repair would lower more than [`Lowering`] allows. It has changed nothing.
    #[error("the repair would lower {lowered} of {numbers} numbers, which is more than was allowed")]
    LowersTooMuch {
        /// How many numbers it would lower.
        lowered: u64,
        /// How many were compared.
        numbers: u64,
    },
    /// Records were counted with the earlier declaration since the measurement, so the changed one
    /// was not accepted.
    #[error(
        "the statistics are repaired, but an earlier version of the function still counts, so the new declaration was \
         not accepted: repeat the recount when that version no longer runs"
    )]
    StillCounted,
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CommitError> for RepairError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::CheckpointMoved => Self::ConcurrentRepair,
            CommitError::Store(error) => Self::Store(error),
        }
    }
}

/// The corrections of a measurement. Nothing is subtracted unless `lowers` is true: an item that
/// was deleted and kept stays counted.
pub fn corrections(measured: &Measurement, lowers: bool) -> Vec<Correction> {
    let wanted = measured.differences.iter().filter(|difference| lowers || difference.error().units < 0);
    let correction = wanted.map(|difference| Correction {
        partition: difference.partition.clone(),
        sort: difference.sort.clone(),
        attribute: difference.attribute.clone(),
        added: difference.error().negative(),
    });
    correction.collect()
}

impl Measurement {
    /// How many numbers a repair lowers if it may: those that are higher than the items give.
    pub fn too_high(&self) -> u64 {
        let wrong = self.differences.iter().filter(|wrong| wrong.minimum.is_none() && wrong.error().units > 0);
        wrong.count() as u64
    }

    /// Whether a holding has more items than there are.
    fn has_high_holdings(&self) -> bool {
        self.holdings.values().flat_map(BTreeMap::values).any(|error| error.missing < 0)
    }

    /// Whether a repair of this measurement may run.
    ///
    /// # Errors
    /// [`RepairError::LowersTooMuch`].
    pub fn admits(&self, lowering: Lowering) -> Result<(), RepairError> {
        let (lowered, numbers) = (self.too_high(), self.numbers);
        let is_admitted = match lowering {
            Lowering::Nothing => true,
            Lowering::SmallShare => lowered.saturating_mul(SMALL_SHARE) <= numbers,
            Lowering::UpTo(allowed) => lowered <= allowed,
        };
        if is_admitted { Ok(()) } else { Err(RepairError::LowersTooMuch { lowered, numbers }) }
    }
}

/// The numbers that are still to be added, by statistic and attribute, with the statistic's
/// constant attributes.
type Open = BTreeMap<(ItemKey, String), (BTreeMap<String, String>, Amount)>;

impl<T: Clone> Recounter<'_, T> {
    /// Corrects the measured errors. The measurement may be old. Statistics that are too high are
    /// corrected as far as `lowering` allows; if they are more, nothing is. A repair that corrects
    /// all differences accepts a [changed declaration](Measurement::is_new_declaration). `repaired`
    /// is called after each step.
    pub async fn repair(
        &self,
        measured: &Measurement,
        lowering: Lowering,
        now: Timestamp,
        mut repaired: impl FnMut(&RepairReport),
    ) -> Result<RepairReport, RepairError> {
        measured.admits(lowering)?;
        let lowers = lowering != Lowering::Nothing;
        let table = &self.aggregator.table;
        let mut report = RepairReport::default();
        let mut open = Open::new();
        for difference in &measured.differences {
            let key = (difference.partition.clone(), difference.sort.clone());
            if let Some(is_minimum) = difference.minimum {
                let stat = (key, difference.set.clone());
                extremes::write(table, stat, &difference.attribute, is_minimum, difference.recounted).await?;
                continue;
            }
            let amount = difference.error().negative();
            open.insert((key, difference.attribute.clone()), (difference.set.clone(), amount));
        }

        let mut read = measured.repair.clone();
        self.repair_holdings(measured, lowers, now, &mut read, &mut open, &mut report).await?;
        repaired(&report);
        self.record_missing(measured, &mut open, &mut report).await?;
        repaired(&report);

        open.retain(|_, (_, amount)| amount.units > 0 || (lowers && amount.units < 0));
        let open: Vec<_> = open.into_iter().collect();
        for open in open.chunks(REPAIR_STATS_MAX) {
            let mut additions = Additions::default();
            for ((key, attribute), (set, amount)) in open {
                additions.put(key.clone(), set.clone(), attribute.clone(), *amount);
            }
            read = self.commit(&read, additions, now).await?;
            report.corrections.extend(open.iter().map(|((key, attribute), (_, added))| Correction {
                partition: key.0.clone(),
                sort: key.1.clone(),
                attribute: attribute.clone(),
                added: *added,
            }));
            repaired(&report);
        }
        let is_complete = lowers || (measured.too_high() == 0 && !measured.has_high_holdings());
        if let Some(acceptance) = measured.acceptance.as_ref().filter(|_| is_complete) {
            self.accept(acceptance, now).await?;
            report.accepted = true;
        }
        Ok(report)
    }

    /// Corrects holdings like a shard of its own: each change is a record of the repairs, and its
    /// commit adds the values that come and go to the distinct counts.
    async fn repair_holdings(
        &self,
        measured: &Measurement,
        lowers: bool,
        now: Timestamp,
        read: &mut Checkpoint,
        open: &mut Open,
        report: &mut RepairReport,
    ) -> Result<(), RepairError> {
        let (rollup, table) = (&self.aggregator.rollup, &self.aggregator.table);
        let errors = measured.holdings.iter();
        let errors = errors.flat_map(|(key, entries)| entries.iter().map(move |(entry, error)| (key, entry, error)));
        let errors: Vec<_> = errors.filter(|(_, _, error)| lowers || error.missing > 0).collect();
        if errors.is_empty() {
            return Ok(());
        }
        // What an interrupted repair has left in holdings is at or below this number.
        *read = self.commit(read, Additions::default(), now).await?;
        for errors in errors.chunks(REPAIR_STATS_MAX) {
            let record = SequenceNumber::after(read.number);
            let mut items: BTreeMap<ItemKey, ItemChanges> = BTreeMap::new();
            for (key, entry, error) in errors {
                let item = items.entry((*key).clone()).or_default();
                item.entries.insert((*entry).clone(), error.stat.clone());
                item.changes.push((record, (*entry).clone(), error.missing));
                // The statistic's own error is what remains when its holdings are right.
                let stat = rollup.stat(&error.stat.0).zip(rollup.attribute(error.stat.1, Part::Sum));
                let Some((stat, (attribute, scale))) = stat else { continue };
                let none = (stat.set, Amount { units: 0, scale });
                open.entry((stat.key, attribute)).or_insert(none).1.units -= i128::from(error.crossing);
            }
            let (shard, rules) = (Shard::repair(), self.aggregator.rules);
            let position =
                Position { rollup: &rollup.name, shard: &shard, checkpoint: read.number, through: record, rules };
            let apply = || async { Holdings::default().apply(table, position, &items, now).await };
            let distinct = apply.retry(patient_backoff()).when(CommitError::is_transient).await?;
            let mut additions = Additions::default();
            additions.count(rollup, &distinct);
            *read = self.commit(read, additions, now).await?;
            report.holdings += errors.len() as u64;
        }
        Ok(())
    }

    /// Writes missing first-seen records. After that, only this repair counts their values: the
    /// next items find a record. If the repair stops here, they are missing from the statistics as
    /// before, and the next repair adds them.
    async fn record_missing(
        &self,
        measured: &Measurement,
        open: &mut Open,
        report: &mut RepairReport,
    ) -> Result<(), RepairError> {
        let (rollup, table) = (&self.aggregator.rollup, &self.aggregator.table);
        let sequence_number = SequenceNumber::after(measured.repair.number);
        let first_seen = FirstSeen { shard: Shard::repair().hash(), sequence_number };
        let mut items: BTreeMap<ItemKey, BTreeMap<String, &DistinctValue>> = BTreeMap::new();
        for value in &measured.missing {
            let Some((key, entry)) = place(rollup, value) else { continue };
            items.entry(key).or_default().insert(entry, value);
        }
        let written: Vec<_> = stream::iter(&items)
            .map(|(key, values)| async move {
                let records = values.keys().map(|entry| (entry.as_str(), first_seen)).collect();
                let write = || first_seen::write(table, key, &records);
                let all = write.retry(patient_backoff()).when(StoreError::is_transient).await?;
                let others = values.iter().filter(|(entry, _)| all.get(*entry) != Some(&first_seen));
                Ok::<_, StoreError>((values.len(), others.map(|(_, value)| *value).collect::<Vec<_>>()))
            })
            .buffer_unordered(REQUESTS_MAX)
            .try_collect()
            .await?;
        for (values, others) in written {
            report.recorded += (values - others.len()) as u64;
            // A shard has written these since the measurement. It counts them.
            for value in others {
                let stat = rollup.stat(&value.stat).zip(rollup.attribute(value.measure, Part::Sum));
                let Some((stat, (attribute, scale))) = stat else { continue };
                let none = (stat.set, Amount { units: 0, scale });
                open.entry((stat.key, attribute)).or_insert(none).1.units -= 1;
            }
        }
        Ok(())
    }

    /// Adds to statistics and moves the checkpoint of the repairs.
    async fn commit(&self, read: &Checkpoint, additions: Additions, now: Timestamp) -> Result<Checkpoint, CommitError> {
        let (rollup, table) = (&self.aggregator.rollup.name, &self.aggregator.table);
        let (shard, to) = (Shard::repair(), Some(SequenceNumber::after(read.number)));
        let commit = || {
            let commit = Commit { to, written: &additions, buffer: Additions::default(), also: None };
            shard.commit(table, rollup, read, commit, now)
        };
        commit.retry(patient_backoff()).when(CommitError::is_transient).await
    }
}
