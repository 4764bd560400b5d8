//! A price of a product's history, as it is stored.

use domain::ShortText;
use domain::shop::{Amount, Currency, IdempotencyKey, Money, PriceChange, ProductId};
use serde::{Deserialize, Serialize};

use super::super::keys::{self, Item, PRICE_PREFIX, SORT_KEY, key, read};
use store_base::StoreError;

/// A row of the price history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceEntry {
    /// The product.
    pub product_id: ProductId,
    /// The change.
    pub change: PriceChange,
    /// The reason for the change.
    pub reason: Option<ShortText>,
    /// The author of the change.
    pub changed_by: Option<ShortText>,
    /// The idempotency key of the request.
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct PriceRow {
    #[serde(default)]
    entity_type: String,
    #[serde(default)]
    product_id: String,
    price: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_price: Option<u64>,
    /// Rows of the original design have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(default)]
    created_at: String,
}

/// The item of a row.
pub(crate) fn price_item(entry: &PriceEntry) -> Result<Item, StoreError> {
    let row = PriceRow {
        entity_type: "PRICE_HISTORY".to_owned(),
        product_id: entry.product_id.to_string(),
        price: entry.change.price.amount.get(),
        previous_price: entry.change.previous.map(Amount::get),
        currency: Some(entry.change.price.currency.to_string()),
        reason: entry.reason.as_ref().map(ShortText::to_string),
        changed_by: entry.changed_by.as_ref().map(ShortText::to_string),
        request_id: entry.idempotency_key.as_ref().map(IdempotencyKey::to_string),
        created_at: entry.change.row.at.to_string(),
    };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(key(keys::product(&entry.product_id), keys::row(PRICE_PREFIX, entry.change.row)));
    Ok(item)
}

/// The row in an item, or in its image in the stream. A row of the original design has the currency
/// [`Currency::UNNAMED`].
pub(crate) fn read_price(item: Item) -> Result<PriceEntry, StoreError> {
    let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
    let product_id = keys::product_of(&item)?;
    let row: PriceRow = read(item)?;
    let id = keys::row_id(PRICE_PREFIX, &sort)?;
    // A reason or author that breaks the suite's rules is left out, so that the row stays readable.
    let text = |text: &Option<String>| text.as_deref().and_then(|text| ShortText::new(text).ok());
    let entry = || {
        let currency = row.currency.as_deref().map_or(Ok(Currency::UNNAMED), Currency::new).ok()?;
        let price = Money { amount: Amount::new(row.price).ok()?, currency };
        Some(PriceEntry {
            product_id: product_id.clone(),
            change: PriceChange { row: id, price, previous: row.previous_price.map(Amount::new).transpose().ok()? },
            reason: text(&row.reason),
            changed_by: text(&row.changed_by),
            idempotency_key: row.request_id.as_deref().map(IdempotencyKey::new).transpose().ok()?,
        })
    };
    entry().ok_or_else(|| StoreError::unreadable(format!("PRODUCT#{product_id} {sort}")))
}
