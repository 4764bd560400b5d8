//! `activity-stats`: the shop table's stream.

use activity_stats::handle;
use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::statistics::diagnostic;
use lambda_kit::{aws, env, runtime, telemetry};
use shop_store::{activity_aggregator, rollup_table};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("SHOP_TABLE")?;
    let table = Table::new(Client::new(&aws::config().await), table);
    let aggregator = activity_aggregator(rollup_table(&table))?;
    // Lambda gives full CPU during init, so the TLS handshake is cheap here.
    aggregator.connect().await?;
    let aggregator = &aggregator;
    runtime::run(|event, context| async move {
        let handled = handle(aggregator, event, context.deadline(), Timestamp::now()).await;
        handled.map_err(|error| diagnostic(&error))
    })
    .await
}
