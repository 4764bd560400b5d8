//! Shows progress at the terminal, or as lines where there is none.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a line is written if standard error is no terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(3);

/// The progress of one step of a command: a bar on a terminal, or a line every few seconds.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    what: &'static str,
    /// When the last line was written; `None` on a terminal.
    line: Option<Mutex<Instant>>,
    begun: Instant,
}

/// A progress on standard error; `what` names the counted things. A total of 0 is one that nobody
/// knows.
pub(crate) fn progress_bar(total: u64, what: &'static str) -> Progress {
    let template = match total {
        0 => format!("{what:>14} {{spinner}} {{human_pos}} ({{per_sec}}) {{msg}}"),
        _ => format!("{what:>14} {{bar:40}} {{human_pos}}/{{human_len}} ({{per_sec}}, {{eta}} left) {{msg}}"),
    };
    let total = (total > 0).then_some(total);
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    // The template is constant except for one word; if it did not parse, the bar would have the
    // default style.
    let bar = match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    let line = (!std::io::stderr().is_terminal()).then(|| Mutex::new(Instant::now()));
    Progress { bar, what, line, begun: Instant::now() }
}

impl Progress {
    /// Counts further things.
    pub(crate) fn inc(&self, further: u64) {
        self.bar.inc(further);
        self.line();
    }

    /// Sets the number of things that are done.
    pub(crate) fn set_position(&self, done: u64) {
        self.bar.set_position(done);
        self.bar.reset_eta();
    }

    /// Removes the bar from the terminal.
    pub(crate) fn finish_and_clear(&self) {
        self.bar.finish_and_clear();
    }

    fn line(&self) {
        // Another thread is just writing a line.
        let Some(Ok(mut last)) = self.line.as_ref().map(Mutex::try_lock) else { return };
        if last.elapsed() >= LINE_INTERVAL {
            *last = Instant::now();
            tell(&self.text());
        }
    }

    fn text(&self) -> String {
        let Self { bar, what, begun, .. } = self;
        let (done, rate, seconds) = (bar.position(), bar.per_sec(), begun.elapsed().as_secs());
        let Some(total) = bar.length() else {
            return format!("{what}: {} after {seconds} s, {rate:.0} a second", HumanCount(done));
        };
        let left = (rate > 0.0 && total >= done).then(|| (total - done) as f64 / rate);
        let left = left.and_then(|left| Duration::try_from_secs_f64(left).ok());
        let left = left.map_or_else(String::new, |left| format!(", {} left", HumanDuration(left)));
        let (done, total) = (HumanCount(done), HumanCount(total));
        format!("{what}: {done} of {total} after {seconds} s, {rate:.0} a second{left}")
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
