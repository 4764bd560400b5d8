//! The stock of a product: how many pieces there are, how many are reserved, and how movements
//! change it.

use std::fmt;
use std::str::FromStr;

use super::{Adjustment, Quantity, QuantityError, StockCount};

/// The stock of a product, and how many of its pieces are reserved for orders. The operations never
/// reserve more pieces than there are. A stored level may have more reserved than in stock if
/// something else has written the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StockLevel {
    stock: u64,
    reserved: u64,
}

/// A number of a stock level is too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reserved} reserved of a stock of {stock}: expected at most {max} of each", max = StockLevel::MAX)]
pub struct StockLevelError {
    /// The number of pieces in stock.
    pub stock: u64,
    /// The number of reserved pieces.
    pub reserved: u64,
}

/// Why a change of the stock is refused. A change that is not possible in full is refused as a
/// whole. Each variant has the current level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StockRefusal {
    /// More pieces would leave than are available.
    #[error("{} are there, {} of them are reserved: {} are available", .0.stock, .0.reserved, .0.available())]
    Insufficient(StockLevel),
    /// The stock would fall below the number of reserved pieces.
    #[error("{} of {} are reserved: the stock cannot fall below that", .0.reserved, .0.stock)]
    Reserved(StockLevel),
    /// The stock would exceed [`StockLevel::MAX`].
    #[error("{} are there, and the stock may grow to {max} at most", .0.stock, max = StockLevel::MAX)]
    Overflow(StockLevel),
    /// More pieces would be released or committed than are reserved: the reservation is not part of
    /// this level.
    #[error("only {} are reserved", .0.reserved)]
    NotReserved(StockLevel),
}

/// The type of a ledger row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeType {
    /// Pieces came in.
    In,
    /// Pieces went out.
    Out,
    /// The stock was corrected by a number of pieces.
    Adjust,
    /// The stock was counted.
    Count,
}

/// The text is not the name of a [`ChangeType`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected IN, OUT, ADJUST or COUNT")]
pub struct ChangeTypeError;

/// A change of a product's stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockMovement {
    /// This many pieces come in.
    In(Quantity),
    /// This many pieces go out. They must not be reserved.
    Out(Quantity),
    /// The stock is corrected by this number of pieces.
    Adjust(Adjustment),
    /// The stock was counted, with this result.
    Count(StockCount),
}

/// The levels before and after a movement. The ledger row has the stock before, the change and the
/// stock after, so the rows follow each other without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockChange {
    /// The level before.
    pub before: StockLevel,
    /// The level after.
    pub after: StockLevel,
}

impl StockLevel {
    /// The largest stock of one product.
    pub const MAX: u64 = 1_000_000_000_000;

    /// Checks the bounds.
    pub fn new(stock: u64, reserved: u64) -> Result<Self, StockLevelError> {
        let is_level = reserved <= Self::MAX && stock <= Self::MAX;
        is_level.then_some(Self { stock, reserved }).ok_or(StockLevelError { stock, reserved })
    }

    /// The number of pieces in stock.
    pub fn stock(self) -> u64 {
        self.stock
    }

    /// The number of pieces reserved for orders.
    pub fn reserved(self) -> u64 {
        self.reserved
    }

    /// The number of pieces that can be sold or reserved.
    pub fn available(self) -> u64 {
        self.stock.saturating_sub(self.reserved)
    }

    /// Applies a movement.
    ///
    /// # Errors
    /// [`StockRefusal`]; the level is unchanged.
    pub fn apply(self, movement: StockMovement) -> Result<StockChange, StockRefusal> {
        let (stock, available) = (self.stock, self.available());
        let stock = match movement {
            StockMovement::In(quantity) => stock + quantity.get(),
            StockMovement::Out(quantity) if quantity.get() > available => return Err(StockRefusal::Insufficient(self)),
            StockMovement::Out(quantity) => stock - quantity.get(),
            StockMovement::Adjust(delta) => {
                stock.checked_add_signed(delta.get()).ok_or(StockRefusal::Insufficient(self))?
            }
            StockMovement::Count(counted) => counted.get(),
        };
        // If reserved pieces are missing already, a movement may still raise the stock.
        if stock < self.reserved && stock < self.stock {
            return Err(StockRefusal::Reserved(self));
        }
        if stock > Self::MAX {
            return Err(StockRefusal::Overflow(self));
        }
        Ok(StockChange { before: self, after: Self { stock, ..self } })
    }

