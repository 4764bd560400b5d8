//! `price-history`: `/products`, `/products/{productId}` and its prices.

use aws_sdk_dynamodb::Client;
use lambda_kit::aws::{self, StaffSecrets};
use lambda_kit::{env, http, telemetry};
use price_history::{Shop, handle};
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
    let shop = Shop::new(&table, cursor_key, staff_token);
    http::run(|request| handle(&shop, request)).await
}
