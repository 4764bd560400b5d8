//! `check`: compares the table with the items in both directions, and each marker
//! with the item that it marks.

mod markers;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::Args;
use futures::future::try_join_all;
use jiff::Timestamp;
use serde_json::json;
use store::{StoreError, Table};

use crate::arguments::MappingFile;
use crate::command::Product;
use crate::item::{AS_OF, Attributes, Key, VERSION, item_hash, read_line};
use crate::mapping::{Target, World};
use crate::pace::Pace;
use crate::run::{LineReader, LineWriter, Run, RunFolderArgument};
use crate::terminal::progress_bar;
use crate::transform::Items;
use crate::{Failure, FailureKind, PhaseOutcome, Report, TargetTable};
use markers::MarkerPairs;

/// The name of the file with each difference.
const DIFFERENCES: &str = "differences.jsonl";

/// The number of differences that the report names.
const NAMED_MAX: usize = 100;

/// The number of differing items that are kept in memory, to find out which attributes differ.
const KEPT_MAX: usize = 10_000;

/// The run, and the table to check.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    #[command(flatten)]
    table: TargetTable,
    #[command(flatten)]
    mapping: MappingFile,
    /// Also reports items that others have written as differences: before the cutover, nobody
    /// should write to the table.
    #[arg(long)]
    strict: bool,
    /// The number of table segments that are read at once.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    parallel: u8,
}

/// The expected state of an item; found by the hash of its key.
#[derive(Debug, Clone, Copy)]
struct ExpectedItem {
    hash: u128,
    version: i64,
    /// After this time TTL may have deleted the item.
    expires_at: i64,
}

/// The results of the scan.
#[derive(Debug, Default)]
struct ScanResult {
    /// Items as expected.
    same: u64,
    /// Items that the application wrote since, or that were migrated from a later state of their
    /// row.
    newer: u64,
    /// Items that the application created.
    own: u64,
    /// Expired items that are gone.
    expired: u64,
    /// Items with the version and the times of the migration, but with other content than was
    /// loaded.
    changed: Vec<(u128, String, Attributes)>,
    /// Items of another migration.
    extra: Vec<String>,
}

/// A difference, for the file and the report.
#[derive(Debug, serde::Serialize)]
struct Difference {
    kind: String,
    item: String,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    attributes: BTreeSet<String>,
}

impl Difference {
    fn new(kind: impl Into<String>, item: String) -> Self {
        Self { kind: kind.into(), item, attributes: BTreeSet::new() }
    }
}

/// The command.
pub(crate) async fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let Arguments { folder, table, mapping, strict, parallel } = arguments;
    let run = Run::open(&folder)?;
    let items = Items::of(&run)?;
    let world = World::of_items(mapping.read(product)?, product)?;
    let start = Instant::now();
    let now = Timestamp::now().as_second();
    let expected = expected(&run, &items)?;
    let target = table.open().await;
    let bar = progress_bar(items.count(), "items");
    let check = Mutex::new((expected, ScanResult::default(), MarkerPairs::new(&world, now)));
    let pace = Pace::new(None);
    let _controlled = pace.follow(&run)?;
    let segments = (0..i32::from(parallel)).map(|segment| {
        scan(&target, &pace, segment, parallel.into(), |item| {
            bar.inc(1);
            let mut check = check.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (expected, found, markers) = &mut *check;
            markers.take(&item);
            compare_item(&items.target, expected, found, item);
        })
    });
    try_join_all(segments).await?;
    bar.finish_and_clear();
    let (missing, mut found, markers) = check.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (expired, missing): (HashMap<_, _>, HashMap<_, _>) =
        missing.into_iter().partition(|(_, expected)| expected.expires_at <= now);
    found.expired = expired.len() as u64;
    let (markers_checked, broken) = markers.finish();
    let differences = differences(&run, &items, &found, &missing, broken)?;
    let report = report(&run, &table.table, strict, &found, markers_checked, &differences, start.elapsed())?;
    run.write_report("check", &report)?;
    Ok(report)
}

fn number(attributes: &Attributes, name: &str) -> Option<i64> {
    attributes.get(name)?.as_n().ok()?.parse().ok()
}

fn expected(run: &Run, items: &Items) -> Result<HashMap<u128, ExpectedItem>, Failure> {
    let mut expected = HashMap::with_capacity(usize::try_from(items.count()).unwrap_or_default());
    each(run, items, |attributes| {
        let Some(key) = Key::of(&attributes, &items.target) else { return };
        let version = number(&attributes, VERSION).unwrap_or_default();
        let ttl = items.target.ttl.as_ref().and_then(|name| number(&attributes, name));
        let item = ExpectedItem { hash: item_hash(&attributes), version, expires_at: ttl.unwrap_or(i64::MAX) };
        expected.insert(key.hash(), item);
    })?;
    Ok(expected)
}

fn each(run: &Run, items: &Items, mut take: impl FnMut(Attributes)) -> Result<(), Failure> {
    for (name, written) in &items.files {
        let mut lines = LineReader::open(run.path(&Items::file(name)), written)?;
        while let Some(line) = lines.next_line()? {
            take(read_line(line).map_err(|error| FailureKind::RunChanged.because(format!("{name}: {error}")))?);
        }
    }
    Ok(())
}

