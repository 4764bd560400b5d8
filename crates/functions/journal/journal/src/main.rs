//! `journal`: `POST /journal/{stream}`, `GET /journal/{stream}`.

use aws_sdk_dynamodb::Client;
use journal::{Config, Journals, handle};
use lambda_kit::aws::{self, StaffSecrets};
use lambda_kit::{http, telemetry};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), &config.table);
    // Lambda gives full CPU during init, so the TLS handshakes are cheap here.
    journal_store::connect(&table).await?;
    let StaffSecrets { cursor_key, staff_token } = StaffSecrets::from_env(&sdk).await?;
    let journals = Journals::new(&table, config, cursor_key, staff_token);
    http::run(|request| handle(&journals, request)).await
}
