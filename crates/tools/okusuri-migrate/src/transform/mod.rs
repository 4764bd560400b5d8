//! `okusuri-migrate transform`: turns rows into items. The result is deterministic and does not
//! depend on the order of the rows.

mod conflicts;
mod item;
mod options;
mod reject;
mod rows;

use std::collections::BTreeMap;

use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use crate::cutover::run_state::check_not_dual;
use crate::export::{self, MANIFEST, Manifest};
use crate::run::{FileDigest, LineReader, LineWriter, Run, RunFolderArgument};
use crate::source::{self, Row, Table};
use crate::terminal::progress_bar;
use crate::{Failure, FailureKind, PhaseOutcome, Report};
use conflicts::{ConflictResolver, RowOutcome};
use rows::TransformedRow;

pub use item::{AS_OF, ITEM_BYTES_MAX, Item, RUN, VERSION};
pub(crate) use item::{OnConflict, Rank, item_hash, key_hash, key_of, read_line};
pub use options::{Options, TransformArguments};
pub use reject::{Reason, Reject};

/// The name of the items' manifest. The items are complete once it exists.
pub const ITEMS: &str = "items.json";

/// The name of the file of rejected rows.
pub const REJECTS: &str = "rejects.jsonl";

/// The number of the items' files, by the hash of their keys. Each file is sorted in memory.
const FILES: u8 = 16;

/// The run, and the options of the transformation.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    folder: RunFolderArgument,
    #[command(flatten)]
    transform: TransformArguments,
    /// Transforms again in a run that already has items; items that were loaded are not removed.
    #[arg(long)]
    again: bool,
    /// Prints the rows that would be rejected; writes nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The items of a row, or why it has none. Considers only this row: the caller must handle missing
/// users and conflicts between rows.
///
/// # Errors
/// If the row cannot be migrated, or need not be.
pub fn items_of(row: &Row, options: &Options) -> Result<Vec<Item>, Reject> {
    rows::transform_row(row, options).map(|carried| carried.items)
}

/// Whether a user has verified the address. The provider logins of other users are not migrated:
/// somebody else may have registered the address and linked a login, which would give access for
/// ever.
pub(crate) fn is_verified(user: &source::User) -> bool {
    user.email_verified == Some(true)
}

/// The manifest of the items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Items {
    /// The export's files.
    pub export: BTreeMap<Table, FileDigest>,
    /// When the export's rows were read.
    pub as_of: Timestamp,
    /// The option as given.
    pub source_zone: String,
    /// The option as given.
    pub log_zone: String,
    /// Whether the tokens of provider logins were migrated.
    pub with_tokens: bool,
    /// A check value of the key that encrypted them.
    pub key_check: Option<String>,
    /// The number of items and the hash of each file.
    pub files: BTreeMap<String, FileDigest>,
    /// The number of items by type.
    pub types: BTreeMap<String, u64>,
    /// The number of lines and the hash of the file of rejected rows.
    pub rejects: Option<FileDigest>,
    /// The number of rejected rows and omitted items by table and reason.
    pub reasons: BTreeMap<Table, BTreeMap<String, u64>>,
}

impl Items {
    /// The number of all items.
    pub fn count(&self) -> u64 {
        self.types.values().sum()
    }

    /// The items of a run.
    ///
    /// # Errors
    /// `run-incomplete` if the run has no items.
    pub fn of(run: &Run) -> Result<Self, Failure> {
        let items = run.read(ITEMS)?;
        items.ok_or_else(|| FailureKind::RunIncomplete.because("the run has no items: run `transform` first"))
    }

    /// The name of an items' file in the run's folder.
    pub fn file(name: &str) -> String {
        format!("items/{name}.jsonl")
    }
}

