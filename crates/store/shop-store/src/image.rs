//! Changes from the table's stream: an item before and after, read with the same row types as a
//! query uses.

use domain::shop::{Currency, Order, Product, ProductId, Reservation, ReservationState};
use serde::Deserialize;

use super::keys::{INVENTORY_PREFIX, Item, METADATA, ORDER_PREFIX, PRICE_PREFIX, PRODUCT_PREFIX, RESERVATION_PREFIX};
use super::rows::{PriceEntry, StockEntry, StoredReservation, read_order, read_price, read_product, read_stock};
use store_base::StoreError;

/// An item in DynamoDB's JSON.
#[derive(Debug, Clone, Deserialize)]
pub struct ShopImage(serde_dynamo::Item);

/// A change of a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShopChange {
    /// A price has come into effect.
    Priced(Box<PriceEntry>),
    /// The stock has changed.
    Moved(Box<StockEntry>),
    /// The product before and after the change.
    Product(Box<[Product; 2]>),
    /// TTL has deleted a reservation that was still open.
    Expired(ProductId, Box<Reservation>),
    /// TTL has deleted an order of several lines that was still open.
    OrderExpired(Box<Order>),
}

impl ShopChange {
    /// The change in a stream record; `None` when the record is about another kind of item, or
    /// another change of it. `is_expiry` tells that TTL has deleted the item.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when an item does not have the attributes that its key requires.
    pub fn of(
        before: Option<&ShopImage>,
        after: Option<&ShopImage>,
        is_expiry: bool,
    ) -> Result<Option<Self>, StoreError> {
        let Some(image) = after.or(before) else { return Ok(None) };
        if let (true, Some(deleted), None) = (image.text("PK").starts_with(ORDER_PREFIX), before, after) {
            // A refusal lies in the same partition.
            let is_order = is_expiry && image.text("SK").starts_with(RESERVATION_PREFIX);
            let order = is_order.then(|| read_order(deleted.item())).transpose()?;
            let open = order.filter(|order| order.state == ReservationState::Open);
            return Ok(open.map(|order| Self::OrderExpired(Box::new(order))));
        }
        if !image.text("PK").starts_with(PRODUCT_PREFIX) {
            return Ok(None);
        }
        let sort = image.text("SK");
        Ok(match (before, after) {
            (None, Some(row)) if sort.starts_with(PRICE_PREFIX) => {
                // A journal entry names the currency, which a row of the original design does not
                // have.
                let entry = read_price(row.item())?;
                (entry.change.price.currency != Currency::UNNAMED).then(|| Self::Priced(Box::new(entry)))
            }
            (None, Some(row)) if sort.starts_with(INVENTORY_PREFIX) => {
                Some(Self::Moved(Box::new(read_stock(row.item())?)))
            }
            (Some(before), Some(after)) if sort == METADATA => {
                let both = [read_product(before.item())?, read_product(after.item())?];
                Some(Self::Product(Box::new(both)))
            }
            (Some(deleted), None) if is_expiry && sort.starts_with(RESERVATION_PREFIX) => {
                let StoredReservation { product_id, reservation, is_order_line } =
                    StoredReservation::read(deleted.item())?;
                let is_open = reservation.state == ReservationState::Open && !is_order_line;
                is_open.then(|| Self::Expired(product_id, Box::new(reservation)))
            }
            _ => None,
        })
    }
}

impl ShopImage {
    fn text(&self, name: &str) -> &str {
        match self.0.get(name) {
            Some(serde_dynamo::AttributeValue::S(text)) => text,
            _ => "",
        }
    }

    fn item(&self) -> Item {
        self.0.clone().into()
    }
}
