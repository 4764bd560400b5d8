//! The function on the stream of the feedback table.
use aws_sdk_dynamodb::Client;
use aws_smithy_http_client::{Builder, tls};
use lambda_runtime::{Error, LambdaEvent, service_fn};
use rollup::{Aggregator, Layout, Table};
use serde_json::value::RawValue;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let http = Builder::new().tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring));
    let config =
        aws_config::defaults(aws_config::BehaviorVersion::latest()).http_client(http.build_https()).load().await;
    let table = Table::new(Client::new(&config), std::env::var("FEEDBACK_TABLE")?, "pk", "sk");
    let aggregator = Aggregator::new(voice_of_customer::feedback()?, table).layout(Layout::Buffers);
    let count = async |event: LambdaEvent<Box<RawValue>>| {
        Ok::<_, Error>(aggregator.handle(&event.payload, event.context.deadline()).await?.reply)
    };
    lambda_runtime::run(service_fn(count)).await
}
