//! The retry policy for requests that a client waits for: exponential backoff with jitter. That of
//! all other work is [`crate::patient_backoff`].

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, sleep};

/// The waits of a request that a client waits for: 11 retries, 10 ms before the first one and at
/// most 200 ms each. Jitter adds up to the same time again.
pub fn backoff() -> ExponentialBuilder {
    // With jitter, writers that have conflicted once do not retry at the same time.
    let waits = ExponentialBuilder::new().with_jitter().with_min_delay(Duration::from_millis(10));
    waits.with_max_delay(Duration::from_millis(200)).with_max_times(11)
}

/// No retry begins later than this. A function has 10 seconds, and one attempt with the SDK's own
/// retries takes some of them.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The retries of a change that is decided again before each attempt: [`backoff`] as a loop.
#[derive(Debug)]
pub struct Retry {
    begin: Instant,
    waits: ExponentialBackoff,
}

impl Retry {
    /// Starts before the first attempt.
    #[expect(clippy::new_without_default, reason = "the clock starts here")]
    pub fn new() -> Self {
        Self { begin: Instant::now(), waits: backoff().build() }
    }

    /// Waits before the next attempt; `false` when the retries or the time are used up.
    pub async fn wait(&mut self) -> bool {
        let Some(wait) = self.waits.next().filter(|_| self.begin.elapsed() <= TIME_MAX) else { return false };
        sleep(wait).await;
        true
    }
}
