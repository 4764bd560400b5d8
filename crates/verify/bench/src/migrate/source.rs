//! Okusuri's database in PostgreSQL, and the phases of a run that starts from it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use postgres_server::Postgres;
use tidemark_engine::{Engine, Options};
use tokio_postgres::Client;

use crate::stack;

/// The tables.
const SCHEMA: &str = include_str!("../../../migration-tests/src/okusuri_source.sql");

/// Both databases of a migration, and its folder.
#[derive(Debug)]
pub(super) struct Source {
    // The server ends when this is dropped.
    _postgres: Postgres,
    url: String,
    pub(super) client: Client,
    pub(super) engine: Engine,
    table: String,
    folder: PathBuf,
}

impl Source {
    /// An empty source and an empty table.
    pub(super) async fn start(folder: &Path) -> Result<Self> {
        let mut postgres = Postgres::start().await?;
        let client = postgres.client().await?;
        client.batch_execute(SCHEMA).await?;
        let engine = Engine::start(Options::default()).await?;
        let table = stack::table("OkusuriTable")?;
        tidemark_local::tables::ensure(&stack::client(&engine), &table).await?;
        let (url, table, folder) = (postgres.url(), table.name, folder.to_owned());
        Ok(Self { _postgres: postgres, url, client, engine, table, folder })
    }

    /// The command line of a phase, such as `cutover --to dual`.
    pub(super) fn command(&self, phase: &str) -> Result<Vec<String>> {
        let run = self.folder.display().to_string();
        let mut words = phase.split(' ').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        let source = ["--source", &self.url];
        let table = ["--endpoint", &self.engine.url(), "--table", &self.table].map(str::to_owned);
        let how = ["--source-zone", "UTC", "--set", "log_zone=Asia/Tokyo", "--without", "key"];
        let mut line = vec![name.clone(), "--json".to_owned(), "--run".to_owned(), run];
        line.extend(words);
        if ["export", "cutover", "rollback"].contains(&&*name) {
            line.extend(source.map(str::to_owned));
        }
        if ["transform", "cutover", "rollback"].contains(&&*name) {
            line.extend(how.map(str::to_owned));
        }
        if ["load", "check", "cutover", "rollback"].contains(&&*name) {
            line.extend(table);
        }
        match &*name {
            "load" => line.extend(["--rate".to_owned(), "1000000".to_owned()]),
            "rollback" => line.extend(["--confirm".to_owned(), self.run_id()?]),
            _ => {}
        }
        Ok(line)
    }

    fn run_id(&self) -> Result<String> {
        let run: serde_json::Value = serde_json::from_slice(&std::fs::read(self.folder.join("run.json"))?)?;
        run["run"].as_str().map(str::to_owned).context("the run has no id")
    }
}
