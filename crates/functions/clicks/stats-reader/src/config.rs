//! The function's environment.

use clicks_store::DateShards;
use lambda_kit::env::{ConfigError, parsed, required};

/// The function's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `CLICKS_TABLE`.
    pub table: String,
    /// `CLICK_DATE_SHARDS`, 1 unless set.
    pub date_shards: DateShards,
    /// `CURSOR_KEY_SECRET_ARN`.
    pub cursor_key_arn: String,
    /// `OPERATOR_TOKEN_SECRET_ARN`.
    pub operator_token_arn: String,
}

impl Config {
    /// Reads and checks all variables.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("CLICKS_TABLE")?,
            date_shards: parsed("CLICK_DATE_SHARDS", 1, "a number from 1 to 100", DateShards::new)?,
            cursor_key_arn: required("CURSOR_KEY_SECRET_ARN")?,
            operator_token_arn: required("OPERATOR_TOKEN_SECRET_ARN")?,
        })
    }
}
