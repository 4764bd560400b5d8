//! Claims of rows of several owners to one key: only one of them gets it.

use std::collections::{HashMap, HashSet};

use crate::terminal::Progress;

use super::partition::{has_shared, kept_rows};
use super::spread::Spread;
use crate::Failure;
use crate::item::Item;
use crate::mapping::{OnConflict, World};

/// A row's claim to a key. The greater claim gets it: by rank, and then by the row's hash, so that
/// the result does not depend on the order of the rows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Claim {
    pub(super) key: u128,
    pub(super) rank: Vec<u8>,
    pub(super) row: u128,
}

impl Claim {
    pub(super) fn of(item: &Item, row: u128) -> Self {
        Self { key: item.key.hash(), rank: item.rank.clone(), row }
    }
}

/// The claims that are lost: rows and keys.
#[derive(Debug, Default)]
pub(super) struct Claims(HashSet<(u128, u128)>);

impl Claims {
    /// Whether a row has lost the key of an item.
    pub(super) fn contains(&self, row: u128, item: &Item) -> bool {
        self.0.contains(&(row, item.key.hash()))
    }
}

/// The rows that lose a key to a row of another owner, and are rejected for it.
pub(super) fn lost_rows(spread: &Spread<'_>, world: &World, bar: &Progress) -> Result<Claims, Failure> {
    let mut best: HashMap<u128, (Vec<u8>, u128)> = HashMap::new();
    let mut lost = Claims::default();
    let claims = |rows| {
        let (rows, _) = kept_rows(rows, world, has_shared);
        let claims = rows.into_iter().flat_map(|row| {
            let is_claimed = |item: &Item| !item.is_own && matches!(item.on_conflict, OnConflict::RejectRow(_));
            let claims: Vec<_> = row
                .made
                .items
                .iter()
                .filter(|item| is_claimed(item))
                .map(|item| Claim::of(item, row.identity))
                .collect();
            claims
        });
        Ok(claims.collect::<Vec<_>>())
    };
    spread.each(bar, claims, |claims| {
        for Claim { key, rank, row } in claims {
            let claim = (rank, row);
            let Some(holder) = best.get_mut(&key) else {
                best.insert(key, claim);
                continue;
            };
            let beaten = if *holder < claim { std::mem::replace(holder, claim) } else { claim };
            lost.0.insert((beaten.1, key));
        }
        Ok(())
    })?;
    Ok(lost)
}
