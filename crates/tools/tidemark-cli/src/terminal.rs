//! Numbers and progress at the terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A number of things: `1 line`, `2 lines`.
pub(crate) fn count(number: impl Into<u64>, thing: &str) -> String {
    let number = number.into();
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// A progress bar for the bytes of a file, on standard error; shown only if that is a terminal.
pub(crate) fn byte_bar(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} ({elapsed}, {eta} left)");
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    // The template is a constant; if it did not parse, the bar would have the default style.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
