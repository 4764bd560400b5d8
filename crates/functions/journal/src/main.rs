//! `journal`: `POST /journal/{stream}`, `GET /journal/{stream}`.

use aws_sdk_dynamodb::Client;
use journal::{Config, Journals, handle};
use lambda_kit::{aws, http, telemetry};
use store::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), &config.table);
    // During init, where Lambda gives full CPU, the TLS handshakes are cheap.
    store::journal::connect(&table).await?;
    let (cursor_key, staff_token) = (&config.cursor_key_arn, &config.staff_token_arn);
    let (cursor_key, staff_token) = (aws::secret(&sdk, cursor_key).await?, aws::secret(&sdk, staff_token).await?);
    let journals = Journals::new(&table, config, cursor_key, staff_token);
    http::run(|request| handle(&journals, request)).await
}
