//! How fast a command works: its rate, which throttling lowers, and what pauses it.

mod control;
mod metrics;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

pub(crate) use control::{Arguments, run};
pub(crate) use metrics::{METRICS, Metrics};

/// [A write
/// unit](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html).
const UNIT_BYTES: usize = 1024;

/// How often a paused command looks whether it may go on.
const PAUSE_CHECK: Duration = Duration::from_millis(200);

/// Throttled answers within this time lower the rate once: they may all be of one moment.
const SLOWDOWN_INTERVAL: Duration = Duration::from_secs(1);

/// The part of the wanted rate that comes back in each second without a throttled answer.
const RECOVERY: f64 = 0.1;

/// The most write units of an item: its line of JSON is longer than the item itself.
pub(crate) fn write_units(line_bytes: usize) -> u64 {
    line_bytes.div_ceil(UNIT_BYTES).max(1) as u64
}

/// Spreads units evenly over time, without bursts.
#[derive(Debug)]
pub(crate) struct Pace(Mutex<State>);

#[derive(Debug)]
struct State {
    /// Units a second; `None` for no limit.
    wanted: Option<f64>,
    /// The same, lowered by throttled answers.
    current: f64,
    lowest: f64,
    throttled: u64,
    is_paused: bool,
    /// A standby is too far behind.
    is_held: bool,
    /// How far the slowest standby is behind, in seconds, and the most so far.
    lag: Option<(f64, f64)>,
    /// The time at which all units taken so far are used up.
    next: Instant,
    /// When the rate was changed last.
    adjusted: Instant,
}

/// The facts about a pace, for reports and metrics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PaceStatus {
    /// Units a second now; `None` for no limit.
    pub(crate) rate: Option<f64>,
    /// The lowest rate so far.
    pub(crate) lowest: Option<f64>,
    /// The number of throttled answers.
    pub(crate) throttled: u64,
    /// Whether the operator has paused the command.
    pub(crate) is_paused: bool,
    /// How far the slowest standby is behind, in seconds, and the most so far.
    pub(crate) lag: Option<(f64, f64)>,
}

impl Pace {
    /// A pace of so many units a second; without a limit, it only pauses.
    pub(crate) fn new(rate: Option<u32>) -> Arc<Self> {
        let (wanted, now) = (rate.map(f64::from), Instant::now());
        let current = wanted.unwrap_or(f64::INFINITY);
        let (throttled, is_paused, is_held, lag) = Default::default();
        Arc::new(Self(Mutex::new(State {
            wanted,
            current,
            lowest: current,
            throttled,
            is_paused,
            is_held,
            lag,
            next: now,
            adjusted: now,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the units may be used.
    pub(crate) async fn take(&self, units: u64) {
        loop {
            let start = self.lock().start(units);
            match start {
                Some(start) => return sleep_until(start).await,
                None => sleep(PAUSE_CHECK).await,
            }
        }
    }

    /// Halves the rate after a throttled answer.
    pub(crate) fn slow_down(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        state.throttled += 1;
        if state.wanted.is_some() && (state.throttled == 1 || now - state.adjusted >= SLOWDOWN_INTERVAL) {
            state.recover(now);
            state.current = (state.current / 2.0).max(1.0);
            state.lowest = state.lowest.min(state.current);
            state.adjusted = now;
        }
    }

    /// Changes the pace of a running command.
    pub(crate) fn change(&self, is_paused: bool, rate: Option<u32>) {
        let mut state = self.lock();
        state.is_paused = is_paused;
        if let Some(rate) = rate.map(f64::from).filter(|rate| state.wanted != Some(*rate)) {
            (state.wanted, state.current) = (Some(rate), rate);
            // Units that were taken at the old rate must not delay the new one.
            state.next = Instant::now();
        }
    }

    /// Records how far the slowest standby is behind, and holds the command while it is too far.
    pub(crate) fn show_lag(&self, seconds: f64, seconds_max: u32) {
        let mut state = self.lock();
        let most = state.lag.map_or(seconds, |(_, most)| most.max(seconds));
        state.lag = Some((seconds, most));
        state.is_held = seconds > f64::from(seconds_max);
    }

    pub(crate) fn status(&self) -> PaceStatus {
        let state = self.lock();
        let limit = |rate: f64| rate.is_finite().then_some(rate);
        let (rate, lowest) = (limit(state.current), limit(state.lowest));
        PaceStatus { rate, lowest, throttled: state.throttled, is_paused: state.is_paused, lag: state.lag }
    }
}

impl State {
    /// When the units may be used; `None` while the command is paused or held.
    fn start(&mut self, units: u64) -> Option<Instant> {
        if self.is_paused || self.is_held {
            return None;
        }
        let now = Instant::now();
        self.recover(now);
        let start = self.next.max(now);
        self.next = start + Duration::try_from_secs_f64(units as f64 / self.current).unwrap_or_default();
        Some(start)
    }

    fn recover(&mut self, now: Instant) {
        let Some(wanted) = self.wanted.filter(|wanted| *wanted > self.current) else { return };
        let quiet = (now - self.adjusted).as_secs_f64();
        if quiet >= SLOWDOWN_INTERVAL.as_secs_f64() {
            self.current = (self.current + wanted * RECOVERY * quiet).min(wanted);
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
        let (pace, began) = (Pace::new(Some(100)), Instant::now());
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
        let pace = Pace::new(Some(1_000));
        let rate = || pace.status().rate.map(f64::round);
        for _ in 0..5 {
            pace.slow_down();
        }
        assert_eq!((rate(), pace.status().throttled), (Some(500.0), 5));
        sleep(SLOWDOWN_INTERVAL).await;
        pace.slow_down();
        assert_eq!(rate(), Some(300.0));
        sleep(SLOWDOWN_INTERVAL * 3).await;
        pace.take(1).await;
        assert_eq!(rate(), Some(600.0));
        sleep(SLOWDOWN_INTERVAL * 30).await;
        pace.take(1).await;
        assert_eq!((rate(), pace.status().lowest), (Some(1_000.0), Some(300.0)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_command_waits_and_a_new_rate_counts_at_once() {
        let (pace, began) = (Pace::new(Some(1)), Instant::now());
        pace.take(1_000).await;
        pace.change(true, None);
        let (waited, ()) = tokio::join!(
            async {
                pace.take(100).await;
                pace.take(1).await;
                began.elapsed().as_secs()
            },
            async {
                sleep(Duration::from_secs(7)).await;
                pace.change(false, Some(100));
            }
        );
        assert_eq!(waited, 8);
    }
}
