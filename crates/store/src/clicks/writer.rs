//! Storing one click.

use std::time::Duration;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use domain::UserId;
use domain::clicks::{Click, ClickTime};

use super::keys::{DateShards, Item, PARTITION_KEY, SORT_KEY, key, n, record_sort, s};
use super::reader::StoredClick;
use crate::{StoreError, Table};

/// Names the request that has put a click, four random bytes: 9 bytes of an item. The SDK repeats a put whose reply got lost, and would
/// otherwise take the click that it has stored itself for one that was stored before.
const PUT_ID: &str = "putId";

/// The most items of one look at a user's milliseconds: the slots, and what foreign clients have put in between, as far as it goes.
const LOOK_ITEMS_MAX: i32 = 128;

/// Puts clicks. Its requests are `PutItem`, and a `Query` of some milliseconds of a user.
#[derive(Debug, Clone)]
pub struct ClickWriter {
    table: Table,
    date_shards: DateShards,
    retention: Option<Duration>,
}

/// What became of a put.
#[derive(Debug, Clone, PartialEq)]
pub enum PutClick {
    /// The key was free; the click is stored, by this very call.
    Stored,
    /// A click holds the key, this one. It may be the same click, stored by another call.
    Held(StoredClick),
}

impl ClickWriter {
    /// A writer to `table`. With a `retention`, clicks expire that long after their time.
    pub fn new(table: &Table, date_shards: DateShards, retention: Option<Duration>) -> Self {
        Self { table: table.clone(), date_shards, retention }
    }

    /// Stores the click if its key, the user and the millisecond, is free. `click_id` tells a repetition from another click.
    pub async fn put(&self, click: &Click, click_id: &str) -> Result<PutClick, StoreError> {
        let expires_at =
            self.retention.map(|retention| click.time.as_millisecond() / 1_000 + retention.as_secs() as i64);
        let put_id = AttributeValue::B(Blob::new(fastrand::u32(..).to_be_bytes()));
        let mut item = item(click, click_id, self.date_shards, expires_at);
        item.insert(PUT_ID.to_owned(), put_id.clone());
        let outcome = self
            .table
            .put_item(item)
            // Stops two clicks of one user in one millisecond from overwriting each other, and a repetition from
            // being stored twice: whoever comes second learns who holds the key.
            .condition_expression("attribute_not_exists(#key)")
            .expression_attribute_names("#key", PARTITION_KEY)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match outcome {
            Ok(_) => Ok(PutClick::Stored),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failure)) => {
                    let holder = failure
                        .item()
                        .ok_or_else(|| StoreError::unreadable("a refused put came without its holder"))?;
                    let stored = StoredClick::read(holder.clone())?;
                    let is_own = stored.click_id.as_deref() == Some(click_id) && holder.get(PUT_ID) == Some(&put_id);
                    Ok(if is_own { PutClick::Stored } else { PutClick::Held(stored) })
                }
                _ => Err(error.into()),
            },
        }
    }

    /// Who holds a user's milliseconds from one to another, both included. Consistent: a click that was acknowledged is among them.
    pub async fn held(&self, user_id: &UserId, from: ClickTime, to: ClickTime) -> Result<Vec<StoredClick>, StoreError> {
        let (from, to) = (from.to_string(), to.to_string());
        let query = self.table.query_between([PARTITION_KEY, SORT_KEY], user_id.as_str(), from, to);
        let answer = query.consistent_read(true).limit(LOOK_ITEMS_MAX).send().await?;
        answer.items.unwrap_or_default().into_iter().map(StoredClick::read).collect()
    }
}

/// The item of a click. `expires_at` is in epoch seconds.
pub(crate) fn item(click: &Click, click_id: &str, date_shards: DateShards, expires_at: Option<i64>) -> Item {
    let Click { user_id, time, count } = click;
    let mut item = key(user_id.as_str(), time.to_string());
    item.insert("clickCount".to_owned(), n(count.get()));
    item.insert("clickId".to_owned(), s(click_id));
    item.insert("dateKey".to_owned(), s(date_shards.date_key(time.date(), user_id.as_str())));
    item.insert("recordSort".to_owned(), s(record_sort(*time, user_id.as_str())));
    if let Some(expires_at) = expires_at {
        item.insert("expiresAt".to_owned(), n(expires_at));
    }
    item
}
