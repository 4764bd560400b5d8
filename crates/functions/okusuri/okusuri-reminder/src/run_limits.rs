//! The limits of one run.

use std::time::Duration;

/// The limits of one run. The next run handles the remaining users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// The most users of a run.
    pub users_max: usize,
    /// No user is begun after this time. One user may take half a minute if push services are slow.
    pub time: Duration,
    /// The number of users handled at once; each mostly waits for responses.
    pub at_once: usize,
}

impl Default for RunLimits {
    /// For the function's timeout of two minutes: 80 seconds, and 40 seconds to finish the users
    /// that were begun.
    fn default() -> Self {
        Self { users_max: 5_000, time: Duration::from_secs(80), at_once: 16 }
    }
}
