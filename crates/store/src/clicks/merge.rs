//! Merging: moves buffered sums from checkpoints to the statistics.
//!
//! One transaction removes sums from a checkpoint and adds them to the statistics. Its condition is
//! that the checkpoint has not moved since the sums were read and still has them. So the sums are
//! either in the checkpoint or in the statistics, even if two mergers run at the same time or one
//! crashes.

use std::collections::BTreeMap;

use domain::clicks::{Correction, Period, SequenceNumber, Sums};

use super::checkpoints::{Checkpoints, CommitError, ShardCheckpoint};
use super::keys::{Item, PARTITION_KEY, SORT_KEY, checkpoint_partition, s};
use super::unmerged::{clicks_attribute, read, total_attribute, users_attribute};
use crate::{StoreError, Table};

/// The most statistics of one transaction: the [100
/// actions](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less one for the checkpoint.
const MERGED_STATS_MAX: usize = 99;

/// The most pages that [`Merger::list`] reads. At a megabyte each, they hold some millions of
/// checkpoints.
const PAGES_MAX: usize = 1_000;

/// A checkpoint and its buffered sums.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedSums {
    /// The checkpoint.
    pub shard: ShardCheckpoint,
    sequence_number: SequenceNumber,
    sums: BTreeMap<Period, Sums>,
}

impl UnmergedSums {
    /// The number of clicks that are not merged yet.
    pub fn clicks(&self) -> u64 {
        self.sums.get(&Period::Total).map_or(0, |sums| sums.clicks)
    }
}

/// Merges buffered sums. Its requests are `DescribeTable`, `Query` and `GetItem` for checkpoints,
/// and `TransactWriteItems` that update one checkpoint and statistics.
#[derive(Debug, Clone)]
pub struct Merger {
    table: Table,
    checkpoints: Checkpoints,
}

impl Merger {
    /// A merger for the checkpoints in `table`.
    pub fn new(table: &Table) -> Self {
        Self { checkpoints: Checkpoints::new(table), table: table.clone() }
    }

    /// The checkpoints of the table's stream with buffered sums. The read is eventually consistent.
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
        Err(StoreError::unreadable("too many pages of checkpoints"))
    }

    /// The buffered sums of a checkpoint; `None` when there are none. The read is strongly
    /// consistent.
    pub async fn read(&self, shard: &ShardCheckpoint) -> Result<Option<UnmergedSums>, StoreError> {
        let request = self.table.get_item(shard.key()).consistent_read(true);
        let item = request.send().await?.item.filter(|item| item.contains_key(&total_attribute()));
        item.map(|item| unmerged(shard.clone(), &item)).transpose()
    }

    /// Moves the sums of a checkpoint to the statistics, as many as a transaction holds. Returns
    /// the rest.
    ///
    /// # Errors [`CommitError::CheckpointMoved`] when a shard has counted further or another merger
    /// has merged since the sums were read. It also occurs when this call has merged, but its reply
    /// was lost.
    pub async fn merge(&self, mut unmerged: UnmergedSums) -> Result<Option<UnmergedSums>, CommitError> {
        let merged: Vec<_> =
            unmerged.sums.iter().take(MERGED_STATS_MAX).map(|(period, sums)| (*period, *sums)).collect();
        if merged.is_empty() {
            return Ok(None);
        }
        let mut update = self
            .table
            .update(unmerged.shard.key())
            // Without the first condition, sums that a commit has added since the read would be
            // lost. Without the second, sums would be merged twice, by two mergers or by one whose
            // reply was lost. While the checkpoint does not move, its sums are only removed.
            .condition_expression("sequenceNumber = :read AND attribute_exists(#c0)")
            .expression_attribute_values(":read", s(unmerged.sequence_number.to_string()));
        let mut removed = Vec::new();
        for (index, (period, _)) in merged.iter().enumerate() {
            removed.push(format!("#c{index}"));
            update = update.expression_attribute_names(format!("#c{index}"), clicks_attribute(*period));
            if *period != Period::Total {
                removed.push(format!("#u{index}"));
                update = update.expression_attribute_names(format!("#u{index}"), users_attribute(*period));
            }
        }
        let update = update.update_expression(format!("REMOVE {}", removed.join(", ")));
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
