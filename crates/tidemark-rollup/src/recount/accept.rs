//! Accepts a changed declaration: after a repair, the statistics are those that the new one gives.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::changes::ShardChanges;
use super::refusal::RecountRefusal;
use super::repair::RepairError;
use super::snapshot::Snapshot;
use super::{Measurement, Recounter, Scope};
use crate::additions::Additions;
use crate::error::StoreError;
use crate::guard::{Entry, entries, table_arn};
use crate::shard::{Checkpoint, Commit, Shard, checkpoint_partition};

/// What a measurement with a changed declaration remembers, so that a repair can accept it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Acceptance {
    stream_arn: String,
    /// The checkpoints of the measured moment, by shard.
    checkpoints: BTreeMap<String, Checkpoint>,
    /// The shards that may still get records.
    open: BTreeSet<String>,
}

impl Measurement {
    /// Whether the statistics were counted with another declaration than the one that was measured
    /// with. A repair accepts it if it corrects all differences: those of a part of a table, and
    /// numbers that are too high and may not be lowered, stay.
    pub fn is_new_declaration(&self) -> bool {
        self.acceptance.is_some()
    }
}

impl<T: Clone> Recounter<'_, T> {
    /// What the statistics were counted with. Refuses the stream of a table that was not counted.
    pub(super) async fn entry(&self, stream_arn: &str) -> Result<Option<Entry>, super::RecountError> {
        let aggregator = self.aggregator;
        let entry = entries(&aggregator.table).await?.remove(&aggregator.rollup.name);
        let table = table_arn(stream_arn);
        let is_other = |entry: &Entry| !entry.tables.contains(table) && !aggregator.also_counting.contains(table);
        if let Some(other) = entry.as_ref().filter(|entry| aggregator.rules.guards_recounts() && is_other(entry)) {
            let counted = other.tables.iter().cloned().collect();
            return Err(RecountRefusal::OtherStream { stream_arn: stream_arn.to_owned(), counted }.into());
        }
        Ok(entry)
    }

    /// What a repair needs to accept the declaration, if it differs from the one of the entry.
    pub(super) fn acceptance(
        &self,
        entry: Option<&Entry>,
        scope: &Scope,
        stream_arn: &str,
        moment: &Snapshot,
        records: &[(String, ShardChanges)],
    ) -> Option<Acceptance> {
        let is_changed = entry.is_some_and(|entry| entry.declared != self.aggregator.declared);
        (is_changed && matches!(scope, Scope::All)).then(|| Acceptance {
            stream_arn: stream_arn.to_owned(),
            checkpoints: moment.checkpoints.clone(),
            open: records.iter().map(|(shard, _)| shard.clone()).collect(),
        })
    }

    /// Lets aggregators count with the declaration. Nothing may have been counted with another one
    /// since the measurement, and from here on nothing is: each checkpoint gets the fingerprint, on
    /// the condition of its version.
    pub(super) async fn accept(&self, acceptance: &Acceptance, now: Timestamp) -> Result<(), RepairError> {
        let (table, name) = (&self.aggregator.table, &self.aggregator.rollup.name);
        let own = Some(self.aggregator.fingerprint.clone());
        for item in table.partition(&checkpoint_partition(name, &acceptance.stream_arn), None).await? {
            let (read, key) = (Checkpoint::of(&item)?, table.key_of(&item));
            let Some((_, shard)) = key.filter(|_| read.declaration != own) else { continue };
            if acceptance.checkpoints.get(&shard) != Some(&read) {
                return Err(RepairError::StillCounted);
            }
            if acceptance.open.contains(&shard) {
                let read = Checkpoint { declaration: own.clone(), ..read };
                let commit =
                    Commit { to: None, written: &Additions::default(), buffer: read.buffer.clone(), also: None };
                let shard = Shard::new(&acceptance.stream_arn, shard);
                shard.commit(table, name, &read, commit, now).await.map_err(|_| RepairError::StillCounted)?;
            }
        }
        let entry = entries(table).await?.remove(name);
        let entry = entry.ok_or_else(|| StoreError::Refused("the declaration was never entered".to_owned()))?;
        let is_written = entry.accepting(self.aggregator.declared.clone(), now).write(table, name).await?;
        if is_written { Ok(()) } else { Err(RepairError::StillCounted) }
    }
}
