//! The shop's table: partition key `PK`, sort key `SK`, TTL attribute `ttl`.
//!
//! | item | `PK` | `SK` | written |
//! |---|---|---|---|
//! | product: its price, stock and version | `PRODUCT#<product>` | `METADATA` | with each change, under optimistic locking by the version |
//! | price change | `PRODUCT#<product>` | `PRICE#<second>Z#<nanosecond>#<uuid>` | once, together with the product |
//! | stock movement | `PRODUCT#<product>` | `INVLOG#<second>Z#<nanosecond>#<uuid>` | once, together with the product |
//! | reservation | `PRODUCT#<product>` | `RESERVATION#<order>` | together with the product |
//! | order of several lines | `ORDER#<order>` | `RESERVATION#<order>` | together with its products and their reservations |
//! | refusal of an order of several lines | `ORDER#<order>` | `REFUSED#<hash>` | when the request is refused; valid for a minute |
//! | idempotency marker of a request with a key, or its refusal | `PRODUCT#<product>` | `REQUEST#<key>` | once, together with the product or when refused; kept 30 days |
//! | refusal of a request without a key | `PRODUCT#<product>` | `REFUSED#<hash>` | when the request is refused; valid for a minute |
//! | idempotency marker of an order's movement | `PRODUCT#<product>` | `ORDER#<type>#<order>` | once, together with the product; kept 30 days |
//! | activity of a user | `USER#<user>` | `ACTIVITY#<second>Z#<nanosecond>#<uuid>` | once |
//! | activity with a product | `PRODUCT#<product>#<day>#<n>` | `ACTIVITY#<second>Z#<nanosecond>#<uuid>` | once, after the user's row |
//! | largest number of partitions that a product's day has been spread over | `LAYOUT#ACTIVITIES` | `suffixes` | when a writer uses more |
//! | statistics of a product's day | `STATS#<product>` | `<day>` | by `activity-stats`, from the stream |
//! | checkpoints, visitors and quarantined records of the statistics | `ROLLUP#activities#...` | | by `activity-stats`; the crate `rollup` spells them |
//! | name of a product, for the list | `PRODUCTS`, archived `PRODUCTS#ARCHIVED` | `<product>` | together with the product |
//!
//! The key of a row begins with the second of its moment, in UTC, in the format of the original
//! design, so that the queries of the design find it. The index `open-reservations` has the open
//! reservations of a product, sorted by `ExpiresAt`. The index `top-products` has the statistics of
//! a day, sorted by `Views`.

mod activities;
mod activity_statistics;
mod change;
mod image;
mod keys;
mod ledger;
mod marker;
mod order_changes;
mod orders;
mod prices;
mod product;
mod refusal;
mod remembered_refusals;
mod reservations;
mod rows;
mod stock;
mod suffixes;
mod write;

pub use activities::{Activities, ActivityPosition, RecordOutcome};
pub use activity_statistics::{
    ActivityStatistics, CountedActivity, ProductDay, activity_aggregator, activity_statistics, read_counted_activity,
    rollup_table,
};
pub use change::{ChangeError, ChangeOutcome};
pub use image::{ShopChange, ShopImage};
pub use ledger::{LedgerParameterError, LedgerParameters, LedgerPosition, LedgerQuery};
pub use marker::Reused;
pub use orders::{OrderRequest, Orders};
pub use prices::{PriceOutcome, PriceRequest, PriceSummary, Prices};
pub use product::{IsNew, ListedProduct, ProductPosition, Products, PutProduct};
pub use refusal::{HistoryRowRefusal, OrderRefusal, PriceRefusal, SettleRefusal, StockChangeRefusal};
pub use reservations::{ReservationRequest, Reservations};
pub use rows::{PriceEntry, StockEntry};
pub use stock::{Stock, StockRequest};
pub use suffixes::ActivitySuffixes;

/// Opens the connection to DynamoDB with the smallest possible read, so that the first request does
/// not wait for the handshake.
pub async fn connect(table: &store_base::Table) -> Result<(), store_base::StoreError> {
    let nothing = keys::key(keys::PRODUCTS, "#");
    table.connect(nothing).await
}
