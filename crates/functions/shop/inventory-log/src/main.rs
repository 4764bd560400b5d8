//! `inventory-log`: `/products/{productId}/stock`, `/products/{productId}/inventory`,
//! `/products/{productId}/reservations` and `/orders`.

use aws_sdk_dynamodb::Client;
use inventory_log::{Inventory, handle};
use lambda_kit::aws::{self, StaffSecrets};
use lambda_kit::{env, http, telemetry};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let table = env::required("SHOP_TABLE")?;
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), table);
    // Lambda gives full CPU during init, so the TLS handshakes are cheap here.
    shop_store::connect(&table).await?;
    let StaffSecrets { cursor_key, staff_token } = StaffSecrets::from_env(&sdk).await?;
    let inventory = Inventory::new(&table, cursor_key, staff_token);
    http::run(|request| handle(&inventory, request)).await
}
