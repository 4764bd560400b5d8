//! The keys of the shop's table. Only the modules beside this one use them.

use domain::Moment;
use domain::shop::{ChangeType, IdempotencyKey, OrderId, ProductId, RowId};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use store_base::StoreError;
pub(crate) use store_base::{Item, n, s};

pub(crate) const PARTITION_KEY: &str = "PK";
pub(crate) const SORT_KEY: &str = "SK";
pub(crate) const TTL: &str = "ttl";

/// The partitions of the lists of products and of archived products.
pub(crate) const PRODUCTS: &str = "PRODUCTS";
pub(crate) const ARCHIVED: &str = "PRODUCTS#ARCHIVED";
pub(crate) const METADATA: &str = "METADATA";

/// The prefix of a product's partition. The partitions of its activities have it too, with a day
/// and a number at the end.
pub(crate) const PRODUCT_PREFIX: &str = "PRODUCT#";
/// The prefix of the partition with the statistics of a product.
pub(crate) const STATISTICS_PREFIX: &str = "STATS#";
pub(crate) const PRICE_PREFIX: &str = "PRICE#";
pub(crate) const INVENTORY_PREFIX: &str = "INVLOG#";
pub(crate) const RESERVATION_PREFIX: &str = "RESERVATION#";
/// The prefix of the partition of an order of several lines.
pub(crate) const ORDER_PREFIX: &str = "ORDER#";

/// The length of `2024-01-15T10:30:00`.
const SECOND_CHARS: usize = 19;

/// How long a marker is kept after its request, in seconds.
const MARKER_TTL_S: i64 = 30 * 24 * 60 * 60;

pub(crate) fn key(partition: impl Into<String>, sort: impl Into<String>) -> Item {
    Item::from([(PARTITION_KEY.to_owned(), s(partition)), (SORT_KEY.to_owned(), s(sort))])
}

pub(crate) fn product(id: &ProductId) -> String {
    format!("{PRODUCT_PREFIX}{id}")
}

pub(crate) fn request(key: &IdempotencyKey) -> String {
    format!("REQUEST#{key}")
}

/// The marker of an order's movement of a type.
pub(crate) fn order(change_type: ChangeType, order_id: &OrderId) -> String {
    format!("ORDER#{change_type}#{order_id}")
}

pub(crate) fn reservation(order_id: &OrderId) -> String {
    format!("{RESERVATION_PREFIX}{order_id}")
}

/// The key of an order of several lines. The sort key is that of a reservation, so that one filter
/// of the stream passes both.
pub(crate) fn order_key(order_id: &OrderId) -> Item {
    key(format!("{ORDER_PREFIX}{order_id}"), reservation(order_id))
}

/// The marker for an expired reservation whose stock was released. A client's key has no `#`, so it
/// cannot be the same.
pub(crate) fn expiry(order_id: &OrderId, created_at: Moment) -> String {
    format!("REQUEST#expire#{order_id}#{created_at}")
}

/// The sort key of a row: its second in the format of the original design, then the nanoseconds and
/// the id. The texts of the seconds sort as the queries of the design expect. With the fraction
/// before the `Z`, as the design writes it, they would not. A row of the design itself has no id
/// and keeps its own format.
pub(crate) fn row(prefix: &str, id: RowId) -> String {
    if id.id.is_nil() {
        return format!("{prefix}{}", id.at.timestamp());
    }
    format!("{}#{}", bound(prefix, id.at), id.id)
}

/// The id of the row with this sort key.
pub(crate) fn row_id(prefix: &str, sort: &str) -> Result<RowId, StoreError> {
    let rest = sort.strip_prefix(prefix).unwrap_or_default();
    let id = match rest.split_once("Z#").and_then(|(second, finer)| Some((second, finer.split_once('#')?))) {
        Some((second, (nanosecond, id))) => format!("{second}.{nanosecond}Z~{id}").parse().ok(),
        None => Moment::parse(rest).ok().map(|at| RowId { at, id: Uuid::nil() }),
    };
    // Only the text that [`row`] makes is accepted: another text for the same row would be another
    // key.
    let id = id.filter(|id| row(prefix, *id) == sort);
    id.ok_or_else(|| StoreError::unreadable(format!("`{sort}` is not the sort key of a row")))
}

/// The prefix of the sort keys of all rows of a moment. It sorts before them, and after the rows of
/// all earlier moments.
pub(crate) fn bound(prefix: &str, at: Moment) -> String {
    let text = at.to_string();
    format!("{}Z#{}", second(prefix, at), &text[SECOND_CHARS + 1..text.len() - 1])
}

/// The prefix of the sort keys of all rows of a second, also of those of the original design.
pub(crate) fn second(prefix: &str, at: Moment) -> String {
    format!("{prefix}{}", &at.to_string()[..SECOND_CHARS])
}

/// When a marker that is written now expires, in epoch seconds, as TTL requires.
pub(crate) fn marker_ttl(now: Moment) -> i64 {
    now.timestamp().as_second() + MARKER_TTL_S
}

/// Deserializes an item. An error names the key of the item.
pub(crate) fn read<T: DeserializeOwned>(item: Item) -> Result<T, StoreError> {
    let key = [PARTITION_KEY, SORT_KEY].map(|name| item.get(name).and_then(|value| value.as_s().ok()).cloned());
    serde_dynamo::from_item(item).map_err(|error| {
        let [partition, sort] = key.map(Option::unwrap_or_default);
        StoreError::unreadable(format!("{partition} {sort}: {error}"))
    })
}

/// The product in whose partition an item is. Rows of the original design name the product only
/// there.
pub(crate) fn product_of(item: &Item) -> Result<ProductId, StoreError> {
    let partition = item.get(PARTITION_KEY).and_then(|key| key.as_s().ok()).map_or("", |key| key.as_str());
    let id = partition.strip_prefix(PRODUCT_PREFIX).and_then(|id| ProductId::new(id).ok());
    id.ok_or_else(|| StoreError::unreadable(format!("`{partition}` is not the key of a product")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_keys_sort_by_moment_in_the_original_format() {
        let key = |at: &str| {
            let id = RowId { at: Moment::parse(at).expect("a moment"), id: Uuid::from_u128(7) };
            assert_eq!(row_id("PRICE#", &row("PRICE#", id)).ok(), Some(id));
            row("PRICE#", id)
        };
        let keys =
            ["2024-01-15T10:29:59.999999999Z", "2024-01-15T10:30:00Z", "2024-01-15T10:30:00.000000001Z"].map(key);
        assert!(keys.is_sorted());
        assert_eq!(keys[1], format!("PRICE#2024-01-15T10:30:00Z#000000000#{}", Uuid::from_u128(7)));
        assert!(keys[0].as_str() < "PRICE#2024-01-15T10:30:00Z" && "PRICE#2024-01-15T10:30:00Z" < keys[1].as_str());
    }

    #[test]
    fn rows_of_the_original_design_keep_its_format() {
        for sort in
            ["INVLOG#2024-01-15T10:30:00Z", "INVLOG#2024-01-15T10:30:00.5Z", "INVLOG#2024-01-15T10:30:00.123456789Z"]
        {
            let id = row_id("INVLOG#", sort).expect("a row");
            assert_eq!((id.id, row("INVLOG#", id).as_str()), (Uuid::nil(), sort));
        }
        for sort in [
            "INVLOG#",
            "INVLOG#2024-01-15T19:30:00+09:00",
            "INVLOG#2024-01-15T10:30:00.50Z",
            "PRICE#2024-01-15T10:30:00Z",
        ] {
            assert!(row_id("INVLOG#", sort).is_err(), "{sort}");
        }
    }
}
