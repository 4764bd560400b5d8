//! How many changes a second `cutover --to dual` replicates.

use std::path::Path;

use anyhow::{Result, ensure};
use clap::Parser;
use okusuri_migrate::PRODUCT;
use tidemark_migrate::Command;

use super::source::Source;

/// Changes a second of a backlog of inserts, which belong to so many users.
pub(super) async fn rate(folder: &Path, users: u32, changes: u32) -> Result<f64> {
    let source = Source::start(folder).await?;
    let at = "timestamptz '2000-01-01'";
    let insert = format!(
        r#"INSERT INTO "user" (id, name, email, "emailVerified") SELECT n, 'User', n || '@example.com', true
           FROM generate_series(1, {users}) AS n"#
    );
    source.client.batch_execute(&insert).await?;
    for name in ["cutover --to capture", "export", "transform", "load"] {
        phase(&source, name).await?;
    }
    let insert = format!(
        "INSERT INTO medication_logs (user_id, has_bleeding, created_at, updated_at)
         SELECT 1 + n % {users}, n % 7 = 0, {at} + n * interval '1 day', {at} + n * interval '1 day'
         FROM generate_series(1, {changes}) AS n"
    );
    source.client.batch_execute(&insert).await?;
    let report = phase(&source, "cutover --to dual").await?;
    source.engine.shutdown().await;
    ensure!(report["replicated"] == changes, "{changes} changes were made: {report}");
    Ok(f64::from(changes) / report["seconds"].as_f64().unwrap_or(f64::NAN))
}

async fn phase(source: &Source, phase: &str) -> Result<serde_json::Value> {
    let line = [vec!["okusuri-migrate".to_owned()], source.command(phase)?].concat();
    Ok(tidemark_migrate::run_quietly(Command::try_parse_from(line)?, &PRODUCT).await?.json)
}
