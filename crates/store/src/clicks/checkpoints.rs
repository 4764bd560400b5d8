//! Checkpoints: how far each shard has been counted, and the one write that adds to statistics and
//! moves a checkpoint.

use std::str::FromStr;

use aws_sdk_dynamodb::types::TransactWriteItem;
use aws_sdk_dynamodb::types::builders::UpdateBuilder;
use domain::clicks::{ClickKey, Correction, Period, SequenceNumber, ShardHash, StatDelta};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::keys::{
    DAILY, Item, MONTHLY, PARTITION_KEY, TOTAL, TOTAL_SORT, checkpoint_partition, date_key, key, month_key, n, s,
};
use super::unmerged;
use crate::error::unless_condition_failed;
use crate::{StoreError, Table, TransactionOutcome};

/// How long a checkpoint is kept after its last move. The stream keeps its records for 24 hours
/// only, so no older record can come back.
const CHECKPOINT_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// The name used instead of a stream ARN in the checkpoints of an operator: the one of the repairs,
/// and one for each redriven click.
const OPERATOR: &str = "operator";

/// The identity of a checkpoint: a shard of a stream, or an operator's repair or redrive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardCheckpoint {
    stream_arn: String,
    shard_id: String,
}

impl ShardCheckpoint {
    /// The checkpoint of a shard. Shard ids are unique only within their stream.
    pub fn new(stream_arn: impl Into<String>, shard_id: impl Into<String>) -> Self {
        Self { stream_arn: stream_arn.into(), shard_id: shard_id.into() }
    }

    /// The checkpoint of the repairs. They share one, so they run one after the other.
    pub fn repair() -> Self {
        Self::new(OPERATOR, "repair")
    }

    /// The checkpoint of a click that is redriven from the quarantine. It belongs to the click and
    /// not to the quarantined record, since two records may be of the same click.
    pub fn redrive((user_id, time): &ClickKey) -> Self {
        let hash = Sha256::digest(format!("{}#{user_id}#{time}", user_id.len()));
        Self::new(OPERATOR, hash.iter().fold("redrive#".to_owned(), |text, byte| format!("{text}{byte:02x}")))
    }

    /// The short hash that first-seen records contain.
    pub fn id(&self) -> ShardHash {
        let hash =
            Sha256::new().chain_update(&self.stream_arn).chain_update("\n").chain_update(&self.shard_id).finalize();
        let mut id = [0; 8];
        id.copy_from_slice(&hash[..8]);
        ShardHash(id)
    }

    /// The ARN of the stream.
    pub fn stream_arn(&self) -> &str {
        &self.stream_arn
    }

    /// The shard's id.
    pub fn shard_id(&self) -> &str {
        &self.shard_id
    }

    pub(super) fn key(&self) -> Item {
        key(checkpoint_partition(&self.stream_arn), &self.shard_id)
    }

    /// When the item expires. `None` means never: an operator may come back to a record at any
    /// time.
    fn expires_at(&self, now: Timestamp) -> Option<Timestamp> {
        (self.stream_arn != OPERATOR).then(|| now + CHECKPOINT_RETENTION)
    }
}

/// Where a commit adds its sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatLayout {
    /// To the statistics, in one transaction with the checkpoint.
    #[default]
    Sums,
    /// To the checkpoint's own item. Only its shard and [`super::Merger`] write it. The merger
    /// moves the sums from there to the statistics. Decision 0023 in `docs/decisions` has the
    /// reasons.
    Buffers,
}

/// Parses `sums` and `buffers`.
impl FromStr for StatLayout {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sums" => Ok(Self::Sums),
            "buffers" => Ok(Self::Buffers),
            _ => Err(()),
        }
    }
}

/// The most days and months of a chunk whose sums are buffered in the checkpoint. Current clicks
/// have at most two of each. An import by another client may have a hundred. They would make the
/// checkpoint's item large, and each commit pays for its size.
const BUFFERED_STATS_MAX: usize = 8;

