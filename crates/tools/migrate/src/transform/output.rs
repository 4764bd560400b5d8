//! The files that a transformation leaves.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::claims::Claim;
use super::partition::{Made, RejectedRow, WantedItem};
use super::{ITEMS, Items, REJECTS, SCRATCH};
use crate::export::Manifest;
use crate::mapping::World;
use crate::run::{FileDigest, LineReader, LineWriter, Run, hex};
use crate::{Failure, FailureKind};

/// The rows for each file of items, which is sorted in memory.
const ROWS_PER_FILE: u64 = 50_000;

/// A line of the file of rejected rows.
#[derive(Debug, Serialize)]
struct RejectLine<'r> {
    table: &'r str,
    id: &'r str,
    reason: &'r str,
    detail: &'r str,
    /// Whether the row is migrated except for a part of it.
    kept: bool,
    row: &'r RawValue,
}

/// The output of a transformation. A dry run writes files, too, and removes them.
pub(super) struct Output<'o> {
    run: &'o Run,
    world: &'o World,
    dry_run: bool,
    /// The bits of a key's hash that choose its file.
    bits: u32,
    /// Unsorted items, each after the hash of its key.
    parts: Vec<LineWriter>,
    /// Unsorted items that rows of several owners want.
    wanted: Vec<LineWriter>,
    rejects: LineWriter,
    types: BTreeMap<String, u64>,
    reasons: BTreeMap<String, BTreeMap<String, u64>>,
}

fn part(n: usize) -> String {
    format!("{SCRATCH}/items-{n:02x}")
}

fn wanted(n: usize) -> String {
    format!("{SCRATCH}/wanted-{n:02x}")
}

impl<'o> Output<'o> {
    pub(super) fn create(run: &'o Run, world: &'o World, rows: u64, dry_run: bool) -> Result<Self, Failure> {
        if !dry_run {
            // From here on the run has no items until all are made again.
            run.remove(ITEMS)?;
            run.remove_report("transform")?;
            run.fresh_folder("items")?;
        }
        let bits = (rows / ROWS_PER_FILE).max(16).next_power_of_two().min(256).ilog2();
        let files = |name: fn(usize) -> String| {
            let files = (0..1_usize << bits).map(|n| LineWriter::create(run.path(&name(n))));
            files.collect::<Result<Vec<_>, _>>()
        };
        let rejects = run.path(if dry_run { "transform/rejects" } else { REJECTS });
        Ok(Self {
            run,
            world,
            dry_run,
            bits,
            parts: files(part)?,
            wanted: files(wanted)?,
            rejects: LineWriter::create(rejects)?,
            types: BTreeMap::new(),
            reasons: BTreeMap::new(),
        })
    }

    /// The first bits of the hash choose the file, so that the files in order are sorted, too.
    fn file_of(&self, key: u128) -> usize {
        usize::try_from(key >> (128 - self.bits)).unwrap_or_default()
    }

    pub(super) fn take(&mut self, made: Made) -> Result<(), Failure> {
        made.rejected.iter().try_for_each(|row| self.reject(row))?;
        made.items.iter().try_for_each(|item| self.item(item.key.hash(), &item.kind, &item.line()))?;
        made.wanted.iter().try_for_each(|wanted| self.want(wanted))
    }

    fn item(&mut self, key: u128, kind: &str, line: &str) -> Result<(), Failure> {
        *self.types.entry(kind.to_owned()).or_default() += 1;
        let file = self.file_of(key);
        self.parts[file].write(&format!("{key:032x}{line}"))
    }

    fn want(&mut self, wanted: &WantedItem) -> Result<(), Failure> {
        let WantedItem { claim: Claim { key, rank, row }, item, lost } = wanted;
        let lost = lost.as_ref().map(|row| self.reject_line(row)).transpose()?.unwrap_or_default();
        let (file, rank) = (self.file_of(*key), hex(rank));
        // No part has a tab: JSON escapes it.
        self.wanted[file].write(&format!("{key:032x} {rank} {row:032x}\t{}\t{}\t{lost}", item.kind, item.line()))
    }

