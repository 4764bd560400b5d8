//! Folding: what lanes keep is taken from them and added to the statistics.
//!
//! One transaction takes some sums from a lane and adds them, on the condition that the lane has not moved since they were read and still
//! has them. So they are in the lane, or in the statistics, and never in both, whoever folds at the same time or dies on the way.

use std::collections::BTreeMap;

use domain::clicks::{Correction, Period, SequenceNumber, Sums};

use super::keys::{Item, PARTITION_KEY, SORT_KEY, lane_partition, s};
use super::lanes::{CommitError, Lane, Lanes};
use super::unfolded::{clicks_attribute, read, total_attribute, users_attribute};
use crate::{StoreError, Table};

/// The statistics of one transaction: [100 actions](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html#limits-dynamodb-transactions)
/// less the lane.
const FOLDED_STATS_MAX: usize = 99;

/// Bounds the pages of one look at the lanes: at a megabyte each, some millions of lanes.
const PAGES_MAX: usize = 1_000;

/// A lane, and what it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfolded {
    /// Which.
    pub lane: Lane,
    sequence_number: SequenceNumber,
    sums: BTreeMap<Period, Sums>,
}

impl Unfolded {
    /// All clicks that wait here.
    pub fn clicks(&self) -> u64 {
        self.sums.get(&Period::Total).map_or(0, |sums| sums.clicks)
    }
}

/// Folds. Its requests are `DescribeTable`, `Query` and `GetItem` of lanes, and `TransactWriteItems` of updates of a lane and statistics.
#[derive(Debug, Clone)]
pub struct Folder {
    table: Table,
    lanes: Lanes,
}

impl Folder {
    /// Folds what lanes keep in `table`.
    pub fn new(table: &Table) -> Self {
        Self { lanes: Lanes::new(table), table: table.clone() }
    }

    /// The lanes of the table's stream that keep something, as they were a moment ago.
    pub async fn waiting(&self) -> Result<Vec<Unfolded>, StoreError> {
        let stream_arn = stream_arn(&self.table).await?;
        let query = self.table.query();
        let query = query
            .key_condition_expression("#pk = :pk")
            .filter_expression("attribute_exists(#total)")
            .expression_attribute_names("#pk", PARTITION_KEY)
            .expression_attribute_names("#total", total_attribute())
            .expression_attribute_values(":pk", s(lane_partition(&stream_arn)));
        let (mut waiting, mut start) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let page = query.clone().set_exclusive_start_key(start).send().await?;
            for item in page.items() {
                let shard = item.get(SORT_KEY).and_then(|value| value.as_s().ok());
                let shard = shard.ok_or_else(|| StoreError::unreadable("a lane without a shard"))?;
                waiting.push(unfolded(Lane::new(&stream_arn, shard), item)?);
            }
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(waiting);
            }
        }
        Err(StoreError::unreadable("the lanes do not end"))
    }

    /// What a lane keeps now; `None` when that is nothing. Consistent.
    pub async fn kept(&self, lane: &Lane) -> Result<Option<Unfolded>, StoreError> {
        let request = self.table.get_item(lane.key()).consistent_read(true);
        let item = request.send().await?.item.filter(|item| item.contains_key(&total_attribute()));
        item.map(|item| unfolded(lane.clone(), &item)).transpose()
    }

    /// Takes what a lane keeps to the statistics: as much as a transaction holds, and what is left is told.
    ///
    /// # Errors
    /// [`CommitError::LaneMoved`] when the lane has counted further, or somebody has folded, since it was read; also when this very call has,
    /// and its reply was lost.
    pub async fn fold(&self, mut unfolded: Unfolded) -> Result<Option<Unfolded>, CommitError> {
        let folded: Vec<_> =
            unfolded.sums.iter().take(FOLDED_STATS_MAX).map(|(period, sums)| (*period, *sums)).collect();
        if folded.is_empty() {
            return Ok(None);
        }
        let mut update = self
            .table
            .update(unfolded.lane.key())
            // The first stops a commit's additions since the reading from being thrown away, the second sums from being folded twice: by
            // two folders, or by one whose reply was lost. For as long as the lane does not move, its sums only ever go.
            .condition_expression("sequenceNumber = :read AND attribute_exists(#c0)")
            .expression_attribute_values(":read", s(unfolded.sequence_number.to_string()));
        let mut gone = Vec::new();
        for (index, (period, _)) in folded.iter().enumerate() {
            gone.push(format!("#c{index}"));
            update = update.expression_attribute_names(format!("#c{index}"), clicks_attribute(*period));
            if *period != Period::Total {
                gone.push(format!("#u{index}"));
                update = update.expression_attribute_names(format!("#u{index}"), users_attribute(*period));
            }
        }
        let update = update.update_expression(format!("REMOVE {}", gone.join(", ")));
        let additions = folded.iter().map(|(period, sums)| Correction {
            period: *period,
            clicks: sums.clicks.into(),
            unique_users: sums.unique_users.into(),
        });
        self.lanes.write(update, None, additions).await?;
        for (period, _) in &folded {
            unfolded.sums.remove(period);
        }
        Ok(Some(unfolded).filter(|unfolded| !unfolded.sums.is_empty()))
    }
}

/// The ARN of the table's stream.
pub(super) async fn stream_arn(table: &Table) -> Result<String, StoreError> {
    let description = table.client().describe_table().table_name(table.name()).send().await?.table;
    let arn = description.and_then(|table| table.latest_stream_arn);
    arn.ok_or_else(|| StoreError::Refused(format!("the table {} has no stream", table.name())))
}

fn unfolded(lane: Lane, item: &Item) -> Result<Unfolded, StoreError> {
    let number = item.get("sequenceNumber").and_then(|value| value.as_s().ok());
    let sequence_number = number.and_then(|text| text.parse().ok());
    let sequence_number = sequence_number.ok_or_else(|| StoreError::unreadable("a lane without a sequence number"))?;
    Ok(Unfolded { lane, sequence_number, sums: read(item)? })
}
