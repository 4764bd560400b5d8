//! The rows of some owners: which are migrated, and what becomes of them. Of rows of one owner that
//! want one key, one gets it.

use std::collections::{HashMap, HashSet};

use super::claims::{Claim, LostClaims};
use super::spread::ExportedRow;
use crate::Failure;
use crate::item::{Holders, Item, first_lost, holders};
use crate::mapping::{OnConflict, OwnerRow, RowItems, Table, World};
use crate::reject::{Reason, Reject};

/// A row that is migrated, unless it loses a key.
#[derive(Debug)]
pub(super) struct KeptRow {
    pub(super) exported: ExportedRow,
    pub(super) identity: u128,
    pub(super) made: RowItems,
}

/// A row, or a part of one, that is not migrated.
#[derive(Debug)]
pub(super) struct RejectedRow {
    pub(super) table: String,
    pub(super) id: String,
    pub(super) reject: Reject,
    /// Whether the row is migrated except for a part of it.
    pub(super) kept: bool,
    pub(super) line: String,
}

impl RejectedRow {
    pub(super) fn new(exported: &ExportedRow, reject: Reject, kept: bool) -> Self {
        let row = &exported.row;
        Self { table: row.table.name.clone(), id: row.id(), reject, kept, line: masked(exported) }
    }
}

/// The row's JSON without the secret columns.
fn masked(exported: &ExportedRow) -> String {
    let table = &exported.row.table;
    if table.secret.is_empty() {
        return exported.line.clone();
    }
    let mut columns = exported.row.columns.clone();
    for (name, cell) in &mut columns {
        if table.secret.contains(name) && *cell != crate::row::Cell::Null {
            *cell = crate::row::Cell::Text("(secret)".to_owned());
        }
    }
    // Cells that were read are always written.
    serde_json::to_string(&columns).unwrap_or_default()
}

/// An item that rows of several owners want, if one of them gets it.
#[derive(Debug)]
pub(super) struct WantedItem {
    pub(super) claim: Claim,
    pub(super) item: Item,
    /// What is reported if the item is lost.
    pub(super) lost: Option<RejectedRow>,
}

/// What becomes of the rows of some owners.
#[derive(Debug, Default)]
pub(super) struct Made {
    pub(super) items: Vec<Item>,
    pub(super) wanted: Vec<WantedItem>,
    pub(super) rejected: Vec<RejectedRow>,
}

/// Whether rows of several owners may want one key of the table's items, and a loser is rejected.
pub(super) fn has_shared(table: &Table) -> bool {
    table.items.iter().any(|item| !item.is_own && item.on_conflict.rejects_row())
}

/// The rows that are migrated as far as their own owner's rows decide, and those that are not.
pub(super) fn kept_rows(
    rows: Vec<ExportedRow>,
    world: &World,
    wanted: impl Fn(&Table) -> bool,
) -> (Vec<KeptRow>, Vec<RejectedRow>) {
    let (mut kept, mut rejected, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    let owners = owners(&rows, world);
    let mut made = Vec::with_capacity(rows.len());
    for exported in &rows {
        let row = &exported.row;
        made.push(wanted(&row.table).then(|| {
            let owner = row.owner.as_ref().and_then(|owner| owners.get(owner.as_str()));
            world.items(row, owner)
        }));
    }
    for (exported, made) in rows.into_iter().zip(made) {
        let identity = exported.identity();
        match made {
            None => {}
            Some(Err(reject)) => rejected.push(RejectedRow::new(&exported, reject, false)),
            // A table without its primary key may have the same row twice.
            Some(Ok(_)) if !seen.insert(identity) => {
                let reject = Reject::because(Reason::DUPLICATE, "the same row exists twice");
                rejected.push(RejectedRow::new(&exported, reject, false));
            }
            Some(Ok(mut made)) => {
                // Such a table may also have two rows with one key, which have one rank otherwise.
                made.items.iter_mut().for_each(|item| item.rank.extend(identity.to_be_bytes()));
                kept.push(KeptRow { exported, identity, made });
            }
        }
    }
    let holders = of_rows(&kept, |item| item.is_own && item.on_conflict.rejects_row());
    let standing = retain(kept, &mut rejected, |_, item| item.is_own && !item.is_holder(&holders));
    (standing, rejected)
}

fn of_rows(rows: &[KeptRow], wanted: fn(&&Item) -> bool) -> Holders {
    holders(rows.iter().flat_map(|row| &row.made.items).filter(wanted))
}

/// Rejects the rows that lose a key that they need.
fn retain(
    rows: Vec<KeptRow>,
    rejected: &mut Vec<RejectedRow>,
    is_lost: impl Fn(&KeptRow, &Item) -> bool,
) -> Vec<KeptRow> {
    let mut standing = Vec::with_capacity(rows.len());
    for row in rows {
        match first_lost(&row.made.items, |item| is_lost(&row, item)) {
            Some((item, reason)) => rejected.push(RejectedRow::new(&row.exported, item.taken(reason), false)),
            None => standing.push(row),
        }
    }
    standing
}

/// The owners by their ids. If a table without its primary key has an owner twice, one that is
/// migrated counts.
fn owners<'r>(rows: &'r [ExportedRow], world: &World) -> HashMap<&'r str, OwnerRow> {
    let mut owners: HashMap<&str, OwnerRow> = HashMap::new();
    for exported in rows {
        let row = &exported.row;
        let Some(id) = row.owner.as_deref().filter(|_| world.is_owners(row)) else { continue };
        let owner = world.owner(row);
        if owners.get(id).is_none_or(|known| !known.is_migrated() && owner.is_migrated()) {
            owners.insert(id, owner);
        }
    }
    owners
}

/// What becomes of the rows, of which some lose a key to a row of another owner.
pub(super) fn items(rows: Vec<ExportedRow>, world: &World, lost: &LostClaims) -> Result<Made, Failure> {
    let (rows, rejected) = kept_rows(rows, world, |_| true);
    let mut made = Made { rejected, ..Made::default() };
    let standing = retain(rows, &mut made.rejected, |row, item| !item.is_own && lost.contains(row.identity, item));
    let holders = of_rows(&standing, |item| item.is_own && !item.on_conflict.rejects_row());
    for KeptRow { exported, identity, made: RowItems { items, left_out } } in standing {
        let reported = left_out.into_iter().map(|reject| RejectedRow::new(&exported, reject, true));
        made.rejected.extend(reported);
        for item in items {
            let lost = |item: &Item| match &item.on_conflict {
                OnConflict::LeaveOut(reason) => Some(RejectedRow::new(&exported, item.taken(reason), true)),
                _ => None,
            };
            if item.on_conflict.rejects_row() || (item.is_own && item.is_holder(&holders)) {
                made.items.push(item);
            } else if item.is_own {
                made.rejected.extend(lost(&item));
            } else {
                let lost = lost(&item);
                made.wanted.push(WantedItem { claim: Claim::of(&item, identity), item, lost });
            }
        }
    }
    Ok(made)
}
