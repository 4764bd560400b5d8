//! Shows progress at the terminal.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar on standard error, shown only if that is a terminal; `what` names the counted
/// things.
pub(crate) fn progress_bar(total: u64, what: &'static str) -> ProgressBar {
    let template = format!("{what:>14} {{bar:40}} {{human_pos}}/{{human_len}} ({{per_sec}}, {{eta}} left) {{msg}}");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    // The template is constant except for one word; if it did not parse, the bar would have the
    // default style.
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
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
