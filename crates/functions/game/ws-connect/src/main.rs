//! `ws-connect`: the beginning of a connection, `$connect`.

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::{aws, env, socket, telemetry};
use store_base::Table;
use ws_connect::{ConnectHandler, handle};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let (table, key_arn) = (env::required("GAME_TABLE")?, env::required("GAME_KEY_SECRET_ARN")?);
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), table);
    // Lambda gives full CPU during init, so the TLS handshakes are cheap here.
    game_store::connect(&table).await?;
    let handler = ConnectHandler::new(&table, aws::secret(&sdk, &key_arn).await?);
    socket::run(|event| handle(&handler, event, Timestamp::now())).await
}
