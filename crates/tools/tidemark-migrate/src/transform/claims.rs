//! Claims of rows of several owners to one key: only one of them gets it. Files hold the claims, so
//! memory does not grow with them.

use std::collections::HashSet;

use crate::terminal::Progress;

use super::SCRATCH;
use super::output::ROWS_PER_FILE;
use super::partition::{has_shared, kept_rows};
use super::spread::Spread;
use crate::item::Item;
use crate::mapping::World;
use crate::parts::{Part, Parts, parts_for};
use crate::run::{Run, hex};
use crate::{Failure, FailureKind};

/// A row's claim to a key. The greater claim gets it: by rank, and then by the row's hash, so that
/// the result does not depend on the order of the rows.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    pub(super) key: u128,
    rank: Vec<u8>,
    row: u128,
}

impl Claim {
    pub(super) fn of(item: &Item, row: u128) -> Self {
        Self { key: item.key.hash(), rank: item.rank.clone(), row }
    }

    /// A text that is sorted by key, and then as the claims are.
    pub(super) fn sortable(&self) -> String {
        format!("{:032x} {} {:032x}", self.key, hex(&self.rank), self.row)
    }
}

/// The claims that rows of one file have lost: rows and keys.
#[derive(Debug, Default)]
pub(super) struct LostClaims(HashSet<(u128, u128)>);

impl LostClaims {
    /// Whether a row has lost the key of an item.
    pub(super) fn contains(&self, row: u128, item: &Item) -> bool {
        self.0.contains(&(row, item.key.hash()))
    }
}

/// The lost claims of each file of spread rows; none if rows of several owners never want one key.
#[derive(Debug, Default)]
pub(super) struct LostClaimFiles(Vec<Part>);

fn unreadable(error: impl std::fmt::Display) -> Failure {
    FailureKind::RunChanged.because(format!("the lost claims: {error}"))
}

impl LostClaimFiles {
    /// The claims that the rows of one file have lost.
    pub(super) fn of(&self, run: &Run, file: usize) -> Result<LostClaims, Failure> {
        let mut lost = LostClaims::default();
        let Some(part) = self.0.get(file) else { return Ok(lost) };
        let mut lines = part.open(run)?;
        while let Some(line) = lines.next_line()? {
            let (row, key) = line.split_once(' ').unwrap_or_default();
            let number = |hex| u128::from_str_radix(hex, 16).map_err(unreadable);
            lost.0.insert((number(row)?, number(key)?));
        }
        Ok(lost)
    }
}

/// Finds the rows that lose a key to a row of another owner, and are rejected for it.
pub(super) fn lost_claims(
    run: &Run,
    spread: &Spread<'_>,
    world: &World,
    weight: u64,
    progress: &Progress,
) -> Result<LostClaimFiles, Failure> {
    let mut claims = Parts::create(run, &format!("{SCRATCH}/claims"), parts_for(weight, ROWS_PER_FILE))?;
    let of_rows = |file: usize, rows| {
        let (rows, _) = kept_rows(rows, world, has_shared);
        let claims = rows.iter().flat_map(|row| {
            let is_claimed = |item: &&Item| !item.is_own && item.on_conflict.rejects_row();
            row.made.items.iter().filter(is_claimed).map(|item| Claim::of(item, row.identity))
        });
        Ok((file, claims.collect::<Vec<_>>()))
    };
    spread.each(progress, of_rows, |(file, of_file)| {
        of_file.iter().try_for_each(|claim| claims.write(claim.key, &format!("{} {file}", claim.sortable())))
    })?;
    let mut lost = Parts::create(run, &format!("{SCRATCH}/lost"), spread.files())?;
    for part in claims.finish()? {
        for pair in part.into_sorted(run)?.windows(2) {
            let [claim, next] = pair else { continue };
            // The greatest claim to a key is the last one.
            if claim.get(..32) == next.get(..32) {
                let (key, row, file) = lost_by(claim).ok_or_else(|| unreadable("a claim without its row"))?;
                lost.write_to(file, &format!("{row} {key}"))?;
            }
        }
    }
    lost.finish().map(LostClaimFiles)
}

/// The key and the row of a claim's line, and the file of the row.
fn lost_by(claim: &str) -> Option<(&str, &str, usize)> {
    let mut words = claim.split(' ');
    let (key, _, row, file) = (words.next()?, words.next()?, words.next()?, words.next()?);
    Some((key, row, file.parse().ok()?))
}
