//! How fast a load writes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// [A write
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const UNIT_BYTES: usize = 1024;

/// The most write units of an item: its line of JSON is longer than the item itself.
pub(super) fn write_units(line_bytes: usize) -> u64 {
    line_bytes.div_ceil(UNIT_BYTES).max(1) as u64
}

/// Spreads units evenly over time, without bursts.
#[derive(Debug)]
pub(super) struct Pace {
    rate: f64,
    /// The time at which all units taken so far are used up.
    next: Mutex<Instant>,
}

impl Pace {
    /// A pace of so many units a second.
    pub(super) fn new(rate: u32) -> Self {
        Self { rate: rate.into(), next: Mutex::new(Instant::now()) }
    }

    /// Waits until the units may be used.
    pub(super) async fn take(&self, units: u64) {
        let start = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let start = (*next).max(Instant::now());
            *next = start + Duration::try_from_secs_f64(units as f64 / self.rate).unwrap_or_default();
            start
        };
        sleep_until(start).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_takes_a_unit_for_each_started_kilobyte() {
        assert_eq!([0, 1, 1024, 1025, 400 * 1024].map(write_units), [1, 1, 1, 2, 400]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_rate_holds_for_all_workers_together() {
        let (pace, began) = (Pace::new(100), Instant::now());
        let workers = (0..4).map(async |_| {
            for _ in 0..5 {
                pace.take(50).await;
            }
        });
        futures::future::join_all(workers).await;
        pace.take(1).await;
        assert_eq!(began.elapsed().as_secs(), 10);
    }
}