    /// Reserves pieces for an order.
    ///
    /// # Errors
    /// [`StockRefusal::Insufficient`].
    pub fn reserve(self, quantity: Quantity) -> Result<Self, StockRefusal> {
        if quantity.get() > self.available() {
            return Err(StockRefusal::Insufficient(self));
        }
        Ok(Self { reserved: self.reserved + quantity.get(), ..self })
    }

    /// Ends a reservation and makes its pieces available again. For several reservations at once,
    /// `quantity` is their sum.
    ///
    /// # Errors
    /// [`StockRefusal::NotReserved`]. It cannot occur in a table that only this suite writes.
    pub fn release(self, quantity: u64) -> Result<Self, StockRefusal> {
        let reserved = self.reserved.checked_sub(quantity).ok_or(StockRefusal::NotReserved(self))?;
        Ok(Self { reserved, ..self })
    }

    /// Ends a reservation: its pieces leave the stock.
    ///
    /// # Errors
    /// The same as for [`StockLevel::release`], and [`StockRefusal::Insufficient`] when reserved
    /// pieces are missing.
    pub fn commit(self, quantity: Quantity) -> Result<StockChange, StockRefusal> {
        let released = self.release(quantity.get())?;
        let stock = self.stock.checked_sub(quantity.get()).ok_or(StockRefusal::Insufficient(self))?;
        Ok(StockChange { before: self, after: Self { stock, ..released } })
    }
}

impl StockRefusal {
    /// The current level.
    pub fn level(self) -> StockLevel {
        match self {
            Self::Insufficient(level) | Self::Reserved(level) | Self::Overflow(level) | Self::NotReserved(level) => {
                level
            }
        }
    }
}

impl StockChange {
    /// The change of the stock; negative if the stock has fallen.
    pub fn delta(self) -> i64 {
        // Both are at most `StockLevel::MAX`.
        self.after.stock as i64 - self.before.stock as i64
    }
}

impl StockMovement {
    /// The type of the ledger row for this movement.
    pub fn change_type(self) -> ChangeType {
        match self {
            Self::In(_) => ChangeType::In,
            Self::Out(_) => ChangeType::Out,
            Self::Adjust(_) => ChangeType::Adjust,
            Self::Count(_) => ChangeType::Count,
        }
    }

    /// A movement of this type. The meaning of the number depends on the type.
    pub fn new(change_type: ChangeType, number: i64) -> Result<Self, QuantityError> {
        Ok(match change_type {
            ChangeType::In => Self::In(Quantity::new(number)?),
            ChangeType::Out => Self::Out(Quantity::new(number)?),
            ChangeType::Adjust => Self::Adjust(Adjustment::new(number)?),
            ChangeType::Count => Self::Count(StockCount::new(number)?),
        })
    }

    /// The number with which the movement was created.
    pub fn number(self) -> i64 {
        match self {
            Self::In(quantity) | Self::Out(quantity) => quantity.get() as i64,
            Self::Adjust(delta) => delta.get(),
            Self::Count(counted) => counted.get() as i64,
        }
    }
}

impl ChangeType {
    /// The name in stored rows and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::In => "IN",
            Self::Out => "OUT",
            Self::Adjust => "ADJUST",
            Self::Count => "COUNT",
        }
    }
}

impl fmt::Display for ChangeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ChangeType {
    type Err = ChangeTypeError;

