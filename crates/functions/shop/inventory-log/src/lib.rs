//! Records stock movements in the ledger, and reserves goods for orders.
//!
//! All routes need the staff token. The stock level of a product is public; `price-history` shows
//! it.

mod body;
mod orders;
mod problems;
mod reservations;
mod stock;

use domain::Moment;
use domain::shop::ProductId;
use jiff::Timestamp;
use lambda_kit::bearer::AccessToken;
use lambda_kit::cursor::Cursors;
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::{INTERNAL, NOT_FOUND, Problem};
use secrecy::SecretString;
use shop_store::{Orders, Products, Reservations, Stock};
use store_base::Table;
use uuid::Uuid;

pub use body::BODY_BYTES_MAX;
pub use stock::{LIMIT_DEFAULT, LIMIT_MAX};

/// The header with the client's idempotency key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The function's dependencies. The clock and the id generator are passed in, so that a test can
/// control them.
#[derive(Debug, Clone)]
pub struct Inventory {
    products: Products,
    stock: Stock,
    reservations: Reservations,
    orders: Orders,
    cursors: Cursors,
    staff: AccessToken,
    now: fn() -> Timestamp,
    new_id: fn() -> Uuid,
}

impl Inventory {
    /// The stock of the products in `table`, with the system's clock and randomness.
    pub fn new(table: &Table, cursor_key: SecretString, staff_token: SecretString) -> Self {
        Self {
            products: Products::new(table),
            stock: Stock::new(table),
            reservations: Reservations::new(table),
            orders: Orders::new(table),
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

    /// Checks the staff token and returns the product of the request.
    fn admit(&self, request: &Request) -> Result<ProductId, Problem> {
        self.staff.authorize(request)?;
        request.parse_path("productId", ProductId::new)
    }

    fn now(&self) -> Result<Moment, Problem> {
        Moment::new((self.now)()).map_err(|_| INTERNAL)
    }
}

/// Answers one request.
pub async fn handle(inventory: &Inventory, request: Request) -> Result<Reply, Problem> {
    request.allow_query_parameters(match request.route() {
        "GET /products/{productId}/inventory" => &["from", "to", "at", "day", "after", "order", "limit", "cursor"],
        _ => &[],
    })?;
    match request.route() {
        "POST /products/{productId}/stock" => stock::change(inventory, &request).await,
        "GET /products/{productId}/inventory" => stock::ledger(inventory, &request).await,
        "POST /products/{productId}/reservations" => reservations::reserve(inventory, &request).await,
        "GET /products/{productId}/reservations/{orderId}" => reservations::show(inventory, &request).await,
        "POST /products/{productId}/reservations/{orderId}/commit" => reservations::commit(inventory, &request).await,
        "POST /products/{productId}/reservations/{orderId}/release" => reservations::release(inventory, &request).await,
        "POST /orders" => orders::reserve(inventory, &request).await,
        "GET /orders/{orderId}" => orders::show(inventory, &request).await,
        "POST /orders/{orderId}/commit" => orders::commit(inventory, &request).await,
        "POST /orders/{orderId}/release" => orders::release(inventory, &request).await,
        _ => Err(NOT_FOUND.detail(request.target())),
    }
}
