//! Lanes: up to where each shard has been counted, and the one transaction that counts further.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use domain::clicks::{LaneId, SequenceNumber, StatDelta, Sums};
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};

use super::keys::{
    DAILY, Item, MONTHLY, PARTITION_KEY, TOTAL, TOTAL_SORT, date_key, key, lane_partition, month_key, n, s,
};
use crate::StoreError;
use crate::error::is_busy;

/// How long a lane is kept after it last moved. Its stream forgets its records after 24 hours, so nothing comes back for it.
const LANE_RETENTION: SignedDuration = SignedDuration::from_hours(30 * 24);

/// One shard of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    stream_arn: String,
    shard_id: String,
}

impl Lane {
    /// The lane of a shard. Shard ids are unique within their stream only.
    pub fn new(stream_arn: impl Into<String>, shard_id: impl Into<String>) -> Self {
        Self { stream_arn: stream_arn.into(), shard_id: shard_id.into() }
    }

    /// The short name that claims carry.
    pub fn id(&self) -> LaneId {
        let hash =
            Sha256::new().chain_update(&self.stream_arn).chain_update("\n").chain_update(&self.shard_id).finalize();
        let mut id = [0; 8];
        id.copy_from_slice(&hash[..8]);
        LaneId(id)
    }

    /// The ARN of the stream.
    pub fn stream_arn(&self) -> &str {
        &self.stream_arn
    }

    /// The shard's id.
    pub fn shard_id(&self) -> &str {
        &self.shard_id
    }

    fn key(&self) -> Item {
        key(lane_partition(&self.stream_arn), &self.shard_id)
    }
}

/// Why a commit had no effect.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// The lane no longer stands where it was read: another invocation, or this one's own earlier try, moved it.
    #[error("the lane has moved since it was read")]
    LaneMoved,
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Reads lanes and moves them. Its requests are `GetItem` and `TransactWriteItems` of updates.
#[derive(Debug, Clone)]
pub struct Lanes {
    client: Client,
    table: String,
}

impl Lanes {
    /// The lanes in `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }

    /// The last record that this lane has counted; `None` before the first. Consistent.
    pub async fn checkpoint(&self, lane: &Lane) -> Result<Option<SequenceNumber>, StoreError> {
        let request = self.client.get_item().table_name(&self.table).set_key(Some(lane.key())).consistent_read(true);
        let Some(item) = request.send().await?.item else { return Ok(None) };
        let number = item.get("sequenceNumber").and_then(|value| value.as_s().ok());
        let number = number.and_then(|text| text.parse().ok());
        number.map(Some).ok_or_else(|| StoreError::unreadable("a lane without a sequence number"))
    }

    /// Adds `delta` to the statistics and moves the lane from where it was read to `to`: both or neither.
    pub async fn commit(
        &self,
        lane: &Lane,
        from: Option<SequenceNumber>,
        to: SequenceNumber,
        delta: &StatDelta,
        now: Timestamp,
    ) -> Result<(), CommitError> {
        let mut updates = vec![self.lane_update(lane, from, to, now)];
        if delta.total_clicks > 0 {
            let sums = Sums { clicks: delta.total_clicks, unique_users: 0 };
            updates.push(self.stat_update(key(TOTAL, TOTAL_SORT), TOTAL.to_owned(), TOTAL_SORT, sums, false));
        }
        for (day, sums) in &delta.days {
            updates.push(self.stat_update(key(DAILY, day.to_string()), date_key(*day), DAILY, *sums, true));
        }
        for (month, sums) in &delta.months {
            updates.push(self.stat_update(key(MONTHLY, month.to_string()), month_key(*month), MONTHLY, *sums, true));
        }
        let actions = updates.into_iter().map(|update| {
            let update = update.build().map_err(|error| StoreError::Refused(error.to_string()))?;
            Ok(TransactWriteItem::builder().update(update).build())
        });
        let actions: Vec<_> = actions.collect::<Result<_, StoreError>>()?;
        match self.client.transact_write_items().set_transact_items(Some(actions)).send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(match error.as_service_error() {
                Some(TransactWriteItemsError::TransactionCanceledException(canceled)) => {
                    let codes = canceled.cancellation_reasons().iter().filter_map(|reason| reason.code());
                    let codes: Vec<_> = codes.filter(|code| *code != "None").collect();
                    // Only the lane's update has a condition.
                    if codes.contains(&"ConditionalCheckFailed") {
                        CommitError::LaneMoved
                    } else if codes.iter().any(|code| is_busy(code)) {
                        CommitError::Store(StoreError::Busy(codes.join(", ")))
                    } else {
                        CommitError::Store(StoreError::Refused(canceled.message().unwrap_or("canceled").to_owned()))
                    }
                }
                _ => CommitError::Store(error.into()),
            }),
        }
    }

    fn lane_update(
        &self,
        lane: &Lane,
        from: Option<SequenceNumber>,
        to: SequenceNumber,
        now: Timestamp,
    ) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
        let update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(lane.key()))
            .update_expression("SET sequenceNumber = :to, updatedAt = :now, expiresAt = :expires")
            .expression_attribute_values(":to", s(to.to_string()))
            .expression_attribute_values(":now", s(now.to_string()))
            .expression_attribute_values(":expires", n((now + LANE_RETENTION).as_second()));
        // Stops a batch that is delivered twice, at once or after a lost reply, from being counted twice: the second
        // transaction finds the lane where the first has left it.
        match from {
            None => update
                .condition_expression("attribute_not_exists(#key)")
                .expression_attribute_names("#key", PARTITION_KEY),
            Some(from) => update
                .condition_expression("sequenceNumber = :from")
                .expression_attribute_values(":from", s(from.to_string())),
        }
    }

    fn stat_update(
        &self,
        key: Item,
        date_key: String,
        record_sort: &str,
        sums: Sums,
        counts_users: bool,
    ) -> aws_sdk_dynamodb::types::builders::UpdateBuilder {
        let update = Update::builder()
            .table_name(&self.table)
            .set_key(Some(key))
            .expression_attribute_values(":dateKey", s(date_key))
            .expression_attribute_values(":recordSort", s(record_sort))
            .expression_attribute_values(":clicks", n(sums.clicks));
        const SET: &str = "SET dateKey = :dateKey, recordSort = :recordSort ADD totalClicks :clicks";
        if counts_users {
            update
                .update_expression(format!("{SET}, uniqueUsers :users"))
                .expression_attribute_values(":users", n(sums.unique_users))
        } else {
            update.update_expression(SET)
        }
    }
}
