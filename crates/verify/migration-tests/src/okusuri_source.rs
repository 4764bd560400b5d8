//! The PostgreSQL database that Okusuri comes from: its schema, and as many awkward rows as one
//! wants.

use anyhow::Result;
use tokio_postgres::Client;

use crate::foreign::RANDOM;

/// better-auth's tables as its generator makes them, and the application's own.
pub const SCHEMA: &str = include_str!("okusuri_source.sql");

const ROWS: &str = include_str!("okusuri_rows.sql");

/// Makes the tables and fills them with so many users and what belongs to them, some forty rows
/// each: the same of the same seed.
pub async fn fill(client: &Client, seed: u64, users: usize) -> Result<()> {
    let settings = format!("SET rows.seed = '{seed}'; SET rows.users = '{users}'");
    for statements in [SCHEMA, RANDOM, &settings, ROWS] {
        client.batch_execute(statements).await?;
    }
    Ok(())
}
