//! The lanes and the statistics of one moment.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::calendar::{YearMonth, parse_date};
use domain::clicks::{ClickKey, Period, Scope, SequenceNumber, Sums};

use super::keys::{DAILY, Item, MONTHLY, PARTITION_KEY, SORT_KEY, TOTAL, TOTAL_SORT, key, lane_partition};
use super::lanes::Lane;
use super::reader::Stat;
use super::recount::{Recounter, pages, sorted_between};
use super::unfolded;
use crate::StoreError;

/// How often the lanes and the statistics are read until no lane moved meanwhile, and how long to wait in between.
const SNAPSHOT_TRIES_MAX: usize = 200;
const SNAPSHOT_PAUSE: Duration = Duration::from_millis(37);

/// Lanes and statistics of one moment.
pub(super) struct Snapshot {
    pub(super) lanes: AllLanes,
    pub(super) stored: BTreeMap<Period, Sums>,
}

/// Checkpoints by shard.
pub(super) type Checkpoints = BTreeMap<String, SequenceNumber>;

/// Everybody who may change a statistic has a lane here.
#[derive(PartialEq)]
pub(super) struct AllLanes {
    pub(super) stream: Checkpoints,
    pub(super) operator: Checkpoints,
    /// What the stream's lanes keep, lane by lane.
    unfolded: Vec<(Period, Sums)>,
}

impl AllLanes {
    /// Whether a click has been counted from the quarantine, or never will be.
    pub(super) fn has_redriven(&self, click: &ClickKey) -> bool {
        self.operator.contains_key(Lane::redrive(click).shard_id())
    }
}

impl Recounter {
    /// What the statistics of a scope say.
    pub async fn stored(&self, scope: Scope) -> Result<BTreeMap<Period, Sums>, StoreError> {
        let (days, months) = match scope {
            Scope::Day(day) => ((day.to_string(), day.to_string()), None),
            Scope::Month(month) => ((format!("{month}-01"), format!("{month}-31")), Some((month, month.to_string()))),
            Scope::All => return self.stored_everywhere().await,
        };
        let mut stored = self.stats(DAILY, Some(days), day_period).await?;
        if let Some((month, sort)) = months {
            stored.insert(Period::Month(month), self.stat(MONTHLY, &sort).await?);
        }
        Ok(stored)
    }

    async fn stored_everywhere(&self) -> Result<BTreeMap<Period, Sums>, StoreError> {
        let mut stored = self.stats(DAILY, None, day_period).await?;
        let month = |sort: &str| sort.parse::<YearMonth>().ok().map(Period::Month);
        stored.append(&mut self.stats(MONTHLY, None, month).await?);
        // Nobody may write users there; whatever stands is not ours to judge.
        let total = Sums { unique_users: 0, ..self.stat(TOTAL, TOTAL_SORT).await? };
        stored.insert(Period::Total, total);
        Ok(stored)
    }

    /// Reads until no lane has moved or was folded around the reading of the statistics, so that all are of one moment. What lanes keep is
    /// part of what is stored.
    pub(super) async fn snapshot(&self, stream_arn: &str, scope: Scope) -> Result<Snapshot, StoreError> {
        let mut before = self.lanes(stream_arn).await?;
        for _ in 0..SNAPSHOT_TRIES_MAX {
            let mut stored = self.stored(scope).await?;
            let after = self.lanes(stream_arn).await?;
            if after == before {
                for (period, kept) in after.unfolded.iter().filter(|(period, _)| scope.compares(*period)) {
                    let sums = stored.entry(*period).or_default();
                    sums.clicks += kept.clicks;
                    sums.unique_users += kept.unique_users;
                }
                return Ok(Snapshot { lanes: after, stored });
            }
            before = after;
            tokio::time::sleep(SNAPSHOT_PAUSE).await;
        }
        Err(StoreError::Busy(
            "the lanes never rest long enough to read the statistics between two of their moves".into(),
        ))
    }

    async fn lanes(&self, stream_arn: &str) -> Result<AllLanes, StoreError> {
        let (operator, _) = self.checkpoints(Lane::repair().stream_arn()).await?;
        let (stream, unfolded) = self.checkpoints(stream_arn).await?;
        Ok(AllLanes { stream, operator, unfolded })
    }

    async fn checkpoints(&self, stream_arn: &str) -> Result<(Checkpoints, Vec<(Period, Sums)>), StoreError> {
        let query = self.partition(PARTITION_KEY, &lane_partition(stream_arn)).consistent_read(true);
        let (mut checkpoints, mut kept) = (BTreeMap::new(), Vec::new());
        let mut unreadable = false;
        pages(query, |items, _| {
            for item in items {
                let text = |name| item.get(name).and_then(|value| value.as_s().ok());
                kept.push(unfolded::read(item));
                match (text(SORT_KEY), text("sequenceNumber").and_then(|number| number.parse().ok())) {
                    (Some(shard), Some(number)) => drop(checkpoints.insert(shard.clone(), number)),
                    _ => unreadable = true,
                }
            }
        })
        .await?;
        if unreadable {
            return Err(StoreError::unreadable("a lane without a sequence number"));
        }
        let kept = kept.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok((checkpoints, kept.into_iter().flatten().collect()))
    }

    async fn stat(&self, partition: &str, sort: &str) -> Result<Sums, StoreError> {
        let request = self.client.get_item().table_name(&self.table).set_key(Some(key(partition, sort)));
        request.consistent_read(true).send().await?.item.as_ref().map_or(Ok(Sums::default()), sums)
    }

    async fn stats(
        &self,
        partition: &str,
        between: Option<(String, String)>,
        period: impl Fn(&str) -> Option<Period>,
    ) -> Result<BTreeMap<Period, Sums>, StoreError> {
        let mut query = self.partition(PARTITION_KEY, partition).consistent_read(true);
        if let Some((from, to)) = between {
            query = sorted_between(query, SORT_KEY, &from, &to);
        }
        let mut rows = Vec::new();
        pages(query, |items, _| rows.extend_from_slice(items)).await?;
        let rows = rows.iter().filter_map(|row| {
            let sort = row.get(SORT_KEY).and_then(|value| value.as_s().ok())?;
            Some((period(sort)?, row))
        });
        rows.map(|(period, row)| Ok((period, sums(row)?))).collect()
    }
}

fn day_period(sort: &str) -> Option<Period> {
    parse_date(sort).ok().map(Period::Day)
}

fn sums(row: &Item) -> Result<Sums, StoreError> {
    let stat: Stat = serde_dynamo::from_item(row.clone()).map_err(StoreError::unreadable)?;
    Ok(Sums { clicks: stat.total_clicks, unique_users: stat.unique_users })
}
