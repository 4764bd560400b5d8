//! Orders of several lines. The order identifies its request, so a repeated request changes nothing
//! and needs no idempotency key.

use domain::Moment;
use domain::shop::{Order, OrderId};
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use serde_json::{Value, json};
use shop_store::{ChangeOutcome, OrderRequest};

use crate::Inventory;
use crate::body::NewOrder;
use crate::problems::{ORDER_NOT_FOUND, change_problem, order_problem, order_settle_problem, store_problem};
use crate::reservations::hold_to_json;

/// Reserves all lines: 201, or 200 if the order has the same lines already.
pub(crate) async fn reserve(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    inventory.staff.authorize(request)?;
    let NewOrder { order_id, lines, hold_time } = NewOrder::of(request)?;
    let now = inventory.now()?;
    let wanted = OrderRequest { order_id, lines, hold_time, now };
    let changed = inventory.orders.reserve(&wanted).await.map_err(|error| change_problem(error, order_problem))?;
    Ok(match changed {
        ChangeOutcome::Applied(order) => Reply::json(201, &to_json(&order, now)),
        ChangeOutcome::AlreadyApplied(order) => Reply::json(200, &to_json(&order, now)),
    })
}

/// Shows an order.
pub(crate) async fn show(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let order_id = order_of(inventory, request)?;
    let found = inventory.orders.get(&order_id).await.map_err(store_problem)?;
    Ok(Reply::json(200, &to_json(&found.ok_or(ORDER_NOT_FOUND)?, inventory.now()?)))
}

/// Commits an order: the goods of all lines leave the stock.
pub(crate) async fn commit(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let order_id = order_of(inventory, request)?;
    let (now, row_id) = (inventory.now()?, (inventory.new_id)());
    let changed = inventory.orders.commit(&order_id, now, row_id).await;
    Ok(settled(changed.map_err(|error| change_problem(error, order_settle_problem))?, now))
}

/// Releases an order: the goods of all lines are available again.
pub(crate) async fn release(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let order_id = order_of(inventory, request)?;
    let now = inventory.now()?;
    let changed = inventory.orders.release(&order_id, now).await;
    Ok(settled(changed.map_err(|error| change_problem(error, order_settle_problem))?, now))
}

/// Checks the staff token and returns the order of the request.
fn order_of(inventory: &Inventory, request: &Request) -> Result<OrderId, Problem> {
    inventory.staff.authorize(request)?;
    request.parse_path("orderId", OrderId::new)
}

fn settled(changed: ChangeOutcome<Order>, now: Moment) -> Reply {
    let (ChangeOutcome::Applied(order) | ChangeOutcome::AlreadyApplied(order)) = changed;
    Reply::json(200, &to_json(&order, now))
}

/// An order with its lines, each product once.
fn to_json(order: &Order, now: Moment) -> Value {
    let lines = order.goods.iter();
    let lines =
        lines.map(|(product_id, quantity)| json!({ "productId": product_id.as_str(), "quantity": quantity.get() }));
    let mut body = hold_to_json(order, now);
    body["lines"] = lines.collect();
    body
}
