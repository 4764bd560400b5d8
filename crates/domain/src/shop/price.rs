//! Price changes, and the lowest price in a period.

use jiff::SignedDuration;
use uuid::Uuid;

use super::{Amount, Currency, Money, Product, RowId};
use crate::Moment;

/// The period before a price reduction of which a shop must state the lowest price: [Directive
/// 98/6/EC, Article 6a](https://eur-lex.europa.eu/eli/dir/1998/6/2022-05-28).
pub const LOWEST_PRICE_WINDOW: SignedDuration = SignedDuration::from_hours(30 * 24);

/// A price and the moment when it came into effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// The amount, in the product's currency.
    pub amount: Amount,
    /// When the price came into effect.
    pub since: Moment,
}

/// A price change, as the history stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PriceChange {
    /// The id of the row.
    pub row: RowId,
    /// The new price.
    pub price: Money,
    /// The previous price; `None` for the first price of a product.
    pub previous: Option<Amount>,
}

/// The price is not in the currency of the product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the product is priced in {of_product}, and a product's currency does not change")]
pub struct CurrencyMismatch {
    /// The currency of the product.
    pub of_product: Currency,
}

impl Product {
    /// The history row for the first price of a new product.
    pub fn first_price(&self, id: Uuid) -> PriceChange {
        PriceChange { row: RowId { at: self.price.since, id }, price: self.money(), previous: None }
    }

    /// The product with the new price, and the history row for the change; `None` when the product
    /// has this price already.
    pub fn reprice(&self, to: Money, now: Moment, id: Uuid) -> Result<Option<(Self, PriceChange)>, CurrencyMismatch> {
        if to.currency != self.currency {
            return Err(CurrencyMismatch { of_product: self.currency });
        }
        if to.amount == self.price.amount {
            return Ok(None);
        }
        let row = RowId::following(Some(self.price.since), now, id);
        let price = Price { amount: to.amount, since: row.at };
        let lowest = if price.amount < self.lowest.amount { price } else { self.lowest };
        let highest = if price.amount > self.highest.amount { price } else { self.highest };
        let change = PriceChange { row, price: to, previous: Some(self.price.amount) };
        Ok(Some((Self { price, lowest, highest, ..self.changed(now) }, change)))
    }
}

/// The lowest of the prices that were in effect between `from` (included) and `to` (excluded). Of
/// equal prices, the first.
///
/// `prices` must be sorted by time. The last price at or before `from` was in effect when the
/// window began, so it counts. Earlier ones do not.
pub fn lowest_price(prices: &[Price], from: Moment, to: Moment) -> Option<Price> {
    let first = prices.partition_point(|price| price.since <= from).saturating_sub(1);
    let end = prices.partition_point(|price| price.since < to);
    let in_effect = prices.get(first..end)?;
    in_effect.iter().min_by_key(|price| price.amount).copied()
}

