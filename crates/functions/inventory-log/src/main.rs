//! `inventory-log`: `/products/{productId}/stock`, `/products/{productId}/inventory` and `/products/{productId}/reservations`.

use aws_sdk_dynamodb::Client;
use inventory_log::{Config, Inventory, handle};
use lambda_kit::{aws, http, telemetry};
use store::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let config = Config::from_env()?;
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), &config.table);
    // During init, where Lambda gives full CPU, the TLS handshakes are cheap.
    store::shop::connect(&table).await?;
    let (cursor_key, staff_token) = (&config.cursor_key_arn, &config.staff_token_arn);
    let (cursor_key, staff_token) = (aws::secret(&sdk, cursor_key).await?, aws::secret(&sdk, staff_token).await?);
    let inventory = Inventory::new(&table, cursor_key, staff_token);
    http::run(|request| handle(&inventory, request)).await
}
