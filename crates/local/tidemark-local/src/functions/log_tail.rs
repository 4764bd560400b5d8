//! The last lines that an instance printed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How much of an invocation's output is kept, in bytes. At least one line is.
pub(super) const KEPT_BYTES_MAX: usize = 16 * 1024;

/// The part of a log that `Invoke` returns.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>.
const TAIL_BYTES_MAX: usize = 4 * 1024;

/// How often, and how long, to wait for lines that were printed before the answer.
const QUIET_CHECKS_MAX: u32 = 20;
const QUIET: Duration = Duration::from_millis(10);

/// The last lines of one invocation, or of one function.
#[derive(Debug)]
pub(super) struct LogTail {
    bytes_max: usize,
    lines: Mutex<Lines>,
}

impl Default for LogTail {
    fn default() -> Self {
        Self::new(KEPT_BYTES_MAX)
    }
}

#[derive(Debug, Default)]
struct Lines {
    kept: VecDeque<String>,
    bytes: usize,
    added: u64,
}

impl LogTail {
    /// Keeps so many bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, lines: Mutex::default() }
    }

    pub(super) fn push(&self, line: String) {
        let mut lines = self.lock();
        lines.bytes += line.len() + 1;
        lines.added += 1;
        lines.kept.push_back(line);
        while lines.bytes > self.bytes_max && lines.kept.len() > 1 {
            lines.bytes -= lines.kept.pop_front().map_or(0, |line| line.len() + 1);
        }
    }

    /// How many lines came so far.
    pub(super) fn added(&self) -> u64 {
        self.lock().added
    }

    /// Up to `max` last lines.
    pub(super) fn last(&self, max: usize) -> Vec<String> {
        let lines = self.lock();
        lines.kept.iter().skip(lines.kept.len().saturating_sub(max)).cloned().collect()
    }

    /// The lines, once no more of them come.
    pub(super) async fn settled(&self) -> String {
        let mut added = self.added();
        for _ in 0..QUIET_CHECKS_MAX {
            tokio::time::sleep(QUIET).await;
            let now = self.added();
            if now == std::mem::replace(&mut added, now) {
                break;
            }
        }
        self.last(usize::MAX).iter().map(|line| format!("{line}\n")).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log of an instance: of its init phase, then of its newest invocation.
#[derive(Debug, Default)]
pub(super) struct InstanceLog(Mutex<Arc<LogTail>>);

impl InstanceLog {
    /// The log to which the instance prints now.
    pub(super) fn current(&self) -> Arc<LogTail> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins another log, for the next invocation.
    pub(super) fn begin(&self) -> Arc<LogTail> {
        let log = Arc::<LogTail>::default();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&log);
        log
    }
}

/// The last 4 KB of a log.
pub(super) fn tail(log: &str) -> &str {
    let mut from = log.len().saturating_sub(TAIL_BYTES_MAX);
    while !log.is_char_boundary(from) {
        from += 1;
    }
    &log[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_the_output_is_kept() {
        let lines = LogTail::default();
        (0..5_000).for_each(|n| lines.push(format!("line {n}")));
        assert_eq!(lines.last(2), ["line 4998", "line 4999"]);
        assert!(lines.lock().bytes <= KEPT_BYTES_MAX && lines.last(usize::MAX).len() > 1_000);
        lines.push("x".repeat(KEPT_BYTES_MAX));
        assert_eq!(lines.last(usize::MAX).len(), 1);
        assert_eq!(tail(&format!("é{}", "x".repeat(TAIL_BYTES_MAX - 1))).len(), TAIL_BYTES_MAX - 1);
    }
}
