//! `stats-aggregator`: the clicks table's stream.

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::statistics::diagnostic;
use lambda_kit::{aws, runtime, telemetry};
use stats_aggregator::{Config, handle};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let aggregators = Config::from_env()?.aggregators(Client::new(&aws::config().await))?;
    // Lambda gives full CPU during init, so the TLS handshake is cheap here.
    if let Some(aggregator) = aggregators.first() {
        aggregator.connect().await?;
    }
    let aggregators = &aggregators;
    runtime::run(|event, context| async move {
        let handled = handle(aggregators, event, context.deadline(), Timestamp::now()).await;
        handled.map_err(|error| diagnostic(&error))
    })
    .await
}
