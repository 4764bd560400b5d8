//! `tidemark import`: loads time series from CSV files, each line exactly once, however often its
//! file is loaded.

mod columns;
mod loader;
mod rejects;
mod row;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use csv::{ByteRecord, Reader, StringRecord};
use domain::Moment;
use domain::journal::Retention;
use futures::future::{try_join, try_join_all};
use futures::stream::{self, StreamExt, TryStreamExt};
use indicatif::ProgressBar;
use jiff::Timestamp;
use journal_store::{Journal, JournalShards};
use serde_json::json;
use shop_store::{Activities, ActivitySuffixes};
use store_base::Table;
use tokio::sync::mpsc::{Receiver, Sender, channel};

pub use columns::{Mapping, SeriesKind};

use crate::CommandOutcome;
use crate::terminal::{byte_bar, count};
use columns::Columns;
use loader::{LoadError, Loaded};
use rejects::Rejects;
use row::{LineOrder, UniqueMoments};

pub(crate) use loader::Loader;
pub(crate) use row::ImportRow;

/// The number of lines that may wait for each loader.
const WAITING_MAX: usize = 16;

/// The number of rows of different products that are loaded at once.
const ROWS_AT_ONCE: usize = 16;

/// The number of bad lines that are printed; the reject file has all of them.
const TOLD_MAX: usize = 20;

/// The file, and where to load it.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The kind of time series in the file.
    kind: SeriesKind,
    /// CSV in UTF-8 with a header; the lines of a product in order of time.
    file: PathBuf,
    /// Gives a column of the file its meaning: `sku=productId`; `note=` ignores a column. May be
    /// given several times.
    #[arg(long = "map", value_name = "THEIRS=OURS")]
    maps: Vec<Mapping>,
    /// Checks the file and prints its bad lines; loads nothing and writes no reject file.
    #[arg(long)]
    dry_run: bool,
    /// The number of lines that are loaded at once; lines of one product are loaded one after the
    /// other.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    parallel: u8,
    /// The shop's table.
    #[arg(long, env = "SHOP_TABLE", default_value = "DynamoDBShop")]
    shop_table: String,
    /// The journal's table.
    #[arg(long, env = "JOURNAL_TABLE", default_value = "TidemarkJournal")]
    journal_table: String,
    /// Spreads a product's activities over at least this many partitions a day. The shop's table
    /// remembers the stack's `ActivitySuffixes`.
    #[arg(long, env = "ACTIVITY_SUFFIXES", default_value = "1", value_parser = suffixes)]
    activity_suffixes: ActivitySuffixes,
    /// The stack's `ActivityRetentionDays`; 0 keeps activities for ever.
    #[arg(long, env = "ACTIVITY_RETENTION_DAYS", default_value = "730")]
    activity_retention_days: u32,
    /// The stack's `JournalShards`.
    #[arg(long, env = "JOURNAL_SHARDS", default_value = "4", value_parser = shards)]
    journal_shards: JournalShards,
    /// The stack's `JournalRetention`.
    #[arg(long, env = "JOURNAL_RETENTION", default_value = "default=400")]
    journal_retention: Retention,
    /// The address of a DynamoDB other than AWS, such as the local stack's. Missing credentials and
    /// region are replaced by dummy values.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// Prints JSON.
    #[arg(long)]
    json: bool,
}

fn suffixes(text: &str) -> Result<ActivitySuffixes, String> {
    let suffixes = text.parse().ok().and_then(ActivitySuffixes::new);
    suffixes.ok_or_else(|| format!("must be a whole number from 1 to {}", ActivitySuffixes::MAX))
}

fn shards(text: &str) -> Result<JournalShards, String> {
    let shards = text.parse().ok().and_then(JournalShards::new);
    shards.ok_or_else(|| format!("must be a whole number from 1 to {}", JournalShards::MAX))
}

/// A line to load.
struct ImportJob {
    line: u64,
    record: ByteRecord,
    row: ImportRow,
}

/// The results so far.
#[derive(Debug, Default)]
struct Report {
    new: u64,
    known: u64,
    rejects: Rejects,
}

