//! How the keys of the shop's table are spelled. Nothing outside of this module's siblings knows.

use domain::Moment;
use domain::shop::{ChangeType, OrderId, ProductId, RequestKey, RowId};
use serde::de::DeserializeOwned;

use crate::StoreError;
pub(crate) use crate::item::{Item, n, s};

pub(crate) const PARTITION_KEY: &str = "PK";
pub(crate) const SORT_KEY: &str = "SK";
pub(crate) const TTL: &str = "ttl";

/// The list of products.
pub(crate) const PRODUCTS: &str = "PRODUCTS";
pub(crate) const METADATA: &str = "METADATA";

/// What a product's partition begins with, and with a day and a number behind it those of its activities.
pub(crate) const PRODUCT_PREFIX: &str = "PRODUCT#";
pub(crate) const PRICE_PREFIX: &str = "PRICE#";
pub(crate) const INVENTORY_PREFIX: &str = "INVLOG#";
pub(crate) const RESERVATION_PREFIX: &str = "RESERVATION#";

/// How long a marker stays after its request, seconds.
const MARKER_TTL_S: i64 = 30 * 24 * 60 * 60;

pub(crate) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([(PARTITION_KEY.to_owned(), s(partition)), (SORT_KEY.to_owned(), s(sort))])
}

pub(crate) fn product(id: &ProductId) -> String {
    format!("{PRODUCT_PREFIX}{id}")
}

pub(crate) fn request(key: &RequestKey) -> String {
    format!("REQUEST#{key}")
}

/// What an order's movement of a type came to.
pub(crate) fn order(change_type: ChangeType, order_id: &OrderId) -> String {
    format!("ORDER#{change_type}#{order_id}")
}

pub(crate) fn reservation(order_id: &OrderId) -> String {
    format!("{RESERVATION_PREFIX}{order_id}")
}

/// That a reservation's item has expired and the goods were given back. No client's key has a `#`.
pub(crate) fn expiry(order_id: &OrderId, created_at: Moment) -> String {
    format!("REQUEST#expire#{order_id}#{created_at}")
}

/// The sort key of a ledger's row.
pub(crate) fn row(prefix: &str, id: RowId) -> String {
    format!("{prefix}{}#{}", id.at, id.id)
}

/// The id of the row at a sort key.
pub(crate) fn row_id(prefix: &str, sort: &str) -> Result<RowId, StoreError> {
    let id = sort.strip_prefix(prefix).and_then(|rest| rest.replacen('#', "~", 1).parse().ok());
    id.ok_or_else(|| StoreError::unreadable(format!("`{sort}` is not the key of a row")))
}

/// Epoch seconds, as TTL wants them, at which a marker of now may go.
pub(crate) fn marker_ttl(now: Moment) -> i64 {
    now.timestamp().as_second() + MARKER_TTL_S
}

/// Reads an item; one that is not what its key promises is an error that names the key.
pub(crate) fn read<T: DeserializeOwned>(item: Item) -> Result<T, StoreError> {
    let key = [PARTITION_KEY, SORT_KEY].map(|name| item.get(name).and_then(|value| value.as_s().ok()).cloned());
    serde_dynamo::from_item(item).map_err(|error| {
        let [partition, sort] = key.map(Option::unwrap_or_default);
        StoreError::unreadable(format!("{partition} {sort}: {error}"))
    })
}
