//! `check`: compares the table with the items in both directions, and each marker
//! with the item that it marks.
//!
//! The table is split by the hash of the keys into as many parts as the items have files. Then one
//! part after the other is compared with its file, in memory.

mod markers;
mod records;
mod scan;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use futures::TryStreamExt;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;
use store_base::Table;

use crate::arguments::MappingFile;
use crate::command::Product;
use crate::cutover::run_state::is_dual;
use crate::item::{Attributes, Key, read_line};
use crate::mapping::World;
use crate::parts::{Part, Parts};
use crate::run::{FileDigest, LineReader, LineWriter, Run, RunFolderArgument};
use crate::terminal::Progress;
use crate::transform::Items;
use crate::{Failure, FailureKind, Report, TargetTable};
use records::{FOLDER, ItemRecord, write_part};
use scan::Page;

/// The run, and the table to check.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) folder: RunFolderArgument,
    #[command(flatten)]
    pub(crate) table: TargetTable,
    #[command(flatten)]
    pub(crate) mapping: MappingFile,
    /// Also reports items that others have written as differences: before the cutover, nobody
    /// should write to the table.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// The counted results.
#[derive(Debug, Default)]
struct Counts {
    same: u64,
    /// Items that the application wrote since, or that were migrated from a later state of their
    /// row.
    newer: u64,
    /// Items that the application created.
    own: u64,
    /// Expired items that are gone.
    expired: u64,
    /// Pairs of a marker and what it marks.
    markers: u64,
}

pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let run = Run::open(&arguments.folder)?;
    let items = Items::of(&run)?;
    let mapping = arguments.mapping.read(product)?;
    // With another mapping, no marker would be compared, and the check would seem to succeed.
    if mapping.digest != items.parameters.mapping {
        return Err(FailureKind::Options.because("the run was transformed with another mapping; use the same here"));
    }
    let world = World::of_items(mapping, product)?;
    let start = Instant::now();
    let target = arguments.table.open().await;
    let mut differences = Differences::create(&run)?;
    let counts = check_all(&run, (&items, &world), &target, &mut differences).await?;
    let mut report = report(&arguments, &counts, differences, start.elapsed())?;
    if is_dual(&run)? {
        report.json["isOld"] = json!(true);
        let now = "this compares with the export, and changes came since: `cutover --to <phase> --compare` compares with the rows";
        report.text = format!("From dual on, {now}.\n{}", report.text);
    }
    run.write_report("check", &report)?;
    run.remove_folder(FOLDER)?;
    Ok(report)
}

fn number(attributes: &Attributes, name: &str) -> Option<i64> {
    attributes.get(name)?.as_n().ok()?.parse().ok()
}

async fn check_all(
    run: &Run,
    (items, world): (&Items, &World),
    target: &Table,
    differences: &mut Differences,
) -> Result<Counts, Failure> {
    run.fresh_folder(FOLDER)?;
    let progress = Progress::new(items.count(), "items");
    let mut found = Parts::create(run, &format!("{FOLDER}/found"), items.files.len())?;
    let mut counts = Counts::default();
    let mut pages = scan::pages(target, world);
    while let Some(Page { items, markers, alone }) = pages.try_next().await? {
        for item in &items {
            let record = ItemRecord::new(item, &world.mapping.target);
            write_part(&mut found, record.key, &record)?;
        }
        alone.into_iter().try_for_each(|alone| differences.add(&alone.what, alone.marker.to_string()))?;
        counts.markers += markers;
        progress.inc(items.len() as u64);
    }
    let now = Timestamp::now().as_second();
    for (file, found) in items.files.iter().zip(&found.finish()?) {
        compare_part((run, items), (file, found), now, &mut counts, differences)?;
    }
    Ok(counts)
}

/// Reads the table, and calls `take` for each marker or item that lacks the other one: what is
/// missing, and the marker's key.
pub(crate) async fn broken_markers(
    table: &Table,
    world: &World,
    mut take: impl FnMut(String, Key) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let progress = Progress::new(0, "items");
    let mut pages = scan::pages(table, world);
    while let Some(Page { items, alone, .. }) = pages.try_next().await? {
        alone.into_iter().try_for_each(|alone| take(alone.what, alone.marker))?;
        progress.inc(items.len() as u64);
    }
    Ok(())
}