/// The command.
pub async fn run(arguments: Arguments) -> Result<CommandOutcome> {
    let path = &arguments.file;
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    let bar = byte_bar(file.metadata().map_or(0, |about| about.len()));
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
    let header = reader.byte_headers().with_context(|| format!("{} is not CSV", path.display()))?.clone();
    let names = StringRecord::from_byte_record(header.clone());
    let names = names.with_context(|| format!("the header of {} is not UTF-8", path.display()))?;
    let columns = Columns::new(arguments.kind, &names, &arguments.maps)?;

    let report = RefCell::new(Report::default());
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..arguments.parallel).map(|_| channel(WAITING_MAX)).unzip();
    let read = read(&arguments, &mut reader, &columns, senders, &report, &bar);
    let loader = loader(&arguments).await?;
    let outcome =
        try_join(read, try_join_all(receivers.into_iter().map(|jobs| load(loader.as_ref(), jobs, &report)))).await;
    bar.finish_and_clear();
    let report = report.into_inner();
    let rejects = rejects::path_of(path);
    if !arguments.dry_run {
        // Also after a failure, so that the bad lines found so far are kept.
        report.rejects.write(&header, &rejects)?;
    }
    print_report(&arguments, &report, &rejects)?;
    outcome.context("the import stopped; run it again to continue from there")?;
    Ok(if report.rejects.len() == 0 { CommandOutcome::Success } else { CommandOutcome::Rejected })
}

