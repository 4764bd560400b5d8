//! The configuration of the AWS SDK's clients, and the secrets that a function reads when it
//! starts.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use lambda_runtime::Error;
use secrecy::SecretString;

use crate::env::required;

/// Configuration from the environment, as Lambda sets it: region, credentials, and overridden
/// endpoints.
pub async fn config() -> SdkConfig {
    let http_client = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    aws_config::defaults(BehaviorVersion::latest()).http_client(http_client).load().await
}

/// Why a secret could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Secrets Manager did not answer, or refused the request.
    #[error("the secret {arn} cannot be read: {source}")]
    Unavailable {
        /// The secret's ARN.
        arn: String,
        /// The error of the SDK.
        source: Box<aws_sdk_secretsmanager::Error>,
    },
    /// The secret holds bytes; a string was expected.
    #[error("the secret {0} is not a string")]
    NotAString(String),
    /// The secret is so short that it could be guessed.
    #[error("the secret {0} has fewer than {SECRET_CHARS_MIN} characters: make a longer one")]
    TooShort(String),
}

/// The fewest characters of a secret. Secrets sign tokens and grant access, so they must not be
/// guessable: 20 random letters and digits have 119 bits.
pub const SECRET_CHARS_MIN: usize = 20;

/// Reads a secret from Secrets Manager, and refuses one of fewer than [`SECRET_CHARS_MIN`]
/// characters.
pub async fn secret(config: &SdkConfig, arn: &str) -> Result<SecretString, SecretError> {
    let request = aws_sdk_secretsmanager::Client::new(config).get_secret_value().secret_id(arn);
    let answer = request
        .send()
        .await
        .map_err(|error| SecretError::Unavailable { arn: arn.to_owned(), source: Box::new(error.into()) })?;
    let secret = answer.secret_string.ok_or_else(|| SecretError::NotAString(arn.to_owned()))?;
    check_length(secret, arn)
}

/// The secrets of an API whose lists have cursors and whose writes need the staff token.
#[derive(Debug)]
pub struct StaffSecrets {
    /// The key that signs cursors.
    pub cursor_key: SecretString,
    /// The staff's bearer token.
    pub staff_token: SecretString,
}

impl StaffSecrets {
    /// Reads the secrets that `CURSOR_KEY_SECRET_ARN` and `STAFF_TOKEN_SECRET_ARN` name.
    pub async fn from_env(config: &SdkConfig) -> Result<Self, Error> {
        let (cursor_key, staff_token) = (required("CURSOR_KEY_SECRET_ARN")?, required("STAFF_TOKEN_SECRET_ARN")?);
        Ok(Self { cursor_key: secret(config, &cursor_key).await?, staff_token: secret(config, &staff_token).await? })
    }
}

fn check_length(secret: String, arn: &str) -> Result<SecretString, SecretError> {
    let is_long_enough = secret.chars().nth(SECRET_CHARS_MIN - 1).is_some();
    is_long_enough.then(|| SecretString::from(secret)).ok_or_else(|| SecretError::TooShort(arn.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_below_twenty_characters_stops_the_start() {
        assert!(check_length("x".repeat(SECRET_CHARS_MIN), "arn").is_ok());
        for short in [String::new(), "x".repeat(SECRET_CHARS_MIN - 1)] {
            let refused = check_length(short, "arn").map(drop).map_err(|error| error.to_string());
            assert_eq!(refused, Err("the secret arn has fewer than 20 characters: make a longer one".to_owned()));
        }
    }
}
