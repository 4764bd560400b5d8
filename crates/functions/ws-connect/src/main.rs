//! `ws-connect`: the beginning of a connection, `$connect`.

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::{aws, socket, telemetry};
use ws_connect::{Config, Door, handle};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let sdk = aws::config().await;
    let client = Client::new(&sdk);
    // During init, where Lambda gives full CPU, the TLS handshakes are cheap.
    store::game::connect(&client, &config.table).await?;
    let door = Door::new(client, &config.table, aws::secret(&sdk, &config.game_key_arn).await?);
    socket::run(|event| handle(&door, event, Timestamp::now())).await
}
