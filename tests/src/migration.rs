//! A run of `okusuri-migrate`: a source with awkward rows, a folder, an engine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use okusuri_migrate::{Command, Failure, PhaseOutcome, run_quietly};
use serde_json::Value;
use tempfile::TempDir;

use crate::okusuri_source::fill;
use crate::{Database, Postgres};

/// What the tokens of logins elsewhere are sealed with.
pub const KEY: &str = "a secret of thirty-two characters";

/// Everything that a run needs.
#[derive(Debug)]
pub struct Migration {
    /// The source.
    pub postgres: Postgres,
    /// The target.
    pub database: Database,
    /// Of the test's own.
    pub folder: TempDir,
}

impl Migration {
    /// A source with so many users, and an empty table.
    ///
    /// # Errors
    /// When either does not start.
    pub async fn new(seed: u64, users: usize) -> Result<Self> {
        let mut postgres = Postgres::start().await?;
        fill(&postgres.client().await?, seed, users).await?;
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("key"), KEY)?;
        Ok(Self { postgres, database: Database::start().await?, folder })
    }

    /// The arguments of a phase, with those that every run needs.
    pub fn arguments(&self, phase: &str, flags: &[&str]) -> Vec<String> {
        let folder = |name: &str| self.folder.path().join(name).display().to_string();
        let mut all = vec![phase.to_owned(), "--json".to_owned(), "--run".to_owned(), folder("run")];
        let source = ["--source".to_owned(), self.postgres.url()];
        let how = ["--source-zone", "UTC", "--log-zone", "Asia/Tokyo", "--key-file", &folder("key")].map(str::to_owned);
        let table = ["--endpoint".to_owned(), self.database.url()];
        match phase {
            "export" => all.extend(source),
            "transform" => all.extend(how),
            "load" => all.extend(table.into_iter().chain(["--rate", "1000000"].map(str::to_owned))),
            "check" => all.extend(table),
            "rollback" => {
                all.extend(source.into_iter().chain(how).chain(table));
                all.extend(self.run_id().into_iter().flat_map(|id| ["--confirm".to_owned(), id]));
            }
            "cutover" | "repair" => all.extend(source.into_iter().chain(how).chain(table)),
            _ => {}
        }
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        all
    }

    /// Does a phase.
    ///
    /// # Errors
    /// When it could not be done.
    pub async fn phase(&self, phase: &str, flags: &[&str]) -> Result<PhaseOutcome, Failure> {
        self.run_arguments(self.arguments(phase, flags)).await
    }

    /// Gives the tool these arguments.
    ///
    /// # Errors
    /// As above.
    pub async fn run_arguments(&self, arguments: Vec<String>) -> Result<PhaseOutcome, Failure> {
        let command = Command::parse_from(["okusuri-migrate".to_owned()].into_iter().chain(arguments));
        run_quietly(command).await.map(|report| report.outcome)
    }

    /// A file of the run.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("run").join(name)
    }

    /// The run's id, once it has begun.
    pub fn run_id(&self) -> Option<String> {
        self.json("run.json").ok()?["run"].as_str().map(str::to_owned)
    }

    /// A file of JSON of the run.
    ///
    /// # Errors
    /// When it is not there, or not JSON.
    pub fn json(&self, name: &str) -> Result<Value> {
        let path = self.path(name);
        let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// A file of JSON lines of the run.
    ///
    /// # Errors
    /// As above.
    pub fn lines(&self, name: &str) -> Result<Vec<Value>> {
        let path = self.path(name);
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// All items of the table, by their key.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn items(&self) -> Result<BTreeMap<(String, String), BTreeMap<String, AttributeValue>>> {
        let scan = self.database.client.scan().table_name(Database::OKUSURI).into_paginator().items().send();
        let items: Vec<_> = scan.collect::<Result<_, _>>().await?;
        let text = |value: &AttributeValue| value.as_s().cloned().unwrap_or_default();
        Ok(items.into_iter().map(|item| ((text(&item["PK"]), text(&item["SK"])), item.into_iter().collect())).collect())
    }
}
