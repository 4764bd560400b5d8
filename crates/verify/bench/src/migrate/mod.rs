//! How fast `okusuri-migrate` loads, beside what the engine takes at best, and how fast it
//! replicates.

pub(crate) mod memory;
mod replication;
mod source;

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use clap::Parser;
use futures::future::try_join_all;
use jiff::{SignedDuration, Timestamp};
use okusuri_migrate::PRODUCT;
use postgres_server::Postgres;
use serde_json::json;
use tidemark_engine::{Engine, Options};
use tidemark_migrate::export::{self, MANIFEST, Manifest};
use tidemark_migrate::mapping::Mapping;
use tidemark_migrate::run::{LineWriter, Run, RunFolderArgument};
use tidemark_migrate::{Command, PhaseOutcome};

use crate::report::{Better, Row};
use crate::{Effort, Folders, postgres_is_missing, stack};

const SECTION: &str = "Migration: medication logs into an empty table";

/// Logs of a user: a year.
const LOGS_OF_A_USER: u32 = 365;

/// The users of a backlog that belongs to many.
const USERS_OF_BACKLOG: u32 = 300;

/// The aim: changes a second.
const REPLICATED_MIN: f64 = 1_000.0;

/// The aim of the load, as a part of the rate of plain batches.
const LOAD_MIN: f64 = 0.8;

/// Requests at a time, on both sides.
const PARALLEL: usize = 8;

/// [The most items of a
/// batch](https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html).
const BATCH: usize = 25;

/// Items a second of the load, and of plain `BatchWriteItem`s of the same items; and of the check.
pub(crate) async fn rows(folders: &Folders, effort: Effort) -> Result<Vec<Row>> {
    let (mut transforms, mut loads, mut plain, mut checks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut of_one, mut of_many) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds.min(3) {
        let work = folders.work.join("migration");
        let Rates { transform, load, check, items } = migrate(&work, effort.migrated_users).await?;
        transforms.push(transform);
        loads.push(load);
        checks.push(check);
        plain.push(batches(&items).await?);
        std::fs::remove_dir_all(&work)?;
        if Postgres::is_installed() {
            for (users, rates) in [(1, &mut of_one), (USERS_OF_BACKLOG, &mut of_many)] {
                rates.push(replication::rate(&work, users, effort.replicated_changes).await?);
                std::fs::remove_dir_all(&work)?;
            }
        }
    }
    let mut rows = vec![
        Row::median(SECTION, "Transform: each row by the mapping", "rows/s", &transforms),
        Row::median(SECTION, "Load: each item on its condition", "items/s", &loads)
            .beside_runs(Better::Higher, "BatchWriteItem, unconditional", &loads, &plain)
            .at_least_times(LOAD_MIN),
        Row::median(SECTION, "Check: every item, both ways, and every marker", "items/s", &checks),
    ];
    if of_one.is_empty() {
        rows.extend(postgres_is_missing("Migration: replication"));
    } else {
        for (what, rates) in [("one user", &of_one), ("300 users", &of_many)] {
            let row = Row::median(SECTION, format!("Dual: changes of {what}"), "changes/s", rates);
            rows.push(row.at_least(REPLICATED_MIN));
        }
    }
    Ok(rows)
}

type Item = HashMap<String, AttributeValue>;

/// Rows a second of the transformation, items a second of the load and of the check, and the items.
struct Rates {
    transform: f64,
    load: f64,
    check: f64,
    items: Vec<Item>,
}

async fn migrate(work: &Path, users: u32) -> Result<Rates> {
    let rows = export(work, users)?;
    let (engine, table) = empty().await?;
    let client = stack::client(&engine);
    let (work, url) = (work.display().to_string(), engine.url());
    let flags = |phase: &'static str| match phase {
        "transform" => vec!["--source-zone", "UTC", "--set", "log_zone=Asia/Tokyo", "--without", "key"],
        "load" => vec!["--endpoint", &url, "--table", &table, "--rate", "1000000"],
        _ => vec!["--endpoint", &url, "--table", &table, "--strict"],
    };
    let mut seconds = BTreeMap::new();
    for phase in ["transform", "load", "check"] {
        let command = [vec!["okusuri-migrate", phase, "--run", &work], flags(phase)].concat();
        let start = Instant::now();
        let report = tidemark_migrate::run_quietly(Command::try_parse_from(command)?, &PRODUCT).await?;
        ensure!(report.outcome == PhaseOutcome::Done, "{phase}: {}", report.text);
        seconds.insert(phase, report.json["seconds"].as_f64().unwrap_or_else(|| start.elapsed().as_secs_f64()));
    }
    let items = client.scan().table_name(&table).into_paginator().items().send().collect::<Result<Vec<_>, _>>().await?;
    engine.shutdown().await;
    // A user is a profile and a marker.
    ensure!(items.len() as u64 == rows + u64::from(users), "{} items of {rows} rows", items.len());
    let rate = |phase: &str| items.len() as f64 / seconds[phase];
    let transform = rows as f64 / seconds["transform"];
    let (load, check) = (rate("load"), rate("check"));
    Ok(Rates { transform, load, check, items })
}

