//! Spreads the rows over files, so that all rows of an owner are in one file.

use std::sync::Arc;

use crate::terminal::Progress;

use super::SCRATCH;
use crate::export::{self, Manifest};
use crate::item::hash;
use crate::mapping::{Table, World};
use crate::parts::{Part, Parts, parts_for};
use crate::row::Row;
use crate::run::{LineReader, Run};
use crate::{Failure, FailureKind};

/// The rows of a file, which are in memory together.
const ROWS_PER_FILE: u64 = 10_000;

/// A row with its line of JSON.
#[derive(Debug)]
pub(super) struct ExportedRow {
    pub(super) row: Row,
    pub(super) line: String,
}

impl ExportedRow {
    /// Equal for equal rows of one table only.
    pub(super) fn identity(&self) -> u128 {
        hash(&[self.row.table.name.as_bytes(), b"\0", self.line.as_bytes()])
    }
}

/// The spread rows of a run.
#[derive(Debug)]
pub(super) struct Spread<'s> {
    run: &'s Run,
    tables: &'s [Arc<Table>],
    files: Vec<Part>,
}

fn unreadable(table: &Table, error: impl std::fmt::Display) -> Failure {
    FailureKind::RunChanged.because(format!("a row of {} cannot be read: {error}", table.name))
}

impl<'s> Spread<'s> {
    pub(super) fn of(
        run: &'s Run,
        manifest: &Manifest,
        world: &'s World,
        weight: u64,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let mut files = Parts::create(run, &format!("{SCRATCH}/rows"), parts_for(weight, ROWS_PER_FILE))?;
        let tables = &world.mapping.tables;
        for (place, table) in tables.iter().enumerate() {
            let incomplete = || FailureKind::RunChanged.because(format!("the export has no table {}", table.name));
            let written = manifest.tables.get(&table.name).ok_or_else(incomplete)?;
            let mut lines = LineReader::open(run.path(&export::file(&table.name)), written)?;
            while let Some(line) = lines.next_line()? {
                let row = Row::read(table, line).map_err(|error| unreadable(table, error))?;
                let owner = hash(&[row.owner.unwrap_or_default().as_bytes()]);
                files.write(owner, &format!("{place} {line}"))?;
                progress.inc(1);
            }
        }
        Ok(Self { run, tables, files: files.finish()? })
    }

    pub(super) fn files(&self) -> usize {
        self.files.len()
    }

    /// The rows of a file, in an order that does not depend on the export's.
    fn read(&self, file: usize) -> Result<Vec<ExportedRow>, Failure> {
        let mut lines = self.files[file].open(self.run)?;
        let mut rows = Vec::new();
        while let Some(line) = lines.next_line()? {
            let (place, line) = line.split_once(' ').unwrap_or_default();
            let table = place.parse().ok().and_then(|place: usize| self.tables.get(place));
            let table = table.ok_or_else(|| FailureKind::RunChanged.because("a row of an unknown table"))?;
            let row = Row::read(table, line).map_err(|error| unreadable(table, error))?;
            rows.push(ExportedRow { row, line: line.to_owned() });
        }
        rows.sort_by_cached_key(|row| (row.row.table.index, row.identity()));
        Ok(rows)
    }

    /// Calls `make` for the rows of each file, on all processors, and `take` with the results in
    /// the order of the files.
    pub(super) fn each<T: Send>(
        &self,
        progress: &Progress,
        make: impl Fn(usize, Vec<ExportedRow>) -> Result<T, Failure> + Sync,
        mut take: impl FnMut(T) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let files: Vec<_> = (0..self.files.len()).collect();
        for files in files.chunks(threads) {
            let work = |file: usize| make(file, self.read(file)?);
            let work = &work;
            let made = std::thread::scope(|scope| {
                let handles: Vec<_> = files.iter().map(|file| scope.spawn(move || work(*file))).collect();
                let joined = handles.into_iter().map(|handle| match handle.join() {
                    Ok(made) => made,
                    Err(panic) => std::panic::resume_unwind(panic),
                });
                joined.collect::<Vec<_>>()
            });
            for (file, made) in files.iter().zip(made) {
                take(made?)?;
                progress.inc(self.files[*file].written.lines);
            }
        }
        Ok(())
    }
}
