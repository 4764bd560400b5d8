//! Numbers of pieces of a product.

use super::StockLevel;

/// The number of pieces of an order or a delivery: 1 to 1,000,000,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Quantity(u32);

/// A manual correction of the stock: -1,000,000,000 to 1,000,000,000, but not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adjustment(i32);

/// The result of a stock count: 0 to [`StockLevel::MAX`] pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StockCount(u64);

/// Why a number is not valid for a stock movement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The number of pieces that come in or go out.
    #[error("must be a whole number from 1 to {max}", max = Quantity::MAX)]
    Quantity,
    /// The number of an adjustment.
    #[error("must be a whole number from -{max} to {max} and not 0", max = Quantity::MAX)]
    Adjustment,
    /// The number of a count.
    #[error("must be a whole number from 0 to {max}", max = StockLevel::MAX)]
    StockCount,
}

impl Quantity {
    /// The largest quantity.
    pub const MAX: u32 = 1_000_000_000;

    /// Checks the bounds.
    pub fn new(quantity: i64) -> Result<Self, QuantityError> {
        let quantity = u32::try_from(quantity).ok().filter(|quantity| (1..=Self::MAX).contains(quantity));
        quantity.map(Self).ok_or(QuantityError::Quantity)
    }

    /// The number.
    pub fn get(self) -> u64 {
        u64::from(self.0)
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Result<Self, QuantityError> {
        Self::new(i64::from(self.0) + i64::from(other.0))
    }
}

impl Adjustment {
    /// Checks the bounds.
    pub fn new(delta: i64) -> Result<Self, QuantityError> {
        let is_in_range = delta != 0 && delta.unsigned_abs() <= u64::from(Quantity::MAX);
        let delta = i32::try_from(delta).ok().filter(|_| is_in_range);
        delta.map(Self).ok_or(QuantityError::Adjustment)
    }

    /// The number with its sign.
    pub fn get(self) -> i64 {
        i64::from(self.0)
    }
}

impl StockCount {
    /// Checks the bounds.
    pub fn new(counted: i64) -> Result<Self, QuantityError> {
        let counted = u64::try_from(counted).ok().filter(|counted| *counted <= StockLevel::MAX);
        counted.map(Self).ok_or(QuantityError::StockCount)
    }

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}
