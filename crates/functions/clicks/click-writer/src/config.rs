//! The function's environment.

use std::time::Duration;

use clicks_store::DateShards;
use lambda_kit::env::{ConfigError, parsed, required, retention};

/// The function's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `CLICKS_TABLE`.
    pub table: String,
    /// `CLICK_DATE_SHARDS`, 1 unless set.
    pub date_shards: DateShards,
    /// `CLICK_RETENTION_DAYS`; 0, the default, keeps clicks for ever.
    pub retention: Option<Duration>,
}

impl Config {
    /// Reads and checks all variables.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("CLICKS_TABLE")?,
            date_shards: parsed("CLICK_DATE_SHARDS", 1, "a number from 1 to 100", DateShards::new)?,
            retention: retention("CLICK_RETENTION_DAYS", 0)?,
        })
    }
}
