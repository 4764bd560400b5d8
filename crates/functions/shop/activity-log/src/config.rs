//! The function's environment.

use lambda_kit::env::{ConfigError, parsed, required};
use shop_store::ActivitySuffixes;

/// The function's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `SHOP_TABLE`.
    pub table: String,
    /// `ACTIVITY_SUFFIXES`, 10 unless set.
    pub suffixes: ActivitySuffixes,
}

impl Config {
    /// Reads and checks all variables.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("SHOP_TABLE")?,
            suffixes: parsed("ACTIVITY_SUFFIXES", 10, "a number from 1 to 100", ActivitySuffixes::new)?,
        })
    }
}
