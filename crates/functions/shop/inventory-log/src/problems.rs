//! The problems of requests, and the problem for each refusal of the rules.

use domain::shop::{SettleError, StockRefusal};
use lambda_kit::problem::{self, IDEMPOTENCY_KEY_REUSED, INTERNAL, Problem, conflict};
use serde_json::{Value, json};
use shop_store::{ChangeError, OrderRefusal, Reused, SettleRefusal, StockChangeRefusal};
use store_base::StoreError;

pub(crate) const INVALID_QUANTITY: Problem = Problem::new(400, "invalid-quantity", "The quantity is not valid");
pub(crate) const PRODUCT_NOT_FOUND: Problem = Problem::new(404, "product-not-found", "There is no such product");
pub(crate) const RESERVATION_NOT_FOUND: Problem =
    Problem::new(404, "reservation-not-found", "There is no such reservation");
pub(crate) const ORDER_NOT_FOUND: Problem = Problem::new(404, "order-not-found", "There is no such order");
const PRODUCT_ARCHIVED: Problem = Problem::new(409, "product-archived", "The product is archived");
const INSUFFICIENT_STOCK: Problem = Problem::new(409, "insufficient-stock", "There is not enough stock");
const RESERVED_STOCK: Problem =
    Problem::new(409, "reserved-stock", "The remaining stock would not cover the reservations");
const STOCK_OVERFLOW: Problem = Problem::new(409, "stock-overflow", "The stock would be too large");
const ORDER_ID_REUSED: Problem =
    Problem::new(409, "order-id-reused", "The order belongs to another movement or reservation");
const RESERVATION_SETTLED: Problem =
    Problem::new(409, "reservation-settled", "The reservation has already ended in another way");
const RESERVATION_OF_ORDER: Problem =
    Problem::new(409, "reservation-of-order", "The reservation is a line of an order, and only the whole order ends");
const ORDER_REFUSED: Problem = Problem::new(409, "order-refused", "Lines of the order cannot be reserved");
const RESERVATION_EXPIRED: Problem = Problem::new(409, "reservation-expired", "The reservation has expired");

/// The problem for a failed request to DynamoDB.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}

/// The problem for a change that was not made.
pub(crate) fn change_problem<R>(error: ChangeError<R>, refused: impl FnOnce(R) -> Problem) -> Problem {
    match error {
        ChangeError::Refused(refusal) | ChangeError::RefusedBefore(refusal) => refused(refusal),
        ChangeError::Reused(Reused::Key) => IDEMPOTENCY_KEY_REUSED,
        ChangeError::Reused(Reused::Order) => ORDER_ID_REUSED,
        ChangeError::Conflict => conflict(),
        ChangeError::Store(error) => store_problem(error),
    }
}

/// The problem for a refused stock movement, with the stock level.
pub(crate) fn stock_problem(refusal: StockChangeRefusal) -> Problem {
    let refusal = match refusal {
        StockChangeRefusal::NotFound => return PRODUCT_NOT_FOUND,
        StockChangeRefusal::Archived => return PRODUCT_ARCHIVED,
        StockChangeRefusal::Stock(refusal) => refusal,
    };
    let problem = match refusal {
        StockRefusal::Insufficient(_) => INSUFFICIENT_STOCK,
        StockRefusal::Reserved(_) => RESERVED_STOCK,
        StockRefusal::Overflow(_) => STOCK_OVERFLOW,
        StockRefusal::NotReserved(_) => {
            tracing::error!(%refusal, "a stock movement was refused for a reservation that it does not use");
            return INTERNAL;
        }
    };
    let level = refusal.level();
    problem
        .detail(refusal)
        .member("stock", level.stock())
        .member("reserved", level.reserved())
        .member("available", level.available())
}

/// The problem for an order that is not reserved: each refused line with its own problem.
pub(crate) fn order_problem(OrderRefusal(refused): OrderRefusal) -> Problem {
    let lines = refused.into_iter().map(|(product_id, why)| {
        let problem = stock_problem(why).to_json();
        let mut line = json!({ "productId": product_id.as_str(), "type": problem["type"], "title": problem["title"] });
        for level in ["stock", "reserved", "available"] {
            if problem[level].is_number() {
                line[level] = problem[level].clone();
            }
        }
        line
    });
    ORDER_REFUSED.member("lines", lines.collect::<Value>())
}

/// The problem for an order that cannot be settled as requested. It names the product that is
/// missing.
pub(crate) fn order_settle_problem(refusal: SettleRefusal) -> Problem {
    match refusal {
        SettleRefusal::NotFound => ORDER_NOT_FOUND,
        SettleRefusal::Missing(product_id, why) => {
            stock_problem(StockChangeRefusal::Stock(why)).member("productId", product_id.as_str())
        }
        other => settle_problem(other),
    }
}

/// The problem for a reservation that cannot be settled as requested.
pub(crate) fn settle_problem(refusal: SettleRefusal) -> Problem {
    match refusal {
        SettleRefusal::NotFound => RESERVATION_NOT_FOUND,
        SettleRefusal::OrderLine => RESERVATION_OF_ORDER,
        SettleRefusal::Missing(_, why) => stock_problem(StockChangeRefusal::Stock(why)),
        SettleRefusal::Settled(why @ SettleError::Expired(_)) => RESERVATION_EXPIRED.detail(why),
        SettleRefusal::Settled(why @ SettleError::Settled(settlement, _)) => {
            RESERVATION_SETTLED.detail(why).member("state", settlement.as_str())
        }
    }
}
