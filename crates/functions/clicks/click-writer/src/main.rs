//! `click-writer`: `POST /clicks`.

use aws_sdk_dynamodb::Client;
use click_writer::{Config, Writer, handle};
use lambda_kit::{aws, http, telemetry};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let table = Table::new(Client::new(&aws::config().await), &config.table);
    // The first request opens the connection. Lambda gives full CPU during init, so the TLS
    // handshake is cheap here.
    config.date_shards.remember(&table).await?;
    let writer = Writer::new(&table, config);
    http::run(|request| handle(&writer, request)).await
}
