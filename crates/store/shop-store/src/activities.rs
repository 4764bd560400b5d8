//! Activities: one row in the partition of the user, and a second one in a partition of the product
//! if there is a product.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure;
use domain::EntryId;
use domain::shop::{Action, Activity, ActivityRange, ProductId, RowId};
use domain::{Attributes, Moment, TimeRange, UserId};
use futures::future::try_join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::keys::{Item, PARTITION_KEY, PRODUCT_PREFIX, SORT_KEY, bound, key, read, row, row_id, s};
use super::suffixes::ActivitySuffixes;
use store_base::{Direction, Page, Rows, merge};
use store_base::{Placed, RowReader};
use store_base::{StoreError, Table};

/// The value of `EntityType`.
const ENTITY: &str = "ACTIVITY";
const PREFIX: &str = "ACTIVITY#";
/// The first text after all texts that begin with [`PREFIX`]: `$` follows `#`.
const PREFIX_END: &str = "ACTIVITY$";

/// The most concurrent queries for one page.
const QUERIES_AT_ONCE_MAX: usize = 100;

/// The most waves of queries for one page: one for each day of the longest range, and some for days
/// on which the rows are spread unevenly over the suffixes.
const WAVES_MAX: usize = 4 * ActivityRange::DAYS_MAX;

/// The most queries of one page that filters a user's activities by action.
const FILTERED_QUERIES_MAX: usize = 20;

/// How many rows each of these queries reads.
const FILTERED_ROWS: i32 = 1_000;

/// The result of recording an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordOutcome {
    /// The activity is stored now.
    New,
    /// The same activity was stored before.
    Known,
    /// Another activity has this moment and id. Nothing is stored.
    Reused,
}

/// The position at which a page ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityPosition(String);

impl ActivityPosition {
    fn day(&self) -> Option<Date> {
        self.0.strip_prefix(PREFIX)?.get(..10)?.parse().ok()
    }
}

/// A row in the partition of a user or of a product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ActivityRow {
    #[serde(rename = "PK")]
    partition: String,
    #[serde(rename = "SK")]
    sort: String,
    entity_type: String,
    user_id: String,
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    product_id: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    attributes: BTreeMap<String, String>,
    created_at: String,
    /// The suffix of the partition with the product's row. It stays the same when the number of
    /// suffixes is raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suffix: Option<u8>,
    /// When the row expires, epoch seconds.
    #[serde(rename = "ttl", default, skip_serializing_if = "Option::is_none")]
    expires_at_s: Option<i64>,
}

impl ActivityRow {
    /// Whether both hold the same activity. The suffix and the retention may have been changed
    /// since one of them was written.
    fn is_same_as(&self, other: &Self) -> bool {
        *self == Self { suffix: self.suffix, expires_at_s: self.expires_at_s, ..other.clone() }
    }

    fn item(&self) -> Result<Item, StoreError> {
        serde_dynamo::to_item(self).map_err(StoreError::unreadable)
    }

    fn activity(self) -> Result<Activity, StoreError> {
        let key = format!("{} {}", self.partition, self.sort);
        let unreadable = |why: String| StoreError::unreadable(format!("{key}: {why}"));
        let RowId { at, id } = row_id(PREFIX, &self.sort)?;
        if at.to_string() != self.created_at {
            return Err(unreadable(format!("the sort key says {at}, `CreatedAt` {}", self.created_at)));
        }
        let product_id = self.product_id.as_deref().map(ProductId::new).transpose();
        Ok(Activity {
            user_id: UserId::new(self.user_id).map_err(|error| unreadable(format!("`UserId` {error}")))?,
            action: Action::new(&self.action).map_err(|error| unreadable(format!("`Action`: {error}")))?,
            product_id: product_id.map_err(|error| unreadable(format!("`ProductId`: {error}")))?,
            attributes: Attributes::new(self.attributes)
                .map_err(|error| unreadable(format!("`Attributes`: {error}")))?,
            at,
            id: EntryId::new(id).map_err(|error| unreadable(format!("the id {error}")))?,
        })
    }
}

fn activity(item: Item) -> Result<Activity, StoreError> {
    read::<ActivityRow>(item)?.activity()
}

