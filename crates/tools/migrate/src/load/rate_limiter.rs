//! Limits the write units per second.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// [A write
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const UNIT_BYTES: usize = 1024;

/// The most write units of an item: its line of JSON is longer than the item itself.
pub(super) fn write_units(line_bytes: usize) -> u64 {
    line_bytes.div_ceil(UNIT_BYTES).max(1) as u64
}

/// Spreads write units evenly over time, without bursts.
#[derive(Debug)]
pub(super) struct RateLimiter {
    of_a_unit: Duration,
    /// The time at which all units taken so far are used up.
    next: Mutex<Instant>,
}

impl RateLimiter {
    pub(super) fn new(units_per_second: u32) -> Self {
        Self { of_a_unit: Duration::from_secs(1) / units_per_second, next: Mutex::new(Instant::now()) }
    }

    /// Waits until the units may be used.
    pub(super) async fn take(&self, units: u64) {
        let start = {
            let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let start = (*next).max(Instant::now());
            *next = start + self.of_a_unit.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX));
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
        let (limiter, began) = (RateLimiter::new(100), Instant::now());
        let workers = (0..4).map(async |_| {
            for _ in 0..5 {
                limiter.take(50).await;
            }
        });
        futures::future::join_all(workers).await;
        limiter.take(1).await;
        assert_eq!(began.elapsed().as_secs(), 10);
    }
}
