//! The function's environment.

use lambda_kit::env::{ConfigError, required};

/// What the environment says.
#[derive(Debug, Clone)]
pub struct Config {
    /// `SHOP_TABLE`.
    pub table: String,
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
            cursor_key_arn: required("CURSOR_KEY_SECRET_ARN")?,
            staff_token_arn: required("STAFF_TOKEN_SECRET_ARN")?,
        })
    }
}
