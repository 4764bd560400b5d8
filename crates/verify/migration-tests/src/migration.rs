//! A run of `okusuri-migrate`: a source with awkward rows, a folder, an engine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};
use aws_sdk_dynamodb::types::AttributeValue;
use clap::Parser;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use okusuri_migrate::PRODUCT;
use serde_json::Value;
use tempfile::TempDir;
use tidemark_migrate::cutover::{Dynamo, Postgres as PostgresSide, Reader, Sides};
use tidemark_migrate::export::Manifest;
use tidemark_migrate::item::Attributes;
use tidemark_migrate::mapping::{Mapping, Parameters};
use tidemark_migrate::row::Row;
use tidemark_migrate::{Command, Failure, PhaseOutcome, Product, Report, run_quietly};

use tests::Database;
use tokio_postgres::NoTls;

use crate::Postgres;
use crate::okusuri_source::fill;

/// What the tokens of logins elsewhere are sealed with.
pub const KEY: &str = "a secret of thirty-two characters";

/// The attributes of an item.
pub type Item = BTreeMap<String, AttributeValue>;

/// Okusuri's mapping.
///
/// # Panics
/// When it has an error.
pub fn okusuri_mapping() -> Arc<Mapping> {
    static MAPPING: LazyLock<Arc<Mapping>> = LazyLock::new(|| {
        let mapping = Mapping::read(PRODUCT.mapping.unwrap_or_default(), PRODUCT.conversions);
        Arc::new(mapping.unwrap_or_else(|errors| panic!("{errors}")))
    });
    Arc::clone(&MAPPING)
}

/// A row of Okusuri's tables.
///
/// # Panics
/// When there is no such table.
pub fn okusuri_row(table: &str, columns: &Value) -> Row {
    okusuri_mapping().row(table, &columns.to_string()).unwrap_or_else(|failure| panic!("{failure}"))
}

/// A user's logs during a cutover: the flag for bleeding by date.
pub async fn okusuri_logs(reader: &Reader, user: &str) -> Result<BTreeMap<String, bool>, Failure> {
    let items = reader.items(user, "medication_log").await?;
    let log =
        |item: &Attributes| Some((item.get("Date")?.as_s().ok()?.clone(), *item.get("HasBleeding")?.as_bool().ok()?));
    Ok(items.values().filter_map(log).collect())
}

/// A table of users, whose ids are the owners.
const USERS: &str = "CREATE TABLE users (id text PRIMARY KEY, name text);";

const USERS_MAPPING: &str = r#"
[target]
key = ["PK", "SK"]

[owners.user]
table = "users"
partitions = ["USER#{$owner}"]

[tables.users]
owner = { kind = "user", column = "id" }
columns = { id = "key", name = "text" }
[[tables.users.items]]
type = "user"
key = { PK = "USER#{id}", SK = "USER" }
attributes = { Name = "{name}" }
"#;

/// Everything that a run needs.
#[derive(Debug)]
pub struct Migration {
    /// The source.
    pub postgres: Postgres,
    /// The target.
    pub database: Database,
    /// Of the test's own.
    pub folder: TempDir,
    /// The program; Okusuri's, or one with another mapping.
    pub product: Product,
}

