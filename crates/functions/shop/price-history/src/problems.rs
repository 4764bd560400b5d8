//! The problems of requests, and the problem for each refusal of the rules.

use domain::shop::ProductRefusal;
use lambda_kit::problem::{self, IDEMPOTENCY_KEY_REUSED, INTERNAL, INVALID_BODY, Problem, conflict};
use shop_store::{ChangeError, PriceRefusal};
use store_base::StoreError;

pub(crate) const INVALID_PRICE: Problem = Problem::new(400, "invalid-price", "The price is not valid");
pub(crate) const INVALID_CURRENCY: Problem = Problem::new(400, "invalid-currency", "The currency is not valid");
pub(crate) const PRODUCT_NOT_FOUND: Problem = Problem::new(404, "product-not-found", "There is no such product");
pub(crate) const PRICE_NOT_FOUND: Problem =
    Problem::new(404, "price-not-found", "There is no such price in the history");
const CURRENCY_MISMATCH: Problem = Problem::new(409, "currency-mismatch", "The product is priced in another currency");
const PRODUCT_ARCHIVED: Problem = Problem::new(409, "product-archived", "The product is archived");
const PRODUCT_EXISTS: Problem = Problem::new(409, "product-exists", "The product exists, with another price or stock");

/// The problem for a failed request to DynamoDB.
pub(crate) fn store_problem(error: StoreError) -> Problem {
    problem::store_problem(&error, error.is_transient())
}

/// The problem for a change that was not made.
pub(crate) fn change_problem<R>(error: ChangeError<R>, refused: impl FnOnce(R) -> Problem) -> Problem {
    match error {
        ChangeError::Refused(refusal) | ChangeError::RefusedBefore(refusal) => refused(refusal),
        // A price change names no order, so only the key can be reused.
        ChangeError::Reused(_) => IDEMPOTENCY_KEY_REUSED,
        ChangeError::Conflict => conflict(),
        ChangeError::Store(error) => store_problem(error),
    }
}

/// The problem for a refused product.
pub(crate) fn product_problem(refusal: ProductRefusal) -> Problem {
    match refusal {
        ProductRefusal::PriceMissing => INVALID_BODY.detail(refusal),
        ProductRefusal::OtherPrice | ProductRefusal::OtherStock => PRODUCT_EXISTS.detail(refusal),
    }
}

/// The problem for a refused price.
pub(crate) fn price_problem(refusal: PriceRefusal) -> Problem {
    match refusal {
        PriceRefusal::NotFound => PRODUCT_NOT_FOUND,
        PriceRefusal::Archived => PRODUCT_ARCHIVED,
        PriceRefusal::Same => {
            tracing::error!("an unchanged price was reported as a refusal");
            INTERNAL
        }
        PriceRefusal::Currency(why) => CURRENCY_MISMATCH.detail(why).member("currency", why.of_product.as_str()),
    }
}
