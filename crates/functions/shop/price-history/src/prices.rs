//! Changes, lists and summarises prices.

use domain::Moment;
use domain::shop::{IdempotencyKey, Price, ProductId, RowId};
use lambda_kit::http::{Reply, Request, invalid_parameter};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::{INVALID_IDEMPOTENCY_KEY, MISSING_IDEMPOTENCY_KEY, Problem};
use serde_json::{Value, json};
use shop_store::{
    ChangeOutcome, LedgerParameterError, LedgerParameters, LedgerQuery, PriceEntry, PriceOutcome, PriceRequest,
};
use store_base::Direction;

use crate::body::NewPrice;
use crate::problems::{PRICE_NOT_FOUND, PRODUCT_NOT_FOUND, change_problem, price_problem, store_problem};
use crate::{LIMIT_DEFAULT, LIMIT_MAX, Shop, products};

/// Changes a product's price: 201. 200 if the same request was applied before, or if the price is
/// the same already, which changes nothing.
pub(crate) async fn change(shop: &Shop, request: &Request) -> Result<Reply, Problem> {
    shop.staff.authorize(request)?;
    let product_id = request.parse_path("productId", ProductId::new)?;
    let NewPrice { price, reason, changed_by } = NewPrice::of(request)?;
    let key = request.header("idempotency-key");
    let key = key.ok_or_else(|| MISSING_IDEMPOTENCY_KEY.detail("send the header Idempotency-Key"))?;
    let key = IdempotencyKey::new(key).map_err(|why| INVALID_IDEMPOTENCY_KEY.detail(why))?;
    let wanted = PriceRequest { product_id, key, price, reason, changed_by, now: shop.now()?, row_id: (shop.new_id)() };
    let changed = shop.prices.change(&wanted).await.map_err(|error| change_problem(error, price_problem))?;
    let (status, repriced) = match changed {
        ChangeOutcome::Applied(repriced) => (201, repriced),
        ChangeOutcome::AlreadyApplied(repriced) => (200, repriced),
    };
    Ok(match repriced {
        PriceOutcome::Entry(entry) => Reply::json(status, &json!({ "changed": true, "entry": to_json(&entry, true) })),
        PriceOutcome::Same => {
            let product = products::find(shop, request).await?;
            Reply::json(200, &json!({ "changed": false, "product": products::to_json(&product) }))
        }
    })
}

/// The rows of the history.
pub(crate) async fn list(shop: &Shop, request: &Request) -> Result<Reply, Problem> {
    let sees_all = shop.staff.authorize_if_present(request)?;
    let product_id = request.parse_path("productId", ProductId::new)?;
    let [from, to, at, day, after] = ["from", "to", "at", "day", "after"].map(|name| request.query(name));
    let slice = LedgerParameters { from, to, at, day, after }.slice();
    let slice = slice.map_err(|LedgerParameterError { parameter, why }| invalid_parameter(parameter, why))?;
    let direction = request.parse_query("order", str::parse)?.unwrap_or(Direction::Desc);
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(&shop.cursors, format!("prices {product_id} {slice:?} {direction:?}"), (shop.now)());
    let position = listing.position(request)?;
    let page =
        shop.prices.page(&product_id, slice, direction, limit, position.as_ref()).await.map_err(store_problem)?;
    // Every product has a first price, so an empty page means a narrow range or an unknown product.
    if page.items.is_empty() && shop.products.get(&product_id).await.map_err(store_problem)?.is_none() {
        return Err(PRODUCT_NOT_FOUND);
    }
    let items: Vec<_> = page.items.iter().map(|entry| to_json(entry, sees_all)).collect();
    listing.reply(&items, page.next.as_ref(), page.skipped)
}

/// One row of the history.
pub(crate) async fn show(shop: &Shop, request: &Request) -> Result<Reply, Problem> {
    let sees_all = shop.staff.authorize_if_present(request)?;
    let product_id = request.parse_path("productId", ProductId::new)?;
    let row: RowId = request.parse_path("priceId", str::parse)?;
    let page =
        shop.prices.page(&product_id, LedgerQuery::Row(row), Direction::Asc, 1, None).await.map_err(store_problem)?;
    let entry = page.items.first().ok_or(PRICE_NOT_FOUND)?;
    Ok(Reply::json(200, &to_json(entry, sees_all)))
}

/// The current price, the lowest prices that a shop must show, the extremes, and the price at a
/// moment.
pub(crate) async fn summary(shop: &Shop, request: &Request) -> Result<Reply, Problem> {
    let now = shop.now()?;
    let at = request.parse_query("at", Moment::parse_or_day)?;
    if at.is_some_and(|at| at > now) {
        return Err(invalid_parameter("at", "the moment is in the future"));
    }
    let product = products::find(shop, request).await?;
    let summary = shop.prices.summary(product, at, now).await.map_err(store_problem)?;
    let price = |price: Price| json!({ "price": price.amount.get(), "since": price.since.to_string() });
    let mut body = json!({
        "productId": summary.product.id.as_str(),
        "currency": summary.product.currency.as_str(),
        "current": price(summary.product.price),
        "lowest30Days": price(summary.lowest),
        "allTimeLow": price(summary.product.lowest),
        "allTimeHigh": price(summary.product.highest),
    });
    if let Some(prior) = summary.prior_lowest {
        body["priorLowest30Days"] = price(prior);
    }
    if let Some((at, found)) = at.zip(summary.at) {
        body["priceAt"] = price(found);
        body["priceAt"]["at"] = at.to_string().into();
    }
    Ok(Reply::json(200, &body))
}

/// One row. The reason and the author are visible only to the staff.
fn to_json(entry: &PriceEntry, sees_all: bool) -> Value {
    let mut row = json!({
        "id": entry.change.row.to_string(),
        "productId": entry.product_id.as_str(),
        "price": entry.change.price.amount.get(),
        "currency": entry.change.price.currency.as_str(),
        "createdAt": entry.change.row.at.to_string(),
    });
    if let Some(previous) = entry.change.previous {
        row["previousPrice"] = previous.get().into();
    }
    let optional = [
        ("reason", entry.reason.as_ref().map(ToString::to_string)),
        ("changedBy", entry.changed_by.as_ref().map(ToString::to_string)),
        ("idempotencyKey", entry.idempotency_key.as_ref().map(ToString::to_string)),
    ];
    for (name, text) in optional.into_iter().filter_map(|(name, text)| Some((name, text?))).filter(|_| sees_all) {
        row[name] = text.into();
    }
    row
}
