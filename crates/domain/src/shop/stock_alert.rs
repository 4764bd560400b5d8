//! Alerts about a stock that has run low or out.

/// A product's stock and its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedStock {
    /// The number of pieces in stock.
    pub stock: u64,
    /// The stock is low when it is at or below this number. With 0 there is no alert for low stock,
    /// only one for an empty stock.
    pub threshold: u64,
}

/// An alert about a change of stock or threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StockAlert {
    /// The stock is now at or below its threshold.
    Low,
    /// The stock is now 0.
    Out,
}

impl WatchedStock {
    fn is_low(self) -> bool {
        self.threshold > 0 && self.stock <= self.threshold
    }

    /// The alerts for a change from `self` to `after`. An alert is raised when its condition
    /// becomes true, and not again while it stays true.
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
    fn stock_alert_fires_only_when_it_becomes_true() {
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
        fn stock_alert_fires_once_per_period_below_the_threshold(stocks in prop::collection::vec(0_u64..12, 1..40), threshold in 1_u64..10) {
            let at = |stock| WatchedStock { stock, threshold };
            let (mut low, mut out) = (0, 0);
            for pair in stocks.windows(2) {
                let alerts = at(pair[0]).alerts(at(pair[1]));
                low += usize::from(alerts.contains(&StockAlert::Low));
                out += usize::from(alerts.contains(&StockAlert::Out));
            }
            // The number of times that a low or an empty stock begins after the first step.
            let runs = |is: &dyn Fn(u64) -> bool| stocks.windows(2).filter(|pair| !is(pair[0]) && is(pair[1])).count();
            prop_assert_eq!((low, out), (runs(&|stock| stock <= threshold), runs(&|stock| stock == 0)));
        }
    }
}
