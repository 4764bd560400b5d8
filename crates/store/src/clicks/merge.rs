//! Merging: what checkpoints keep is taken from them and added to the statistics.
//!
//! One transaction takes some sums from a checkpoint and adds them, on the condition that the checkpoint has not moved since they were read and still
//! has them. So they are in the checkpoint, or in the statistics, and never in both, whoever merges at the same time or dies on the way.

use std::collections::BTreeMap;

use domain::clicks::{Correction, Period, SequenceNumber, Sums};

use super::checkpoints::{Checkpoints, CommitError, ShardCheckpoint};
use super::keys::{Item, PARTITION_KEY, SORT_KEY, checkpoint_partition, s};
use super::unmerged::{clicks_attribute, read, total_attribute, users_attribute};
use crate::{StoreError, Table};

/// The statistics of one transaction: [100 actions](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less the checkpoint.
const MERGED_STATS_MAX: usize = 99;

/// Bounds the pages of one look at the checkpoints: at a megabyte each, some millions of checkpoints.
const PAGES_MAX: usize = 1_000;

/// A checkpoint, and what it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedSums {
    /// Which.
    pub shard: ShardCheckpoint,
    sequence_number: SequenceNumber,
    sums: BTreeMap<Period, Sums>,
}

impl UnmergedSums {
    /// All clicks that wait here.
    pub fn clicks(&self) -> u64 {
        self.sums.get(&Period::Total).map_or(0, |sums| sums.clicks)
    }
}

/// Merges. Its requests are `DescribeTable`, `Query` and `GetItem` of checkpoints, and `TransactWriteItems` of updates of a checkpoint and statistics.
#[derive(Debug, Clone)]
pub struct Merger {
    table: Table,
    checkpoints: Checkpoints,
}

impl Merger {
    /// Merges what checkpoints keep in `table`.
    pub fn new(table: &Table) -> Self {
        Self { checkpoints: Checkpoints::new(table), table: table.clone() }
    }

    /// The checkpoints of the table's stream that keep something, as they were a moment ago.
    pub async fn list(&self) -> Result<Vec<UnmergedSums>, StoreError> {
        let stream_arn = stream_arn(&self.table).await?;
        let query = self.table.query();
        let query = query
            .key_condition_expression("#pk = :pk")
            .filter_expression("attribute_exists(#total)")
            .expression_attribute_names("#pk", PARTITION_KEY)
            .expression_attribute_names("#total", total_attribute())
            .expression_attribute_values(":pk", s(checkpoint_partition(&stream_arn)));
        let (mut waiting, mut start) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = query.clone().set_exclusive_start_key(start).send().await?;
            for item in page.items() {
                let shard = item.get(SORT_KEY).and_then(|value| value.as_s().ok());
                let shard = shard.ok_or_else(|| StoreError::unreadable("a checkpoint without a shard"))?;
                waiting.push(unmerged(ShardCheckpoint::new(&stream_arn, shard), item)?);
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(waiting);
            }
        }
        Err(StoreError::unreadable("the checkpoints do not end"))
    }

    /// What a checkpoint keeps now; `None` when that is nothing. Consistent.
    pub async fn read(&self, shard: &ShardCheckpoint) -> Result<Option<UnmergedSums>, StoreError> {
        let request = self.table.get_item(shard.key()).consistent_read(true);
        let item = request.send().await?.item.filter(|item| item.contains_key(&total_attribute()));
        item.map(|item| unmerged(shard.clone(), &item)).transpose()
    }

    /// Takes what a checkpoint keeps to the statistics: as much as a transaction holds, and what is left is told.
    ///
    /// # Errors
    /// [`CommitError::CheckpointMoved`] when the checkpoint has counted further, or somebody has merged, since it was read; also when this very call has,
    /// and its reply was lost.
    pub async fn merge(&self, mut unmerged: UnmergedSums) -> Result<Option<UnmergedSums>, CommitError> {
        let merged: Vec<_> =
            unmerged.sums.iter().take(MERGED_STATS_MAX).map(|(period, sums)| (*period, *sums)).collect();
        if merged.is_empty() {
            return Ok(None);
        }
        let mut update = self
            .table
            .update(unmerged.shard.key())
            // The first stops a commit's additions since the reading from being thrown away, the second sums from being merged twice: by
            // two mergers, or by one whose reply was lost. For as long as the checkpoint does not move, its sums only ever go.
            .condition_expression("sequenceNumber = :read AND attribute_exists(#c0)")
            .expression_attribute_values(":read", s(unmerged.sequence_number.to_string()));
        let mut gone = Vec::new();
        for (index, (period, _)) in merged.iter().enumerate() {
            gone.push(format!("#c{index}"));
            update = update.expression_attribute_names(format!("#c{index}"), clicks_attribute(*period));
            if *period != Period::Total {
                gone.push(format!("#u{index}"));
                update = update.expression_attribute_names(format!("#u{index}"), users_attribute(*period));
            }
        }
        let update = update.update_expression(format!("REMOVE {}", gone.join(", ")));
        let additions = merged.iter().map(|(period, sums)| Correction {
            period: *period,
            clicks: sums.clicks.into(),
            unique_users: sums.unique_users.into(),
        });
        self.checkpoints.write(update, None, additions).await?;
        for (period, _) in &merged {
            unmerged.sums.remove(period);
        }
        Ok(Some(unmerged).filter(|unmerged| !unmerged.sums.is_empty()))
    }
}

/// The ARN of the table's stream.
pub(super) async fn stream_arn(table: &Table) -> Result<String, StoreError> {
    let description = table.client().describe_table().table_name(table.name()).send().await?.table;
    let arn = description.and_then(|table| table.latest_stream_arn);
    arn.ok_or_else(|| StoreError::Refused(format!("the table {} has no stream", table.name())))
}

fn unmerged(shard: ShardCheckpoint, item: &Item) -> Result<UnmergedSums, StoreError> {
    let number = item.get("sequenceNumber").and_then(|value| value.as_s().ok());
    let sequence_number = number.and_then(|text| text.parse().ok());
    let sequence_number =
        sequence_number.ok_or_else(|| StoreError::unreadable("a checkpoint without a sequence number"))?;
    Ok(UnmergedSums { shard, sequence_number, sums: read(item)? })
}
