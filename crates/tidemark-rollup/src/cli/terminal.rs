//! Interaction with the operator at the terminal: cost, confirmation, and progress.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use super::CliError;

/// Prints the cost and asks for confirmation.
///
/// # Errors
/// If the answer is no, or if nobody can answer.
pub(super) fn confirm(cost: &str, otherwise: &'static str) -> Result<(), CliError> {
    let mut error = std::io::stderr();
    write!(error, "{cost} Continue? [y/N] ")?;
    error.flush()?;
    if !std::io::stdin().is_terminal() {
        return Err(CliError::NoTerminal);
    }
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(CliError::Declined(otherwise)) }
}

/// Replaces the line of progress on standard error, if that is a terminal. An empty text removes
/// it.
pub(super) fn progress(text: impl Display) {
    let mut error = std::io::stderr();
    if error.is_terminal() {
        // Progress that cannot be shown stops nothing.
        let _ = write!(error, "\r\x1b[K{text}").and_then(|()| error.flush());
    }
}

/// A number of things: `1 line`, `2 lines`.
pub(super) fn count(number: u64, thing: &str) -> String {
    count_of(number, thing, &format!("{thing}s"))
}

/// The same with the plural.
pub(super) fn count_of(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
