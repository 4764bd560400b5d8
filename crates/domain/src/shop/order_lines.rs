//! The lines of an order.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::{ProductId, Quantity};

/// The products of an order, each with its quantity: 1 to 30 lines as they were sent. Two lines of
/// the same product are one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderLines(BTreeMap<ProductId, Quantity>);

/// The lines are not an order.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderLinesError {
    /// The number of lines.
    #[error("an order has 1 to {max} lines", max = OrderLines::MAX)]
    Count,
    /// The lines of a product have too many pieces together.
    #[error("the lines of {0} have more than {max} pieces", max = Quantity::MAX)]
    Pieces(ProductId),
}

impl OrderLines {
    /// The most lines. A transaction has at most 100 items, and each line takes three.
    pub const MAX: usize = 30;

    /// Adds up the lines of each product.
    pub fn new(lines: Vec<(ProductId, Quantity)>) -> Result<Self, OrderLinesError> {
        if !(1..=Self::MAX).contains(&lines.len()) {
            return Err(OrderLinesError::Count);
        }
        let mut merged = BTreeMap::new();
        for (product_id, quantity) in lines {
            match merged.entry(product_id) {
                Entry::Vacant(free) => {
                    free.insert(quantity);
                }
                Entry::Occupied(mut known) => {
                    let pieces: Quantity = *known.get();
                    let sum = pieces.plus(quantity).map_err(|_| OrderLinesError::Pieces(known.key().clone()))?;
                    known.insert(sum);
                }
            }
        }
        Ok(Self(merged))
    }

    /// The products by id, each once.
    pub fn iter(&self) -> impl Iterator<Item = (&ProductId, Quantity)> {
        self.0.iter().map(|(product_id, quantity)| (product_id, *quantity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(product: &str, quantity: i64) -> (ProductId, Quantity) {
        (ProductId::new(product).expect("a product"), Quantity::new(quantity).expect("a quantity"))
    }

    #[test]
    fn two_lines_of_a_product_are_one() {
        let lines = OrderLines::new(vec![line("cup", 2), line("bowl", 1), line("cup", 3)]).expect("an order");
        assert_eq!(lines, OrderLines::new(vec![line("cup", 5), line("bowl", 1)]).expect("an order"));
        let products: Vec<_> = lines.iter().map(|(product, quantity)| (product.as_str(), quantity.get())).collect();
        assert_eq!(products, [("bowl", 1), ("cup", 5)]);
    }

    #[test]
    fn an_order_has_bounds() {
        assert_eq!(OrderLines::new(vec![]), Err(OrderLinesError::Count));
        assert!(OrderLines::new(vec![line("cup", 1); 30]).is_ok());
        assert_eq!(OrderLines::new(vec![line("cup", 1); 31]), Err(OrderLinesError::Count));
        let many = vec![line("cup", 1_000_000_000), line("cup", 1)];
        assert_eq!(OrderLines::new(many), Err(OrderLinesError::Pieces(line("cup", 1).0)));
    }
}
