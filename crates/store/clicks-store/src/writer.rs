//! Writes clicks.

use std::time::Duration;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValuesOnConditionCheckFailure};
use domain::UserId;
use domain::clicks::{Click, ClickTime};

use super::keys::{DateShards, Item, PARTITION_KEY, SORT_KEY, key, n, record_sort, s};
use super::reader::StoredClick;
use store_base::{StoreError, Table};

/// Identifies the request that put a click: four random bytes, which cost 9 bytes of an item. The
/// SDK repeats a put whose reply was lost. Without this, it would take its own click for one that
/// was stored before.
const PUT_ID: &str = "putId";

/// The most items of one query for a user's occupied milliseconds. They are the slots of the
/// writer, and clicks that other clients have put between them, up to this number.
const LOOK_ITEMS_MAX: i32 = 128;

/// Writes clicks. Its requests are `PutItem`, and a `Query` of some milliseconds of a user.
#[derive(Debug, Clone)]
pub struct ClickWriter {
    table: Table,
    date_shards: DateShards,
    retention: Option<Duration>,
}

/// The result of a put.
#[derive(Debug, Clone, PartialEq)]
pub enum PutClick {
    /// The key was free. This call has stored the click.
    Stored,
    /// This click has the key. It may be the same click, stored by another call.
    Held(StoredClick),
}

impl ClickWriter {
    /// A writer for `table`. With a `retention`, clicks expire that long after their time.
    pub fn new(table: &Table, date_shards: DateShards, retention: Option<Duration>) -> Self {
        Self { table: table.clone(), date_shards, retention }
    }

    /// Stores the click if no click has its key yet. The key is the user and the millisecond.
    /// `click_id` tells a repeated put from another click.
    pub async fn put(&self, click: &Click, click_id: &str) -> Result<PutClick, StoreError> {
        let expires_at =
            self.retention.map(|retention| click.time.as_millisecond() / 1_000 + retention.as_secs() as i64);
        let put_id = AttributeValue::B(Blob::new(fastrand::u32(..).to_be_bytes()));
        let mut item = item(click, click_id, self.date_shards, expires_at);
        item.insert(PUT_ID.to_owned(), put_id.clone());
        let outcome = self
            .table
            .put_item(item)
            // Stops two clicks of one user in one millisecond from overwriting each other, and a
            // repeated put from being stored twice. The second put gets the click that has the key.
            .condition_expression("attribute_not_exists(#key)")
            .expression_attribute_names("#key", PARTITION_KEY)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await;
        match outcome {
            Ok(_) => Ok(PutClick::Stored),
            Err(error) => match error.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failure)) => {
                    let holder =
                        failure.item().ok_or_else(|| StoreError::unreadable("a refused put returned no item"))?;
                    let stored = StoredClick::read(holder.clone())?;
                    let is_own = stored.click_id.as_deref() == Some(click_id) && holder.get(PUT_ID) == Some(&put_id);
                    Ok(if is_own { PutClick::Stored } else { PutClick::Held(stored) })
                }
                _ => Err(error.into()),
            },
        }
    }

    /// The stored clicks of a user from one millisecond to another, both included. The read is
    /// strongly consistent, so each acknowledged click is included.
    pub async fn held(&self, user_id: &UserId, from: ClickTime, to: ClickTime) -> Result<Vec<StoredClick>, StoreError> {
        let (from, to) = (from.to_string(), to.to_string());
        let query = self.table.query_between([PARTITION_KEY, SORT_KEY], user_id.as_str(), from, to);
        let answer = query.consistent_read(true).limit(LOOK_ITEMS_MAX).send().await?;
        answer.items.unwrap_or_default().into_iter().map(StoredClick::read).collect()
    }
}

/// The item of a click. `expires_at` is in epoch seconds.
pub(crate) fn item(click: &Click, click_id: &str, date_shards: DateShards, expires_at: Option<i64>) -> Item {
    let Click { user_id, time, count, target } = click;
    let mut item = key(user_id.as_str(), time.to_string());
    item.insert("clickCount".to_owned(), n(count.get()));
    item.insert("clickId".to_owned(), s(click_id));
    item.insert("dateKey".to_owned(), s(date_shards.date_key(time.date(), user_id.as_str())));
    item.insert("recordSort".to_owned(), s(record_sort(*time, user_id.as_str())));
    if let Some(target) = target {
        item.insert("target".to_owned(), s(target.as_str()));
    }
    if let Some(expires_at) = expires_at {
        item.insert("expiresAt".to_owned(), n(expires_at));
    }
    item
}
