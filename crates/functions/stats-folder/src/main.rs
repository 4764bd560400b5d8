//! `stats-folder`: every so often, what lanes keep.

use aws_sdk_dynamodb::Client;
use lambda_kit::{aws, env, telemetry};
use lambda_runtime::{LambdaEvent, service_fn};
use serde_json::Value;
use stats_folder::handle;
use store::Table;
use store::clicks::Folder;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("CLICKS_TABLE")?;
    let table = Table::new(Client::new(&aws::config().await), table);
    store::clicks::connect(&table).await?;
    let folder = &Folder::new(&table);
    let fold = |_: LambdaEvent<Value>| async move {
        let report = handle(folder).await;
        telemetry::flush();
        report
    };
    lambda_runtime::run(service_fn(fold)).await
}
