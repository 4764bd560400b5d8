//! A movement of stock in a product's ledger, as it is stored.

use domain::ShortText;
use domain::shop::{ChangeType, IdempotencyKey, OrderId, ProductId, RowId, StockChange};
use serde::{Deserialize, Serialize};

use super::super::keys::{self, INVENTORY_PREFIX, Item, SORT_KEY, key, read};
use store_base::StoreError;

/// A row of the ledger. Its previous stock is the new stock of the row before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockEntry {
    /// The product.
    pub product_id: ProductId,
    /// The id of the row.
    pub row: RowId,
    /// The type of the change.
    pub change_type: ChangeType,
    /// By how many pieces the stock has changed; negative if it fell.
    pub quantity: i64,
    /// The stock before.
    pub previous_stock: u64,
    /// The stock after. For a count, it is the counted number.
    pub new_stock: u64,
    /// The reason.
    pub reason: Option<ShortText>,
    /// The order, if any.
    pub order_id: Option<OrderId>,
    /// The author.
    pub changed_by: Option<ShortText>,
    /// The idempotency key of the request.
    pub idempotency_key: Option<IdempotencyKey>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StockRow {
    #[serde(default)]
    entity_type: String,
    /// Rows of the original design have it only in their key.
    #[serde(default)]
    product_id: String,
    change_type: String,
    quantity: i64,
    previous_stock: u64,
    new_stock: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed_by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    #[serde(default)]
    created_at: String,
}

/// The item of a row.
pub(crate) fn stock_item(entry: &StockEntry) -> Result<Item, StoreError> {
    let row = StockRow {
        entity_type: "INVENTORY_LOG".to_owned(),
        product_id: entry.product_id.to_string(),
        change_type: entry.change_type.to_string(),
        quantity: entry.quantity,
        previous_stock: entry.previous_stock,
        new_stock: entry.new_stock,
        counted: (entry.change_type == ChangeType::Count).then_some(entry.new_stock),
        reason: entry.reason.as_ref().map(ShortText::to_string),
        order_id: entry.order_id.as_ref().map(OrderId::to_string),
        changed_by: entry.changed_by.as_ref().map(ShortText::to_string),
        request_id: entry.idempotency_key.as_ref().map(IdempotencyKey::to_string),
        created_at: entry.row.at.to_string(),
    };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(key(keys::product(&entry.product_id), keys::row(INVENTORY_PREFIX, entry.row)));
    Ok(item)
}

/// The row in an item, or in its image in the stream.
pub(crate) fn read_stock(item: Item) -> Result<StockEntry, StoreError> {
    let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
    let product_id = keys::product_of(&item)?;
    let row: StockRow = read(item)?;
    let id = keys::row_id(INVENTORY_PREFIX, &sort)?;
    // A reason or author that breaks the suite's rules is left out, so that the row stays readable.
    let text = |text: &Option<String>| text.as_deref().and_then(|text| ShortText::new(text).ok());
    let entry = || {
        Some(StockEntry {
            product_id: product_id.clone(),
            row: id,
            change_type: row.change_type.parse().ok()?,
            quantity: row.quantity,
            previous_stock: row.previous_stock,
            new_stock: row.new_stock,
            reason: text(&row.reason),
            order_id: row.order_id.as_deref().and_then(|order_id| OrderId::new(order_id).ok()),
            changed_by: text(&row.changed_by),
            idempotency_key: row.request_id.as_deref().map(IdempotencyKey::new).transpose().ok()?,
        })
    };
    entry().ok_or_else(|| StoreError::unreadable(format!("PRODUCT#{product_id} {sort}")))
}

impl StockEntry {
    /// A row with the change and nothing else.
    pub(crate) fn new(product_id: &ProductId, row: RowId, change_type: ChangeType, moved: StockChange) -> Self {
        Self {
            product_id: product_id.clone(),
            row,
            change_type,
            quantity: moved.delta(),
            previous_stock: moved.before.stock(),
            new_stock: moved.after.stock(),
            reason: None,
            order_id: None,
            changed_by: None,
            idempotency_key: None,
        }
    }
}
