//! The checks at the end, and their mistakes.

use serde::Serialize;

/// How many mistakes a check tells of; one would do, and thousands help nobody.
const MISTAKES_SHOWN_MAX: usize = 10;

/// The check of one promise against the tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// The promise, as a sentence.
    pub promise: &'static str,
    /// How much was compared.
    pub compared: u64,
    /// How much of that was wrong.
    pub mistakes: u64,
    /// The first of it, in words.
    pub first_mistakes: Vec<String>,
}

impl Check {
    /// Nothing compared so far.
    pub fn of(promise: &'static str) -> Self {
        Self { promise, compared: 0, mistakes: 0, first_mistakes: Vec::new() }
    }

    /// One comparison; `mistake` describes a failure.
    pub fn expect(&mut self, holds: bool, mistake: impl FnOnce() -> String) {
        self.compared += 1;
        if !holds {
            self.mistake(mistake());
        }
    }

    /// Something is wrong.
    pub fn mistake(&mut self, mistake: String) {
        self.mistakes += 1;
        if self.first_mistakes.len() < MISTAKES_SHOWN_MAX {
            self.first_mistakes.push(mistake);
        }
    }

    /// Whether the promise was kept. One that nothing was compared for was not.
    pub fn holds(&self) -> bool {
        self.mistakes == 0 && self.compared > 0
    }
}
