//! The problems of requests, and the mapping of the rules' refusals to them.

use domain::shop::{SettleError, StockRefusal};
use lambda_kit::problem::{self, IDEMPOTENCY_KEY_REUSED, INTERNAL, Problem, conflict};
use store::StoreError;
use store::shop::{ChangeError, Reused, SettleRefusal, StockChangeRefusal};

pub(crate) const INVALID_QUANTITY: Problem = Problem::new(400, "invalid-quantity", "The quantity is not valid");
pub(crate) const PRODUCT_NOT_FOUND: Problem = Problem::new(404, "product-not-found", "There is no such product");
pub(crate) const RESERVATION_NOT_FOUND: Problem =
    Problem::new(404, "reservation-not-found", "There is no such reservation");
const PRODUCT_ARCHIVED: Problem = Problem::new(409, "product-archived", "The product is archived");
const INSUFFICIENT_STOCK: Problem = Problem::new(409, "insufficient-stock", "There are too few of the product");
const RESERVED_STOCK: Problem = Problem::new(409, "reserved-stock", "Orders are promised more than would be left");
const STOCK_OVERFLOW: Problem = Problem::new(409, "stock-overflow", "There would be too many of the product");
const ORDER_ID_REUSED: Problem = Problem::new(409, "order-id-reused", "The order has moved or reserved something else");
const RESERVATION_SETTLED: Problem = Problem::new(409, "reservation-settled", "The reservation has ended otherwise");
const RESERVATION_EXPIRED: Problem = Problem::new(409, "reservation-expired", "The reservation has expired");

/// What a client learns of a failed request to DynamoDB.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}

/// Why a change was not made.
pub(crate) fn change_problem<R>(error: ChangeError<R>, refused: impl FnOnce(R) -> Problem) -> Problem {
    match error {
        ChangeError::Refused(refusal) | ChangeError::RefusedBefore(refusal) => refused(refusal),
        ChangeError::Reused(Reused::Key) => IDEMPOTENCY_KEY_REUSED,
        ChangeError::Reused(Reused::Order) => ORDER_ID_REUSED,
        ChangeError::Conflict => conflict(),
        ChangeError::Store(error) => store_problem(error),
    }
}

/// Why goods do not move, and how many there are.
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
            tracing::error!(%refusal, "a movement without a reservation has met one");
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

/// Why a reservation does not end so.
pub(crate) fn settle_problem(refusal: SettleRefusal) -> Problem {
    match refusal {
        SettleRefusal::NotFound => RESERVATION_NOT_FOUND,
        SettleRefusal::Missing(why) => stock_problem(StockChangeRefusal::Stock(why)),
        SettleRefusal::Settled(why @ SettleError::Expired(_)) => RESERVATION_EXPIRED.detail(why),
        SettleRefusal::Settled(why @ SettleError::Settled(settlement, _)) => {
            RESERVATION_SETTLED.detail(why).member("state", settlement.as_str())
        }
    }
}
