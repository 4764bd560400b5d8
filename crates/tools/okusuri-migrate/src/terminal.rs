//! Shows progress at the terminal.

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
