//! The shop: products, their prices and stock, and what people do with them.

mod activity;
mod ids;
mod money;
mod price;
mod product;
mod reservation;
mod row;
mod stock;
mod text;

pub use activity::{Action, ActionError, Activity, ActivityRange, ActivityRangeError, ActivityTimeError};
pub use ids::{IdError, OrderId, ProductId};
pub use money::{Amount, AmountError, Currency, CurrencyError, Money};
pub use price::{CurrencyMismatch, LOWEST_WINDOW, Price, PriceChange, lowest, window_start};
pub use product::{Product, ProductForm, ProductRefusal};
pub use reservation::{
    HoldTime, HoldTimeError, Reservation, ReservationState, SettleError, Settled, Settlement, StateError,
};
pub use row::{RowId, RowIdError};
pub use stock::{
    Adjustment, ChangeType, ChangeTypeError, Counted, LevelError, Moved, Movement, Notice, Quantity, QuantityError,
    StockLevel, StockRefusal, Watched,
};
pub use text::{RequestKey, RequestKeyError, ShortText, ShortTextError};
