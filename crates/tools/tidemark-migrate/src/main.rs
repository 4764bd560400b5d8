//! `tidemark-migrate`: migrates a PostgreSQL schema to DynamoDB, as a mapping file declares it.

use std::process::ExitCode;

use tidemark_migrate::Product;

#[tokio::main]
async fn main() -> ExitCode {
    tidemark_migrate::main(Product { name: "tidemark-migrate", mapping: None, conversions: &[], extension: None }).await
}
