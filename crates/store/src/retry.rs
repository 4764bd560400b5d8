//! The one retry policy: exponential backoff with jitter, in two lengths.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, sleep};

/// The waits of a request that a client waits for: 11 retries, 10 ms before the first one, at most 200 ms each, and jitter of up
/// to as much again.
pub fn backoff() -> ExponentialBuilder {
    // Jitter: writers that met once are unlikely to meet again.
    let waits = ExponentialBuilder::new().with_jitter().with_min_delay(Duration::from_millis(10));
    waits.with_max_delay(Duration::from_millis(200)).with_max_times(11)
}

/// The waits of work that no client waits for, such as a stream consumer's or an operator's tool: 14 retries, together one to two
/// minutes.
pub fn patient_backoff() -> ExponentialBuilder {
    let waits = ExponentialBuilder::new().with_jitter().with_min_delay(Duration::from_millis(50));
    waits.with_max_delay(Duration::from_secs(10)).with_max_times(14)
}

/// No retry begins later than this: a function has 10 seconds, and one attempt may take some of them, with the SDK's own
/// retries.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The retries of a change that is decided anew each time: [`backoff`] as a loop.
///
/// `while` nothing is decided, `if !retry.wait().await` return the error.
#[derive(Debug)]
pub struct Retry {
    begin: Instant,
    waits: ExponentialBackoff,
}

impl Retry {
    /// Before the first attempt.
    #[expect(clippy::new_without_default, reason = "a default of retries says nothing of its clock, which starts here")]
    pub fn new() -> Self {
        Self { begin: Instant::now(), waits: backoff().build() }
    }

    /// Waits before the next attempt; `false` when there have been enough.
    pub async fn wait(&mut self) -> bool {
        let Some(wait) = self.waits.next().filter(|_| self.begin.elapsed() <= TIME_MAX) else { return false };
        sleep(wait).await;
        true
    }
}