/// The product and the activity of an item in a partition of a product; `None` for every other
/// item.
///
/// # Errors
/// [`StoreError::Unreadable`] when the item does not have the attributes that its key requires, or
/// when its partition is that of another product or day.
pub(super) fn activity_with_product(item: Item) -> Result<Option<(ProductId, Activity)>, StoreError> {
    let text = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned().unwrap_or_default();
    let (partition, sort) = (text(PARTITION_KEY), text(SORT_KEY));
    let rest = partition.strip_prefix(PRODUCT_PREFIX).filter(|_| sort.starts_with(PREFIX));
    let Some((product, day_and_suffix)) = rest.and_then(|rest| rest.split_once('#')) else { return Ok(None) };
    let unreadable = |why: &str| StoreError::unreadable(format!("{partition} {sort}: {why}"));
    let activity = activity(item)?;
    let product_id = ProductId::new(product).map_err(|error| unreadable(&format!("the product's id {error}")))?;
    if activity.product_id.as_ref().is_some_and(|named| *named != product_id) {
        return Err(unreadable("`ProductId` names another product"));
    }
    let day = activity.at.date().to_string();
    let suffix = day_and_suffix.strip_prefix(&day).and_then(|suffix| suffix.strip_prefix('#'));
    if suffix.is_none_or(|suffix| suffix.parse::<u8>().is_err()) {
        return Err(unreadable("the sort key has another day than the partition"));
    }
    Ok(Some((product_id, activity)))
}

/// `USER#<id>`. A user has one partition: nobody is expected to cause more than a thousand
/// activities a second.
fn of_user(user_id: &UserId) -> String {
    format!("USER#{user_id}")
}

/// `PRODUCT#<id>#<date>#<n>`. The id of a product has no `#`, so this cannot be the partition of
/// another product.
fn of_product(product_id: &ProductId, day: Date, suffix: u8) -> String {
    format!("{PRODUCT_PREFIX}{product_id}#{day}#{suffix}")
}

fn sort(at: Moment, id: EntryId) -> String {
    row(PREFIX, RowId { at, id: id.uuid() })
}

/// Stores and lists activities. Its requests are `PutItem`, `Query`, and `DeleteItem` when an id is
/// reused.
#[derive(Debug, Clone)]
pub struct Activities {
    table: Table,
    suffixes: ActivitySuffixes,
    retention: Option<Duration>,
}

impl Activities {
    /// The activities in `table`. `suffixes` is the largest number of partitions that writers have
    /// ever spread a product's day over; see [`ActivitySuffixes::remembered`].
    pub fn new(table: &Table, suffixes: ActivitySuffixes) -> Self {
        Self { table: table.clone(), suffixes, retention: None }
    }

    /// The same; with a `retention`, new rows expire that long after the time of their activity.
    pub fn expiring_after(self, retention: Option<Duration>) -> Self {
        Self { retention, ..self }
    }

    /// Whether the retention still keeps an activity. An expired one must not be recorded: its row
    /// would be deleted, and the next report of it would count again.
    pub fn keeps(&self, activity: &Activity, now: Timestamp) -> bool {
        self.expires_at_s(activity).is_none_or(|expires_at_s| expires_at_s > now.as_second())
    }

    fn expires_at_s(&self, activity: &Activity) -> Option<i64> {
        let at_s = activity.at.timestamp().as_second();
        self.retention.map(|kept| at_s.saturating_add_unsigned(kept.as_secs()))
    }

    /// Stores an activity, once even if it is reported several times.
    ///
    /// The user's row is written first. It makes the activity unique and contains the suffix of the
    /// product's row, which is written second. This is not a transaction: a transaction would cost
    /// twice the units and so halve the write capacity of a product's partitions. If a call fails
    /// between the two, the same call again adds the product's row.
    pub async fn record(&self, activity: &Activity) -> Result<RecordOutcome, StoreError> {
        let Activity { user_id, product_id, at, id, .. } = activity;
        let expires_at_s = self.expires_at_s(activity);
        let stored = |partition: String, suffix| ActivityRow {
            partition,
            sort: sort(*at, *id),
            entity_type: ENTITY.to_owned(),
            user_id: user_id.to_string(),
            action: activity.action.to_string(),
            product_id: product_id.as_ref().map(ProductId::to_string),
            attributes: activity.attributes.pairs().clone(),
            created_at: at.to_string(),
            suffix,
            expires_at_s,
        };
        let suffix = product_id.as_ref().map(|_| self.suffixes.of(*id));
        let users = stored(of_user(user_id), suffix);
        let (recorded, suffix) = match self.put(&users).await? {
            None => (RecordOutcome::New, suffix),
            Some(holder) if holder.is_same_as(&users) => (RecordOutcome::Known, holder.suffix),
            Some(_) => return Ok(RecordOutcome::Reused),
        };
        let Some((product_id, suffix)) = product_id.as_ref().zip(suffix) else { return Ok(recorded) };
        let products = stored(of_product(product_id, at.date(), suffix), None);
        match self.put(&products).await? {
            Some(holder) if !holder.is_same_as(&products) => {
                // Another user's activity has this moment and id. The product's row belongs to it.
                let key = key(users.partition, users.sort);
                self.table.delete_item(key).send().await?;
                Ok(RecordOutcome::Reused)
            }
            _ => Ok(recorded),
        }
    }

