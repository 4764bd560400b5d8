//! Repairs statistics, while clicks are still counted.
//!
//! Counting does not change the error of a statistic, so its correction may be added at any time.
//! It must not be added twice. All repairs therefore share one checkpoint. Each of their
//! transactions moves it, on the condition that it is still where it was when the error was
//! measured. The full argument is in
//! `docs/decisions/0008-repairs-have-a-checkpoint-of-their-own.md`.

use backon::Retryable;
use domain::clicks::{Correction, FirstSeen, SequenceNumber, corrections};
use jiff::Timestamp;

use super::checkpoints::{Checkpoints, CommitError, ShardCheckpoint};
use super::first_seen::FirstSeenRecords;
use super::recount::Measurement;
use crate::{Table, patient_backoff};

/// The most statistics of one transaction: the [100
/// actions](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less one for the checkpoint.
pub const REPAIR_STATS_MAX: usize = 99;

/// After how many first-seen records progress is reported.
const RECORDS_AT_ONCE: usize = 500;

/// The result of a repair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// The corrections that were added to statistics.
    pub corrections: Vec<Correction>,
    /// The number of visitors for whom a missing first-seen record was written.
    pub marked: u64,
}

/// Why a repair did not finish. The transactions before the error have taken effect. Another
/// measurement shows the rest.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    /// Another repair, or an earlier try of this one whose reply was lost, has run since the
    /// measurement.
    #[error("another repair came in between")]
    ConcurrentRepair,
    /// Anything else.
    #[error(transparent)]
    Store(#[from] crate::StoreError),
}

/// Repairs statistics. Its requests are `UpdateItem` of first-seen records, and
/// `TransactWriteItems` that update statistics and the checkpoint of the repairs.
#[derive(Debug, Clone)]
pub struct Repairer {
    checkpoints: Checkpoints,
    first_seen_records: FirstSeenRecords,
}

impl Repairer {
    /// A repairer for `table`.
    pub fn new(table: &Table) -> Self {
        Self { checkpoints: Checkpoints::new(table), first_seen_records: FirstSeenRecords::new(table) }
    }

    /// Corrects the measured errors. The measurement may be old. Statistics that are too high are
    /// corrected only if `lowers` is true. `repaired` is called after each step.
    pub async fn repair(
        &self,
        measured: &Measurement,
        lowers: bool,
        now: Timestamp,
        mut repaired: impl FnMut(&RepairReport),
    ) -> Result<RepairReport, RepairError> {
        let shard = ShardCheckpoint::repair();
        let (mut from, mut done) = (measured.repaired_to, RepairReport::default());
        // After these writes, only this repair counts the unmarked visitors: their next clicks find
        // a first-seen record. If the repair stops here, they are missing from the statistics as
        // before, and the next repair adds them.
        let first_seen = FirstSeen { shard: shard.id(), sequence_number: SequenceNumber::after(from) };
        let unmarked: Vec<_> = measured.unmarked.iter().cloned().collect();
        let mut recorded_since = Vec::new();
        for visitors in unmarked.chunks(RECORDS_AT_ONCE) {
            let others = self.first_seen_records.insert_missing(first_seen, visitors).await?;
            done.marked += (visitors.len() - others.len()) as u64;
            recorded_since.extend(others);
            repaired(&done);
        }

        for corrections in corrections(&measured.differences, &recorded_since, lowers).chunks(REPAIR_STATS_MAX) {
            let to = SequenceNumber::after(from);
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
