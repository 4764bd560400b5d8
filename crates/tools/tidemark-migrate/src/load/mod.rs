//! `load`: writes the items into the table, and never overwrites a newer item.

mod create_table;
mod pace;
mod writer;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use futures::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store_base::{StoreError, Table};

use crate::cutover::finished_runs;
use crate::cutover::run_state::check_not_dual;
use crate::item::read_line;
use crate::run::{FileDigest, LineReader, Run, RunFolderArgument};
use crate::terminal::Progress;
use crate::transform::Items;
use crate::{Failure, FailureKind, PhaseOutcome, Report, TargetTable};
use pace::{Pace, write_units};
use writer::{PutOutcome, STATEMENTS_MAX, Writer};

/// The name of the file with the progress of a load.
pub(crate) const PROGRESS: &str = "load.json";

/// How often the progress is written. After a kill, the items since then are written again, which
/// changes nothing.
const CHECKPOINT: Duration = Duration::from_secs(1);

/// The number of requests at once, each with up to 25 items.
const PARALLEL: u8 = 8;

/// The run, and the table.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) folder: RunFolderArgument,
    #[command(flatten)]
    pub(crate) table: TargetTable,
    /// Loads into a table that already has items, of an earlier load or of a live application.
    /// Newer items in the table stay.
    #[arg(long)]
    pub(crate) into_existing: bool,
    /// Creates the table if there is none, with the keys of the mapping and billed by request.
    #[arg(long)]
    pub(crate) create_table: bool,
    /// Loads all items again, under the same conditions: mends what `check` found missing or
    /// changed.
    #[arg(long)]
    pub(crate) again: bool,
    /// The most write units a second, without those of the indexes. A new on-demand table takes
    /// 4,000.
    #[arg(long, value_name = "UNITS", default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rate: u32,
}

/// The progress of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Checkpoint {
    table: String,
    files: BTreeMap<String, FileDigest>,
    /// The number of loaded lines of each file, from its beginning.
    loaded: BTreeMap<String, u64>,
    new: u64,
    /// Items that were in the table already, equal or older.
    known: u64,
    /// Items that were newer in the table: written by the application, or loaded from a later
    /// export.
    kept: u64,
}

/// Refuses another table than the one with the run's items: users would move to a table without
/// them.
pub(crate) fn check_table(run: &Run, name: &str) -> Result<(), Failure> {
    match run.read::<Checkpoint>(PROGRESS)? {
        Some(loaded) if loaded.table != name => Err(FailureKind::Options.because(format!(
            "the run was loaded into --table {}; use the same here. If {name} is a restored copy of it, change `table` \
             in {PROGRESS}",
            loaded.table
        ))),
        _ => Ok(()),
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<Report, Failure> {
    let Arguments { folder, table, into_existing, create_table, again, rate } = arguments;
    let run = Run::open(&folder)?;
    check_not_dual(&run)?;
    let items = Items::of(&run)?;
    let target = table.open().await;
    if create_table {
        create_table::create(&target, &items.target).await?;
    }
    let begun: Option<Checkpoint> = run.read(PROGRESS)?;
    let begun = begun.filter(|begun| begun.table == table.table && begun.files == items.files);
    let is_empty = is_empty(&target).await?;
    let finished = finished_runs(&target, &items.target).await?;
    if !is_empty && begun.is_none() && !into_existing {
        return Err(FailureKind::TableNotEmpty.because(format!(
            "the table {} has items; --into-existing loads beside them and keeps newer ones",
            table.table
        )));
    }
    let progress = begun.filter(|_| !again).unwrap_or_else(|| Checkpoint {
        table: table.table.clone(),
        files: items.files.clone(),
        ..Checkpoint::default()
    });
    // Written before the first item, so that the table may have items when an interrupted load is
    // run again.
    run.write(PROGRESS, &progress)?;
    let start = Instant::now();
    let before = progress.loaded.values().sum::<u64>();
    let shown = Progress::new(items.count(), "items");
    shown.set_position(before);
    let writer = Writer::new(target, items.target.clone(), finished);
    let progress = Mutex::new((progress, start));
    let loader = Loader { run: &run, writer, pace: Pace::new(rate), shown, progress };
    let outcome = loader.load(&items).await;
    // Also after a failure, so that the finished work is not repeated.
    let progress = loader.lock().0.clone();
    run.write(PROGRESS, &progress)?;
    outcome?;
    let now = progress.loaded.values().sum::<u64>() - before;
    let report = report(&progress, now, start.elapsed());
    run.write_report("load", &report)?;
    Ok(report)
}

async fn is_empty(table: &Table) -> Result<bool, Failure> {
    let answer = table.scan().limit(1).consistent_read(true).send().await;
    let answer = answer.map_err(StoreError::from)?;
    Ok(answer.items().is_empty() && answer.last_evaluated_key().is_none())
}

struct Loader<'l> {
    run: &'l Run,
    writer: Writer,
    pace: Pace,
    shown: Progress,
    /// The progress, and when it was written.
    progress: Mutex<(Checkpoint, Instant)>,
}

impl Loader<'_> {
    /// Each worker takes one file at a time, so that the loaded lines of a file are always its
    /// beginning.
    async fn load(&self, items: &Items) -> Result<(), Failure> {
        let next = Mutex::new(items.files.iter());
        let workers = (0..PARALLEL).map(async |_| {
            loop {
                let file = next.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((name, of_file)) = file else { return Ok(()) };
                self.load_file(name, of_file).await?;
            }
        });
        try_join_all(workers).await.map(drop)
    }

    async fn load_file(&self, name: &str, of_file: &FileDigest) -> Result<(), Failure> {
        let skip = self.lock().0.loaded.get(name).copied().unwrap_or(0);
        let mut lines = LineReader::open(self.run.path(&Items::file(name)), of_file)?;
        let (mut read, mut items) = (0, Vec::new());
        while let Some(line) = lines.next_line()? {
            read += 1;
            if read <= skip {
                continue;
            }
            let attributes =
                read_line(line).map_err(|error| FailureKind::RunChanged.because(format!("{name}: {error}")))?;
            items.push(writer::Item { attributes, units: write_units(line.len()) });
            if items.len() == STATEMENTS_MAX {
                self.put(name, &std::mem::take(&mut items)).await?;
            }
        }
        self.put(name, &items).await
    }

    async fn put(&self, file: &str, items: &[writer::Item]) -> Result<(), Failure> {
        self.pace.take(items.iter().map(|item| item.units).sum()).await;
        let puts = self.writer.put(items).await?;
        self.shown.inc(items.len() as u64);
        let (progress, written) = &mut *self.lock();
        for put in puts {
            match put {
                PutOutcome::New => progress.new += 1,
                PutOutcome::Known => progress.known += 1,
                PutOutcome::Kept => progress.kept += 1,
            }
        }
        *progress.loaded.entry(file.to_owned()).or_default() += items.len() as u64;
        if written.elapsed() >= CHECKPOINT {
            *written = Instant::now();
            self.run.write(PROGRESS, progress)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, (Checkpoint, Instant)> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(progress: &Checkpoint, now: u64, took: Duration) -> Report {
    let Checkpoint { table, new, known, kept, .. } = progress;
    let text = format!(
        "{} items are in {table}: {new} new, {known} known, and {kept} newer ones were kept",
        new + known + kept
    );
    let json = json!({
        "phase": "load",
        "table": table,
        "new": new,
        "known": known,
        "kept": kept,
        "itemsNow": now,
        "seconds": took.as_secs_f64(),
    });
    Report { outcome: PhaseOutcome::Done, json, text }
}