    /// Deletes an activity: the product's row, then the user's, which names it.
    pub async fn delete(&self, activity: &Activity) -> Result<(), StoreError> {
        let users = key(of_user(&activity.user_id), sort(activity.at, activity.id));
        let found = self.table.get_item(users.clone()).consistent_read(true).send().await?.item;
        let suffix = found.map(read::<ActivityRow>).transpose()?.and_then(|row| row.suffix);
        if let Some((product_id, suffix)) = activity.product_id.as_ref().zip(suffix) {
            let products = key(of_product(product_id, activity.at.date(), suffix), sort(activity.at, activity.id));
            self.table.delete_item(products).send().await?;
        }
        self.table.delete_item(users).send().await?;
        Ok(())
    }

    /// Puts a row, or returns the row that has its key.
    async fn put(&self, row: &ActivityRow) -> Result<Option<ActivityRow>, StoreError> {
        let outcome = self
            .table
            .put_item(row.item()?)
            // Stops a repeated call, or another activity with the same moment and id, from
            // overwriting the row. The second call gets the row that has the key.
            .condition_expression("attribute_not_exists(PK)")
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match outcome {
            Ok(_) => Ok(None),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failure)) => {
                    let holder = failure.item();
                    let holder = holder.ok_or_else(|| StoreError::unreadable("a refused put returned no item"))?;
                    read(holder.clone()).map(Some)
                }
                _ => Err(error.into()),
            },
        }
    }

    /// A page of a user's activities in a time range, optionally of one action. A page with an
    /// action may be short: it ends after some thousands of rows.
    pub async fn of_user(
        &self,
        user_id: &UserId,
        range: TimeRange,
        action: Option<&Action>,
        direction: Direction,
        limit: u16,
        after: Option<&ActivityPosition>,
    ) -> Result<Page<Activity, ActivityPosition>, StoreError> {
        let limit = usize::from(limit);
        let partition = of_user(user_id);
        let mut last = after.cloned();
        let (mut items, mut reader) = (Vec::new(), RowReader::new([PARTITION_KEY, SORT_KEY]));
        for _ in 0..FILTERED_QUERIES_MAX {
            let start = last.as_ref().map(|ActivityPosition(sort)| key(&partition, sort));
            let query = self.between(&partition, range.from(), range.to(), direction).set_exclusive_start_key(start);
            let query = match action {
                None => query.limit(i32::try_from(limit - items.len()).unwrap_or(FILTERED_ROWS)),
                Some(action) => {
                    let query =
                        query.filter_expression("#action = :action").expression_attribute_names("#action", "Action");
                    query.expression_attribute_values(":action", s(action.as_str())).limit(FILTERED_ROWS)
                }
            };
            let answer = query.send().await?;
            for item in answer.items.unwrap_or_default() {
                if items.len() == limit {
                    return Ok(Page { items, next: last, skipped: reader.skipped() });
                }
                let (place, row) = reader.read_placed(item, SORT_KEY, activity);
                items.extend(row);
                last = Some(ActivityPosition(place));
            }
            let Some(end) = answer.last_evaluated_key else {
                return Ok(Page { items, next: None, skipped: reader.skipped() });
            };
            if items.len() == limit {
                break;
            }
            last = end.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().map(ActivityPosition);
        }
        Ok(Page { items, next: last, skipped: reader.skipped() })
    }

    /// A page of a product's activities in a time range. The partitions of a day are queried at
    /// once and merged, then those of further days until the page is full. A short page may have a
    /// `next`; only a page without it is the last.
    pub async fn of_product(
        &self,
        product_id: &ProductId,
        range: ActivityRange,
        direction: Direction,
        limit: u16,
        after: Option<&ActivityPosition>,
    ) -> Result<Page<Activity, ActivityPosition>, StoreError> {
        let limit = usize::from(limit);
        let mut days: Vec<_> = range.days().collect();
        if direction == Direction::Desc {
            days.reverse();
        }
        let mut days = &*days;
        let mut after = after.cloned();
        let days_at_once_max = (QUERIES_AT_ONCE_MAX / usize::from(self.suffixes.0)).max(1);
        let mut days_at_once = 1;
        let (mut rows, mut reader) = (Vec::new(), RowReader::new([PARTITION_KEY, SORT_KEY]));
        let page = |rows: Vec<Placed<Activity>>, next| {
            let places = rows.len();
            let items: Vec<_> = rows.into_iter().filter_map(|(_, row)| row).collect();
            Page { next, skipped: places - items.len(), items }
        };
        for _ in 0..WAVES_MAX {
            let behind = after.as_ref().and_then(ActivityPosition::day);
            let passed = days.iter().position(|day| behind.is_none_or(|last| !direction.is_before(*day, last)));
            days = passed.map_or(&[], |passed| &days[passed..]);
            let (wave, rest) = days.split_at(days_at_once.min(days.len()));
            let left = limit - rows.len();
            let merged = self.wave(product_id, wave, (range, direction), left, after.as_ref(), &mut reader).await?;
            after = merged.rows.last().map(|(place, _)| ActivityPosition(place.clone())).or(after);
            rows.extend(merged.rows);
            if !merged.has_more {
                days = rest;
                // The number of days in a wave doubles, so that days without activities cost few
                // waves.
                days_at_once = (2 * days_at_once).min(days_at_once_max);
            }
            if days.is_empty() {
                return Ok(page(rows, None));
            }
            if rows.len() == limit {
                return Ok(page(rows, after));
            }
        }
        Err(StoreError::unreadable(format!("the activities of {product_id} need too many queries")))
    }

    /// The first rows of some days.
    async fn wave(
        &self,
        product_id: &ProductId,
        days: &[Date],
        (range, direction): (ActivityRange, Direction),
        limit: usize,
        after: Option<&ActivityPosition>,
        reader: &mut RowReader,
    ) -> Result<Rows<Placed<Activity>>, StoreError> {
        // Each suffix reads its share of the page and some more. If a suffix has returned too few
        // rows for a page, another wave follows.
        let share = (limit + 1).min(2 * limit / usize::from(self.suffixes.0) + 8);
        let partitions = days.iter().flat_map(|day| (0..self.suffixes.0).map(move |suffix| (*day, suffix)));
        let queries = partitions.map(async |(day, suffix)| {
            let partition = of_product(product_id, day, suffix);
            let start = after.filter(|after| after.day() == Some(day)).map(|after| key(&partition, &after.0));
            let query = self.between(&partition, Some(range.from()), Some(range.to()), direction);
            let query = query.set_exclusive_start_key(start).limit(share.try_into().unwrap_or(i32::MAX));
            query.send().await
        });
        let answers = try_join_all(queries).await?.into_iter().map(|answer| {
            let has_more = answer.last_evaluated_key.is_some();
            let items = answer.items.unwrap_or_default().into_iter();
            Rows { rows: items.map(|item| reader.read_placed(item, SORT_KEY, activity)).collect(), has_more }
        });
        Ok(merge(answers.collect(), direction, limit, |(place, _)| place.clone()))
    }

    /// The rows of a partition from one moment (included) to another (excluded). A sort key
    /// continues after the moment, so a bound that ends there sorts before all rows of the moment.
    fn between(
        &self,
        partition: &str,
        from: Option<Moment>,
        to: Option<Moment>,
        direction: Direction,
    ) -> QueryFluentBuilder {
        let bound = |at: Option<Moment>, open: &str| at.map_or_else(|| open.to_owned(), |at| bound(PREFIX, at));
        let (from, to) = (bound(from, PREFIX), bound(to, PREFIX_END));
        let query = self.table.query_between([PARTITION_KEY, SORT_KEY], partition, from, to);
        query.scan_index_forward(direction == Direction::Asc)
    }
}
