//! `stats-reader`: `GET /stats/...`, `GET /users/{userId}/clicks`, `GET /days/{date}/clicks`, and
//! every unknown route.

use aws_sdk_dynamodb::Client;
use jiff::Timestamp;
use lambda_kit::{aws, http, telemetry};
use stats_reader::{Config, Reader, handle};
use store_base::Table;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), lambda_runtime::Error> {
    telemetry::init()?;
    let mut config = Config::from_env()?;
    let sdk = aws::config().await;
    let table = Table::new(Client::new(&sdk), &config.table);
    // The first request opens the connection. Lambda gives full CPU during init, so the TLS
    // handshakes are cheap here.
    config.date_shards = config.date_shards.max_with_stored(&table).await?;
    let (cursor_key, operator_token) = (&config.cursor_key_arn, &config.operator_token_arn);
    let reader =
        Reader::new(&table, &config, aws::secret(&sdk, cursor_key).await?, aws::secret(&sdk, operator_token).await?)?;
    http::run(|request| handle(&reader, request, Timestamp::now())).await
}
