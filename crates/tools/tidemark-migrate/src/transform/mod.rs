//! `transform`: turns rows into items. The result is deterministic and does not depend on the order
//! of the rows. Memory holds the rows of some owners at a time, so it does not grow with the
//! tables.

mod claims;
mod output;
mod partition;
mod spread;

use std::collections::BTreeMap;

use clap::Args;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arguments::{MappingArguments, RecordedParameters};
use crate::command::Product;
use crate::cutover::run_state::check_not_dual;
use crate::export::{self, MANIFEST, Manifest};
use crate::mapping::{Target, World};
use crate::run::{FileDigest, Run, RunFolderArgument};
use crate::source::json_columns;
use crate::terminal::Progress;
use crate::{Failure, FailureKind, Report};
use claims::LostClaimFiles;
use output::Output;
use spread::Spread;

/// The name of the items' manifest. The items are complete once it exists.
pub const ITEMS: &str = "items.json";

/// The name of the file of rejected rows.
pub const REJECTS: &str = "rejects.jsonl";

/// The folder of intermediate files, which goes when the items are complete.
const SCRATCH: &str = "transform";

/// A row of more bytes counts as several rows, so that files of large rows have fewer of them.
const ROW_BYTES: u64 = 2 * 1024;

/// The run, and the options of the transformation.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) folder: RunFolderArgument,
    #[command(flatten)]
    pub(crate) mapping: MappingArguments,
}

/// Numbers by table and reason.
pub type Reasons = BTreeMap<String, BTreeMap<String, u64>>;

/// The manifest of the items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Items {
    /// The export's files.
    pub export: BTreeMap<String, FileDigest>,
    /// When the export's rows were read.
    pub as_of: Timestamp,
    /// The attributes of all items.
    pub target: Target,
    /// The mapping and its parameters.
    pub parameters: RecordedParameters,
    /// The number of items and the hash of each file.
    pub files: BTreeMap<String, FileDigest>,
    /// The number of items by type.
    pub types: BTreeMap<String, u64>,
    /// The number of lines and the hash of the file of rejected rows.
    pub rejects: Option<FileDigest>,
    /// The number of rejected rows and omitted items by table and reason.
    pub reasons: Reasons,
    /// Those of them that are about a part of a row; the rest of the row is migrated.
    #[serde(default)]
    pub kept: Reasons,
    /// Whether one of the reasons is not expected.
    pub needs_review: bool,
}

impl Items {
    /// The number of all items.
    pub fn count(&self) -> u64 {
        self.types.values().sum()
    }

    /// The items of a run.
    pub fn of(run: &Run) -> Result<Self, Failure> {
        let items = run.read(ITEMS)?;
        items.ok_or_else(|| FailureKind::RunIncomplete.because("the run has no items: run `transform` first"))
    }

    /// The name of an items' file in the run's folder.
    pub fn file(name: &str) -> String {
        format!("items/{name}.jsonl")
    }
}

pub(crate) fn run(arguments: Arguments, product: &Product) -> Result<Report, Failure> {
    let Arguments { folder, mapping } = arguments;
    let run = Run::open(&folder)?;
    check_not_dual(&run)?;
    let manifest: Option<Manifest> = run.read(MANIFEST)?;
    let manifest =
        manifest.ok_or_else(|| FailureKind::RunIncomplete.because("the run has no export: run `export` first"))?;
    let mut world = mapping.world(product, &manifest.run, manifest.taken_at)?;
    world.json_columns = json_columns(&manifest.columns);
    if manifest.mapping != world.mapping.digest {
        return Err(FailureKind::Options.because("the rows were exported with another mapping: run `export` again"));
    }
    let items = transform(&run, &manifest, &world)?;
    let report = report(&items);
    run.write_report("transform", &report)?;
    Ok(report)
}

pub(crate) fn transform(run: &Run, manifest: &Manifest, world: &World) -> Result<Items, Failure> {
    let rows: u64 = manifest.tables.values().map(|written| written.lines).sum();
    let has_shared = world.mapping.tables.iter().any(|table| partition::has_shared(table));
    let progress = Progress::new(rows * if has_shared { 3 } else { 2 }, "rows, in passes");
    run.fresh_folder(SCRATCH)?;
    let weight = rows.max(export_bytes(run, manifest) / ROW_BYTES);
    let spread = Spread::of(run, manifest, world, weight, &progress)?;
    // Which rows lose a key that rows of several owners want.
    let mut lost = LostClaimFiles::default();
    if has_shared {
        lost = claims::lost_claims(run, &spread, world, weight, &progress)?;
    }
    let mut output = Output::create(run, world, weight)?;
    let items = |file, rows| partition::items(rows, world, &lost.of(run, file)?);
    spread.each(&progress, items, |made| output.take(made))?;
    let items = output.finish(manifest)?;
    run.remove_folder(SCRATCH)?;
    Ok(items)
}

fn export_bytes(run: &Run, manifest: &Manifest) -> u64 {
    let files = manifest.tables.keys().map(|table| std::fs::metadata(run.path(&export::file(table))));
    files.map(|file| file.map_or(0, |file| file.len())).sum()
}

fn report(items: &Items) -> Report {
    let rows: u64 = items.export.values().map(|written| written.lines).sum();
    let mut text = format!("{rows} rows became {} items", items.count());
    for (kind, count) in &items.types {
        text.push_str(&format!("\n  {kind}: {count}"));
    }
    for (table, reasons) in &items.reasons {
        let (mut rows, mut parts) = (String::new(), String::new());
        for (reason, count) in reasons {
            let kept = items.kept.get(table).and_then(|kept| kept.get(reason)).map_or(0, |kept| *kept);
            for (list, count) in [(&mut rows, count.saturating_sub(kept)), (&mut parts, kept)] {
                if count > 0 {
                    list.push_str(&format!(" {reason} {count},"));
                }
            }
        }
        for (what, list) in [("left out, rows", rows), ("left out, values or items of kept rows", parts)] {
            if !list.is_empty() {
                text.push_str(&format!("\n{what} of {table}:{}", list.trim_end_matches(',')));
            }
        }
    }
    if items.rejects.as_ref().is_some_and(|rejects| rejects.lines > 0) {
        text.push_str(&format!("\n{REJECTS} names each of them."));
    }
    let json = json!({
        "phase": "transform",
        "rows": rows,
        "items": items.types,
        "rejects": items.reasons,
        "rejectsOfKeptRows": items.kept,
        "asOf": items.as_of,
        "parameters": items.parameters,
    });
    Report::new(json, text, items.needs_review)
}
