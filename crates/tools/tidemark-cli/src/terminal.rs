//! Interaction with the user at the terminal: cost, confirmation, and progress.

use std::io::{IsTerminal, Write};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Prints the cost and asks for confirmation. An error if the answer is no, or if nobody can
/// answer.
pub(crate) fn confirm(cost: &str, otherwise: &str) -> Result<()> {
    let mut error = std::io::stderr();
    write!(error, "{cost} Continue? [y/N] ")?;
    error.flush()?;
    if !std::io::stdin().is_terminal() {
        bail!("standard input is not a terminal; pass --yes to continue without confirmation");
    }
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("{otherwise}");
    }
    Ok(())
}

/// A number of things: `1 line`, `2 lines`.
pub(crate) fn count(number: impl Into<u64>, thing: &str) -> String {
    count_of(number, thing, &format!("{thing}s"))
}

/// The same with the plural.
pub(crate) fn count_of(number: impl Into<u64>, one: &str, many: &str) -> String {
    let number = number.into();
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A progress bar on standard error; shown only if that is a terminal.
pub(crate) fn progress_bar(items: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/~{len} items, {msg} ({elapsed})");
    let bar = ProgressBar::with_draw_target(Some(items), ProgressDrawTarget::stderr());
    // The template is a constant; if it did not parse, the bar would have the default style.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The same for the bytes of a file.
pub(crate) fn byte_bar(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} ({elapsed}, {eta} left)");
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    // See above.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
