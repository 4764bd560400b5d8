//! Tells the operator how far a command is, and asks.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const LINE_INTERVAL: Duration = Duration::from_secs(3);

/// The progress of one step of a command: a line on standard error every few seconds.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    /// 0 if nobody knows it.
    total: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    done: u64,
    /// What was done when the step began, or began anew.
    base: u64,
    begun: Instant,
    last: Instant,
}

impl Progress {
    /// A progress of so many things; a total of 0 is one that nobody knows.
    pub(crate) fn new(total: u64, what: &'static str) -> Self {
        let now = Instant::now();
        Self { what, total, state: Mutex::new(State { done: 0, base: 0, begun: now, last: now }) }
    }

    pub(crate) fn inc(&self, further: u64) {
        // Whoever holds the lock only counts, and cannot panic.
        let Ok(mut state) = self.state.lock() else { return };
        state.done += further;
        if state.last.elapsed() >= LINE_INTERVAL {
            state.last = Instant::now();
            tell(&self.text(&state, state.begun.elapsed()));
        }
    }

    /// Begins anew with so many things done.
    pub(crate) fn set_position(&self, done: u64) {
        if let Ok(mut state) = self.state.lock() {
            (state.done, state.base, state.begun) = (done, done, Instant::now());
        }
    }

    fn text(&self, state: &State, took: Duration) -> String {
        let Self { what, total, .. } = self;
        let (done, seconds) = (state.done, took.as_secs());
        let rate = (done - state.base) as f64 / took.as_secs_f64().max(0.001);
        let of_all = if *total > 0 { format!(" of {total}") } else { String::new() };
        let left = match total.checked_sub(done) {
            Some(left) if *total > 0 && rate > 0.0 => format!(", {:.0} s left", left as f64 / rate),
            _ => String::new(),
        };
        format!("{what}: {done}{of_all} after {seconds} s, {rate:.0} a second{left}")
    }
}

/// Writes a line to standard error. If nobody reads it, the command goes on.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Asks for a confirmation at the terminal, and returns the typed line. `None` if nobody can type.
pub(crate) fn ask(question: &str) -> Option<String> {
    if !std::io::stdin().is_terminal() {
        return None;
    }
    write!(std::io::stderr(), "{question} ").ok()?;
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).ok()?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_line_shows_count_rate_and_remaining_time() {
        let text = |total, base, done| {
            let now = Instant::now();
            let state = State { done, base, begun: now, last: now };
            Progress::new(total, "items").text(&state, Duration::from_secs(10))
        };
        assert_eq!(text(1_000, 100, 200), "items: 200 of 1000 after 10 s, 10 a second, 80 s left");
        assert_eq!(text(0, 0, 70), "items: 70 after 10 s, 7 a second");
        // More came than were counted at the beginning.
        assert_eq!(text(50, 0, 70), "items: 70 of 50 after 10 s, 7 a second");
    }
}
