//! The function's environment.

use std::time::Duration;

use clicks_store::DateShards;
use lambda_kit::env::{ConfigError, parsed, required};

/// The longest retention: a hundred years.
const RETENTION_DAYS_MAX: u32 = 36_500;

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
        let retention = parsed("CLICK_RETENTION_DAYS", 0, "a number of days from 0 to 36500", |days: u32| {
            (days <= RETENTION_DAYS_MAX).then_some(days)
        })?;
        Ok(Self {
            table: required("CLICKS_TABLE")?,
            date_shards: parsed("CLICK_DATE_SHARDS", 1, "a number from 1 to 100", DateShards::new)?,
            retention: (retention > 0).then(|| Duration::from_secs(u64::from(retention) * 24 * 60 * 60)),
        })
    }
}