/// Why a commit had no effect.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The checkpoint is not where it was read. Another invocation, another repair or an earlier
    /// try of this one has moved it.
    #[error("the checkpoint has moved since it was read")]
    CheckpointMoved,
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads checkpoints and moves them. Its requests are `GetItem`, `UpdateItem`, and
/// `TransactWriteItems` of updates.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    table: Table,
    layout: StatLayout,
}

impl Checkpoints {
    /// The checkpoints in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone(), layout: StatLayout::default() }
    }

    /// The same checkpoints with another layout. Each commit may use another one: the sums in both
    /// places are added up.
    pub fn in_layout(self, layout: StatLayout) -> Self {
        Self { layout, ..self }
    }

    /// The last record that this checkpoint has counted; `None` before the first. The read is
    /// strongly consistent.
    pub async fn checkpoint(&self, shard: &ShardCheckpoint) -> Result<Option<SequenceNumber>, StoreError> {
        let request = self.table.get_item(shard.key()).consistent_read(true);
        let Some(item) = request.send().await?.item else { return Ok(None) };
        let number = item.get("sequenceNumber").and_then(|value| value.as_s().ok());
        let number = number.and_then(|text| text.parse().ok());
        number.map(Some).ok_or_else(|| StoreError::unreadable("a checkpoint without a sequence number"))
    }

    /// Adds `delta` where the layout says, and moves the checkpoint from `from`, where it was read,
    /// to `to`. Both happen or neither.
    pub async fn commit(
        &self,
        shard: &ShardCheckpoint,
        from: Option<SequenceNumber>,
        to: SequenceNumber,
        delta: &StatDelta,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        if self.layout == StatLayout::Buffers && delta.days.len() + delta.months.len() <= BUFFERED_STATS_MAX {
            return self.buffer(shard, from, to, delta, now).await;
        }
        self.commit_with(shard, from, to, delta, None, now).await
    }

    /// Adds to the sums in the checkpoint's own item and moves the checkpoint. This is one item, so
    /// it needs no transaction and does not conflict with other shards.
    async fn buffer(
        &self,
        shard: &ShardCheckpoint,
        from: Option<SequenceNumber>,
        to: SequenceNumber,
        delta: &StatDelta,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let update = self.checkpoint_update(shard, from, to, now);
        let update = unmerged::add(update, additions(delta)).build();
        let update = update.map_err(StoreError::from)?;
        let request = self.table.update_item(update.key);
        let request = request
            .update_expression(update.update_expression)
            .set_condition_expression(update.condition_expression)
            .set_expression_attribute_names(update.expression_attribute_names)
            .set_expression_attribute_values(update.expression_attribute_values);
        unless_condition_failed(request.send().await)?.map(drop).ok_or(CommitError::CheckpointMoved)
    }

    /// Like [`Self::commit`], but always adds to the statistics, and may do one other update in the
    /// same transaction.
    pub(super) async fn commit_with(
        &self,
        shard: &ShardCheckpoint,
        from: Option<SequenceNumber>,
        to: SequenceNumber,
        delta: &StatDelta,
        also: Option<UpdateBuilder>,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        self.add(shard, from, to, additions(delta), also, now).await
    }

    /// Adds to statistics, moves the checkpoint and does the other update, all in one transaction.
    pub(super) async fn add(
        &self,
        shard: &ShardCheckpoint,
        from: Option<SequenceNumber>,
        to: SequenceNumber,
        additions: impl IntoIterator<Item = Correction>,
        also: Option<UpdateBuilder>,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        self.write(self.checkpoint_update(shard, from, to, now), also, additions).await
    }

    /// One transaction of a conditional update of a checkpoint, an optional other update, and the
    /// additions to statistics.
    pub(super) async fn write(
        &self,
        shard: UpdateBuilder,
        also: Option<UpdateBuilder>,
        additions: impl IntoIterator<Item = Correction>,
    ) -> Result<(), CommitError> {
        let additions = additions.into_iter().map(|addition| self.stat_update(&addition));
        let updates = std::iter::once(shard).chain(also).chain(additions);
        let actions = updates.map(|update| {
            let update = update.build()?;
            Ok(TransactWriteItem::builder().update(update).build())
        });
        let actions: Vec<_> = actions.collect::<Result<_, StoreError>>()?;
        match self.table.transact(actions).await? {
            TransactionOutcome::Written => Ok(()),
            // The checkpoint's action comes first.
            TransactionOutcome::ConditionFailed { action: 0, .. } => Err(CommitError::CheckpointMoved),
            TransactionOutcome::ConditionFailed { .. } => Err(CommitError::Store(StoreError::Refused(
                "the condition of the other update did not hold".to_owned(),
            ))),
            TransactionOutcome::Conflict => Err(CommitError::Store(StoreError::conflict())),
        }
    }

    fn checkpoint_update(
        &self,
        shard: &ShardCheckpoint,
        from: Option<SequenceNumber>,
        to: SequenceNumber,
        now: Timestamp,
    ) -> UpdateBuilder {
        const SET: &str = "SET sequenceNumber = :to, updatedAt = :now";
        let update = self
            .table
            .update(shard.key())
            .expression_attribute_values(":to", s(to.to_string()))
            .expression_attribute_values(":now", s(now.to_string()));
        let update = match shard.expires_at(now) {
            None => update.update_expression(SET),
            Some(expires_at) => update
                .update_expression(format!("{SET}, expiresAt = :expires"))
                .expression_attribute_values(":expires", n(expires_at.as_second())),
        };
        // Stops a batch that is delivered twice, at the same time or after a lost reply, from being
        // counted twice. The second transaction finds that the first has moved the checkpoint.
        match from {
            None => update
                .condition_expression("attribute_not_exists(#key)")
                .expression_attribute_names("#key", PARTITION_KEY),
            Some(from) => update
                .condition_expression("sequenceNumber = :from")
                .expression_attribute_values(":from", s(from.to_string())),
        }
    }

    /// Creates the statistic if it does not exist. The index attributes are set each time, so
    /// readers find it.
    fn stat_update(&self, addition: &Correction) -> UpdateBuilder {
        const SET: &str = "SET dateKey = :dateKey, recordSort = :recordSort ADD totalClicks :clicks";
        let (key, date_key, record_sort) = match addition.period {
            Period::Day(day) => (key(DAILY, day.to_string()), date_key(day), DAILY),
            Period::Month(month) => (key(MONTHLY, month.to_string()), month_key(month), MONTHLY),
            Period::Total => (key(TOTAL, TOTAL_SORT), TOTAL.to_owned(), TOTAL_SORT),
        };
        let update = self
            .table
            .update(key)
            .expression_attribute_values(":dateKey", s(date_key))
            .expression_attribute_values(":recordSort", s(record_sort))
            .expression_attribute_values(":clicks", n(addition.clicks));
        if addition.period == Period::Total {
            return update.update_expression(SET);
        }
        update
            .update_expression(format!("{SET}, uniqueUsers :users"))
            .expression_attribute_values(":users", n(addition.unique_users))
    }
}

/// The sums that a chunk adds, by period.
fn additions(delta: &StatDelta) -> impl Iterator<Item = Correction> {
    let total = (delta.total_clicks > 0).then_some((Period::Total, delta.total_clicks, 0));
    let days = delta.days.iter().map(|(day, sums)| (Period::Day(*day), sums.clicks, sums.unique_users));
    let months = delta.months.iter().map(|(month, sums)| (Period::Month(*month), sums.clicks, sums.unique_users));
    total.into_iter().chain(days).chain(months).map(|(period, clicks, users)| Correction {
        period,
        clicks: clicks.into(),
        unique_users: users.into(),
    })
}
