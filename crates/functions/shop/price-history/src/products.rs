//! Creates, changes, shows and lists products.

use domain::shop::{Product, ProductId};
use lambda_kit::http::{Reply, Request};
use lambda_kit::page::{Listing, limit};
use lambda_kit::problem::Problem;
use serde_json::{Value, json};
use shop_store::{IsNew, PutProduct};

use crate::body::NewProduct;
use crate::problems::{PRODUCT_NOT_FOUND, change_problem, product_problem, store_problem};
use crate::{LIMIT_DEFAULT, LIMIT_MAX, Shop};

/// Creates a product: 201. Changes the name or threshold of an existing one, archives or restores
/// it, or leaves it unchanged: 200.
pub(crate) async fn put(shop: &Shop, request: &Request) -> Result<Reply, Problem> {
    shop.staff.authorize(request)?;
    let id = request.parse_path("productId", ProductId::new)?;
    let NewProduct { form, changed_by } = NewProduct::of(request)?;
    let put = PutProduct { id, form, changed_by, now: shop.now()?, row_id: (shop.new_id)() };
    let (product, IsNew(is_new)) =
        shop.products.put(&put).await.map_err(|error| change_problem(error, product_problem))?;
    Ok(Reply::json(if is_new { 201 } else { 200 }, &to_json(&product)))
}

/// Shows a product.
pub(crate) async fn show(shop: &Shop, request: &Request) -> Result<Reply, Problem> {
    Ok(Reply::json(200, &to_json(&find(shop, request).await?)))
}

/// The names and ids of products; archived products need the staff token. A wrong token is always
/// refused, because pages use this route to check a token that a user typed.
pub(crate) async fn list(shop: &Shop, request: &Request) -> Result<Reply, Problem> {
    let are_archived = request.parse_query("archived", str::parse::<bool>)?.unwrap_or_default();
    if are_archived {
        shop.staff.authorize(request)?;
    } else {
        shop.staff.authorize_if_present(request)?;
    }
    let limit = limit(request, LIMIT_DEFAULT, LIMIT_MAX)?;
    let listing = Listing::new(
        &shop.cursors,
        if are_archived { "archived products" } else { "products" }.to_owned(),
        (shop.now)(),
    );
    let after = listing.position(request)?;
    let page = shop.products.list(are_archived, limit, after.as_ref()).await.map_err(store_problem)?;
    listing.reply(&page.items, page.next.as_ref(), page.skipped)
}

/// The product of a request.
pub(crate) async fn find(shop: &Shop, request: &Request) -> Result<Product, Problem> {
    let id = request.parse_path("productId", ProductId::new)?;
    shop.products.get(&id).await.map_err(store_problem)?.ok_or(PRODUCT_NOT_FOUND)
}

pub(crate) fn to_json(product: &Product) -> Value {
    let mut body = json!({
        "id": product.id.as_str(),
        "name": product.name.as_str(),
        "price": product.price.amount.get(),
        "currency": product.currency.as_str(),
        "stock": product.level.stock(),
        "reserved": product.level.reserved(),
        "available": product.level.available(),
        "lowStockThreshold": product.low_stock_threshold.get(),
        "version": product.version,
        "createdAt": product.created_at.to_string(),
        "updatedAt": product.updated_at.to_string(),
    });
    if let Some(at) = product.archived_at {
        body["archivedAt"] = at.to_string().into();
    }
    body
}
