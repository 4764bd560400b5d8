//! How far it is, for whoever sits at the terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// On standard error, and only where that is a terminal; `what` is counted.
pub(crate) fn progress_bar(total: u64, what: &'static str) -> ProgressBar {
    let template = format!("{what:>14} {{bar:40}} {{human_pos}}/{{human_len}} ({{per_sec}}, {{eta}} left) {{msg}}");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    // The template is a constant but for a word; should it not parse, the bar looks plain.
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
