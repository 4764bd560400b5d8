//! Takes clicks out of the table and out of the statistics, exactly.
//!
//! A click that is deleted stays counted: it has happened. So clicks that never happened, those of
//! the demo, need a way back. Each day is one transaction of its clicks and of all statistics that
//! they are in. An interrupted withdrawal continues with the next day.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::TransactWriteItem;
use domain::clicks::Click;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::Date;
use store_base::{Retry, StoreError, Table, TransactionOutcome, unless_condition_failed};

use super::keys::{
    DAILY, HOURLY, Item, MONTHLY, PARTITION_KEY, SORT_KEY, TARGET, TOTAL, TOTAL_SORT, VISITORS, WEEKLY, key, n,
};
use super::statistics::{TOTAL_CLICKS, UNIQUE_USERS};

/// Conditional deletes that are in flight at once.
const REQUESTS_MAX: usize = 16;

/// The key of a statistic.
type StatKey = (String, String);

/// Which rollups have counted clicks: an owner may turn off the second and the third.
pub type Counts = [bool; 3];

/// Why clicks were not withdrawn.
#[derive(Debug, thiserror::Error)]
pub enum WithdrawError {
    /// Some clicks of this day are in the table, and others are not.
    #[error("only some of the clicks of {0} are in the table")]
    SomeAreGone(Date),
    /// A statistic is lower than these clicks alone, or they are gone since they were read.
    #[error("the statistics do not have the clicks of {0}: `tidemark recount` shows how they differ")]
    NotCounted(Date),
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Clicks of users who have no others.
#[derive(Debug, Clone)]
pub struct Withdrawal<'a> {
    table: Table,
    days: BTreeMap<Date, Vec<&'a Click>>,
    /// The last day on which a user is in a statistic: then the user no longer counts there.
    last_days: BTreeMap<(StatKey, &'a str), Date>,
    counts: Counts,
}

impl<'a> Withdrawal<'a> {
    /// A day may have at most 40 clicks, because it is one transaction.
    pub fn new(table: &Table, clicks: &'a [Click], counts: Counts) -> Self {
        let (mut days, mut last_days) = (BTreeMap::<_, Vec<_>>::new(), BTreeMap::new());
        for click in clicks {
            let date = click.time.date();
            days.entry(date).or_default().push(click);
            for stat in statistics(click, counts) {
                let last = last_days.entry((stat, click.user_id.as_str())).or_insert(date);
                *last = date.max(*last);
            }
        }
        Self { table: table.clone(), days, last_days, counts }
    }

    /// The rollups that have counted the first of these clicks.
    pub async fn counts(table: &Table, first: &Click) -> Result<Counts, StoreError> {
        let mut counts = [true; 3];
        for (counts, stats) in counts.iter_mut().zip(by_rollup(first)).skip(1) {
            let Some((partition, sort)) = stats.into_iter().next() else { continue };
            let found = table.get_item(key(partition, sort)).consistent_read(true).send().await?;
            *counts = found.item.is_some();
        }
        Ok(counts)
    }

    /// Withdraws the clicks, and deletes statistics that have nothing else. `there` are the keys of
    /// those that are in the table.
    pub async fn run(&self, there: &BTreeSet<(String, String)>) -> Result<(), WithdrawError> {
        for (date, clicks) in &self.days {
            let found = clicks.iter().filter(|click| there.contains(&key_of(click))).count();
            match found {
                // An earlier call has withdrawn the day.
                0 => {}
                _ if found == clicks.len() => self.withdraw(*date, clicks).await?,
                _ => return Err(WithdrawError::SomeAreGone(*date)),
            }
        }
        // An interrupted call may have deleted the statistics that tell what counts.
        let clicks = self.days.values().flatten();
        let stats: BTreeSet<_> = clicks.flat_map(|click| statistics(click, [true; 3])).collect();
        let deletes = stream::iter(&stats).map(|stat| self.delete_empty(stat));
        Ok(deletes.buffer_unordered(REQUESTS_MAX).try_collect().await?)
    }

    async fn withdraw(&self, date: Date, clicks: &[&Click]) -> Result<(), WithdrawError> {
        let mut retry = Retry::new();
        loop {
            match self.table.transact(self.actions(date, clicks)?).await? {
                TransactionOutcome::Written => return Ok(()),
                TransactionOutcome::ConditionFailed { .. } => return Err(WithdrawError::NotCounted(date)),
                TransactionOutcome::Conflict if retry.wait().await => {}
                TransactionOutcome::Conflict => return Err(StoreError::Busy(format!("the clicks of {date}")).into()),
            }
        }
    }

