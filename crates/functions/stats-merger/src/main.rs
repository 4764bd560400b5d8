//! `stats-merger`: merges the sums that shards buffer, once a minute.

use aws_sdk_dynamodb::Client;
use lambda_kit::{aws, env, telemetry};
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use stats_merger::handle;
use store::Table;
use store::clicks::Merger;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("CLICKS_TABLE")?;
    let table = Table::new(Client::new(&aws::config().await), table);
    store::clicks::connect(&table).await?;
    let merger = &Merger::new(&table);
    let merge = |_: LambdaEvent<Value>| async move {
        let report = handle(merger).await;
        telemetry::flush();
        report
    };
    lambda_runtime::run(service_fn(merge)).await
}
