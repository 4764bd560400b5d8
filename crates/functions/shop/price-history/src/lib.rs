//! Products, their prices, and their price history.
//!
//! Reading is public. Changing a price, and seeing who changed it and why, needs the staff token.

mod body;
mod prices;
mod problems;
mod products;

use domain::Moment;
use jiff::Timestamp;
use lambda_kit::bearer::AccessToken;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INTERNAL, NOT_FOUND, Problem};
use secrecy::SecretString;
use shop_store::{Prices, Products};
use store_base::Table;
use uuid::Uuid;

pub use body::BODY_BYTES_MAX;

/// The number of items on a page without `limit`.
pub const LIMIT_DEFAULT: u16 = 25;

/// The most items of a page.
pub const LIMIT_MAX: u16 = 1_000;

/// The function's dependencies. The clock and the id generator are passed in, so that a test can
/// control them.
#[derive(Debug, Clone)]
pub struct Shop {
    products: Products,
    prices: Prices,
    cursors: Cursors,
    staff: AccessToken,
    now: fn() -> Timestamp,
    new_id: fn() -> Uuid,
}

impl Shop {
    /// The products in `table`, with the system's clock and randomness.
    pub fn new(table: &Table, cursor_key: SecretString, staff_token: SecretString) -> Self {
        Self {
            products: Products::new(table),
            prices: Prices::new(table),
            cursors: Cursors::new(cursor_key),
            staff: AccessToken::new(staff_token),
            now: Timestamp::now,
            new_id: lambda_kit::id::new_id,
        }
    }

    /// The same with another clock and id generator.
    pub fn with(self, now: fn() -> Timestamp, new_id: fn() -> Uuid) -> Self {
        Self { now, new_id, ..self }
    }

    fn now(&self) -> Result<Moment, Problem> {
        Moment::new((self.now)()).map_err(|_| INTERNAL)
    }
}

/// Answers one request.
pub async fn handle(shop: &Shop, request: Request) -> Result<Reply, Problem> {
    request.allow_query_parameters(match request.route() {
        "GET /products" => &["archived", "limit", "cursor"],
        "GET /products/{productId}/prices" => &["from", "to", "at", "day", "after", "order", "limit", "cursor"],
        "GET /products/{productId}/prices/summary" => &["at"],
        _ => &[],
    })?;
    match request.route() {
        "GET /products" => products::list(shop, &request).await,
        "GET /products/{productId}" => products::show(shop, &request).await,
        "PUT /products/{productId}" => products::put(shop, &request).await,
        "POST /products/{productId}/price" => prices::change(shop, &request).await,
        "GET /products/{productId}/prices" => prices::list(shop, &request).await,
        "GET /products/{productId}/prices/summary" => prices::summary(shop, &request).await,
        "GET /products/{productId}/prices/{priceId}" => prices::show(shop, &request).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}
