//! The function's environment.

use lambda_kit::env::{ConfigError, parsed, required};

use crate::Provider;

/// The function's configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// `OKUSURI_TABLE`.
    pub table: String,
    /// `CURSOR_KEY_SECRET_ARN`.
    pub cursor_key_arn: String,
    /// `HEALTH_TOKEN_SECRET_ARN`.
    pub health_token_arn: String,
    /// `OKUSURI_KEY_SECRET_ARN`: the secret from which the keys for codes and provider logins are
    /// derived.
    pub key_arn: String,
    /// `VAPID_KEY_SECRET_ARN`: the key by which push services recognise this service.
    pub vapid_key_arn: String,
    /// `OKUSURI_MAIL_FROM`: the sender of mails, an address that is verified in SES.
    pub mail_from: String,
    /// `OKUSURI_PUBLIC_URL`: the public address of the suite, such as `https://example.com`.
    /// Without it, the host of each request is used.
    pub public_url: Option<String>,
    /// `OKUSURI_PROVIDERS`: OpenID providers as a JSON array; none unless set.
    pub providers: Vec<Provider>,
    /// `VAPID_SUBJECT`: the contact for push services, a `mailto:` or `https:` address.
    pub vapid_subject: String,
}

impl Config {
    /// Reads and checks all variables.
    pub fn from_env() -> Result<Self, ConfigError> {
        Ok(Self {
            table: required("OKUSURI_TABLE")?,
            cursor_key_arn: required("CURSOR_KEY_SECRET_ARN")?,
            health_token_arn: required("HEALTH_TOKEN_SECRET_ARN")?,
            key_arn: required("OKUSURI_KEY_SECRET_ARN")?,
            vapid_key_arn: required("VAPID_KEY_SECRET_ARN")?,
            mail_from: required("OKUSURI_MAIL_FROM")?,
            public_url: parsed("OKUSURI_PUBLIC_URL", String::new(), "an address such as https://example.com", |url| {
                let url = url.trim_end_matches('/').to_owned();
                match url.split_once("://") {
                    None if url.is_empty() => Some(None),
                    Some(("https" | "http", host)) if !host.is_empty() && !host.contains('/') => Some(Some(url)),
                    _ => None,
                }
            })?,
            providers: parsed("OKUSURI_PROVIDERS", "[]".to_owned(), "a JSON array of providers", |text| {
                Provider::list(&text)
            })
            // The value contains secrets, so the error must not quote it.
            .map_err(|_| ConfigError::Invalid {
                name: "OKUSURI_PROVIDERS",
                value: "...".to_owned(),
                expected: "a JSON array of `{id, name, issuer, clientId, clientSecret?, scopes?}`",
            })?,
            vapid_subject: required("VAPID_SUBJECT")?,
        })
    }
}
