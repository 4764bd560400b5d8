//! `export`: copies the source's tables in one snapshot.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;

use clap::Args;
use futures::TryStreamExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_postgres::{Client, IsolationLevel, Transaction};

use crate::arguments::MappingFile;
use crate::command::Product;
use crate::cutover::read_started;
use crate::cutover::run_state::{check_database, check_not_dual, started};
use crate::mapping::Mapping;
use crate::run::{FileDigest, LineWriter, Run, RunFolderArgument, RunIdentity};
use crate::source::{FoundColumns, Schema, Server, check_unchanged, connect, database_identity, source_failure};
use crate::terminal::Progress;
use crate::{Failure, FailureKind, PhaseOutcome, Report};

/// The name of the manifest in the run's folder. An export is complete once its manifest exists.
pub const MANIFEST: &str = "manifest.json";

/// The run, and the source.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) folder: RunFolderArgument,
    #[command(flatten)]
    pub(crate) server: Server,
    #[command(flatten)]
    pub(crate) mapping: MappingFile,
}

/// The manifest of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The run's id.
    pub run: String,
    /// The server's time at the start of the transaction: all rows are as they were then.
    pub taken_at: Timestamp,
    /// The columns that were found.
    pub columns: FoundColumns,
    /// Tables of the schema that the mapping does not know.
    pub tables_left_behind: Vec<String>,
    /// The number of rows and the hash of each file.
    pub tables: BTreeMap<String, FileDigest>,
    /// SHA-256 of the mapping.
    pub mapping: String,
}

/// The export file of a table.
pub fn file(table: &str) -> String {
    format!("export/{table}.jsonl")
}

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let Arguments { folder, server, mapping } = arguments;
    let mapping = mapping.read(product)?;
    let run = Run::open(&folder)?;
    check_not_dual(&run)?;
    let manifest = export(&run, &server, &mapping).await?;
    let report = report(&manifest);
    run.write_report("export", &report)?;
    Ok(report)
}

async fn export(run: &Run, server: &Server, mapping: &Arc<Mapping>) -> Result<Manifest, Failure> {
    let mut client = connect(server).await?;
    // From here on the run has no export until a new one is complete.
    run.remove(MANIFEST)?;
    run.fresh_folder("export")?;
    let identity = identity_of(run, &client).await?;
    let (transaction, mut manifest, schema) = snapshot(&mut client, &server.schema, mapping).await?;
    let cutover = started(run)?;
    if cutover.is_some() {
        check_contains_capture(&transaction, cutover).await?;
        check_unchanged(&transaction).await?;
    }
    manifest.run = identity.run;
    for table in &mapping.tables {
        let progress = Progress::new(0, "rows");
        let mut lines = LineWriter::create(run.path(&file(&table.name)))?;
        let no_parameters: [&str; 0] = [];
        let select = schema.select_all(table);
        let mut stream = pin!(transaction.query_raw(&select, no_parameters).await.map_err(source_failure)?);
        while let Some(row) = stream.try_next().await.map_err(source_failure)? {
            lines.write(row.try_get(0).map_err(source_failure)?)?;
            progress.inc(1);
        }
        manifest.tables.insert(table.name.clone(), lines.finish()?);
    }
    transaction.commit().await.map_err(source_failure)?;
    run.write(MANIFEST, &manifest)?;
    Ok(manifest)
}

/// Starts the transaction in which everything is read.
async fn snapshot<'c>(
    client: &'c mut Client,
    name: &str,
    mapping: &Arc<Mapping>,
) -> Result<(Transaction<'c>, Manifest, Schema), Failure> {
    let found = Schema::read(client, name, mapping).await?;
    found.check()?;
    let transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = transaction.start().await.map_err(source_failure)?;
    let names: Vec<_> = mapping.tables.iter().map(|table| found.table(&table.name)).collect();
    // The lock is taken before the first query takes the snapshot. Otherwise a statement that
    // rewrites a table, such as TRUNCATE or ALTER TABLE, could leave it empty in the snapshot.
    // Without row security, a policy that hides rows causes an error instead of missing rows.
    let begin = format!("LOCK TABLE {} IN ACCESS SHARE MODE; SET LOCAL row_security TO off", names.join(", "));
    transaction.batch_execute(&begin).await.map_err(source_failure)?;
    let schema = Schema::read(&transaction, name, mapping).await?;
    schema.check()?;
    let taken_at = transaction.query_one("SELECT to_json(now())::text", &[]).await.map_err(source_failure)?;
    let taken_at = taken_at.get::<_, &str>(0).trim_matches('"').parse();
    let manifest = Manifest {
        run: String::new(),
        taken_at: taken_at.map_err(|error| FailureKind::SourceUnreadable.because(error))?,
        columns: schema.columns.clone(),
        tables_left_behind: schema.left_behind.clone(),
        tables: BTreeMap::new(),
        mapping: mapping.digest.clone(),
    };
    Ok((transaction, manifest, schema))
}

/// The run's id. An export without a cutover begins its run here.
async fn identity_of(run: &Run, client: &Client) -> Result<RunIdentity, Failure> {
    let database = database_identity(client).await?;
    match run.identity()? {
        Some(identity) => check_database(&identity, database.as_deref()).map(|()| identity),
        None => run.begin(database),
    }
}

/// Refuses a snapshot that lacks the capture of this run. A change from before the triggers is in
/// no outbox, so it must be in the snapshot; a standby may not have it yet.
async fn check_contains_capture(transaction: &Transaction<'_>, cutover: Option<String>) -> Result<(), Failure> {
    let Some(cutover) = cutover else { return Ok(()) };
    let found = read_started(transaction).await?.map(|(run, _)| run);
    if found.as_deref() == Some(&cutover) {
        return Ok(());
    }
    let found = found.map_or_else(|| "no cutover".to_owned(), |found| format!("the cutover {found}"));
    Err(FailureKind::SourceBehind.because(format!(
        "the snapshot contains {found}, and this run has started the cutover {cutover}. Export from the primary, or \
         wait until the standby has caught up"
    )))
}

fn report(manifest: &Manifest) -> Report {
    let rows: BTreeMap<_, _> = manifest.tables.iter().map(|(table, written)| (table, written.lines)).collect();
    let total: u64 = rows.values().sum();
    let mut text = format!("{total} rows of {}", manifest.taken_at);
    for (table, rows) in &rows {
        text.push_str(&format!("\n  {table}: {rows}"));
    }
    if !manifest.tables_left_behind.is_empty() {
        text.push_str(&format!("\ntables not exported: {}", manifest.tables_left_behind.join(", ")));
    }
    let json = json!({
        "phase": "export",
        "rows": rows,
        "takenAt": manifest.taken_at,
        "tablesLeftBehind": manifest.tables_left_behind,
    });
    Report { outcome: PhaseOutcome::Done, json, text }
}
