//! The rules, each weakened in one place, to show that the simulation finds it.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::additions::Additions;
use crate::aggregator::Aggregator;
use crate::batch::Contributions;
use crate::checkpoint::{FirstSeen, SequenceNumber, ShardHash};
use crate::contribution::Change;
use crate::declaration::Rollup;
use crate::distinct::holding::{Holding, SHARDS_MAX};
use crate::shard::{Checkpoint, Commit, CommitError, Shard};
use crate::table::Table;

/// A rule that is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weakness {
    /// A deletion is taken back twice.
    RetractTwice,
    /// A deletion by TTL is taken back like one by a client.
    TtlRetracted,
    /// First-seen records and holdings are read without the checkpoint.
    ClaimWithoutCheckpoint,
    /// A modification counts like an insertion.
    OldImageIgnored,
    /// The checkpoint moves in a request of its own, before the sums are added.
    CheckpointOutsideTransaction,
    /// A value whose first-seen record is cached or read is skipped, although the shard has not
    /// counted it yet.
    SkippingCache,
    /// A repair ignores other repairs since the measurement.
    UnconditionalRepair,
    /// A repair counts values without writing their first-seen records.
    RepairWithoutRecords,
    /// A redrive does not remember the item.
    ForgetfulRedrive,
    /// A buffer is added to the statistics in one request and removed in another.
    FlushInTwoRequests,
    /// A changed declaration counts on without a recount.
    AnyDeclaration,
    /// The stream of a replica is counted, too.
    AnyTable,
    /// A shard is folded although its checkpoint has not passed what it has applied.
    UncheckedFold,
    /// A recount in another region judges.
    AnyRegion,
}

impl Weakness {
    /// Whether only an operator can show it.
    pub(crate) fn is_of_operator(self) -> bool {
        matches!(self, Self::UnconditionalRepair | Self::RepairWithoutRecords | Self::ForgetfulRedrive)
    }
}

impl<T> Aggregator<T> {
    /// The same with a rule left out, to see that the simulation finds it.
    pub fn weakened(mut self, weakness: Option<Weakness>) -> Self {
        self.rules.weakness = weakness;
        self
    }

    /// The same, but a holding folds its shards as soon as it has more than two.
    pub(crate) fn with_few_shards(mut self) -> Self {
        self.rules.folds_early = true;
        self
    }
}

/// The rules as `rules.rs` has them, without the one that is left out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    pub(crate) weakness: Option<Weakness>,
    folds_early: bool,
}

impl Rules {
    pub(crate) fn lacks(self, weakness: Weakness) -> bool {
        self.weakness == Some(weakness)
    }

    pub(crate) fn contributions<T>(self, rollup: &Rollup<T>, change: Change<T>) -> Contributions {
        let change = match (self.weakness, change) {
            (Some(Weakness::TtlRetracted), Change::Expire(old)) => Change::Remove(old),
            (Some(Weakness::OldImageIgnored), Change::Modify { new, .. }) => Change::Insert(new),
            (_, change) => change,
        };
        let mut contributions = rollup.contributions(&change);
        if self.lacks(Weakness::RetractTwice) && matches!(change, Change::Remove(_)) {
            let amounts = contributions.values_mut().flat_map(|contribution| contribution.sums.values_mut());
            amounts.for_each(|amount| *amount *= 2);
        }
        contributions
    }

    pub(crate) fn guards_declaration(self) -> bool {
        !self.lacks(Weakness::AnyDeclaration)
    }

    pub(crate) fn guards_tables(self) -> bool {
        !self.lacks(Weakness::AnyTable)
    }

    pub(crate) fn guards_recounts(self) -> bool {
        !self.lacks(Weakness::AnyRegion)
    }

    pub(crate) fn fold(self, holding: &mut Holding, passed: &BTreeMap<ShardHash, SequenceNumber>) {
        if self.lacks(Weakness::UncheckedFold) && holding.shards.len() > self.shards_max() {
            holding.shards.clear();
            holding.folded = true;
        }
        holding.fold(passed, self.shards_max());
    }

    pub(crate) fn shards_max(self) -> usize {
        if self.folds_early { 2 } else { SHARDS_MAX }
    }

    pub(crate) fn claimed(self, checkpoint: Option<SequenceNumber>) -> Option<SequenceNumber> {
        checkpoint.filter(|_| !self.lacks(Weakness::ClaimWithoutCheckpoint))
    }

    pub(crate) fn is_open(self, record: FirstSeen, shard: ShardHash, checkpoint: Option<SequenceNumber>) -> bool {
        !self.lacks(Weakness::SkippingCache) && record.is_uncounted_by(shard, checkpoint)
    }

    pub(crate) async fn start(
        self,
        (table, rollup, shard): (&Table, &str, &Shard),
        read: Checkpoint,
        to: Option<SequenceNumber>,
        now: Timestamp,
    ) -> Result<(Checkpoint, Option<SequenceNumber>), CommitError> {
        if !self.lacks(Weakness::CheckpointOutsideTransaction) {
            return Ok((read, to));
        }
        let commit = Commit { to, written: &Additions::default(), buffer: read.buffer.clone(), also: None };
        Ok((shard.commit(table, rollup, &read, commit, now).await?, None))
    }

    pub(crate) async fn unflushed(
        self,
        (table, rollup, shard): (&Table, &str, &Shard),
        mut read: Checkpoint,
        now: Timestamp,
    ) -> Checkpoint {
        if self.lacks(Weakness::FlushInTwoRequests) {
            let commit = Commit { to: None, written: &read.buffer, buffer: read.buffer.clone(), also: None };
            if let Ok(added) = shard.commit(table, rollup, &read, commit, now).await {
                read = added;
                read.buffer = Additions::default();
            }
        }
        read
    }

    pub(crate) fn redrive_shard(self, of_item: Shard) -> Shard {
        if self.lacks(Weakness::ForgetfulRedrive) {
            return Shard::new(crate::shard::OPERATOR, format!("redrive#{}", fastrand::u64(..)));
        }
        of_item
    }
}
