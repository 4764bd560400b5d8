//! Whoever sits at the terminal: told what something costs, asked, and shown how far it is.

use std::io::{IsTerminal, Write};

use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Tells the cost and asks, when there is somebody to ask; an error when the answer is no.
pub(crate) fn confirm(cost: &str, otherwise: &str) -> Result<()> {
    let mut error = std::io::stderr();
    write!(error, "{cost} Go on? [y/N] ")?;
    error.flush()?;
    if !std::io::stdin().is_terminal() {
        bail!("nobody is there to answer; --yes goes on without asking");
    }
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        bail!("{otherwise}");
    }
    Ok(())
}

/// A number of things, spelled as people do: `1 line`, `2 lines`.
pub(crate) fn count(number: impl Into<u64>, thing: &str) -> String {
    let number = number.into();
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// On standard error, and only where that is a terminal.
pub(crate) fn progress_bar(items: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {pos}/~{len} items, {msg} ({elapsed})");
    let bar = ProgressBar::with_draw_target(Some(items), ProgressDrawTarget::stderr());
    // The template is a constant; should it not parse, the bar looks plain.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// The same by bytes of a file.
pub(crate) fn byte_bar(bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} ({elapsed}, {eta} left)");
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
    // As above.
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
