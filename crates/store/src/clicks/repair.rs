//! Repairing statistics, while counting goes on.
//!
//! By how much a statistic is wrong does not change when somebody counts, so it can be added the other way round at any time; what must not
//! happen is that it is added twice. So all repairs go by one checkpoint, which moves with each of their transactions, and only from where it
//! was when the error was measured. `docs/decisions/0008-repairing-beside-the-stream.md` has the argument.

use backon::Retryable;
use domain::clicks::{Correction, FirstSeen, SequenceNumber, corrections};
use jiff::Timestamp;

use super::checkpoints::{Checkpoints, CommitError, ShardCheckpoint};
use super::first_seen::FirstSeenRecords;
use super::recount::Measurement;
use crate::{Table, patient_backoff};

/// The statistics of one transaction: [100 actions](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less the checkpoint.
pub const REPAIR_STATS_MAX: usize = 99;

/// After how many first-seen records progress is told.
const RECORDS_AT_ONCE: usize = 500;

/// What a repair has done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// What was added to statistics, or taken from them.
    pub corrections: Vec<Correction>,
    /// Visitors that had no first-seen record and have one now.
    pub marked: u64,
}

/// Why a repair did not end. Whatever it has done is done; another measurement shows what is left.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Since the measurement another repair came in between, or an earlier try of this one whose reply was lost.
    #[error("another repair came in between")]
    ConcurrentRepair,
    /// Anything else.
    #[error(transparent)]
    Store(#[from] crate::StoreError),
}

/// Repairs. Its requests are `UpdateItem` of first-seen records, and `TransactWriteItems` of updates of statistics and its checkpoint.
#[derive(Debug, Clone)]
pub struct Repairer {
    checkpoints: Checkpoints,
    first_seen_records: FirstSeenRecords,
}

impl Repairer {
    /// Repairs `table`.
    pub fn new(table: &Table) -> Self {
        Self { checkpoints: Checkpoints::new(table), first_seen_records: FirstSeenRecords::new(table) }
    }

    /// Sets right what was measured, however long ago that was; statistics that say too much only if `lowers`. Tells `repaired` of each step.
    pub async fn repair(
        &self,
        measured: &Measurement,
        lowers: bool,
        now: Timestamp,
        mut repaired: impl FnMut(&RepairReport),
    ) -> Result<RepairReport, RepairError> {
        let shard = ShardCheckpoint::repair();
        let (mut from, mut done) = (measured.repaired_to, RepairReport::default());
        // From here on nobody else counts the unmarked: their next click finds a first-seen record. Should this repair end here, they are
        // missing from the statistic, as they were, and the next one adds them.
        let first_seen = FirstSeen { shard: shard.id(), sequence_number: SequenceNumber::behind(from) };
        let unmarked: Vec<_> = measured.unmarked.iter().cloned().collect();
        let mut taken = Vec::new();
        for visitors in unmarked.chunks(RECORDS_AT_ONCE) {
            let others = self.first_seen_records.insert_missing(first_seen, visitors).await?;
            done.marked += (visitors.len() - others.len()) as u64;
            taken.extend(others);
            repaired(&done);
        }

        for corrections in corrections(&measured.differences, &taken, lowers).chunks(REPAIR_STATS_MAX) {
            let to = SequenceNumber::behind(from);
            (|| self.checkpoints.add(&shard, from, to, corrections.iter().copied(), None, now))
                .retry(patient_backoff())
                .when(|error| matches!(error, CommitError::Store(error) if error.is_transient()))
                .await?;
            from = Some(to);
            done.corrections.extend_from_slice(corrections);
            repaired(&done);
        }
        Ok(done)
    }
}

impl From<CommitError> for RepairError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::CheckpointMoved => Self::ConcurrentRepair,
            CommitError::Store(error) => Self::Store(error),
        }
    }
}
