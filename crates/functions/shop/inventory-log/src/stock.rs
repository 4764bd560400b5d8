//! Stock movements, and the ledger of them.

use domain::shop::IdempotencyKey;
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::{INVALID_IDEMPOTENCY_KEY, MISSING_IDEMPOTENCY_KEY, Problem};
use serde_json::{Value, json};
use shop_store::{ChangeOutcome, LedgerParameterError, LedgerParameters, StockEntry, StockRequest};
use store_base::Direction;

use crate::body::NewMovement;
use crate::problems::{PRODUCT_NOT_FOUND, change_problem, stock_problem, store_problem};
use crate::{IDEMPOTENCY_KEY, Inventory};

/// The number of rows on a page without `limit`.
pub const LIMIT_DEFAULT: u16 = 25;

/// The most rows of a page.
pub const LIMIT_MAX: u16 = 1_000;

/// Moves stock: 201, or 200 if the same request was applied before.
pub(crate) async fn change(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let product_id = inventory.admit(request)?;
    let NewMovement { movement, reason, order_id, changed_by } = NewMovement::of(request)?;
    let key = request.header(IDEMPOTENCY_KEY).map(IdempotencyKey::new).transpose();
    let key = key.map_err(|why| INVALID_IDEMPOTENCY_KEY.detail(why))?;
    if key.is_none() && order_id.is_none() {
        return Err(MISSING_IDEMPOTENCY_KEY.detail("send the header Idempotency-Key, or name the order"));
    }
    let wanted = StockRequest {
        product_id,
        key,
        movement,
        order_id,
        reason,
        changed_by,
        now: inventory.now()?,
        row_id: (inventory.new_id)(),
    };
    let changed = inventory.stock.change(&wanted).await.map_err(|error| change_problem(error, stock_problem))?;
    Ok(match changed {
        ChangeOutcome::Applied(entry) => Reply::json(201, &to_json(&entry)),
        ChangeOutcome::AlreadyApplied(entry) => Reply::json(200, &to_json(&entry)),
    })
}

/// The rows of the ledger.
pub(crate) async fn ledger(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let product_id = inventory.admit(request)?;
    let [from, to, at, day, after] = ["from", "to", "at", "day", "after"].map(|name| request.query(name));
    let slice = LedgerParameters { from, to, at, day, after }.slice();
    let slice = slice.map_err(|LedgerParameterError { parameter, why }| invalid_parameter(parameter, why))?;
    let direction = request.parse_query("order", str::parse)?.unwrap_or(Direction::Desc);
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let scope = format!("inventory {product_id} {slice:?} {direction:?}");
    let listing = Listing::new(&inventory.cursors, scope, (inventory.now)());
    let position = listing.position(request)?;
    let page =
        inventory.stock.page(&product_id, slice, direction, limit, position.as_ref()).await.map_err(store_problem)?;
    if page.items.is_empty() && inventory.products.get(&product_id).await.map_err(store_problem)?.is_none() {
        return Err(PRODUCT_NOT_FOUND);
    }
    let items: Vec<_> = page.items.iter().map(to_json).collect();
    listing.reply(&items, page.next.as_ref(), page.skipped)
}

fn to_json(entry: &StockEntry) -> Value {
    let mut row = json!({
        "id": entry.row.to_string(),
        "productId": entry.product_id.as_str(),
        "type": entry.change_type.as_str(),
        "quantity": entry.quantity,
        "previousStock": entry.previous_stock,
        "newStock": entry.new_stock,
        "createdAt": entry.row.at.to_string(),
    });
    let optional = [
        ("reason", entry.reason.as_ref().map(ToString::to_string)),
        ("orderId", entry.order_id.as_ref().map(ToString::to_string)),
        ("changedBy", entry.changed_by.as_ref().map(ToString::to_string)),
        ("idempotencyKey", entry.idempotency_key.as_ref().map(ToString::to_string)),
    ];
    for (name, text) in optional.into_iter().filter_map(|(name, text)| Some((name, text?))) {
        row[name] = text.into();
    }
    row
}