    fn actions(&self, date: Date, clicks: &[&Click]) -> Result<Vec<TransactWriteItem>, StoreError> {
        let mut lowered: BTreeMap<StatKey, (u32, BTreeSet<&str>)> = BTreeMap::new();
        let mut actions = Vec::new();
        for click in clicks {
            let (user, time) = key_of(click);
            // Stops a day from being subtracted twice.
            let delete = self.table.delete(key(user, time)).condition_expression("attribute_exists(userId)");
            actions.push(TransactWriteItem::builder().delete(delete.build()?).build());
            for stat in statistics(click, self.counts) {
                let is_last = self.last_days.get(&(stat.clone(), click.user_id.as_str())) == Some(&date);
                let (sum, users) = lowered.entry(stat).or_default();
                *sum += click.count.get();
                users.extend(is_last.then_some(click.user_id.as_str()));
            }
        }
        for ((partition, sort), (sum, users)) in lowered {
            let has_users = partition != TOTAL;
            let update = self.table.update(key(partition, sort)).expression_attribute_names("#clicks", TOTAL_CLICKS);
            let update = update.expression_attribute_values(":clicks", n(sum));
            // Stops clicks from being subtracted that were not counted.
            let update = if has_users {
                let update = update.expression_attribute_names("#users", UNIQUE_USERS);
                update
                    .expression_attribute_values(":users", n(users.len()))
                    .update_expression("SET #clicks = #clicks - :clicks, #users = #users - :users")
                    .condition_expression("#clicks >= :clicks AND #users >= :users")
            } else {
                update.update_expression("SET #clicks = #clicks - :clicks").condition_expression("#clicks >= :clicks")
            };
            actions.push(TransactWriteItem::builder().update(update.build()?).build());
        }
        Ok(actions)
    }

    async fn delete_empty(&self, (partition, sort): &StatKey) -> Result<(), StoreError> {
        let delete = self.table.delete_item(key(partition, sort)).expression_attribute_values(":zero", n(0));
        let delete = delete.expression_attribute_names("#clicks", TOTAL_CLICKS);
        let delete = delete.expression_attribute_names("#users", UNIQUE_USERS);
        // Stops a statistic from being deleted that has other clicks.
        let nothing = "#clicks = :zero AND (attribute_not_exists(#users) OR #users = :zero)";
        unless_condition_failed(delete.condition_expression(nothing).send().await).map(drop)
    }
}

/// The key of a click's item.
fn key_of(click: &Click) -> (String, String) {
    (click.user_id.to_string(), click.time.to_string())
}

/// The keys of clicks among the items of their users.
pub fn click_keys(items: &[Item]) -> BTreeSet<(String, String)> {
    let text = |item: &Item, name| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    items.iter().filter_map(|item| Some((text(item, PARTITION_KEY)?, text(item, SORT_KEY)?))).collect()
}

/// The statistics that a click is in, of the rollups that count.
fn statistics(click: &Click, counts: Counts) -> impl Iterator<Item = StatKey> {
    counts.into_iter().zip(by_rollup(click)).filter(|(counts, _)| *counts).flat_map(|(_, stats)| stats)
}

/// The statistics that a click is in, in the order of [`super::click_aggregators`].
fn by_rollup(click: &Click) -> [Vec<StatKey>; 3] {
    let time = click.time.to_string();
    // 2025-10-02T10:30:00.000Z
    let until = |end: usize| time.get(..end).unwrap_or_default().to_owned();
    let week = click.time.date().iso_week_date();
    let week = format!("{:04}-W{:02}", week.year(), week.week());
    let escaped = |target: &str| target.replace('%', "%25").replace('#', "%23");
    let target = click.target.as_ref().map(|target| (format!("{TARGET}{}", escaped(target.as_str())), until(10)));
    let of = |partition: &str, sort: String| (partition.to_owned(), sort);
    let all = |partition| of(partition, TOTAL_SORT.to_owned());
    let details = [of(HOURLY, until(13)), of(WEEKLY, week)];
    [
        vec![of(DAILY, until(10)), of(MONTHLY, until(7)), all(TOTAL)],
        details.into_iter().chain(target).collect(),
        vec![all(VISITORS)],
    ]
}