/// An export as PostgreSQL would give it, and how many rows it has.
fn export(work: &Path, users: u32) -> Result<u64> {
    let run = Run::open(&RunFolderArgument { run: work.to_owned() })?;
    run.fresh_folder("export")?;
    let first: Timestamp = "2025-01-01T12:00:00Z".parse()?;
    let mut tables = BTreeMap::new();
    let mapping = Mapping::read(PRODUCT.mapping.unwrap_or_default(), PRODUCT.conversions)?;
    for table in mapping.tables.iter().map(|table| table.name.as_str()) {
        let mut lines = LineWriter::create(run.path(&export::file(table)))?;
        for user in 0..users {
            let id = format!("{user:032}");
            if table == "user" {
                let email = format!("user{user}@example.com");
                lines.write(
                    &json!({ "id": id, "name": "User", "email": email, "createdAt": first, "updatedAt": first })
                        .to_string(),
                )?;
            }
            for day in (0..LOGS_OF_A_USER).filter(|_| table == "medication_logs") {
                let at = first + SignedDuration::from_hours(24 * i64::from(day));
                let log = json!({ "id": user * LOGS_OF_A_USER + day, "user_id": id, "has_bleeding": day % 28 < 4, "created_at": at, "updated_at": at });
                lines.write(&log.to_string())?;
            }
        }
        tables.insert(table.to_owned(), lines.finish()?);
    }
    let rows = tables.values().map(|written| written.lines).sum();
    let manifest = Manifest {
        run: "bench".to_owned(),
        mapping: mapping.digest,
        taken_at: first,
        columns: BTreeMap::new(),
        tables_left_behind: Vec::new(),
        tables,
    };
    run.write(MANIFEST, &manifest)?;
    Ok(rows)
}

async fn empty() -> Result<(Engine, String)> {
    let engine = Engine::start(Options::default()).await?;
    let table = stack::table("OkusuriTable")?;
    tidemark_local::tables::ensure(&stack::client(&engine), &table).await?;
    Ok((engine, table.name))
}

/// Items a second of plain batches.
async fn batches(items: &[Item]) -> Result<f64> {
    let (engine, table) = empty().await?;
    let client = stack::client(&engine);
    let start = Instant::now();
    let writers = items.chunks(items.len().div_ceil(PARALLEL)).map(|share| put(&client, &table, share));
    try_join_all(writers).await?;
    let took = start.elapsed();
    engine.shutdown().await;
    Ok(items.len() as f64 / took.as_secs_f64())
}

async fn put(client: &Client, table: &str, items: &[Item]) -> Result<()> {
    for batch in items.chunks(BATCH) {
        let requests = batch.iter().map(|item| {
            let put = PutRequest::builder().set_item(Some(item.clone())).build()?;
            Ok(WriteRequest::builder().put_request(put).build())
        });
        let requests = requests.collect::<Result<Vec<_>>>()?;
        let answer = client.batch_write_item().request_items(table, requests).send().await?;
        ensure!(answer.unprocessed_items.context("no answer")?.is_empty(), "the engine has left something out");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_measured_is_a_whole_migration() {
        let work = std::env::temp_dir().join(format!("tidemark-bench-migration-{}", std::process::id()));
        let Rates { transform, load, check, items } = migrate(&work, 1).await.expect("a migration");
        assert!(transform > 0.0);
        assert!(load > 0.0 && check > 0.0 && items.len() == 2 + LOGS_OF_A_USER as usize);
        std::fs::remove_dir_all(&work).expect("a folder");
    }
}
