//! `activity-log`: `POST` and `GET /users/{userId}/activities`,
//! `GET /products/{productId}/activities` and `.../statistics`, and `GET /activities/top`.

use activity_log::{ActivityLog, Config, handle};
use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::aws::{self, StaffSecrets};
use lambda_kit::{http, telemetry};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let mut config = Config::from_env()?;
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), &config.table);
    // The first request opens the connection. Lambda gives full CPU during init, so the TLS
    // handshakes are cheap here.
    config.suffixes = config.suffixes.remembered(&table).await?;
    let StaffSecrets { cursor_key, staff_token } = StaffSecrets::from_env(&sdk).await?;
    let log = ActivityLog::new(&table, &config, cursor_key, staff_token)?;
    http::run(|request| handle(&log, request, Timestamp::now())).await
}
