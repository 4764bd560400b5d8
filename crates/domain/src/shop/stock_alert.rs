//! What is worth saying about a stock that has changed.

/// How a product's stock stands to its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedStock {
    /// The goods that are there.
    pub stock: u64,
    /// The level at which they are said to be low; of 0, there is nothing to say before all are gone.
    pub threshold: u64,
}

/// What is worth saying about a stock that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StockAlert {
    /// It has come down to its threshold, or the threshold up to it.
    Low,
    /// Nothing is left.
    Out,
}

impl WatchedStock {
    fn is_low(self) -> bool {
        self.threshold > 0 && self.stock <= self.threshold
    }

    /// What to say after this has become `after`: each thing when it comes true, and not again while it stays so.
    pub fn alerts(self, after: Self) -> Vec<StockAlert> {
        let is_low = after.is_low() && !self.is_low();
        let is_out = after.stock == 0 && self.stock > 0;
        let alerts = [(is_low, StockAlert::Low), (is_out, StockAlert::Out)];
        alerts.into_iter().filter_map(|(comes_true, alert)| comes_true.then_some(alert)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_notice_is_given_when_it_comes_true_and_not_while_it_stays_so() {
        let at = |stock, threshold| WatchedStock { stock, threshold };
        let alerts = |before, after| at(before, 5).alerts(at(after, 5));
        assert_eq!(alerts(6, 5), [StockAlert::Low]);
        assert_eq!(alerts(5, 4), []);
        assert_eq!(alerts(1, 0), [StockAlert::Out]);
        assert_eq!(alerts(9, 0), [StockAlert::Low, StockAlert::Out]);
        assert_eq!(alerts(0, 0), []);
        assert_eq!(alerts(4, 9), []);
        assert_eq!(at(7, 5).alerts(at(7, 8)), [StockAlert::Low]);
        assert_eq!(at(7, 0).alerts(at(0, 0)), [StockAlert::Out]);
    }

    proptest! {
        #[test]
        fn falling_through_a_threshold_step_by_step_says_low_once(stocks in prop::collection::vec(0_u64..12, 1..40), threshold in 1_u64..10) {
            let at = |stock| WatchedStock { stock, threshold };
            let (mut low, mut out) = (0, 0);
            for pair in stocks.windows(2) {
                let alerts = at(pair[0]).alerts(at(pair[1]));
                low += usize::from(alerts.contains(&StockAlert::Low));
                out += usize::from(alerts.contains(&StockAlert::Out));
            }
            // Runs of low and of empty stock that begin after the first.
            let runs = |is: &dyn Fn(u64) -> bool| stocks.windows(2).filter(|pair| !is(pair[0]) && is(pair[1])).count();
            prop_assert_eq!((low, out), (runs(&|stock| stock <= threshold), runs(&|stock| stock == 0)));
        }
    }
}
