//! The shop: products, their prices and stock, and what people do with them.

mod ids;

pub use ids::{IdError, OrderId, ProductId};
