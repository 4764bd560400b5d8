//! Stock: how many of a product are there, how many of them are promised, and what a movement makes of it.

use std::fmt;
use std::str::FromStr;

use super::{Adjustment, Quantity, QuantityError, StockCount};

/// How many of a product are there, and how many of those are promised to orders: never more than there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StockLevel {
    stock: u64,
    reserved: u64,
}

/// Two numbers that are no level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{reserved} reserved of a stock of {stock}: expected at most {max} of each", max = StockLevel::MAX)]
pub struct StockLevelError {
    /// The goods that are there.
    pub stock: u64,
    /// Those of them that are promised.
    pub reserved: u64,
}

/// Why goods cannot move. Nothing is rounded down to what would be possible. Each comes with the level as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StockRefusal {
    /// More would leave than is there and not promised.
    #[error("{} are there, {} of them are reserved: {} are available", .0.stock, .0.reserved, .0.available())]
    Insufficient(StockLevel),
    /// The stock would fall below what orders are promised.
    #[error("{} of {} are reserved: the stock cannot fall below that", .0.reserved, .0.stock)]
    Reserved(StockLevel),
    /// The stock would grow over [`StockLevel::MAX`].
    #[error("{} are there, and the stock may grow to {max} at most", .0.stock, max = StockLevel::MAX)]
    Overflow(StockLevel),
    /// More would be given back or handed over than is promised: the reservation is not in this level.
    #[error("only {} are reserved", .0.reserved)]
    NotReserved(StockLevel),
}

/// What a row of the ledger is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeType {
    /// Goods came.
    In,
    /// Goods went.
    Out,
    /// Somebody corrected the stock by so many.
    Adjust,
    /// Somebody counted.
    Count,
}

/// A text that names no [`ChangeType`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected IN, OUT, ADJUST or COUNT")]
pub struct ChangeTypeError;

/// Something that happens to the goods of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StockMovement {
    /// So many come.
    In(Quantity),
    /// So many go, of those that nobody is promised.
    Out(Quantity),
    /// There are so many more or fewer than was thought.
    Adjust(Adjustment),
    /// So many are there.
    Count(StockCount),
}

/// What a movement made of the stock. The row that tells of it has the same three numbers: rows chain without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StockChange {
    /// As it was.
    pub before: StockLevel,
    /// As it is now.
    pub after: StockLevel,
}

impl StockLevel {
    /// The most goods of one product.
    pub const MAX: u64 = 1_000_000_000_000;

    /// Checks the bounds.
    pub fn new(stock: u64, reserved: u64) -> Result<Self, StockLevelError> {
        let is_level = reserved <= Self::MAX && stock <= Self::MAX;
        is_level.then_some(Self { stock, reserved }).ok_or(StockLevelError { stock, reserved })
    }

    /// The goods that are there.
    pub fn stock(self) -> u64 {
        self.stock
    }

    /// Those of them that are promised to orders.
    pub fn reserved(self) -> u64 {
        self.reserved
    }

    /// Those of them that anybody may have.
    pub fn available(self) -> u64 {
        self.stock.saturating_sub(self.reserved)
    }

    /// Moves goods.
    ///
    /// # Errors
    /// [`StockRefusal`]; nothing has moved.
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
        // Where promised goods are missing already, more of them may come.
        if stock < self.reserved && stock < self.stock {
            return Err(StockRefusal::Reserved(self));
        }
        if stock > Self::MAX {
            return Err(StockRefusal::Overflow(self));
        }
        Ok(StockChange { before: self, after: Self { stock, ..self } })
    }

    /// Promises goods to an order.
    ///
    /// # Errors
    /// [`StockRefusal::Insufficient`].
    pub fn reserve(self, quantity: Quantity) -> Result<Self, StockRefusal> {
        if quantity.get() > self.available() {
            return Err(StockRefusal::Insufficient(self));
        }
        Ok(Self { reserved: self.reserved + quantity.get(), ..self })
    }

    /// Takes a promise back: anybody may have the goods again. Of several reservations at once, `quantity` is the sum.
    ///
    /// # Errors
    /// [`StockRefusal::NotReserved`], which a table that only this suite has written does not bring about.
    pub fn release(self, quantity: u64) -> Result<Self, StockRefusal> {
        let reserved = self.reserved.checked_sub(quantity).ok_or(StockRefusal::NotReserved(self))?;
        Ok(Self { reserved, ..self })
    }

    /// Keeps a promise: the goods leave.
    ///
    /// # Errors
    /// As for [`StockLevel::release`], and [`StockRefusal::Insufficient`] when promised goods are missing.
    pub fn commit(self, quantity: Quantity) -> Result<StockChange, StockRefusal> {
        let promised = self.release(quantity.get())?;
        let stock = self.stock.checked_sub(quantity.get()).ok_or(StockRefusal::Insufficient(self))?;
        Ok(StockChange { before: self, after: Self { stock, ..promised } })
    }
}

impl StockRefusal {
    /// How much is there.
    pub fn level(self) -> StockLevel {
        match self {
            Self::Insufficient(level) | Self::Reserved(level) | Self::Overflow(level) | Self::NotReserved(level) => {
                level
            }
        }
    }
}

impl StockChange {
    /// By how much the stock has grown, or fallen.
    pub fn delta(self) -> i64 {
        // Both are at most `StockLevel::MAX`.
        self.after.stock as i64 - self.before.stock as i64
    }
}

impl StockMovement {
    /// What its row is about.
    pub fn change_type(self) -> ChangeType {
        match self {
            Self::In(_) => ChangeType::In,
            Self::Out(_) => ChangeType::Out,
            Self::Adjust(_) => ChangeType::Adjust,
            Self::Count(_) => ChangeType::Count,
        }
    }

