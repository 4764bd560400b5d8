//! The shop: products, their prices and stock, and what people do with them.

mod ids;
mod reservation;
mod stock;

pub use ids::{IdError, OrderId, ProductId};
pub use reservation::{
    HoldTime, HoldTimeError, Reservation, ReservationState, SettleError, Settled, Settlement, StateError,
};
pub use stock::{
    Adjustment, ChangeType, ChangeTypeError, Counted, LevelError, Moved, Movement, Notice, Quantity, QuantityError,
    StockLevel, StockRefusal, Watched,
};
