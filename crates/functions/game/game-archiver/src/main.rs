//! `game-archiver`: the game table's stream.

use aws_sdk_dynamodb::Client;
use domain::journal::Retention;
use game_archiver::{Archiver, handle};
use jiff::Timestamp;
use journal_store::{Journal, JournalShards};
use lambda_kit::{aws, env, runtime, telemetry};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let (table, journal) = (env::required("GAME_TABLE")?, env::required("JOURNAL_TABLE")?);
    let shards = env::parsed("JOURNAL_SHARDS", 4, "a number from 1 to 100", JournalShards::new)?;
    let retention =
        env::parsed("JOURNAL_RETENTION", Retention::default(), "days per stream, such as suite=400,default=90", Some)?;
    let client = Client::new(&aws::config().await);
    let (table, journal) = (Table::new(client.clone(), table), Table::new(client, journal));
    // Lambda gives full CPU during init, so the TLS handshake is cheap here.
    game_store::connect(&table).await?;
    let journal = Journal::new(&journal, shards, retention);
    let archiver = Archiver::new(&table, journal);
    runtime::run(|event, _| handle(&archiver, event, Timestamp::now())).await
}
