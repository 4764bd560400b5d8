//! The largest number of partitions over which a table's rows have been spread.
//!
//! Rows stay in the partition to which they were written. A reader that is configured with fewer
//! partitions still has to query all of them. An item of the table keeps the number.

use crate::item::{Item, n};
use crate::unless_condition_failed;
use crate::{StoreError, Table};

const SHARDS: &str = "shards";

/// The number in the item at `key`; `None` when there is no item. Its request is `GetItem`.
pub async fn read(table: &Table, key: Item) -> Result<Option<u8>, StoreError> {
    let request = table.get_item(key).consistent_read(true);
    let Some(item) = request.send().await?.item else { return Ok(None) };
    let shards = item.get(SHARDS).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
    shards.map(Some).ok_or_else(|| StoreError::unreadable(format!("no number of partitions in {item:?}")))
}

/// Raises the number in the item at `key` to at least `shards`. Its request is `PutItem`.
pub async fn raise(table: &Table, key: Item, shards: u8) -> Result<(), StoreError> {
    let mut item = key;
    item.insert(SHARDS.to_owned(), n(shards));
    let put = table.put_item(item);
    // Stops an instance that starts at the same time with a smaller number from lowering a larger
    // one.
    let put = put.condition_expression("attribute_not_exists(#shards) OR #shards < :shards");
    let put = put.expression_attribute_names("#shards", SHARDS).expression_attribute_values(":shards", n(shards));
    unless_condition_failed(put.send().await).map(drop)
}
