//! The one retry policy: exponential backoff with jitter.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, sleep};

/// How often something is retried before its caller gets the error.
const RETRIES_MAX: usize = 11;

/// No retry begins later than this: a function has 10 seconds, and one attempt may take some of them, with the SDK's own
/// retries.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The wait before the first retry. It doubles with each further one up to [`WAIT_MAX`], and jitter adds up to as much again.
const WAIT: Duration = Duration::from_millis(10);
const WAIT_MAX: Duration = Duration::from_millis(200);

/// The waits of the policy, for [`backon::Retryable`].
pub(crate) fn backoff() -> ExponentialBuilder {
    // Jitter: writers that met once are unlikely to meet again.
    let waits = ExponentialBuilder::new().with_jitter().with_min_delay(WAIT).with_max_delay(WAIT_MAX);
    waits.with_max_times(RETRIES_MAX)
}

/// The retries of one change that is decided anew each time.
#[derive(Debug)]
pub(crate) struct Retry {
    begin: Instant,
    waits: ExponentialBackoff,
}

impl Retry {
    /// Before the first attempt.
    pub(crate) fn new() -> Self {
        Self { begin: Instant::now(), waits: backoff().build() }
    }

    /// Waits before the next attempt; `false` when there have been enough.
    pub(crate) async fn wait(&mut self) -> bool {
        let Some(wait) = self.waits.next().filter(|_| self.begin.elapsed() <= TIME_MAX) else { return false };
        sleep(wait).await;
        true
    }
}
