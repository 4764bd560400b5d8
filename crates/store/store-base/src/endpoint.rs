//! The AWS configuration of commands, with an optional endpoint.

use std::env;

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::Credentials;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

/// The configuration from the environment: credentials from variables, profiles or the machine's
/// role.
///
/// An `endpoint` is usually a local stack, which accepts any credentials. If the environment lacks
/// credentials or a region, this function fills them in, but only with an endpoint.
pub async fn config(endpoint: Option<&str>) -> SdkConfig {
    let http_client = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http_client);
    if let Some(endpoint) = endpoint {
        loader = loader.endpoint_url(endpoint);
        let lacks = |names: [&str; 2]| names.iter().all(|name| env::var_os(name).is_none());
        if lacks(["AWS_ACCESS_KEY_ID", "AWS_PROFILE"]) {
            loader = loader.credentials_provider(Credentials::new("local", "local", None, None, "endpoint"));
        }
        if lacks(["AWS_REGION", "AWS_DEFAULT_REGION"]) {
            loader = loader.region(Region::from_static("us-east-1"));
        }
    }
    loader.load().await
}
