//! `okusuri-migrate export`: the source's tables as they are in one moment.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use clap::Args;
use futures::TryStreamExt;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_postgres::{Client, IsolationLevel, Transaction};

use crate::cutover::run_state::check_not_dual;
use crate::run::{FileDigest, LineWriter, Run, RunFolderArgument};
use crate::source::{Columns, Server, Table, check_schema, connect, source_failure};
use crate::terminal::progress_bar;
use crate::{Failure, FailureKind, PhaseOutcome, Report};

/// The name of the manifest in the run's folder: the export counts once it is there.
pub const MANIFEST: &str = "manifest.json";

/// Which tables, and where to.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    #[command(flatten)]
    server: Server,
    /// A column of which nothing here knows, and which is left behind: `user.nickname`. May be
    /// given several times.
    #[arg(long = "ignore-column", value_name = "TABLE.COLUMN")]
    ignored: Vec<String>,
    /// Exports once more into a run that has an export; the items made from that export must be
    /// made again.
    #[arg(long)]
    again: bool,
    /// Looks at the schema and counts the rows; writes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The exported tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// The server's clock when its transaction began: all rows are as they were then.
    pub taken_at: Timestamp,
    /// Which transactions it saw, as `txid_current_snapshot()` says.
    pub snapshot: String,
    /// Where the write-ahead log was.
    pub lsn: String,
    /// `version()`
    pub server_version: String,
    /// The schema that has the tables.
    pub schema: String,
    /// The columns as they were found.
    pub columns: Columns,
    /// Columns that were left behind on request.
    pub ignored_columns: BTreeSet<String>,
    /// Tables of the schema of which nothing here knows.
    pub tables_left_behind: Vec<String>,
    /// Rows and hash of each file.
    pub tables: BTreeMap<Table, FileDigest>,
}

/// The file of a table.
pub fn file(table: Table) -> String {
    format!("export/{table}.jsonl")
}

/// The command.
pub(crate) async fn run(arguments: Arguments) -> Result<Report, Failure> {
    let Arguments { folder, server, ignored, again, dry_run } = arguments;
    let ignored = BTreeSet::from_iter(ignored);
    if dry_run {
        return dry_run_report(&server, &ignored).await;
    }
    let run = Run::open(&folder)?;
    check_not_dual(&run)?;
    let manifest = match run.read(MANIFEST)? {
        Some(_) if !again && run.has_report("export") => {
            return Err(FailureKind::RunExists.because("the run has an export; --again takes another one"));
        }
        // It was done, and killed over its report.
        Some(manifest) if !again => manifest,
        _ => export(&run, &mut connect(&server).await?, &server.schema, ignored).await?,
    };
    let report = report(&manifest, manifest.tables.iter().map(|(table, written)| (*table, written.lines)), false);
    run.write_report("export", &report)?;
    Ok(report)
}

async fn dry_run_report(server: &Server, ignored: &BTreeSet<String>) -> Result<Report, Failure> {
    let mut client = connect(server).await?;
    let (transaction, mut manifest) = snapshot(&mut client, &server.schema, ignored).await?;
    manifest.ignored_columns.clone_from(ignored);
    let mut counts = BTreeMap::new();
    for table in Table::ALL {
        counts.insert(table, count(&transaction, &server.schema, table).await?);
    }
    Ok(report(&manifest, counts.into_iter(), true))
}

async fn export(run: &Run, client: &mut Client, schema: &str, ignored: BTreeSet<String>) -> Result<Manifest, Failure> {
    // From here on there is no export until there is a whole one.
    run.remove(MANIFEST)?;
    run.remove_report("export")?;
    run.fresh_folder("export")?;
    let (transaction, mut manifest) = snapshot(client, schema, &ignored).await?;
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
            return Err(FailureKind::SourceUnreadable.because(format!("{table} has {rows} rows, and gave {lines}")));
        }
        manifest.tables.insert(table, written);
    }
    transaction.commit().await.map_err(source_failure)?;
    run.write(MANIFEST, &manifest)?;
    Ok(manifest)
}

/// Begins the one transaction that all is read in.
async fn snapshot<'c>(
    client: &'c mut Client,
    schema: &str,
    ignored: &BTreeSet<String>,
) -> Result<(Transaction<'c>, Manifest), Failure> {
    check_schema(client, schema, ignored).await?;
    let transaction = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).read_only(true);
    let transaction = transaction.start().await.map_err(source_failure)?;
    let names = Table::ALL.map(|table| qualified(schema, table)).join(", ");
    // The lock comes before the snapshot, which the first query takes: what rewrites a table, such
    // as TRUNCATE or ALTER TABLE, would otherwise leave it empty in our eyes. And a policy that
    // hides rows is an error rather than a gap.
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

async fn count(transaction: &Transaction<'_>, schema: &str, table: Table) -> Result<u64, Failure> {
    let query = format!("SELECT count(*) FROM {}", qualified(schema, table));
    let rows: i64 = transaction.query_one(&query, &[]).await.map_err(source_failure)?.get(0);
    u64::try_from(rows).map_err(|error| FailureKind::SourceUnreadable.because(error))
}

/// Each row as JSON, in an order that no locale changes.
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
        ("columns left behind", Vec::from_iter(manifest.ignored_columns.iter().cloned())),
        ("tables left behind", manifest.tables_left_behind.clone()),
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
    fn names_are_quoted_whatever_they_are() {
        assert_eq!(qualified("pub\"lic", Table::User), r#""pub""lic"."user""#);
    }
}
