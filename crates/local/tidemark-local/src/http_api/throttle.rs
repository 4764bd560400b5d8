//! The token bucket of an API's `DefaultRouteSettings`.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::stack::Throttle;

/// The token bucket of one API, shared by all its requests.
#[derive(Debug)]
pub(crate) struct Bucket {
    throttle: Throttle,
    level: Mutex<(f64, Instant)>,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn new(throttle: Throttle, now: Instant) -> Self {
        Self { throttle, level: Mutex::new((f64::from(throttle.burst), now)) }
    }

    /// Takes a token, if there is one.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, last) = *level;
        let gained = now.saturating_duration_since(last).as_secs_f64() * self.throttle.rate_per_s;
        let tokens = (tokens + gained).min(f64::from(self.throttle.burst));
        let granted = tokens >= 1.0;
        *level = (if granted { tokens - 1.0 } else { tokens }, now);
        granted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_granted_and_then_the_steady_rate() {
        let start = Instant::now();
        let bucket = Bucket::new(Throttle { rate_per_s: 2.0, burst: 3 }, start);
        let granted = |after_ms| bucket.take(start + Duration::from_millis(after_ms));
        assert_eq!(
            [0, 0, 0, 0, 400, 500, 500, 60_000].map(granted),
            [true, true, true, false, false, true, false, true]
        );
    }
}
