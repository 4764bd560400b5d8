//! `okusuri-migrate export`: copies the source's tables in one snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use clap::Args;
use futures::TryStreamExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_postgres::{Client, IsolationLevel, Transaction};

use crate::cutover::run_state::{check_database, check_not_dual, started};
use crate::run::{FileDigest, LineWriter, Run, RunFolderArgument, RunIdentity};
use crate::source::{Columns, Server, Table, check_schema, connect, database_identity, source_failure};
use crate::terminal::progress_bar;
use crate::{Failure, FailureKind, PhaseOutcome, Report};

/// The name of the manifest in the run's folder. An export is complete once its manifest exists.
pub const MANIFEST: &str = "manifest.json";

/// The run, and the source.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    #[command(flatten)]
    server: Server,
    /// A column that this tool does not know and that is not exported: `user.nickname`. May be
    /// given several times.
    #[arg(long = "ignore-column", value_name = "TABLE.COLUMN")]
    ignored: Vec<String>,
    /// Exports again into a run that already has an export; the later phases must run again, too.
    #[arg(long)]
    again: bool,
    /// Checks the schema and counts the rows; writes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The manifest of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The run's id.
    pub run: String,
    /// The server's time at the start of the transaction: all rows are as they were then.
    pub taken_at: Timestamp,
    /// The visible transactions, from `txid_current_snapshot()`.
    pub snapshot: String,
    /// The position of the write-ahead log.
    pub lsn: String,
    /// `version()`
    pub server_version: String,
    /// The schema of the tables.
    pub schema: String,
    /// The columns that were found.
    pub columns: Columns,
    /// Columns that were not exported, on request.
    pub ignored_columns: BTreeSet<String>,
    /// Tables of the schema that this tool does not know.
    pub tables_left_behind: Vec<String>,
    /// The number of rows and the hash of each file.
    pub tables: BTreeMap<Table, FileDigest>,
}

/// The export file of a table.
pub fn file(table: Table) -> String {
    format!("export/{table}.jsonl")
}

/// The command.
pub(crate) async fn run(arguments: Arguments) -> Result<Report, Failure> {
    let Arguments { folder, server, ignored, again, dry_run } = arguments;
    let ignored = BTreeSet::from_iter(ignored);
    if dry_run {
        return dry_run_report(&server, &ignored, started(&Run::open_unlocked(&folder))?).await;
    }
    let run = Run::open(&folder)?;
    check_not_dual(&run)?;
    let manifest = match run.read(MANIFEST)? {
        Some(_) if !again && run.has_report("export") => {
            return Err(FailureKind::RunExists.because("the run already has an export; --again exports again"));
        }
        // The export was complete, and the process was killed before the report.
        Some(manifest) if !again => manifest,
        _ => export(&run, &mut connect(&server).await?, &server.schema, ignored).await?,
    };
    let report = report(&manifest, manifest.tables.iter().map(|(table, written)| (*table, written.lines)), false);
    run.write_report("export", &report)?;
    Ok(report)
}

async fn dry_run_report(
    server: &Server,
    ignored: &BTreeSet<String>,
    cutover: Option<String>,
) -> Result<Report, Failure> {
    let mut client = connect(server).await?;
    let (transaction, mut manifest) = snapshot(&mut client, &server.schema, ignored).await?;
    check_contains_capture(&transaction, cutover).await?;
    manifest.ignored_columns.clone_from(ignored);
    let mut counts = BTreeMap::new();
    for table in Table::ALL {
        counts.insert(table, count(&transaction, &server.schema, table).await?);
    }
    Ok(report(&manifest, counts.into_iter(), true))
}

