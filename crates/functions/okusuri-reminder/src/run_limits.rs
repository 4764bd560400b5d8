//! How far one run goes.

use std::time::Duration;

/// The limits of a run. Users that a run does not reach stay due in the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Users that are dealt with.
    pub users_max: usize,
    /// From then on nobody new is begun. One user may take half a minute, where push services
    /// hesitate.
    pub time: Duration,
    /// Users at a time: each waits mostly for others.
    pub at_once: usize,
}

impl Default for RunLimits {
    /// With the function's two minutes: 80 seconds, and 40 for those that are under way.
    fn default() -> Self {
        Self { users_max: 5_000, time: Duration::from_secs(80), at_once: 16 }
    }
}