impl Migration {
    /// A source with so many users, and an empty table.
    pub async fn new(seed: u64, users: usize) -> Result<Self> {
        let mut postgres = Postgres::start().await?;
        fill(&postgres.client().await?, seed, users).await?;
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("key"), KEY)?;
        Ok(Self { postgres, database: Database::start().await?, folder, product: PRODUCT })
    }

    /// A source with this schema and these rows, for a mapping with the parameter `zone`.
    ///
    /// # Errors
    /// When either database does not start, or PostgreSQL refuses the SQL.
    pub async fn of_schema(sql: &str, mapping: &'static str) -> Result<Self> {
        let mut postgres = Postgres::start().await?;
        postgres.client().await?.batch_execute(sql).await?;
        Self::of_postgres(postgres, mapping).await
    }

    /// A source with a table `users` whose ids are the owners, and with this schema and these rows;
    /// `mapping` has the other tables.
    pub async fn of_users(sql: &str, mapping: &str) -> Result<Self> {
        let mapping = format!("{USERS_MAPPING}{mapping}");
        Self::of_schema(&format!("{USERS}{sql}"), Box::leak(mapping.into_boxed_str())).await
    }

    /// A source with this schema and these rows, and the mapping that `init` drafts for it.
    pub async fn of_draft(sql: &str) -> Result<Self> {
        let mut migration = Self::of_schema(sql, "").await?;
        let draft = ["init".to_owned(), "--source".to_owned(), migration.postgres.url()];
        migration.product.mapping = None;
        let draft = migration.report_of(draft.to_vec()).await?.text;
        migration.product.mapping = Some(Box::leak(draft.into_boxed_str()));
        Ok(migration)
    }

    /// A source for a mapping.
    pub async fn of_postgres(postgres: Postgres, mapping: &'static str) -> Result<Self> {
        let product = Product { name: "tidemark-migrate", mapping: Some(mapping), conversions: &[], extension: None };
        Ok(Self { postgres, database: Database::start().await?, folder: tempfile::tempdir()?, product })
    }

    /// Both sides of the cutover, as the application sees them.
    pub async fn sides(&self) -> Result<Sides> {
        let manifest: Option<Manifest> = self.json("manifest.json").ok().map(serde_json::from_value).transpose()?;
        let as_of = manifest.map_or(Timestamp::UNIX_EPOCH, |manifest| manifest.taken_at);
        self.sides_as(self.postgres.url(), as_of).await
    }

    /// The same with another address of PostgreSQL, and for an export of another time.
    pub async fn sides_as(&self, source: String, as_of: Timestamp) -> Result<Sides> {
        let texts = ["zone", "log_zone"].map(|name| (name.to_owned(), "Asia/Tokyo".to_owned())).into();
        let parameters = Parameters { texts, secrets: [("key".to_owned(), KEY.into())].into() };
        let world = self.product.world(TimeZone::UTC, parameters, as_of)?;
        let run = self.run_id().unwrap_or_default();
        let dynamo = Dynamo::new(self.database.table(Database::OKUSURI), &world, &run);
        // The application's own connection, with the server's settings.
        let (client, connection) = tokio_postgres::connect(&source, NoTls).await?;
        tokio::spawn(connection);
        Ok(Sides::new(PostgresSide::open(client, "public", &world.mapping).await?, dynamo, world))
    }

    /// The arguments of a phase, with those that every run needs.
    pub fn arguments(&self, phase: &str, flags: &[&str]) -> Vec<String> {
        let folder = |name: &str| self.folder.path().join(name).display().to_string();
        let mut all = vec![phase.to_owned(), "--json".to_owned(), "--run".to_owned(), folder("run")];
        let source = ["--source".to_owned(), self.postgres.url()];
        let secret = format!("key={}", folder("key"));
        let how: &[&str] = match self.product.extension {
            Some(_) => &["--set", "log_zone=Asia/Tokyo", "--secret", &secret],
            None if self.product.mapping.unwrap_or_default().contains("[parameters.zone]") => {
                &["--set", "zone=Asia/Tokyo"]
            }
            None => &[],
        };
        let how = ["--source-zone", "UTC"].iter().chain(how).map(|flag| (*flag).to_owned());
        let table = ["--table".to_owned(), Database::OKUSURI.to_owned(), "--endpoint".to_owned(), self.database.url()];
        match phase {
            "preflight" => {
                all.drain(2..);
                all.extend(source.into_iter().chain(how));
            }
            "export" => all.extend(source),
            "transform" => all.extend(how),
            "load" => all.extend(table.into_iter().chain(["--rate", "1000000"].map(str::to_owned))),
            "check" => all.extend(table),
            "rollback" => {
                all.extend(source.into_iter().chain(how).chain(table));
                all.extend(self.run_id().into_iter().flat_map(|id| ["--confirm".to_owned(), id]));
            }
            "cutover" | "repair" | "rehearse" | "serve" => all.extend(source.into_iter().chain(how).chain(table)),
            _ => {}
        }
        all.extend(flags.iter().map(|flag| (*flag).to_owned()));
        all
    }

    /// Does a phase.
    pub async fn phase(&self, phase: &str, flags: &[&str]) -> Result<PhaseOutcome, Failure> {
        self.run_arguments(self.arguments(phase, flags)).await
    }

    /// From the capture to the load.
    pub async fn captured_and_loaded(&self) -> Result<(), Failure> {
        self.phase("cutover", &["--to", "capture"]).await?;
        self.loaded().await
    }

    /// From the export to the load.
    pub async fn loaded(&self) -> Result<(), Failure> {
        for phase in ["export", "transform", "load"] {
            self.phase(phase, &[]).await?;
        }
        Ok(())
    }

    /// Gives the tool these arguments.
    pub async fn run_arguments(&self, arguments: Vec<String>) -> Result<PhaseOutcome, Failure> {
        self.report_of(arguments).await.map(|report| report.outcome)
    }

    /// The report of a phase.
    pub async fn report(&self, phase: &str) -> Result<Report, Failure> {
        self.report_of(self.arguments(phase, &[])).await
    }

    async fn report_of(&self, arguments: Vec<String>) -> Result<Report, Failure> {
        let command = Command::parse_from(["okusuri-migrate".to_owned()].into_iter().chain(arguments));
        run_quietly(command, &self.product).await
    }

    /// A row of a table of the mapping.
    ///
    /// # Panics
    /// If there is no such table, or the mapping has an error.
    pub fn row(&self, table: &str, columns: &Value) -> Row {
        let mapping = Mapping::read(self.product.mapping.unwrap_or_default(), self.product.conversions);
        let mapping = mapping.unwrap_or_else(|errors| panic!("{errors}"));
        mapping.row(table, &columns.to_string()).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Writes an item, as another program does.
    pub async fn put_item(&self, item: Item) -> Result<()> {
        let put = self.database.client.put_item().table_name(Database::OKUSURI);
        put.set_item(Some(item.into_iter().collect())).send().await?;
        Ok(())
    }

    /// Deletes an item, as another program does.
    pub async fn delete_item(&self, partition: &str, sort: &str) -> Result<()> {
        let [partition, sort] = [partition, sort].map(|text| AttributeValue::S(text.to_owned()));
        let delete = self.database.client.delete_item().table_name(Database::OKUSURI);
        delete.key("PK", partition).key("SK", sort).send().await?;
        Ok(())
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
    pub fn json(&self, name: &str) -> Result<Value> {
        let path = self.path(name);
        let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_slice(&text)?)
    }

    /// A file of JSON lines of the run.
    pub fn lines(&self, name: &str) -> Result<Vec<Value>> {
        let path = self.path(name);
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// All items of the table, by their key.
    pub async fn items(&self) -> Result<BTreeMap<(String, String), Item>> {
        let scan = self.database.client.scan().table_name(Database::OKUSURI).into_paginator().items().send();
        let items: Vec<_> = scan.collect::<Result<_, _>>().await?;
        let text = |value: &AttributeValue| value.as_s().cloned().unwrap_or_default();
        Ok(items.into_iter().map(|item| ((text(&item["PK"]), text(&item["SK"])), item.into_iter().collect())).collect())
    }
}
