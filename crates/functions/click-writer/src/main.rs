//! `click-writer`: `POST /clicks`.

use aws_sdk_dynamodb::Client;
use click_writer::{Config, Writer, handle};
use lambda_kit::{aws, http, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let client = Client::new(&aws::config().await);
    // The first request opens the connection: during init, where Lambda gives full CPU, the TLS handshake is cheap.
    config.date_shards.remember(&client, &config.table).await?;
    let writer = Writer::new(client, config);
    http::run(|request| handle(&writer, request)).await
}
