//! Over how many partitions a table's rows have been spread, at the most.
//!
//! Rows stay in the partitions that they were written to, so somebody who has fewer partitions now still has to look into all of them. An item
//! of the table keeps the number.

use crate::error::unless_condition_failed;
use crate::item::{Item, n};
use crate::{StoreError, Table};

const SHARDS: &str = "shards";

/// The number in the item at `key`; `None` while there is none. Its request is `GetItem`.
pub(crate) async fn read(table: &Table, key: Item) -> Result<Option<u8>, StoreError> {
    let request = table.get_item(key).consistent_read(true);
    let Some(item) = request.send().await?.item else { return Ok(None) };
    let shards = item.get(SHARDS).and_then(|value| value.as_n().ok()).and_then(|number| number.parse().ok());
    shards.map(Some).ok_or_else(|| StoreError::unreadable(format!("no number of partitions in {item:?}")))
}

/// Makes the number in the item at `key` at least `shards`. Its request is `PutItem`.
pub(crate) async fn raise(table: &Table, key: Item, shards: u8) -> Result<(), StoreError> {
    let mut item = key;
    item.insert(SHARDS.to_owned(), n(shards));
    let put = table.put_item(item);
    // Stops an instance that begins at the same time, with a smaller number, from taking a larger one back.
    let put = put.condition_expression("attribute_not_exists(#shards) OR #shards < :shards");
    let put = put.expression_attribute_names("#shards", SHARDS).expression_attribute_values(":shards", n(shards));
    unless_condition_failed(put.send().await).map(drop)
}
