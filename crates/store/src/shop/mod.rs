//! The shop's table: PK `PK`, SK `SK`, TTL `ttl`.
//!
//! | item | `PK` | `SK` | written |
//! |---|---|---|---|
//! | product: price, stock, and the version that every change of it meets at | `PRODUCT#<product>` | `METADATA` | with each change |
//! | price that came into effect | `PRODUCT#<product>` | `PRICE#<second>Z#<nanosecond>#<uuid>` | once, together with the product |
//! | movement of stock | `PRODUCT#<product>` | `INVLOG#<second>Z#<nanosecond>#<uuid>` | once, together with the product |
//! | reservation | `PRODUCT#<product>` | `RESERVATION#<order>` | together with the product |
//! | what a request came to | `PRODUCT#<product>` | `REQUEST#<key>` | once, together with the product; stays 30 days |
//! | that a request without a key was refused | `PRODUCT#<product>` | `REFUSED#<hash>` | with the refusal; holds for a minute |
//! | what an order came to | `PRODUCT#<product>` | `ORDER#<type>#<order>` | likewise |
//! | activity of a user | `USER#<user>` | `ACTIVITY#<second>Z#<nanosecond>#<uuid>` | once |
//! | activity with a product | `PRODUCT#<product>#<day>#<n>` | `ACTIVITY#<second>Z#<nanosecond>#<uuid>` | once, after the user's |
//! | the most partitions that a product's day was ever spread over | `LAYOUT#ACTIVITIES` | `suffixes` | by who spreads it over more |
//! | a product's name, for the list | `PRODUCTS`, archived `PRODUCTS#ARCHIVED` | `<product>` | together with the product |
//!
//! The second of a row's moment, in UTC, stands in its key as the original design spells it, so that the design's queries find it. The index
//! `open-reservations` has the open reservations of a product in the order of `ExpiresAt`.

mod activities;
mod change;
mod image;
mod keys;
mod ledger;
mod prices;
mod product;
mod refusals;
mod reservations;
mod stock;
mod suffixes;
mod write;

pub use activities::{Activities, ActivityPosition, RecordOutcome};
pub use change::{ChangeError, ChangeOutcome, HistoryRowRefusal, Reused};
pub use image::{ShopChange, ShopImage};
pub use ledger::{LedgerParameterError, LedgerParameters, LedgerPosition, LedgerQuery};
pub use prices::{PriceEntry, PriceOutcome, PriceRefusal, PriceRequest, PriceSummary, Prices};
pub use product::{IsNew, ListedProduct, ProductPosition, Products, PutProduct};
pub use reservations::{ReservationRequest, Reservations, SettleRefusal};
pub use stock::{Stock, StockChangeRefusal, StockEntry, StockRequest};
pub use suffixes::ActivitySuffixes;

/// Opens the connection to DynamoDB with the smallest of reads, so that the first request does not pay for the handshake.
pub async fn connect(table: &crate::Table) -> Result<(), crate::StoreError> {
    let nothing = keys::key(keys::PRODUCTS, "#");
    table.connect(nothing).await
}