    fn from_str(text: &str) -> Result<Self, ChangeTypeError> {
        let types = [Self::In, Self::Out, Self::Adjust, Self::Count];
        types.into_iter().find(|change_type| change_type.as_str() == text).ok_or(ChangeTypeError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn level(stock: u64, reserved: u64) -> StockLevel {
        StockLevel::new(stock, reserved).expect("a level")
    }

    fn movement(change_type: &str, number: i64) -> StockMovement {
        StockMovement::new(change_type.parse().expect("a type"), number).expect("a movement")
    }

    fn after(level: StockLevel, change_type: &str, number: i64) -> Result<(u64, i64), StockRefusal> {
        level.apply(movement(change_type, number)).map(|moved| (moved.after.stock(), moved.delta()))
    }

    #[test]
    fn a_movement_adds_removes_corrects_or_counts() {
        let ten = level(10, 4);
        assert_eq!(after(ten, "IN", 5), Ok((15, 5)));
        assert_eq!(after(ten, "OUT", 6), Ok((4, -6)));
        assert_eq!(after(ten, "ADJUST", -6), Ok((4, -6)));
        assert_eq!(after(ten, "ADJUST", 1), Ok((11, 1)));
        assert_eq!(after(ten, "COUNT", 4), Ok((4, -6)));
        assert_eq!(after(ten, "COUNT", 10), Ok((10, 0)));
    }

    #[test]
    fn reserved_pieces_leave_only_by_a_commit() {
        let ten = level(10, 4);
        assert_eq!(after(ten, "OUT", 7), Err(StockRefusal::Insufficient(ten)));
        assert_eq!(after(ten, "ADJUST", -11), Err(StockRefusal::Insufficient(ten)));
        assert_eq!(after(ten, "ADJUST", -7), Err(StockRefusal::Reserved(ten)));
        assert_eq!(after(ten, "COUNT", 3), Err(StockRefusal::Reserved(ten)));
        let quantity = |number| Quantity::new(number).expect("a quantity");
        assert_eq!(ten.reserve(quantity(6)), Ok(level(10, 10)));
        assert_eq!(ten.reserve(quantity(7)), Err(StockRefusal::Insufficient(ten)));
        assert_eq!(ten.commit(quantity(3)).map(|moved| (moved.after, moved.delta())), Ok((level(7, 1), -3)));
        assert_eq!(ten.commit(quantity(5)), Err(StockRefusal::NotReserved(ten)));
    }

    #[test]
    fn a_refusal_tells_the_current_level() {
        let refused = after(level(10, 4), "OUT", 7).expect_err("too many");
        assert_eq!(refused.to_string(), "10 are there, 4 of them are reserved: 6 are available");
    }

    #[test]
    fn a_stock_is_at_most_a_million_million() {
        let full = level(StockLevel::MAX, 0);
        assert_eq!(after(full, "IN", 1), Err(StockRefusal::Overflow(full)));
        assert_eq!(after(full, "ADJUST", 1), Err(StockRefusal::Overflow(full)));
        assert_eq!(after(level(StockLevel::MAX - 1, 0), "IN", 1), Ok((StockLevel::MAX, 1)));
        assert!(StockLevel::new(StockLevel::MAX + 1, 0).is_err() && StockLevel::new(3, StockLevel::MAX + 1).is_err());
    }

    #[test]
    fn overreserved_stock_may_rise_but_not_fall() {
        let short = level(3, 5);
        assert_eq!(short.available(), 0);
        assert_eq!(after(short, "IN", 1), Ok((4, 1)));
        assert_eq!(after(short, "COUNT", 3), Ok((3, 0)));
        assert_eq!(after(short, "OUT", 1), Err(StockRefusal::Insufficient(short)));
        assert_eq!(after(short, "COUNT", 2), Err(StockRefusal::Reserved(short)));
        let quantity = |number| Quantity::new(number).expect("a quantity");
        assert_eq!(short.commit(quantity(4)), Err(StockRefusal::Insufficient(short)));
        assert_eq!(short.commit(quantity(3)).map(|moved| moved.after), Ok(level(0, 2)));
    }

    #[test]
    fn movement_number_is_bounded_by_its_type() {
        let made = |change_type: &str, number| StockMovement::new(change_type.parse().expect("a type"), number);
        for number in [i64::MIN, -1, 0, 1_000_000_001, i64::MAX] {
            assert_eq!(made("IN", number), Err(QuantityError::Quantity), "{number}");
            assert_eq!(made("OUT", number), Err(QuantityError::Quantity), "{number}");
        }
        for number in [i64::MIN, -1_000_000_001, 0, 1_000_000_001, i64::MAX] {
            assert_eq!(made("ADJUST", number), Err(QuantityError::Adjustment), "{number}");
        }
        for number in [i64::MIN, -1, 1_000_000_000_001, i64::MAX] {
            assert_eq!(made("COUNT", number), Err(QuantityError::StockCount), "{number}");
        }
        for (change_type, number) in [("IN", 1_000_000_000), ("ADJUST", -1_000_000_000), ("COUNT", 1_000_000_000_000)] {
            let made = made(change_type, number).expect("a movement");
            assert_eq!((made.change_type().to_string().as_str(), made.number()), (change_type, number));
        }
        for text in ["in", "", "RESERVE", "IN "] {
            assert_eq!(text.parse::<ChangeType>(), Err(ChangeTypeError), "{text:?}");
        }
    }

    /// One random operation on a level. The numbers are small, so that refusals are as common as
    /// successes.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Move(StockMovement),
        Reserve(Quantity),
        Release(u64),
        Commit(Quantity),
    }

    fn step() -> impl Strategy<Value = Step> {
        let quantity = || (1_i64..20).prop_map(|number| Quantity::new(number).expect("a quantity"));
        prop_oneof![
            quantity().prop_map(|quantity| Step::Move(StockMovement::In(quantity))),
            quantity().prop_map(|quantity| Step::Move(StockMovement::Out(quantity))),
            (-20_i64..20)
                .prop_filter("not 0", |delta| *delta != 0)
                .prop_map(|delta| Step::Move(movement("ADJUST", delta))),
            (0_i64..40).prop_map(|counted| Step::Move(movement("COUNT", counted))),
            quantity().prop_map(Step::Reserve),
            (1_u64..20).prop_map(Step::Release),
            quantity().prop_map(Step::Commit),
        ]
    }

    proptest! {
        /// The reference keeps each piece on its own: reserved or not.
        #[test]
        fn a_level_matches_a_model_of_single_pieces(steps in prop::collection::vec(step(), 0..60)) {
            let (mut level, mut free, mut reserved) = (StockLevel::default(), Vec::<()>::new(), Vec::<()>::new());
            let mut ledger = 0;
            for step in steps {
                let (there, before) = (free.len() + reserved.len(), level);
                let outcome = match step {
                    Step::Move(movement) => level.apply(movement).map(|moved| {
                        ledger += moved.delta();
                        moved.after
                    }),
                    Step::Reserve(quantity) => level.reserve(quantity),
                    Step::Release(quantity) => level.release(quantity),
                    Step::Commit(quantity) => level.commit(quantity).map(|moved| {
                        ledger += moved.delta();
                        moved.after
                    }),
                };
                let expected = match step {
                    Step::Move(StockMovement::In(quantity)) => Some((free.len() + quantity.get() as usize, reserved.len())),
                    Step::Move(StockMovement::Out(quantity)) => {
                        free.len().checked_sub(quantity.get() as usize).map(|free| (free, reserved.len()))
                    }
                    Step::Move(StockMovement::Adjust(delta)) => {
                        let there = there as i64 + delta.get();
                        (there >= reserved.len() as i64).then(|| (there as usize - reserved.len(), reserved.len()))
                    }
                    Step::Move(StockMovement::Count(counted)) => {
                        (counted.get() as usize).checked_sub(reserved.len()).map(|free| (free, reserved.len()))
                    }
                    Step::Reserve(quantity) => {
                        let quantity = quantity.get() as usize;
                        free.len().checked_sub(quantity).map(|free| (free, reserved.len() + quantity))
                    }
                    Step::Release(quantity) => {
                        let quantity = quantity as usize;
                        reserved.len().checked_sub(quantity).map(|reserved| (free.len() + quantity, reserved))
                    }
                    Step::Commit(quantity) => {
                        reserved.len().checked_sub(quantity.get() as usize).map(|reserved| (free.len(), reserved))
                    }
                };
                prop_assert_eq!(outcome.is_ok(), expected.is_some(), "{:?} of {:?}", step, before);
                if let (Ok(after), Some((free_after, reserved_after))) = (outcome, expected) {
                    level = after;
                    free.resize(free_after, ());
                    reserved.resize(reserved_after, ());
                }
                prop_assert_eq!((level.available(), level.reserved()), (free.len() as u64, reserved.len() as u64));
                prop_assert!(level.reserved() <= level.stock());
                prop_assert_eq!(ledger, level.stock() as i64);
            }
        }
    }
}
