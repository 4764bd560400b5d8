//! The shop: products, their prices and stock, and the activities of its users.

mod activity;
mod idempotency_key;
mod ids;
mod money;
mod order_lines;
mod price;
mod product;
mod quantity;
mod reservation;
mod row;
mod stock;
mod stock_alert;

pub use activity::{Action, ActionError, Activity, ActivityRange, ActivityRangeError, ActivityTimeError};
pub use idempotency_key::{IdempotencyKey, IdempotencyKeyError};
pub use ids::{IdError, OrderId, ProductId};
pub use money::{Amount, AmountError, Currency, CurrencyError, Money};
pub use order_lines::{OrderLines, OrderLinesError};
pub use price::{CurrencyMismatch, LOWEST_PRICE_WINDOW, Price, PriceChange, lowest_price, window_start};
pub use product::{Product, ProductForm, ProductRefusal};
pub use quantity::{Adjustment, Quantity, QuantityError, StockCount};
pub use reservation::{
    HoldTime, HoldTimeError, Order, Reservation, ReservationState, ReservationStateError, SettleError, SettleOutcome,
    Settlement,
};
pub use row::{RowId, RowIdError};
pub use stock::{ChangeType, ChangeTypeError, StockChange, StockLevel, StockLevelError, StockMovement, StockRefusal};
pub use stock_alert::{StockAlert, WatchedStock};