/// The command.
pub(crate) fn run(arguments: Arguments) -> Result<Report, Failure> {
    let Arguments { folder, transform, again, dry_run } = arguments;
    let run = Run::open(&folder)?;
    check_not_dual(&run)?;
    let manifest: Option<Manifest> = run.read(MANIFEST)?;
    let manifest =
        manifest.ok_or_else(|| FailureKind::RunIncomplete.because("the run has no export: run `export` first"))?;
    let made: Option<Items> = run.read(ITEMS)?;
    let items = match made.filter(|made| !dry_run && !again && made.export == manifest.tables) {
        Some(_) if run.has_report("transform") => {
            return Err(FailureKind::RunExists.because("the run already has items; --again transforms again"));
        }
        // The items were complete, and the process was killed before the report.
        Some(items) => items,
        None => {
            let options = transform.options(&manifest.run, manifest.taken_at)?;
            Transform { run: &run, manifest: &manifest, options: &options, dry_run }.run()?
        }
    };
    let report = report(&items, dry_run);
    if !dry_run {
        run.write_report("transform", &report)?;
    }
    Ok(report)
}

/// A line of the file of rejected rows.
#[derive(Debug, Serialize)]
struct RejectedRow<'r> {
    table: Table,
    id: String,
    reason: &'static str,
    detail: &'r str,
    /// Whether the row is migrated except for a part of it.
    kept: bool,
    row: &'r RawValue,
}

struct Transform<'t> {
    run: &'t Run,
    manifest: &'t Manifest,
    options: &'t Options,
    dry_run: bool,
}

impl Transform<'_> {
    fn run(&self) -> Result<Items, Failure> {
        let rows: u64 = self.manifest.tables.values().map(|written| written.lines).sum();
        let bar = progress_bar(2 * rows, "rows, twice");
        let mut conflicts = ConflictResolver::default();
        for table in Table::ALL {
            self.each(table, |row, line| {
                conflicts.take(&row, line, self.options);
                bar.inc(1);
                Ok(())
            })?;
        }
        let mut out = TransformOutput::create(self)?;
        for table in Table::ALL {
            self.each(table, |row, line| {
                bar.inc(1);
                let TransformedRow { mut items, left_out } = match rows::transform_row(&row, self.options) {
                    Ok(carried) => carried,
                    Err(reject) => return out.reject(&row, line, &reject, false),
                };
                match conflicts.resolve(&row, line, &mut items) {
                    RowOutcome::Rejected(reject) => out.reject(&row, line, &reject, false),
                    RowOutcome::Kept(beaten) => {
                        for reject in left_out.iter().chain(&beaten) {
                            out.reject(&row, line, reject, true)?;
                        }
                        items.iter().try_for_each(|item| out.item(item))
                    }
                }
            })?;
        }
        bar.finish_and_clear();
        out.finish(self)
    }

    fn each(&self, table: Table, mut take: impl FnMut(Row, &str) -> Result<(), Failure>) -> Result<(), Failure> {
        let incomplete = || FailureKind::RunChanged.because(format!("the export has no table {table}"));
        let written = self.manifest.tables.get(&table).ok_or_else(incomplete)?;
        let mut lines = LineReader::open(self.run.path(&export::file(table)), written)?;
        while let Some(line) = lines.next_line()? {
            let row = Row::read(table, line);
            let row = row.map_err(|error| {
                FailureKind::RunChanged.because(format!("a row of {table} cannot be read: {error}"))
            })?;
            take(row, line)?;
        }
        Ok(())
    }
}

/// The output of a transformation; a dry run writes no files.
struct TransformOutput {
    /// Unsorted items, each after the hash of its key.
    parts: Vec<LineWriter>,
    rejects: Option<LineWriter>,
    types: BTreeMap<String, u64>,
    reasons: BTreeMap<Table, BTreeMap<String, u64>>,
}

impl TransformOutput {
    fn create(transform: &Transform<'_>) -> Result<Self, Failure> {
        let (types, reasons) = Default::default();
        let run = transform.run;
        if transform.dry_run {
            return Ok(Self { parts: Vec::new(), rejects: None, types, reasons });
        }
        // From here on the run has no items until all are made again.
        run.remove(ITEMS)?;
        run.remove_report("transform")?;
        run.fresh_folder("items")?;
        let parts = (0..FILES).map(|n| LineWriter::create(run.path(&part(n))));
        let rejects = Some(LineWriter::create(run.path(REJECTS))?);
        Ok(Self { parts: parts.collect::<Result<_, _>>()?, rejects, types, reasons })
    }

