//! What the AWS SDK's clients are built from, and the secrets that a function needs at its start.

use aws_config::{BehaviorVersion, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use secrecy::SecretString;

/// Configuration from the environment, as Lambda sets it: region, credentials, and endpoints where they are overridden.
pub async fn config() -> SdkConfig {
    let http_client = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    aws_config::defaults(BehaviorVersion::latest()).http_client(http_client).load().await
}

/// Why a secret could not be had.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Secrets Manager did not answer, or refused.
    #[error("the secret {arn} cannot be read: {source}")]
    Unavailable {
        /// Which.
        arn: String,
        /// Why.
        source: Box<aws_sdk_secretsmanager::Error>,
    },
    /// It holds bytes, and a text was expected.
    #[error("the secret {0} is not a string")]
    NotAString(String),
}

/// Reads a secret from Secrets Manager.
pub async fn secret(config: &SdkConfig, arn: &str) -> Result<SecretString, SecretError> {
    let request = aws_sdk_secretsmanager::Client::new(config).get_secret_value().secret_id(arn);
    let answer = request
        .send()
        .await
        .map_err(|error| SecretError::Unavailable { arn: arn.to_owned(), source: Box::new(error.into()) })?;
    answer.secret_string.map(SecretString::from).ok_or_else(|| SecretError::NotAString(arn.to_owned()))
}
