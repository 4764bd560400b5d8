//! `okusuri-migrate`: migrates Okusuri from PostgreSQL to DynamoDB.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    tidemark_migrate::main(okusuri_migrate::PRODUCT).await
}
