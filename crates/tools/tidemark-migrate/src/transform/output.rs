//! The files that a transformation leaves.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::partition::{Made, RejectedRow, WantedItem};
use super::{ITEMS, Items, REJECTS, Reasons, SCRATCH};
use crate::export::Manifest;
use crate::mapping::World;
use crate::parts::{Part, Parts, parts_for};
use crate::run::{LineWriter, Run};
use crate::{Failure, FailureKind};

/// The rows for each file of items, which is sorted in memory.
pub(super) const ROWS_PER_FILE: u64 = 50_000;

/// The fewest files, each of which a worker of the load takes.
const FILES_MIN: usize = 16;

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

pub(super) struct Output<'o> {
    run: &'o Run,
    world: &'o World,
    /// Unsorted items, each after the hash of its key.
    parts: Parts,
    /// Unsorted items that rows of several owners want.
    wanted: Option<Parts>,
    rejects: LineWriter,
    types: BTreeMap<String, u64>,
    reasons: Reasons,
    /// Those about a part of a row that is migrated otherwise.
    kept: Reasons,
}

impl<'o> Output<'o> {
    pub(super) fn create(run: &'o Run, world: &'o World, weight: u64) -> Result<Self, Failure> {
        // From here on the run has no items until all are made again.
        run.remove(ITEMS)?;
        run.fresh_folder("items")?;
        let parts = parts_for(weight, ROWS_PER_FILE).max(FILES_MIN);
        Ok(Self {
            run,
            world,
            parts: Parts::create(run, &format!("{SCRATCH}/items"), parts)?,
            wanted: Some(Parts::create(run, &format!("{SCRATCH}/wanted"), parts)?),
            rejects: LineWriter::create(run.path(REJECTS))?,
            types: BTreeMap::new(),
            reasons: Reasons::new(),
            kept: Reasons::new(),
        })
    }

    pub(super) fn take(&mut self, made: Made) -> Result<(), Failure> {
        made.rejected.iter().try_for_each(|row| self.reject(row))?;
        made.items.iter().try_for_each(|item| self.item(item.key.hash(), &item.kind, &item.line()))?;
        made.wanted.iter().try_for_each(|wanted| self.want(wanted))
    }

    fn item(&mut self, key: u128, kind: &str, line: &str) -> Result<(), Failure> {
        *self.types.entry(kind.to_owned()).or_default() += 1;
        self.parts.write(key, &format!("{key:032x}{line}"))
    }

    fn want(&mut self, wanted: &WantedItem) -> Result<(), Failure> {
        let WantedItem { claim, item, lost } = wanted;
        let lost = lost.as_ref().map(|row| self.reject_line(row)).transpose()?.unwrap_or_default();
        // No part has a tab: JSON escapes it.
        let line = format!("{}\t{}\t{}\t{lost}", claim.sortable(), item.kind, item.line());
        self.wanted.as_mut().map_or(Ok(()), |wanted| wanted.write(claim.key, &line))
    }

    fn reject(&mut self, row: &RejectedRow) -> Result<(), Failure> {
        let line = self.reject_line(row)?;
        self.count(&row.table, row.reject.reason.as_str(), row.kept);
        self.rejects.write(&line)
    }

    fn count(&mut self, table: &str, reason: &str, kept: bool) {
        for reasons in [Some(&mut self.reasons), kept.then_some(&mut self.kept)].into_iter().flatten() {
            *reasons.entry(table.to_owned()).or_default().entry(reason.to_owned()).or_default() += 1;
        }
    }

    fn reject_line(&self, row: &RejectedRow) -> Result<String, Failure> {
        let RejectedRow { table, id, reject, kept, line } = row;
        let unreadable = |error| FailureKind::RunChanged.because(format!("a row of {table} cannot be read: {error}"));
        let row = serde_json::from_str(line).map_err(unreadable)?;
        let line = RejectLine { table, id, reason: reject.reason.as_str(), detail: &reject.detail, kept: *kept, row };
        serde_json::to_string(&line).map_err(unreadable)
    }

    /// Gives each wanted key to the best claim.
    fn settle(&mut self, wanted: Part) -> Result<(), Failure> {
        let lines = wanted.into_sorted(self.run)?;
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
                    kept: bool,
                }
                let read = serde_json::from_str(lost).map_err(|error| FailureKind::RunChanged.because(error));
                let Lost { table, reason, kept } = read?;
                self.count(&table, &reason, kept);
                self.rejects.write(lost)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self, manifest: &Manifest) -> Result<Items, Failure> {
        for wanted in self.wanted.take().map_or(Ok(Vec::new()), Parts::finish)? {
            self.settle(wanted)?;
        }
        let Self { run, world, parts, rejects, types, reasons, kept, .. } = self;
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
            kept,
        };
        for (n, part) in parts.finish()?.into_iter().enumerate() {
            // Sorted by the hash of the keys, so that a load in this order spreads the writes over
            // all partitions.
            let lines = part.into_sorted(run)?;
            let mut last = "";
            for line in &lines {
                let key = line.get(..32).unwrap_or_default();
                if key == last {
                    let why = format!("two rows become items with one key, of which one is {}", &line[32..]);
                    return Err(FailureKind::Mapping.because(why));
                }
                last = key;
            }
            let name = format!("{n:02x}");
            let mut file = LineWriter::create(run.path(&Items::file(&name)))?;
            for line in &lines {
                file.write(line.get(32..).unwrap_or_default())?;
            }
            items.files.insert(name, file.finish()?);
        }
        run.write(ITEMS, &items)?;
        Ok(items)
    }
}

impl std::fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("types", &self.types).finish_non_exhaustive()
    }
}
