//! What is worth saying about a stock that has changed.

/// How a product's stock stands to its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watched {
    /// The goods that are there.
    pub stock: u64,
    /// The level at which they are said to be low; of 0, there is nothing to say before all are gone.
    pub threshold: u64,
}

/// What is worth saying about a stock that has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Notice {
    /// It has come down to its threshold, or the threshold up to it.
    Low,
    /// Nothing is left.
    Out,
}

impl Watched {
    fn is_low(self) -> bool {
        self.threshold > 0 && self.stock <= self.threshold
    }

    /// What to say after this has become `after`: each thing when it comes true, and not again while it stays so.
    pub fn notices(self, after: Self) -> Vec<Notice> {
        let is_low = after.is_low() && !self.is_low();
        let is_out = after.stock == 0 && self.stock > 0;
        let notices = [(is_low, Notice::Low), (is_out, Notice::Out)];
        notices.into_iter().filter_map(|(comes_true, notice)| comes_true.then_some(notice)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_notice_is_given_when_it_comes_true_and_not_while_it_stays_so() {
        let at = |stock, threshold| Watched { stock, threshold };
        let notices = |before, after| at(before, 5).notices(at(after, 5));
        assert_eq!(notices(6, 5), [Notice::Low]);
        assert_eq!(notices(5, 4), []);
        assert_eq!(notices(1, 0), [Notice::Out]);
        assert_eq!(notices(9, 0), [Notice::Low, Notice::Out]);
        assert_eq!(notices(0, 0), []);
        assert_eq!(notices(4, 9), []);
        assert_eq!(at(7, 5).notices(at(7, 8)), [Notice::Low]);
        assert_eq!(at(7, 0).notices(at(0, 0)), [Notice::Out]);
    }

    proptest! {
        #[test]
        fn falling_through_a_threshold_step_by_step_says_low_once(stocks in prop::collection::vec(0_u64..12, 1..40), threshold in 1_u64..10) {
            let at = |stock| Watched { stock, threshold };
            let (mut low, mut out) = (0, 0);
            for pair in stocks.windows(2) {
                let notices = at(pair[0]).notices(at(pair[1]));
                low += usize::from(notices.contains(&Notice::Low));
                out += usize::from(notices.contains(&Notice::Out));
            }
            // Runs of low and of empty stock that begin after the first.
            let runs = |is: &dyn Fn(u64) -> bool| stocks.windows(2).filter(|pair| !is(pair[0]) && is(pair[1])).count();
            prop_assert_eq!((low, out), (runs(&|stock| stock <= threshold), runs(&|stock| stock == 0)));
        }
    }
}
