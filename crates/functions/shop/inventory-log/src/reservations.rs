//! Reservations of goods for orders. The order identifies its reservation, so a repeated request
//! changes nothing and needs no idempotency key.

use domain::Moment;
use domain::shop::{OrderId, ProductId, Reservation, ReservationState, Settlement};
use lambda_kit::http::{Reply, Request};
use lambda_kit::problem::Problem;
use serde_json::{Value, json};
use shop_store::{ChangeOutcome, ReservationRequest};

use crate::Inventory;
use crate::body::NewReservation;
use crate::problems::{RESERVATION_NOT_FOUND, change_problem, settle_problem, stock_problem, store_problem};

/// Reserves goods: 201, or 200 if the order has the same reservation already.
pub(crate) async fn reserve(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let product_id = inventory.admit(request)?;
    let NewReservation { order_id, quantity, hold_time } = NewReservation::of(request)?;
    let now = inventory.now()?;
    let wanted = ReservationRequest { product_id, order_id, quantity, hold_time, now };
    let changed =
        inventory.reservations.reserve(&wanted).await.map_err(|error| change_problem(error, stock_problem))?;
    Ok(match changed {
        ChangeOutcome::Applied(reservation) => Reply::json(201, &to_json(&wanted.product_id, &reservation, now)),
        ChangeOutcome::AlreadyApplied(reservation) => Reply::json(200, &to_json(&wanted.product_id, &reservation, now)),
    })
}

/// Shows a reservation.
pub(crate) async fn show(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let product_id = inventory.admit(request)?;
    let order_id = request.parse_path("orderId", OrderId::new)?;
    let found = inventory.reservations.get(&product_id, &order_id).await.map_err(store_problem)?;
    let reservation = found.ok_or(RESERVATION_NOT_FOUND)?;
    Ok(Reply::json(200, &to_json(&product_id, &reservation, inventory.now()?)))
}

/// Commits a reservation: the goods leave the stock.
pub(crate) async fn commit(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let product_id = inventory.admit(request)?;
    let order_id = request.parse_path("orderId", OrderId::new)?;
    let (now, row_id) = (inventory.now()?, (inventory.new_id)());
    let changed = inventory.reservations.commit(&product_id, &order_id, now, row_id).await;
    settled(&product_id, changed.map_err(|error| change_problem(error, settle_problem))?, now)
}

/// Releases a reservation: the goods are available again.
pub(crate) async fn release(inventory: &Inventory, request: &Request) -> Result<Reply, Problem> {
    let product_id = inventory.admit(request)?;
    let order_id = request.parse_path("orderId", OrderId::new)?;
    let now = inventory.now()?;
    let changed = inventory.reservations.release(&product_id, &order_id, now).await;
    settled(&product_id, changed.map_err(|error| change_problem(error, settle_problem))?, now)
}

fn settled(product_id: &ProductId, changed: ChangeOutcome<Reservation>, now: Moment) -> Result<Reply, Problem> {
    let (ChangeOutcome::Applied(reservation) | ChangeOutcome::AlreadyApplied(reservation)) = changed;
    Ok(Reply::json(200, &to_json(product_id, &reservation, now)))
}

fn to_json(product_id: &ProductId, reservation: &Reservation, now: Moment) -> Value {
    let mut body = hold_to_json(reservation, now);
    body["productId"] = json!(product_id.as_str());
    body["quantity"] = json!(reservation.goods.get());
    body
}

/// A reservation or an order as it is now. An overdue one counts as expired, even if its goods have
/// not been released yet.
pub(crate) fn hold_to_json<Goods: PartialEq>(reservation: &Reservation<Goods>, now: Moment) -> Value {
    let is_overdue = reservation.is_overdue(now);
    let state = if is_overdue { Settlement::Expired.as_str() } else { reservation.state.as_str() };
    let mut body = json!({
        "orderId": reservation.order_id.as_str(),
        "state": state,
        "createdAt": reservation.created_at.to_string(),
        "expiresAt": reservation.expires_at.to_string(),
    });
    if let ReservationState::Settled(_, at) = reservation.state {
        body["settledAt"] = json!(at.to_string());
    }
    body
}
