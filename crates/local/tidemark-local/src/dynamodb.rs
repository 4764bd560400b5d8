//! Clients of the stack's DynamoDB, embedded or not.

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, SharedHttpClient};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

use crate::arn;

/// Tries of one request to DynamoDB before the caller gets the error.
const ATTEMPTS_MAX: u32 = 3;

/// Region and credentials for calls to DynamoDB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `AWS_REGION`.
    pub region: String,
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: String,
    /// `AWS_SESSION_TOKEN`.
    pub session_token: Option<String>,
    /// Whether each function has its own access key. The embedded engine recognizes functions by
    /// their key. DynamoDB Local stores separate tables for each key, and rejects a key with a
    /// dash.
    pub by_function: bool,
}

impl Identity {
    /// The identity for the embedded engine, which accepts any credentials.
    pub fn local() -> Self {
        Self {
            region: arn::region().to_owned(),
            access_key_id: "local".to_owned(),
            secret_access_key: "local".to_owned(),
            session_token: None,
            by_function: true,
        }
    }

    /// The identity of a function.
    pub fn of_function(&self, name: &str) -> Self {
        let mut identity = self.clone();
        if self.by_function {
            name.clone_into(&mut identity.access_key_id);
        }
        identity
    }

    /// The identity from this process's environment, for another engine. Unset variables are taken
    /// from [`Identity::local`].
    pub fn from_env() -> Self {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let local = Self::local();
        Self {
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")).unwrap_or(local.region),
            access_key_id: variable("AWS_ACCESS_KEY_ID").unwrap_or(local.access_key_id),
            secret_access_key: variable("AWS_SECRET_ACCESS_KEY").unwrap_or(local.secret_access_key),
            session_token: variable("AWS_SESSION_TOKEN"),
            by_function: false,
        }
    }

    fn credentials(&self) -> Credentials {
        let (id, secret) = (self.access_key_id.clone(), self.secret_access_key.clone());
        Credentials::new(id, secret, self.session_token.clone(), None, "local-stack")
    }
}

/// The configuration of both clients: their types differ, their settings are the same.
macro_rules! config {
    ($service:ident, $url:expr, $identity:expr) => {
        $service::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new($identity.region.clone()))
            .endpoint_url($url)
            .credentials_provider($identity.credentials())
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS_MAX))
            .http_client(http_client($url))
            .build()
    };
}

/// A client of the table API at `url`.
pub fn client(url: &str, identity: &Identity) -> aws_sdk_dynamodb::Client {
    aws_sdk_dynamodb::Client::from_conf(config!(aws_sdk_dynamodb, url, identity))
}

/// A client of the streams API at `url`.
pub fn streams_client(url: &str, identity: &Identity) -> aws_sdk_dynamodbstreams::Client {
    aws_sdk_dynamodbstreams::Client::from_conf(config!(aws_sdk_dynamodbstreams, url, identity))
}

/// Plain HTTP for an engine on this machine: loading the system's certificates would slow the
/// start.
fn http_client(url: &str) -> SharedHttpClient {
    if url.starts_with("https:") {
        Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https()
    } else {
        Builder::new().build_http()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn function_has_own_key_only_on_the_embedded_engine() {
        assert_eq!(Identity::local().of_function("click-writer").access_key_id, "click-writer");
        let elsewhere = Identity { by_function: false, ..Identity::local() };
        assert_eq!(elsewhere.of_function("click-writer"), elsewhere);
        assert!(!Identity::from_env().by_function, "even if the environment names no key");
    }
}
