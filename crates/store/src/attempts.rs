//! How often something is decided anew where others were faster.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How often a change is decided before its caller is told of the conflict.
const ATTEMPTS_MAX: u32 = 12;

/// After this it is not decided anew either: a function has 10 seconds, and one attempt may take some, with the SDK's own retries.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The longest wait before the second attempt, milliseconds; it doubles with each further one up to [`WAIT_MS_MAX`].
const WAIT_MS: u64 = 10;
const WAIT_MS_MAX: u64 = 400;

/// The attempts at one change.
#[derive(Debug)]
pub(crate) struct Attempts {
    begin: Instant,
    made: u32,
}

impl Attempts {
    /// Before the first one.
    pub(crate) fn begin() -> Self {
        Self { begin: Instant::now(), made: 0 }
    }

    /// Waits before another one; `false` when there have been enough.
    pub(crate) async fn again(&mut self) -> bool {
        self.made += 1;
        if self.made == ATTEMPTS_MAX || self.begin.elapsed() > TIME_MAX {
            return false;
        }
        // Full jitter: those that met once are unlikely to meet again.
        let wait_ms = WAIT_MS_MAX.min(WAIT_MS << self.made);
        sleep(Duration::from_millis(fastrand::u64(..=wait_ms))).await;
        true
    }
}