    fn item(&mut self, item: &Item) -> Result<(), Failure> {
        *self.types.entry(item.kind.to_owned()).or_default() += 1;
        let hash = key_hash(&item.partition, &item.sort);
        // The first bits of the hash choose the file, so that the files in order are sorted, too.
        let Some(part) = self.parts.get_mut((hash >> 124) as usize) else { return Ok(()) };
        part.write(&format!("{hash:032x}{}", item.line()))
    }

    fn reject(&mut self, row: &Row, line: &str, reject: &Reject, kept: bool) -> Result<(), Failure> {
        let (table, reason) = (row.table(), reject.reason.as_str());
        *self.reasons.entry(table).or_default().entry(reason.to_owned()).or_default() += 1;
        let Some(rejects) = &mut self.rejects else { return Ok(()) };
        let unreadable = |error| FailureKind::RunChanged.because(format!("a row of {table} cannot be read: {error}"));
        let row = RejectedRow {
            table,
            id: row.id(),
            reason,
            detail: &reject.detail,
            kept,
            row: serde_json::from_str(line).map_err(unreadable)?,
        };
        rejects.write(&serde_json::to_string(&row).map_err(unreadable)?)
    }

    fn finish(self, transform: &Transform<'_>) -> Result<Items, Failure> {
        let Transform { run, manifest, options, dry_run } = transform;
        let zone = |zone: &TimeZone| zone.iana_name().unwrap_or("UTC").to_owned();
        let mut items = Items {
            export: manifest.tables.clone(),
            as_of: options.as_of,
            source_zone: zone(&options.source_zone),
            log_zone: zone(&options.log_zone),
            with_tokens: options.vault.is_some(),
            key_check: options.key_check(),
            files: BTreeMap::new(),
            types: self.types,
            rejects: self.rejects.map(LineWriter::finish).transpose()?,
            reasons: self.reasons,
        };
        for (n, lines) in (0..FILES).zip(self.parts) {
            let mut unsorted = LineReader::open(run.path(&part(n)), &lines.finish()?)?;
            let mut all = Vec::new();
            while let Some(line) = unsorted.next_line()? {
                all.push(line.to_owned());
            }
            // Sorted by the hash of the keys, so that a load in this order spreads the writes over
            // all partitions.
            all.sort_unstable();
            let name = format!("{n:02x}");
            let mut sorted = LineWriter::create(run.path(&Items::file(&name)))?;
            for line in &all {
                sorted.write(line.get(32..).unwrap_or_default())?;
            }
            items.files.insert(name, sorted.finish()?);
            run.remove(&part(n))?;
        }
        if !dry_run {
            run.write(ITEMS, &items)?;
        }
        Ok(items)
    }
}

fn part(n: u8) -> String {
    format!("items/{n:02x}.unsorted")
}

fn report(items: &Items, dry_run: bool) -> Report {
    let rows: u64 = items.export.values().map(|written| written.lines).sum();
    let mut text = format!("{rows} rows became {} items", items.count());
    for (kind, count) in &items.types {
        text.push_str(&format!("\n  {kind}: {count}"));
    }
    for (table, reasons) in &items.reasons {
        text.push_str(&format!("\nnot migrated from {table}:"));
        for (reason, count) in reasons {
            text.push_str(&format!(" {reason} {count},"));
        }
        text.pop();
    }
    if !dry_run && items.rejects.as_ref().is_some_and(|rejects| rejects.lines > 0) {
        text.push_str(&format!("\nThe rows are in {REJECTS}."));
    }
    let is_unexpected = |name: &String| Reason::EXPECTED.iter().all(|reason| reason.as_str() != name);
    let unexpected = items.reasons.values().any(|reasons| reasons.keys().any(is_unexpected));
    let json = json!({
        "phase": "transform",
        "dryRun": dry_run,
        "rows": rows,
        "items": items.types,
        "rejects": items.reasons,
        "asOf": items.as_of,
        "sourceZone": items.source_zone,
        "logZone": items.log_zone,
        "withTokens": items.with_tokens,
    });
    Report { outcome: if unexpected { PhaseOutcome::NeedsReview } else { PhaseOutcome::Done }, json, text }
}

#[cfg(test)]
mod tests;