async fn export(run: &Run, client: &mut Client, schema: &str, ignored: BTreeSet<String>) -> Result<Manifest, Failure> {
    // From here on the run has no export until a new one is complete.
    run.remove(MANIFEST)?;
    run.remove_report("export")?;
    run.fresh_folder("export")?;
    let identity = identity_of(run, client).await?;
    let (transaction, mut manifest) = snapshot(client, schema, &ignored).await?;
    check_contains_capture(&transaction, started(run)?).await?;
    manifest.run = identity.run;
    manifest.ignored_columns = ignored;
    for table in Table::ALL {
        let rows = count(&transaction, schema, table).await?;
        let bar = progress_bar(rows, table.name());
        let mut lines = LineWriter::create(run.path(&file(table)))?;
        let no_parameters: [&str; 0] = [];
        let mut stream =
            pin!(transaction.query_raw(&select(schema, table), no_parameters).await.map_err(source_failure)?);
        while let Some(row) = stream.try_next().await.map_err(source_failure)? {
            lines.write(row.try_get(0).map_err(source_failure)?)?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        let written = lines.finish()?;
        if written.lines != rows {
            let lines = written.lines;
            return Err(
                FailureKind::SourceUnreadable.because(format!("{table} has {rows} rows, but {lines} were read"))
            );
        }
        manifest.tables.insert(table, written);
    }
    transaction.commit().await.map_err(source_failure)?;
    run.write(MANIFEST, &manifest)?;
    Ok(manifest)
}

/// The run's id. An export without a cutover begins its run here.
async fn identity_of(run: &Run, client: &Client) -> Result<RunIdentity, Failure> {
    let database = database_identity(client).await?;
    match run.identity()? {
        Some(identity) => check_database(&identity, database.as_deref()).map(|()| identity),
        None => run.begin(database),
    }
}

/// Starts the transaction in which everything is read.
async fn snapshot<'c>(
    client: &'c mut Client,
    schema: &str,
    ignored: &BTreeSet<String>,
) -> Result<(Transaction<'c>, Manifest), Failure> {
    check_schema(client, schema, ignored).await?;
    let transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = transaction.start().await.map_err(source_failure)?;
    let names = Table::ALL.map(|table| qualified(schema, table)).join(", ");
    // The lock is taken before the first query takes the snapshot. Otherwise a statement that
    // rewrites a table, such as TRUNCATE or ALTER TABLE, could leave it empty in the snapshot.
    // Without row security, a policy that hides rows causes an error instead of missing rows.
    let begin = format!("LOCK TABLE {names} IN ACCESS SHARE MODE; SET LOCAL row_security TO off");
    transaction.batch_execute(&begin).await.map_err(source_failure)?;
    let (columns, tables_left_behind) = check_schema(&transaction, schema, ignored).await?;
    let facts = transaction
        .query_one(
            "SELECT to_json(now())::text, txid_current_snapshot()::text, version(),
                (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END)::text",
            &[],
        )
        .await
        .map_err(source_failure)?;
    let taken_at: String = facts.get(0);
    let taken_at = taken_at.trim_matches('"').parse().map_err(|error| FailureKind::SourceUnreadable.because(error))?;
    let manifest = Manifest {
        run: String::new(),
        taken_at,
        snapshot: facts.get(1),
        lsn: facts.get(3),
        server_version: facts.get(2),
        schema: schema.to_owned(),
        columns,
        ignored_columns: BTreeSet::new(),
        tables_left_behind,
        tables: BTreeMap::new(),
    };
    Ok((transaction, manifest))
}

/// Refuses a snapshot that lacks the capture of this run. A change from before the triggers is in no
/// outbox, so it must be in the snapshot; a standby may not have it yet.
async fn check_contains_capture(transaction: &Transaction<'_>, cutover: Option<String>) -> Result<(), Failure> {
    let Some(cutover) = cutover else { return Ok(()) };
    let exists = "SELECT to_regclass('tidemark_migration.plan') IS NOT NULL";
    let found: Option<String> = match transaction.query_one(exists, &[]).await.map_err(source_failure)?.get(0) {
        false => None,
        true => {
            let row = transaction.query_opt("SELECT run FROM tidemark_migration.plan", &[]).await;
            row.map_err(source_failure)?.map(|row| row.get(0))
        }
    };
    if found.as_deref() == Some(&cutover) {
        return Ok(());
    }
    let found = found.map_or_else(|| "no cutover".to_owned(), |found| format!("the cutover {found}"));
    Err(FailureKind::SourceBehind.because(format!(
        "the snapshot contains {found}, and this run has started the cutover {cutover}. Export from the primary, or \
         wait until the standby has caught up"
    )))
}

async fn count(transaction: &Transaction<'_>, schema: &str, table: Table) -> Result<u64, Failure> {
    let query = format!("SELECT count(*) FROM {}", qualified(schema, table));
    let rows: i64 = transaction.query_one(&query, &[]).await.map_err(source_failure)?.get(0);
    u64::try_from(rows).map_err(|error| FailureKind::SourceUnreadable.because(error))
}

/// Selects each row as JSON, in an order that no locale changes.
fn select(schema: &str, table: Table) -> String {
    let columns = table.columns().iter().map(|column| quoted(column.0)).collect::<Vec<_>>().join(", ");
    let from = qualified(schema, table);
    format!(r#"SELECT row_to_json(r)::text FROM (SELECT {columns} FROM {from} ORDER BY "id"::text COLLATE "C") r"#)
}

fn qualified(schema: &str, table: Table) -> String {
    format!("{}.{}", quoted(schema), quoted(table.name()))
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn report(manifest: &Manifest, rows: impl Iterator<Item = (Table, u64)>, dry_run: bool) -> Report {
    let rows: BTreeMap<_, _> = rows.map(|(table, rows)| (table.name(), rows)).collect();
    let total: u64 = rows.values().sum();
    let mut text = format!("{total} rows of {}", manifest.taken_at);
    for (table, rows) in &rows {
        text.push_str(&format!("\n  {table}: {rows}"));
    }
    for (what, names) in [
        ("columns not exported", Vec::from_iter(manifest.ignored_columns.iter().cloned())),
        ("tables not exported", manifest.tables_left_behind.clone()),
    ] {
        if !names.is_empty() {
            text.push_str(&format!("\n{what}: {}", names.join(", ")));
        }
    }
    let json = json!({
        "phase": "export",
        "dryRun": dry_run,
        "rows": rows,
        "takenAt": manifest.taken_at,
        "snapshot": manifest.snapshot,
        "lsn": manifest.lsn,
        "serverVersion": manifest.server_version,
        "ignoredColumns": manifest.ignored_columns,
        "tablesLeftBehind": manifest.tables_left_behind,
    });
    Report { outcome: PhaseOutcome::Done, json, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_quotes_are_quoted() {
        assert_eq!(qualified("pub\"lic", Table::User), r#""pub""lic"."user""#);
    }
}
