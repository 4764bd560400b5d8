//! The items of the shop's table as rows.

mod price;
mod product;
mod reservation;
mod stock;

pub use price::PriceEntry;
pub(super) use price::{price_item, read_price};
pub(super) use product::{product_item, read_product};
pub(super) use reservation::{StoredReservation, order_item, read_order, reservation_item};
pub use stock::StockEntry;
pub(super) use stock::{read_stock, stock_item};
