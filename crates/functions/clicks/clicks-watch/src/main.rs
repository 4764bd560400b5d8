//! `clicks-watch`: the operator events in the clicks table's stream.

use aws_sdk_dynamodb::Client;
use clicks_watch::handle;
use domain::journal::Retention;
use jiff::Timestamp;
use journal_store::{Journal, JournalShards};
use lambda_kit::{aws, env, runtime, telemetry};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("JOURNAL_TABLE")?;
    let shards = env::parsed("JOURNAL_SHARDS", 4, "a number from 1 to 100", JournalShards::new)?;
    let retention =
        env::parsed("JOURNAL_RETENTION", Retention::default(), "days per stream, such as suite=400,default=90", Some)?;
    let table = Table::new(Client::new(&aws::config().await), table);
    // Lambda gives full CPU during init, so the TLS handshake is cheap here.
    journal_store::connect(&table).await?;
    let journal = Journal::new(&table, shards, retention);
    runtime::run(|event, _| handle(&journal, event, Timestamp::now())).await
}