/// The start of the window of [`LOWEST_PRICE_WINDOW`] that ends at `end`.
pub fn window_start(end: Moment) -> Moment {
    // The window would start before the year 1. There are no prices then, so it may be empty.
    end.timestamp().checked_sub(LOWEST_PRICE_WINDOW).ok().and_then(|start| Moment::new(start).ok()).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ShortText;
    use crate::shop::{ProductForm, ProductId};
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn at(nanosecond: i128) -> Moment {
        Moment::new(Timestamp::from_nanosecond(nanosecond).expect("a time")).expect("a moment")
    }

    fn euro(cents: u64) -> Money {
        Money { amount: Amount::new(cents).expect("an amount"), currency: Currency::new("EUR").expect("a currency") }
    }

    fn product(cents: u64, now: Moment) -> Product {
        let name = ShortText::new("Cup").expect("a text");
        let form =
            ProductForm { name, price: Some(euro(cents)), stock: None, low_stock_threshold: None, archived: None };
        form.create(ProductId::new("p-1").expect("an id"), now).expect("a product")
    }

    fn price(since: i128, cents: u64) -> Price {
        Price { amount: euro(cents).amount, since: at(since) }
    }

    #[test]
    fn lowest_price_counts_from_the_price_at_window_start() {
        let prices = [price(0, 1), price(10, 5), price(30, 7)];
        assert_eq!(lowest_price(&prices, at(20), at(40)), Some(price(10, 5)));
        assert_eq!(lowest_price(&prices, at(10), at(40)), Some(price(10, 5)));
        assert_eq!(lowest_price(&prices, at(9), at(40)), Some(price(0, 1)));
        assert_eq!(lowest_price(&prices, at(30), at(40)), Some(price(30, 7)));
        // The window is half open: a price that comes into effect at its end is outside.
        assert_eq!(lowest_price(&prices, at(20), at(30)), Some(price(10, 5)));
        assert_eq!(lowest_price(&[price(10, 5), price(20, 5)], at(0), at(40)), Some(price(10, 5)));
        assert_eq!(lowest_price(&[price(10, 5)], at(0), at(10)), None);
        assert_eq!(lowest_price(&[], at(0), at(10)), None);
    }

    #[test]
    fn another_currency_is_refused_and_the_same_price_changes_nothing() {
        let cup = product(100, at(5));
        let yen = Money { currency: Currency::new("JPY").expect("a currency"), ..euro(90) };
        assert_eq!(cup.reprice(yen, at(6), Uuid::nil()), Err(CurrencyMismatch { of_product: cup.currency }));
        assert_eq!(cup.reprice(euro(100), at(6), Uuid::nil()), Ok(None));
    }

    #[test]
    fn the_window_is_thirty_days() {
        let end = Moment::parse("2024-03-01T12:00:00Z").expect("a moment");
        assert_eq!(window_start(end).to_string(), "2024-01-31T12:00:00.000000000Z");
        let first = Moment::parse("0001-01-02T00:00:00Z").expect("a moment");
        assert_eq!(window_start(first), first);
    }

    proptest! {
        #[test]
        fn price_changes_link_to_previous_and_track_lowest_and_highest(
            changes in prop::collection::vec((0..5_u64, 0..50_i128), 0..30),
        ) {
            let mut product = product(2, at(20));
            let mut history = vec![product.first_price(Uuid::nil())];
            for (cents, now) in changes {
                let before = product.clone();
                match product.reprice(euro(cents), at(now), Uuid::nil()).expect("the same currency") {
                    None => prop_assert_eq!(cents, before.price.amount.get()),
                    Some((after, change)) => {
                        prop_assert_eq!(after.version, before.version + 1);
                        history.push(change);
                        product = after;
                    }
                }
            }
            for pair in history.windows(2) {
                prop_assert_eq!(pair[1].previous, Some(pair[0].price.amount));
                prop_assert!(pair[0].row.at < pair[1].row.at);
                prop_assert_ne!(pair[0].price, pair[1].price);
            }
            let prices: Vec<_> = history.iter().map(|row| Price { amount: row.price.amount, since: row.row.at }).collect();
            prop_assert_eq!(prices.last(), Some(&product.price));
            prop_assert_eq!(prices.iter().min_by_key(|price| price.amount), Some(&product.lowest));
            let highest = prices.iter().rev().max_by_key(|price| price.amount);
            prop_assert_eq!(highest, Some(&product.highest));
        }

        #[test]
        fn lowest_price_equals_minimum_over_all_moments(
            steps in prop::collection::btree_map(0..40_i128, 0..6_u64, 0..12),
            from in 0..40_i128,
            length in 1..40_i128,
        ) {
            let prices: Vec<_> = steps.into_iter().map(|(since, cents)| price(since, cents)).collect();
            let in_effect = |moment| prices.iter().rfind(|price| price.since <= at(moment));
            let expected = (from..from + length).filter_map(in_effect).map(|price| price.amount).min();
            prop_assert_eq!(lowest_price(&prices, at(from), at(from + length)).map(|price| price.amount), expected);
        }
    }
}
