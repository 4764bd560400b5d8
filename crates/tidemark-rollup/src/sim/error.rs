//! Why a history could not be played.

use std::fmt::{self, Display};

/// Why a history could not be played.
#[derive(Debug)]
pub struct SimError(String);

impl SimError {
    pub(crate) fn new(message: impl Display) -> Self {
        Self(message.to_string())
    }
}

impl Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SimError {}

impl From<serde_json::Error> for SimError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error)
    }
}
