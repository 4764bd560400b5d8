//! `game-api`: `/games/...` and `/players/{playerId}/games`.

use aws_sdk_dynamodb::Client;
use game_api::{Api, handle};
use jiff::Timestamp;
use lambda_kit::{aws, env, http, telemetry};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let (table, key_arn) = (env::required("GAME_TABLE")?, env::required("GAME_KEY_SECRET_ARN")?);
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), table);
    // Lambda gives full CPU during init, so the TLS handshakes are cheap here.
    game_store::connect(&table).await?;
    let api = Api::new(&table, aws::secret(&sdk, &key_arn).await?);
    http::run(|request| handle(&api, request, Timestamp::now())).await
}
