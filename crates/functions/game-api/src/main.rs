//! `game-api`: `/games/...` and `/players/{playerId}/games`.

use aws_sdk_dynamodb::Client;
use game_api::{Api, Config, handle};
use jiff::Timestamp;
use lambda_kit::{aws, http, telemetry};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let sdk = aws::config().await;
    let client = Client::new(&sdk);
    // During init, where Lambda gives full CPU, the TLS handshakes are cheap.
    store::game::connect(&client, &config.table).await?;
    let api = Api::new(client, &config.table, aws::secret(&sdk, &config.key_arn).await?);
    http::run(|request| handle(&api, request, Timestamp::now())).await
}
