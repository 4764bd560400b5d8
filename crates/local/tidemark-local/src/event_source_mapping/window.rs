//! Tumbling windows: the window of a record, the end of a window, and the state that one invocation
//! passes to the next.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-windows.html>. A window
//! belongs to one shard. It opens with its first record; a window without records is never invoked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum state of a window: 1 MB per shard. Above it, the window ends early.
pub(super) const STATE_BYTES_MAX: usize = 1024 * 1024;

/// A record may reach the stream shortly after the second of its timestamp, so a window stays open
/// this much longer.
const GRACE_MS: i64 = 1_500;

/// The windows of one shard.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Windows {
    length_ms: i64,
    open: Option<OpenWindow>,
}

/// A window that was invoked and has not ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenWindow {
    /// Its start, milliseconds since the epoch: a multiple of the window length.
    pub start_ms: i64,
    /// The state in its last response.
    pub state: Map<String, Value>,
}

/// The window of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    /// The record goes into the window with this start.
    Window(i64),
    /// The open window must end first.
    EndFirst,
}

impl Windows {
    /// Windows of this length. `open` is the window of the last checkpoint.
    pub(super) fn new(length: Duration, open: Option<OpenWindow>) -> Self {
        Self { length_ms: i64::try_from(length.as_millis()).unwrap_or(i64::MAX).max(1), open }
    }

    /// The open window.
    pub(super) fn open(&self) -> Option<&OpenWindow> {
        self.open.as_ref()
    }

    /// The window for a record of that time. A late record goes into the open window: windows never
    /// go back.
    pub(super) fn admit(&self, created_ms: i64) -> Admission {
        let start_ms = created_ms - created_ms.rem_euclid(self.length_ms);
        match &self.open {
            Some(open) if start_ms > open.start_ms => Admission::EndFirst,
            Some(open) => Admission::Window(open.start_ms),
            None => Admission::Window(start_ms),
        }
    }

    /// The end of a window, milliseconds since the epoch.
    pub(super) fn end_ms(&self, start_ms: i64) -> i64 {
        start_ms.saturating_add(self.length_ms)
    }

    /// The state for the next invocation of that window; empty for a new window.
    pub(super) fn state(&self, start_ms: i64) -> Map<String, Value> {
        self.open.as_ref().filter(|open| open.start_ms == start_ms).map(|open| open.state.clone()).unwrap_or_default()
    }

    /// Stores the state from a response of that window.
    pub(super) fn carry(&mut self, start_ms: i64, state: Map<String, Value>) {
        self.open = Some(OpenWindow { start_ms, state });
    }

    /// Ends the open window.
    pub(super) fn end(&mut self) {
        self.open = None;
    }

    /// The time at which the open window has ended.
    pub(super) fn over_ms(&self) -> Option<i64> {
        self.open.as_ref().map(|open| self.end_ms(open.start_ms).saturating_add(GRACE_MS))
    }

    /// Whether the open window has ended by time.
    pub(super) fn is_over(&self, now_ms: i64) -> bool {
        self.over_ms().is_some_and(|over_ms| now_ms >= over_ms)
    }

    /// Whether the open window's state exceeds [`STATE_BYTES_MAX`].
    pub(super) fn is_overfull(&self) -> bool {
        let size_bytes = |open: &OpenWindow| serde_json::to_vec(&open.state).map_or(0, |state| state.len());
        self.open.as_ref().is_some_and(|open| size_bytes(open) > STATE_BYTES_MAX)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn minute() -> Windows {
        Windows::new(Duration::from_secs(60), None)
    }

    fn state(value: &str) -> Map<String, Value> {
        Map::from_iter([("k".to_owned(), json!(value))])
    }

    #[test]
    fn a_window_starts_at_a_multiple_of_its_length() {
        assert_eq!(minute().admit(125_000), Admission::Window(120_000));
        assert_eq!(minute().admit(-1), Admission::Window(-60_000));
        assert_eq!(minute().end_ms(120_000), 180_000);
    }

    #[test]
    fn window_carries_state_and_the_next_starts_empty() {
        let mut windows = minute();
        assert!(windows.state(0).is_empty());
        windows.carry(0, state("one"));
        assert_eq!(windows.state(0), state("one"));
        assert!(windows.state(60_000).is_empty());
    }

    #[test]
    fn record_of_a_later_window_waits_for_the_open_one() {
        let mut windows = minute();
        windows.carry(0, state("one"));
        assert_eq!(windows.admit(60_000), Admission::EndFirst);
        windows.end();
        assert_eq!(windows.admit(60_000), Admission::Window(60_000));
    }

    #[test]
    fn a_late_record_joins_the_open_window() {
        let mut windows = minute();
        windows.carry(60_000, state("one"));
        assert_eq!(windows.admit(59_999), Admission::Window(60_000));
    }

    #[test]
    fn window_is_over_only_after_its_end_and_once_opened() {
        let mut windows = minute();
        assert!(!windows.is_over(i64::MAX));
        windows.carry(0, state("one"));
        assert!(!windows.is_over(60_000));
        assert!(windows.is_over(60_000 + GRACE_MS));
    }

    #[test]
    fn too_much_state_makes_a_window_overfull() {
        let mut windows = minute();
        windows.carry(0, state(&"x".repeat(STATE_BYTES_MAX - 100)));
        assert!(!windows.is_overfull());
        windows.carry(0, state(&"x".repeat(STATE_BYTES_MAX)));
        assert!(windows.is_overfull());
    }
}
