//! The function's environment.

use lambda_kit::env::{ConfigError, required};

/// What the environment says.
#[derive(Debug, Clone)]
pub struct Config {
    /// `OKUSURI_TABLE`.
    pub table: String,
    /// `CURSOR_KEY_SECRET_ARN`.
    pub cursor_key_arn: String,
    /// `ADMIN_TOKEN_SECRET_ARN`.
    pub admin_token_arn: String,
    /// `OKUSURI_KEY_SECRET_ARN`: what the keys for codes and for logins elsewhere are derived from.
    pub key_arn: String,
    /// `VAPID_KEY_SECRET_ARN`: what a push service knows this service by.
    pub vapid_key_arn: String,
}

impl Config {
    /// Reads and checks all of it.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("OKUSURI_TABLE")?,
            cursor_key_arn: required("CURSOR_KEY_SECRET_ARN")?,
            admin_token_arn: required("ADMIN_TOKEN_SECRET_ARN")?,
            key_arn: required("OKUSURI_KEY_SECRET_ARN")?,
            vapid_key_arn: required("VAPID_KEY_SECRET_ARN")?,
        })
    }
}