/// Compares the items of one file with those of the table's part.
fn compare_part(
    (run, items): (&Run, &Items),
    ((name, written), found): ((&String, &FileDigest), &Part),
    now: i64,
    counts: &mut Counts,
    differences: &mut Differences,
) -> Result<(), Failure> {
    let mut missing: BTreeMap<u128, ItemRecord> = BTreeMap::new();
    let mut lines = LineReader::open(run.path(&Items::file(name)), written)?;
    while let Some(line) = lines.next_line()? {
        let item = read_line(line).map_err(|error| FailureKind::RunChanged.because(format!("{name}: {error}")))?;
        let item = ItemRecord::new(&item, &items.target);
        missing.insert(item.key, item);
    }
    records::each((run, found), |item: ItemRecord| {
        match (missing.remove(&item.key), item.version) {
            (Some(expected), _) if expected.content == item.content => counts.same += 1,
            // It has the version and the times of the migration, but other content than was loaded.
            (Some(expected), Some(version)) if Some(version) <= expected.version && item.is_untouched => {
                differences.add("changed", item.name)?;
            }
            (Some(_), _) => counts.newer += 1,
            // An item of another migration.
            (None, Some(_)) => differences.add("extra", item.name)?,
            (None, None) => counts.own += 1,
        }
        Ok(())
    })?;
    for item in missing.into_values() {
        if item.expires_at <= now {
            counts.expired += 1;
        } else {
            differences.add("missing", item.name)?;
        }
    }
    Ok(())
}

/// The name of the file with each difference.
const DIFFERENCES: &str = "differences.jsonl";

/// The number of differences that the report names.
const NAMED_MAX: usize = 100;

/// A difference, for the file and the report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Difference {
    kind: String,
    item: String,
}

struct Differences {
    lines: LineWriter,
    counts: BTreeMap<String, u64>,
    named: Vec<Difference>,
}

impl Differences {
    fn create(run: &Run) -> Result<Self, Failure> {
        let counts = ["missing", "changed", "extra"].map(|kind| (kind.to_owned(), 0)).into();
        Ok(Self { lines: LineWriter::create(run.path(DIFFERENCES))?, counts, named: Vec::new() })
    }

    fn add(&mut self, kind: &str, item: String) -> Result<(), Failure> {
        let difference = Difference { kind: kind.to_owned(), item };
        *self.counts.entry(kind.to_owned()).or_default() += 1;
        self.lines.write_json(&difference)?;
        if self.named.len() < NAMED_MAX {
            self.named.push(difference);
        }
        Ok(())
    }

    fn all(&self) -> u64 {
        self.counts.values().sum()
    }

    fn finish(mut self) -> Result<(BTreeMap<String, u64>, Vec<Difference>), Failure> {
        self.lines.finish()?;
        self.named.sort();
        Ok((self.counts, self.named))
    }
}

fn report(arguments: &Arguments, counts: &Counts, differences: Differences, took: Duration) -> Result<Report, Failure> {
    let Arguments { table, strict, .. } = arguments;
    let table = &table.table;
    let all = differences.all();
    let (kinds, named) = differences.finish()?;
    let Counts { same, newer, own, expired, markers } = counts;
    let mut text = format!(
        "{table}: {same} items are equal, {newer} newer, {own} created by the application, {expired} expired; {markers} markers were checked"
    );
    for (kind, count) in &kinds {
        text.push_str(&format!("\n{kind}: {count}"));
    }
    for Difference { kind, item } in &named {
        text.push_str(&format!("\n  {kind} {item}"));
    }
    if all > named.len() as u64 {
        text.push_str(&format!("\n  more are in {DIFFERENCES}"));
    }
    let is_touched = *strict && newer + own > 0;
    let json = json!({
        "phase": "check",
        "table": table,
        "strict": strict,
        "same": same,
        "newer": newer,
        "own": own,
        "expired": expired,
        "markers": markers,
        "differences": kinds,
        "named": named,
        "seconds": took.as_secs_f64(),
    });
    Ok(Report::new(json, text, all > 0 || is_touched))
}