/// Reads a segment of the table, with consistent reads.
async fn scan(
    table: &Table,
    pace: &Pace,
    segment: i32,
    segments: i32,
    mut take: impl FnMut(Attributes),
) -> Result<(), Failure> {
    let mut start = None;
    loop {
        pace.take(1).await;
        let page = table.scan().consistent_read(true).segment(segment).total_segments(segments);
        let page = page.set_exclusive_start_key(start).send().await.map_err(StoreError::from)?;
        page.items.unwrap_or_default().into_iter().for_each(&mut take);
        start = page.last_evaluated_key;
        if start.is_none() {
            return Ok(());
        }
    }
}

fn compare_item(target: &Target, expected: &mut HashMap<u128, ExpectedItem>, found: &mut ScanResult, item: Attributes) {
    let Some(key) = Key::of(&item, target) else { return };
    let (key, name) = (key.hash(), key.to_string());
    let changed_at = target.updated_at.as_ref().and_then(|name| item.get(name));
    let version = number(&item, VERSION);
    match (expected.remove(&key), version) {
        (Some(expected), _) if expected.hash == item_hash(&item) => found.same += 1,
        (Some(expected), Some(version)) if version <= expected.version && changed_at == item.get(AS_OF) => {
            found.changed.push((key, name, if found.changed.len() < KEPT_MAX { item } else { Attributes::new() }));
        }
        (Some(_), _) => found.newer += 1,
        (None, Some(_)) => found.extra.push(name),
        (None, None) => found.own += 1,
    }
}

fn differences(
    run: &Run,
    items: &Items,
    found: &ScanResult,
    missing: &HashMap<u128, ExpectedItem>,
    broken: Vec<(String, String)>,
) -> Result<Vec<Difference>, Failure> {
    let mut all: Vec<_> = broken.into_iter().map(|(kind, item)| Difference::new(kind, item)).collect();
    all.extend(found.extra.iter().map(|name| Difference::new("extra", name.clone())));
    if !missing.is_empty() || !found.changed.is_empty() {
        let changed: HashMap<_, _> = found.changed.iter().map(|(key, name, item)| (*key, (name, item))).collect();
        // A missing item is known only by its hash, and the expected side of a changed item is only
        // in the files, so the files are read again.
        each(run, items, |attributes| {
            let Some(place) = Key::of(&attributes, &items.target) else { return };
            let key = place.hash();
            if missing.contains_key(&key) {
                all.push(Difference::new("missing", place.to_string()));
            } else if let Some((name, item)) = changed.get(&key) {
                let names = attributes.keys().chain(item.keys());
                let differing = names.filter(|name| attributes.get(*name) != item.get(*name)).cloned();
                all.push(Difference {
                    kind: "changed".to_owned(),
                    item: (*name).clone(),
                    attributes: if item.is_empty() { BTreeSet::new() } else { differing.collect() },
                });
            }
        })?;
    }
    all.sort_by(|one, other| (&one.kind, &one.item).cmp(&(&other.kind, &other.item)));
    Ok(all)
}

fn report(
    run: &Run,
    table: &str,
    strict: bool,
    found: &ScanResult,
    markers: u64,
    differences: &[Difference],
    took: Duration,
) -> Result<Report, Failure> {
    let mut lines = LineWriter::create(run.path(DIFFERENCES))?;
    let mut counts = BTreeMap::from(["missing", "changed", "extra"].map(|kind| (kind.to_owned(), 0)));
    for difference in differences {
        *counts.entry(difference.kind.clone()).or_default() += 1;
        lines.write(&serde_json::to_string(difference).map_err(|error| FailureKind::RunFolder.because(error))?)?;
    }
    lines.finish()?;
    let ScanResult { same, newer, own, expired, .. } = found;
    let mut text = format!(
        "{table}: {same} items are equal, {newer} newer, {own} created by the application, {expired} expired; {markers} markers were checked"
    );
    for (kind, count) in &counts {
        text.push_str(&format!("\n{kind}: {count}"));
    }
    for Difference { kind, item, attributes } in differences.iter().take(NAMED_MAX) {
        let attributes = Vec::from_iter(attributes.iter().map(String::as_str)).join(", ");
        text.push_str(&format!("\n  {kind} {item} {attributes}"));
    }
    if differences.len() > NAMED_MAX {
        text.push_str(&format!("\n  more are in {DIFFERENCES}"));
    }
    let is_touched = strict && newer + own > 0;
    let json = json!({
        "phase": "check",
        "table": table,
        "strict": strict,
        "same": same,
        "newer": newer,
        "own": own,
        "expired": expired,
        "markers": markers,
        "differences": counts,
        "named": differences.iter().take(NAMED_MAX).collect::<Vec<_>>(),
        "seconds": took.as_secs_f64(),
    });
    let outcome = if differences.is_empty() && !is_touched { PhaseOutcome::Done } else { PhaseOutcome::NeedsReview };
    Ok(Report { outcome, json, text })
}
