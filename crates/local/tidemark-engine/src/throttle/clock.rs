//! The clock of the throttle's buckets.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The machine's clock, until a test holds it. A held clock moves only by
/// [`ThrottleClock::advance`], so that the units of one second can be counted on a machine of any
/// speed.
#[derive(Debug, Default)]
pub struct ThrottleClock {
    held: Mutex<Option<Instant>>,
}

impl ThrottleClock {
    /// Stops the clock at the current time.
    pub fn hold(&self) {
        self.advance(Duration::ZERO);
    }

    /// Stops the clock and moves it forward.
    pub fn advance(&self, by: Duration) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(held.unwrap_or_else(Instant::now) + by);
    }

    pub(super) fn now(&self) -> Instant {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Instant::now)
    }
}
