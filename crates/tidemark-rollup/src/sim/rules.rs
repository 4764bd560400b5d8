//! The rules, each weakened in one place, to show that the simulation finds it.

use jiff::Timestamp;

use crate::additions::Additions;
use crate::batch::Contributions;
use crate::contribution::Change;
use crate::declaration::Rollup;
use crate::shard::{Checkpoint, Commit, Shard};
use crate::{SequenceNumber, Table};

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
}

impl Weakness {
    /// Whether only an operator can show it.
    pub(crate) fn is_of_operator(self) -> bool {
        matches!(self, Self::UnconditionalRepair | Self::RepairWithoutRecords | Self::ForgetfulRedrive)
    }
}

/// What a change adds under a weakness.
pub(crate) fn weakened<T>(weakness: Option<Weakness>, rollup: &Rollup<T>, change: Change<T>) -> Contributions {
    let change = match (weakness, change) {
        (Some(Weakness::TtlRetracted), Change::Expire(old)) => Change::Remove(old),
        (Some(Weakness::OldImageIgnored), Change::Modify { new, .. }) => Change::Insert(new),
        (_, change) => change,
    };
    let mut contributions = rollup.contributions(&change);
    if weakness == Some(Weakness::RetractTwice) && matches!(change, Change::Remove(_)) {
        let amounts = contributions.values_mut().flat_map(|contribution| contribution.sums.values_mut());
        amounts.for_each(|amount| *amount *= 2);
    }
    contributions
}

/// The checkpoint with which a chunk's values are recorded.
pub(crate) fn claimed(weakness: Option<Weakness>, checkpoint: Option<SequenceNumber>) -> Option<SequenceNumber> {
    checkpoint.filter(|_| weakness != Some(Weakness::ClaimWithoutCheckpoint))
}

/// What a flush has still to do with a buffer, which may have been added in a request of its own.
pub(crate) async fn added_before(
    weakness: Option<Weakness>,
    table: &Table,
    rollup: &str,
    shard: &Shard,
    mut read: Checkpoint,
    now: Timestamp,
) -> Checkpoint {
    if weakness == Some(Weakness::FlushInTwoRequests) {
        let buffer = read.buffer.clone();
        let commit = Commit { to: None, written: &read.buffer, buffer, also: None };
        if let Ok(added) = shard.commit(table, rollup, &read, commit, now).await {
            read = added;
            read.buffer = Additions::default();
        }
    }
    read
}
