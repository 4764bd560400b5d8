//! A Lambda function for tests: it lists the tables at AWS's own domain name, as a function with an
//! AWS SDK of before `AWS_ENDPOINT_URL` does.

use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Error> {
    lambda_runtime::run(service_fn(handle)).await
}

async fn handle(_: LambdaEvent<Value>) -> Result<Value, Error> {
    let https = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let config = aws_config::defaults(aws_config::BehaviorVersion::latest()).http_client(https).load().await;
    let config = aws_sdk_dynamodb::config::Builder::from(&config);
    let config = config.endpoint_url("https://dynamodb.us-east-1.amazonaws.com").build();
    let tables = Client::from_conf(config).list_tables().send().await?;
    Ok(json!({ "tables": tables.table_names() }))
}
