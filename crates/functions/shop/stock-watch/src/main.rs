//! `stock-watch`: the shop table's stream.

use aws_sdk_dynamodb::Client;
use domain::journal::Retention;
use jiff::Timestamp;
use journal_store::{Journal, JournalShards};
use lambda_kit::{aws, env, runtime, telemetry};
use stock_watch::{Watcher, handle};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let (table, journal) = (env::required("SHOP_TABLE")?, env::required("JOURNAL_TABLE")?);
    let shards = env::parsed("JOURNAL_SHARDS", 4, "a number from 1 to 100", JournalShards::new)?;
    let retention =
        env::parsed("JOURNAL_RETENTION", Retention::default(), "days per stream, such as suite=400,default=90", Some)?;
    let client = Client::new(&aws::config().await);
    let (table, journal) = (Table::new(client.clone(), table), Table::new(client, journal));
    // Lambda gives full CPU during init, so the TLS handshake is cheap here.
    shop_store::connect(&table).await?;
    let journal = Journal::new(&journal, shards, retention);
    let watcher = Watcher::new(journal, &table);
    runtime::run(|event, _| handle(&watcher, event, Timestamp::now())).await
}
