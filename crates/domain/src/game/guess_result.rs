//! How a guess compares with the answer.

/// The result of a guess, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GuessResult {
    /// The guess is the answer.
    Correct,
    /// Almost the answer, or a text that contains it. Other players must not read it.
    Near,
    /// Anything else.
    Wrong,
}
