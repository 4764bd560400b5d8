//! The shop: products, their prices and stock, and what people do with them.

mod activity;
mod ids;
mod money;
mod notice;
mod price;
mod product;
mod quantity;
mod request_key;
mod reservation;
mod row;
mod stock;

pub use activity::{Action, ActionError, Activity, ActivityRange, ActivityRangeError, ActivityTimeError};
pub use ids::{IdError, OrderId, ProductId};
pub use money::{Amount, AmountError, Currency, CurrencyError, Money};
pub use notice::{Notice, Watched};
pub use price::{CurrencyMismatch, LOWEST_WINDOW, Price, PriceChange, lowest, window_start};
pub use product::{Product, ProductForm, ProductRefusal};
pub use quantity::{Adjustment, Counted, Quantity, QuantityError};
pub use request_key::{RequestKey, RequestKeyError};
pub use reservation::{
    HoldTime, HoldTimeError, Reservation, ReservationState, SettleError, Settled, Settlement, StateError,
};
pub use row::{RowId, RowIdError};
pub use stock::{ChangeType, ChangeTypeError, LevelError, Moved, Movement, StockLevel, StockRefusal};
