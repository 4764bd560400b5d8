//! The time by which the throttle's buckets fill.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The machine's clock until it is held; from then on it moves by hand, so that what one second lets through can be
/// counted on a machine of any speed.
#[derive(Debug, Default)]
pub struct ThrottleClock {
    held: Mutex<Option<Instant>>,
}

impl ThrottleClock {
    /// Stops the clock where it is.
    pub fn hold(&self) {
        self.advance(Duration::ZERO);
    }

    /// Stops the clock, so much later than it is.
    pub fn advance(&self, by: Duration) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(held.unwrap_or_else(Instant::now) + by);
    }

    pub(super) fn now(&self) -> Instant {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(Instant::now)
    }
}