    /// A movement of that type; what its number means depends on the type.
    pub fn new(change_type: ChangeType, number: i64) -> Result<Self, QuantityError> {
        Ok(match change_type {
            ChangeType::In => Self::In(Quantity::new(number)?),
            ChangeType::Out => Self::Out(Quantity::new(number)?),
            ChangeType::Adjust => Self::Adjust(Adjustment::new(number)?),
            ChangeType::Count => Self::Count(StockCount::new(number)?),
        })
    }

    /// The number that it was made with.
    pub fn number(self) -> i64 {
        match self {
            Self::In(quantity) | Self::Out(quantity) => quantity.get() as i64,
            Self::Adjust(delta) => delta.get(),
            Self::Count(counted) => counted.get() as i64,
        }
    }
}

impl ChangeType {
    /// As it is spelled in a row, and by clients.
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
    fn a_movement_adds_takes_corrects_or_counts() {
        let ten = level(10, 4);
        assert_eq!(after(ten, "IN", 5), Ok((15, 5)));
        assert_eq!(after(ten, "OUT", 6), Ok((4, -6)));
        assert_eq!(after(ten, "ADJUST", -6), Ok((4, -6)));
        assert_eq!(after(ten, "ADJUST", 1), Ok((11, 1)));
        assert_eq!(after(ten, "COUNT", 4), Ok((4, -6)));
        assert_eq!(after(ten, "COUNT", 10), Ok((10, 0)));
    }

    #[test]
    fn what_is_promised_cannot_leave_in_any_other_way() {
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
    fn a_refusal_says_what_is_there() {
        let refused = after(level(10, 4), "OUT", 7).expect_err("too many");
        assert_eq!(refused.to_string(), "10 are there, 4 of them are reserved: 6 are available");
    }

    #[test]
    fn a_stock_ends_at_a_million_million() {
        let full = level(StockLevel::MAX, 0);
        assert_eq!(after(full, "IN", 1), Err(StockRefusal::Overflow(full)));
        assert_eq!(after(full, "ADJUST", 1), Err(StockRefusal::Overflow(full)));
        assert_eq!(after(level(StockLevel::MAX - 1, 0), "IN", 1), Ok((StockLevel::MAX, 1)));
        assert!(StockLevel::new(StockLevel::MAX + 1, 0).is_err() && StockLevel::new(3, StockLevel::MAX + 1).is_err());
    }

    #[test]
    fn where_promised_goods_are_missing_more_may_come_and_none_may_go() {
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
    fn a_number_means_what_its_type_says_and_has_bounds() {
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

    /// Any of the things that can happen to a level, drawn small so that refusals are as common as effects.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        Move(StockMovement),
        Reserve(Quantity),
        GiveBack(u64),
        HandOver(Quantity),
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
            (1_u64..20).prop_map(Step::GiveBack),
            quantity().prop_map(Step::HandOver),
        ]
    }

    proptest! {
        /// The reference knows every good by itself: whether it is there, and whether it is promised.
        #[test]
        fn a_level_is_what_a_count_of_single_goods_gives(steps in prop::collection::vec(step(), 0..60)) {
            let (mut level, mut free, mut promised) = (StockLevel::default(), Vec::<()>::new(), Vec::<()>::new());
            let mut ledger = 0;
            for step in steps {
                let (there, before) = (free.len() + promised.len(), level);
                let outcome = match step {
                    Step::Move(movement) => level.apply(movement).map(|moved| {
                        ledger += moved.delta();
                        moved.after
                    }),
                    Step::Reserve(quantity) => level.reserve(quantity),
                    Step::GiveBack(quantity) => level.release(quantity),
                    Step::HandOver(quantity) => level.commit(quantity).map(|moved| {
                        ledger += moved.delta();
                        moved.after
                    }),
                };
                let wanted = match step {
                    Step::Move(StockMovement::In(quantity)) => Some((free.len() + quantity.get() as usize, promised.len())),
                    Step::Move(StockMovement::Out(quantity)) => {
                        free.len().checked_sub(quantity.get() as usize).map(|free| (free, promised.len()))
                    }
                    Step::Move(StockMovement::Adjust(delta)) => {
                        let there = there as i64 + delta.get();
                        (there >= promised.len() as i64).then(|| (there as usize - promised.len(), promised.len()))
                    }
                    Step::Move(StockMovement::Count(counted)) => {
                        (counted.get() as usize).checked_sub(promised.len()).map(|free| (free, promised.len()))
                    }
                    Step::Reserve(quantity) => {
                        let quantity = quantity.get() as usize;
                        free.len().checked_sub(quantity).map(|free| (free, promised.len() + quantity))
                    }
                    Step::GiveBack(quantity) => {
                        let quantity = quantity as usize;
                        promised.len().checked_sub(quantity).map(|promised| (free.len() + quantity, promised))
                    }
                    Step::HandOver(quantity) => {
                        promised.len().checked_sub(quantity.get() as usize).map(|promised| (free.len(), promised))
                    }
                };
                prop_assert_eq!(outcome.is_ok(), wanted.is_some(), "{:?} of {:?}", step, before);
                if let (Ok(after), Some((free_after, promised_after))) = (outcome, wanted) {
                    level = after;
                    free.resize(free_after, ());
                    promised.resize(promised_after, ());
                }
                prop_assert_eq!((level.available(), level.reserved()), (free.len() as u64, promised.len() as u64));
                prop_assert!(level.reserved() <= level.stock());
                prop_assert_eq!(ledger, level.stock() as i64);
            }
        }
    }
}
