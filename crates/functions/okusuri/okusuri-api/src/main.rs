//! `okusuri-api`: `/okusuri/api`.

use aws_sdk_dynamodb::Client;
use lambda_kit::outbound::Outbound;
use lambda_kit::{aws, http, telemetry};
use okusuri_api::{Config, Okusuri, Secrets, handle};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), &config.table);
    // Lambda gives full CPU during init, so the TLS handshakes are cheap here.
    okusuri_store::connect(&table).await?;
    let secrets = Secrets {
        cursor_key: aws::secret(&sdk, &config.cursor_key_arn).await?,
        health_token: aws::secret(&sdk, &config.health_token_arn).await?,
        key: aws::secret(&sdk, &config.key_arn).await?,
        vapid_key: aws::secret(&sdk, &config.vapid_key_arn).await?,
    };
    let mails = aws_sdk_sesv2::Client::new(&sdk);
    let okusuri = Okusuri::new(&table, mails, Outbound::from_env()?, &config, secrets)?;
    http::run(|request| handle(&okusuri, request)).await
}
