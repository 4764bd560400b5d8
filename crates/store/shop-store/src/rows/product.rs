//! A product's item.

use domain::shop::{Amount, Currency, Price, Product, ProductId, StockCount, StockLevel};
use domain::{Moment, ShortText};
use serde::{Deserialize, Serialize};

use super::super::keys::{Item, METADATA, key, product, read};
use store_base::StoreError;

/// The stored form of a product. Moments are stored as texts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProductRow {
    entity_type: String,
    product_id: String,
    name: String,
    price: u64,
    currency: String,
    priced_at: String,
    lowest_price: u64,
    lowest_at: String,
    highest_price: u64,
    highest_at: String,
    stock: u64,
    reserved: u64,
    low_stock_threshold: u64,
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    stocked_at: Option<String>,
    created_at: String,
    updated_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archived_at: Option<String>,
}

/// The item of a product.
pub(crate) fn product_item(of: &Product) -> Result<Item, StoreError> {
    let row = ProductRow {
        entity_type: "PRODUCT".to_owned(),
        product_id: of.id.to_string(),
        name: of.name.to_string(),
        price: of.price.amount.get(),
        currency: of.currency.to_string(),
        priced_at: of.price.since.to_string(),
        lowest_price: of.lowest.amount.get(),
        lowest_at: of.lowest.since.to_string(),
        highest_price: of.highest.amount.get(),
        highest_at: of.highest.since.to_string(),
        stock: of.level.stock(),
        reserved: of.level.reserved(),
        low_stock_threshold: of.low_stock_threshold.get(),
        version: of.version,
        stocked_at: of.stocked_at.map(|at| at.to_string()),
        created_at: of.created_at.to_string(),
        updated_at: of.updated_at.to_string(),
        archived_at: of.archived_at.map(|at| at.to_string()),
    };
    let mut item: Item = serde_dynamo::to_item(row).map_err(StoreError::unreadable)?;
    item.extend(key(product(&of.id), METADATA));
    Ok(item)
}

/// The product in an item, or in its image in the stream.
pub(crate) fn read_product(item: Item) -> Result<Product, StoreError> {
    let row: ProductRow = read(item)?;
    row.product().ok_or_else(|| StoreError::unreadable(format!("PRODUCT#{} {METADATA}", row.product_id)))
}

impl ProductRow {
    fn product(&self) -> Option<Product> {
        let moment = |text: &str| Moment::parse(text).ok();
        let price = |amount, since: &str| Some(Price { amount: Amount::new(amount).ok()?, since: moment(since)? });
        let moment_or_none = |text: &Option<String>| match text {
            Some(text) => moment(text).map(Some),
            None => Some(None),
        };
        // A client of the original design changes only the price. It may be lower than the stored
        // lowest price, or higher than the stored highest.
        let current = price(self.price, &self.priced_at)?;
        let lowest = price(self.lowest_price, &self.lowest_at)?;
        let highest = price(self.highest_price, &self.highest_at)?;
        Some(Product {
            id: ProductId::new(&self.product_id).ok()?,
            name: ShortText::new(&self.name).ok()?,
            currency: Currency::new(&self.currency).ok()?,
            price: current,
            lowest: if current.amount < lowest.amount { current } else { lowest },
            highest: if current.amount > highest.amount { current } else { highest },
            level: StockLevel::new(self.stock, self.reserved).ok()?,
            low_stock_threshold: StockCount::new(i64::try_from(self.low_stock_threshold).ok()?).ok()?,
            version: self.version,
            stocked_at: moment_or_none(&self.stocked_at)?,
            created_at: moment(&self.created_at)?,
            updated_at: moment(&self.updated_at)?,
            archived_at: moment_or_none(&self.archived_at)?,
        })
    }
}
