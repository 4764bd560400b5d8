//! The function's environment.

use lambda_kit::env::{ConfigError, parsed, required};
use store::shop::ActivitySuffixes;

/// What the environment says.
#[derive(Debug, Clone)]
pub struct Config {
    /// `SHOP_TABLE`.
    pub table: String,
    /// `ACTIVITY_SUFFIXES`, 10 unless set.
    pub suffixes: ActivitySuffixes,
    /// `CURSOR_KEY_SECRET_ARN`.
    pub cursor_key_arn: String,
    /// `STAFF_TOKEN_SECRET_ARN`.
    pub staff_token_arn: String,
}

impl Config {
    /// Reads and checks all of it.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("SHOP_TABLE")?,
            suffixes: parsed("ACTIVITY_SUFFIXES", 10, "a number from 1 to 100", ActivitySuffixes::new)?,
            cursor_key_arn: required("CURSOR_KEY_SECRET_ARN")?,
            staff_token_arn: required("STAFF_TOKEN_SECRET_ARN")?,
        })
    }
}