/// The rows of a text that has no bad line. `field` changes each field before it is read.
pub(crate) fn rows(
    kind: SeriesKind,
    text: &str,
    now: Moment,
    field: impl Fn(&str) -> Result<String>,
) -> Result<Vec<ImportRow>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let columns = Columns::new(kind, &reader.headers()?.clone(), &[])?;
    let (mut moments, mut rows) = (UniqueMoments::default(), Vec::new());
    for record in reader.records() {
        let record = record?.iter().map(&field).collect::<Result<StringRecord>>()?;
        let mut row = ImportRow::read(kind, columns.of(&record), now).map_err(|problem| anyhow!("{problem}"))?;
        if moments.assign(&mut row) != LineOrder::Again {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Loads rows, those of one product one after the other.
pub(crate) async fn load_rows(loader: &Loader, rows: Vec<ImportRow>) -> Result<()> {
    let mut by_key: BTreeMap<String, Vec<ImportRow>> = BTreeMap::new();
    for row in rows {
        by_key.entry(row.ordering_key()).or_default().push(row);
    }
    let loads = by_key.into_values().map(|rows| async move {
        for row in &rows {
            loader.load(row).await.map_err(|error| match error {
                LoadError::Bad(why) | LoadError::Failed(why, _) => anyhow!("{why}"),
            })?;
        }
        Ok(())
    });
    stream::iter(loads).buffer_unordered(ROWS_AT_ONCE).try_collect().await
}

/// The loader; `None` for a dry run.
async fn loader(arguments: &Arguments) -> Result<Option<Loader>> {
    if arguments.dry_run {
        return Ok(None);
    }
    let Arguments { shop_table, activity_suffixes, journal_table, journal_shards, .. } = arguments;
    let client = aws_sdk_dynamodb::Client::new(&store_base::endpoint::config(arguments.endpoint.as_deref()).await);
    let (shop, journal) = (Table::new(client.clone(), shop_table), Table::new(client, journal_table));
    let suffixes = match arguments.kind {
        SeriesKind::Activities => activity_suffixes.remembered(&shop).await?,
        _ => *activity_suffixes,
    };
    let kept = Duration::from_secs(u64::from(arguments.activity_retention_days) * 24 * 60 * 60);
    let activities = Activities::new(&shop, suffixes).expiring_after((!kept.is_zero()).then_some(kept));
    let journal = Journal::new(&journal, *journal_shards, arguments.journal_retention.clone());
    Ok(Some(Loader::new(&shop, activities, journal)))
}

/// Reads the lines and passes each to a loader; lines of one product go to the same loader.
async fn read(
    arguments: &Arguments,
    reader: &mut Reader<File>,
    columns: &Columns,
    senders: Vec<Sender<ImportJob>>,
    report: &RefCell<Report>,
    bar: &ProgressBar,
) -> Result<()> {
    let mut moments = UniqueMoments::default();
    let mut record = ByteRecord::new();
    let width = reader.byte_headers()?.len();
    loop {
        let line = reader.position().line();
        if !reader.read_byte_record(&mut record).with_context(|| format!("line {line} cannot be read"))? {
            return Ok(());
        }
        // The line at which the record begins. The reader counts blank lines before a record as
        // part of it, so the line is computed from the record's end.
        let lines = 1 + record.iter().flatten().filter(|byte| **byte == b'\n').count() as u64;
        let line = line.max(reader.position().line().saturating_sub(lines));
        bar.set_position(reader.position().byte());
        let now = Moment::new(Timestamp::now())?;
        match row(arguments.kind, columns, &record, width, now) {
            Err(problem) => report.borrow_mut().rejects.add(line, record.clone(), problem),
            Ok(mut row) => {
                match moments.assign(&mut row) {
                    LineOrder::Again => {
                        report.borrow_mut().known += 1;
                        continue;
                    }
                    // The store accepts the line if it knows it, but a dry run does not ask the
                    // store.
                    LineOrder::OutOfOrder if arguments.dry_run => {
                        let problem = "its time is before that of an earlier line of the same product".to_owned();
                        report.borrow_mut().rejects.add(line, record.clone(), problem);
                        continue;
                    }
                    LineOrder::OutOfOrder | LineOrder::InOrder => {}
                }
                let mut hash = DefaultHasher::new();
                row.ordering_key().hash(&mut hash);
                let worker = hash.finish() % u64::from(arguments.parallel);
                let Some(sender) = usize::try_from(worker).ok().and_then(|worker| senders.get(worker)) else {
                    continue;
                };
                if sender.send(ImportJob { line, record: record.clone(), row }).await.is_err() {
                    bail!("the loader of line {line} has stopped");
                }
            }
        }
    }
}

fn row(
    kind: SeriesKind,
    columns: &Columns,
    record: &ByteRecord,
    width: usize,
    now: Moment,
) -> Result<ImportRow, String> {
    if record.len() != width {
        return Err(format!("it has {} fields, but the header has {width}", record.len()));
    }
    let record = StringRecord::from_byte_record(record.clone()).map_err(|_| "it is not UTF-8".to_owned())?;
    ImportRow::read(kind, columns.of(&record), now)
}

async fn load(loader: Option<&Loader>, mut jobs: Receiver<ImportJob>, report: &RefCell<Report>) -> Result<()> {
    while let Some(ImportJob { line, record, row }) = jobs.recv().await {
        let loaded = match loader {
            Some(loader) => loader.load(&row).await,
            None => Ok(Loaded::New),
        };
        let mut report = report.borrow_mut();
        match loaded {
            Ok(Loaded::New) => report.new += 1,
            Ok(Loaded::Known) => report.known += 1,
            Err(LoadError::Bad(problem)) => report.rejects.add(line, record, problem),
            Err(LoadError::Failed(why, _)) => bail!("line {line}: {why}"),
        }
    }
    Ok(())
}

fn print_report(arguments: &Arguments, report: &Report, rejects: &Path) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let rejected = report.rejects.len();
    for (line, problem) in report.rejects.iter().take(TOLD_MAX) {
        eprintln!("line {line}: {problem}");
    }
    if rejected > TOLD_MAX {
        eprintln!("and {} more", rejected - TOLD_MAX);
    }
    let kept_in = (rejected > 0 && !arguments.dry_run).then(|| rejects.display().to_string());
    if arguments.json {
        let (new, known, dry_run) = (report.new, report.known, arguments.dry_run);
        let told = json!({ "dryRun": dry_run, "new": new, "known": known, "rejected": rejected, "rejects": kept_in });
        writeln!(out, "{told}")?;
        return Ok(());
    }
    let what = if arguments.dry_run { "could be loaded" } else { "loaded" };
    write!(out, "{} {what}, {} known, {rejected} bad", count(report.new, "line"), report.known)?;
    match kept_in {
        Some(path) => writeln!(out, ", written to {path}")?,
        None => writeln!(out)?,
    }
    Ok(())
}