    fn reject(&mut self, row: &RejectedRow) -> Result<(), Failure> {
        let line = self.reject_line(row)?;
        self.count(&row.table, row.reject.reason.as_str());
        self.rejects.write(&line)
    }

    fn count(&mut self, table: &str, reason: &str) {
        *self.reasons.entry(table.to_owned()).or_default().entry(reason.to_owned()).or_default() += 1;
    }

    fn reject_line(&self, row: &RejectedRow) -> Result<String, Failure> {
        let RejectedRow { table, id, reject, kept, line } = row;
        let unreadable = |error| FailureKind::RunChanged.because(format!("a row of {table} cannot be read: {error}"));
        let row = serde_json::from_str(line).map_err(unreadable)?;
        let line = RejectLine { table, id, reason: reject.reason.as_str(), detail: &reject.detail, kept: *kept, row };
        serde_json::to_string(&line).map_err(unreadable)
    }

    /// Gives each wanted key to the best claim.
    fn settle(&mut self, file: usize, written: &FileDigest) -> Result<(), Failure> {
        let lines = sorted(self.run, &wanted(file), written)?;
        for (n, line) in lines.iter().enumerate() {
            let key = |line: &str| line.get(..32).map(str::to_owned);
            let mut parts = line.splitn(4, '\t').skip(1);
            let (kind, item, lost) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
            // The greatest claim of a key is the last one.
            if lines.get(n + 1).and_then(|next| key(next)) != key(line) {
                let hash = u128::from_str_radix(&key(line).unwrap_or_default(), 16).unwrap_or_default();
                self.item(hash, kind.unwrap_or_default(), item.unwrap_or_default())?;
            } else if !lost.is_empty() {
                #[derive(serde::Deserialize)]
                struct Lost {
                    table: String,
                    reason: String,
                }
                let read = serde_json::from_str(lost).map_err(|error| FailureKind::RunChanged.because(error));
                let Lost { table, reason } = read?;
                self.count(&table, &reason);
                self.rejects.write(lost)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<Items, Failure> {
        for (file, lines) in std::mem::take(&mut self.wanted).into_iter().enumerate() {
            let written = lines.finish()?;
            self.settle(file, &written)?;
        }
        let Self { run, world, dry_run, parts, rejects, types, reasons, .. } = self;
        let is_unexpected = |(table, reasons): (&String, &BTreeMap<String, u64>)| {
            reasons.keys().any(|reason| !world.is_expected(table, reason))
        };
        let mut items = Items {
            export: manifest.tables.clone(),
            as_of: world.as_of,
            target: world.mapping.target.clone(),
            parameters: world.recorded(),
            files: BTreeMap::new(),
            types,
            rejects: Some(rejects.finish()?),
            needs_review: reasons.iter().any(is_unexpected),
            reasons,
        };
        for (n, lines) in parts.into_iter().enumerate() {
            // Sorted by the hash of the keys, so that a load in this order spreads the writes over
            // all partitions.
            let lines = sorted(run, &part(n), &lines.finish()?)?;
            let mut last = "";
            for line in &lines {
                let key = line.get(..32).unwrap_or_default();
                if key == last {
                    let why = format!("two rows become items with one key, of which one is {}", &line[32..]);
                    return Err(FailureKind::Mapping.because(why));
                }
                last = key;
            }
            if dry_run {
                continue;
            }
            let name = format!("{n:02x}");
            let mut file = LineWriter::create(run.path(&Items::file(&name)))?;
            for line in &lines {
                file.write(line.get(32..).unwrap_or_default())?;
            }
            items.files.insert(name, file.finish()?);
        }
        if !dry_run {
            run.write(ITEMS, &items)?;
        }
        Ok(items)
    }
}

/// The lines of a file, sorted.
fn sorted(run: &Run, name: &str, written: &FileDigest) -> Result<Vec<String>, Failure> {
    let mut unsorted = LineReader::open(run.path(name), written)?;
    let mut all = Vec::new();
    while let Some(line) = unsorted.next_line()? {
        all.push(line.to_owned());
    }
    all.sort_unstable();
    run.remove(name)?;
    Ok(all)
}

impl std::fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("types", &self.types).finish_non_exhaustive()
    }
}
