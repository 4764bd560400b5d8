//! The function's environment.

use lambda_kit::env::{ConfigError, required};

/// What the environment says.
#[derive(Debug, Clone)]
pub struct Config {
    /// `GAME_TABLE`.
    pub table: String,
    /// `GAME_KEY_SECRET_ARN`.
    pub key_arn: String,
}

impl Config {
    /// Reads and checks all of it.
    ///
    /// # Errors
    /// [`ConfigError`] for what is missing.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self { table: required("GAME_TABLE")?, key_arn: required("GAME_KEY_SECRET_ARN")? })
    }
}
