//! The function's environment.

use std::time::Duration;

use lambda_kit::env::{ConfigError, parsed, required, retention};
use shop_store::ActivitySuffixes;

/// The function's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `SHOP_TABLE`.
    pub table: String,
    /// `ACTIVITY_SUFFIXES`, 10 unless set.
    pub suffixes: ActivitySuffixes,
    /// `ACTIVITY_RETENTION_DAYS`, two years unless set; 0 keeps activities for ever.
    pub retention: Option<Duration>,
}

impl Config {
    /// Reads and checks all variables.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("SHOP_TABLE")?,
            suffixes: parsed("ACTIVITY_SUFFIXES", 10, "a number from 1 to 100", ActivitySuffixes::new)?,
            retention: retention("ACTIVITY_RETENTION_DAYS", 730)?,
        })
    }
}
