//! `click-writer`: `POST /clicks`.

use aws_sdk_dynamodb::Client;
use click_writer::{Config, Writer, handle};
use lambda_kit::{aws, http, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let client = Client::new(&aws::config().await);
    // During init, where Lambda gives full CPU, the TLS handshake is cheap.
    store::clicks::connect(&client, &config.table).await?;
    let writer = Writer::new(client, config);
    http::run(|request| handle(&writer, request)).await
}
