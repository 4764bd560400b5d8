//! How fast a load writes: its rate, which throttled answers lower for a while.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// [A write
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const UNIT_BYTES: usize = 1024;

/// Throttled answers within this time lower the rate once: they may all be of one moment.
const SLOWDOWN_INTERVAL: Duration = Duration::from_secs(1);

/// The part of the wanted rate that comes back in each second without a throttled answer.
const RECOVERY: f64 = 0.1;

/// The most write units of an item: its line of JSON is longer than the item itself.
pub(super) fn write_units(line_bytes: usize) -> u64 {
    line_bytes.div_ceil(UNIT_BYTES).max(1) as u64
}

/// Spreads units evenly over time, without bursts.
#[derive(Debug)]
pub(super) struct Pace(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Units a second.
    wanted: f64,
    status: PaceStatus,
    /// The time at which all units taken so far are used up.
    next: Instant,
    /// When the rate was changed last.
    adjusted: Instant,
}

/// The facts about a pace, for reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct PaceStatus {
    /// Units a second now, lowered by throttled answers.
    pub(super) rate: f64,
    /// The lowest rate so far.
    pub(super) lowest: f64,
    /// The number of throttled answers.
    pub(super) throttled: u64,
}

impl Pace {
    /// A pace of so many units a second.
    pub(super) fn new(rate: u32) -> Arc<Self> {
        let (rate, now) = (f64::from(rate), Instant::now());
        let status = PaceStatus { rate, lowest: rate, throttled: 0 };
        Arc::new(Self(Mutex::new(State { wanted: rate, status, next: now, adjusted: now })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the units may be used.
    pub(super) async fn take(&self, units: u64) {
        let start = {
            let mut state = self.lock();
            let now = Instant::now();
            state.recover(now);
            let start = state.next.max(now);
            state.next = start + Duration::try_from_secs_f64(units as f64 / state.status.rate).unwrap_or_default();
            start
        };
        sleep_until(start).await;
    }

    /// Halves the rate after a throttled answer.
    pub(super) fn slow_down(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        state.status.throttled += 1;
        if state.status.throttled == 1 || now - state.adjusted >= SLOWDOWN_INTERVAL {
            state.recover(now);
            state.status.rate = (state.status.rate / 2.0).max(1.0);
            state.status.lowest = state.status.lowest.min(state.status.rate);
            state.adjusted = now;
        }
    }

    pub(super) fn status(&self) -> PaceStatus {
        self.lock().status
    }
}

impl State {
    fn recover(&mut self, now: Instant) {
        let quiet = (now - self.adjusted).as_secs_f64();
        if self.status.rate < self.wanted && quiet >= SLOWDOWN_INTERVAL.as_secs_f64() {
            self.status.rate = (self.status.rate + self.wanted * RECOVERY * quiet).min(self.wanted);
            self.adjusted = now;
        }
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

    #[tokio::test(start_paused = true)]
    async fn throttling_halves_the_rate_which_comes_back_later() {
        let pace = Pace::new(1_000);
        let rate = || pace.status().rate.round();
        for _ in 0..5 {
            pace.slow_down();
        }
        assert_eq!((rate(), pace.status().throttled), (500.0, 5));
        tokio::time::sleep(SLOWDOWN_INTERVAL).await;
        pace.slow_down();
        assert_eq!(rate(), 300.0);
        tokio::time::sleep(SLOWDOWN_INTERVAL * 3).await;
        pace.take(1).await;
        assert_eq!(rate(), 600.0);
        tokio::time::sleep(SLOWDOWN_INTERVAL * 30).await;
        pace.take(1).await;
        assert_eq!((rate(), pace.status().lowest), (1_000.0, 300.0));
    }
}
