//! Derives the items to write from the change of a row. The result is the same as if all rows were
//! transformed again.

use std::collections::{BTreeMap, BTreeSet};

use store::okusuri::Key;

use crate::source::{Row, Table};
use crate::transform::{Item, OnConflict, Options, Rank, is_verified, items_of};

/// Items to put, and keys of items to delete.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemWrites {
    pub(super) puts: BTreeMap<Key, Item>,
    pub(super) deletes: BTreeSet<Key>,
}

impl ItemWrites {
    /// Whether a log is among the items.
    pub(super) fn touches_logs(&self) -> bool {
        self.puts.keys().chain(&self.deletes).any(Key::is_log)
    }
}

fn key(item: &Item) -> Key {
    Key { partition: item.partition.clone(), sort: item.sort.clone() }
}

/// `None` if the user's row is not migrated; otherwise whether the user may have provider logins.
fn standing(row: &Row, options: &Options) -> Option<bool> {
    let Row::User(user) = row else { return None };
    items_of(row, options).is_ok().then(|| is_verified(user))
}

/// The items of a user's rows except the user's own row; none if the user is not migrated.
fn of_user(user: Option<&Row>, rows: &[Row], options: &Options) -> BTreeMap<Key, Item> {
    match user.and_then(|user| standing(user, options)) {
        None => BTreeMap::new(),
        Some(true) => winning_items(rows, options),
        Some(false) => {
            let rows: Vec<_> = rows.iter().filter(|row| row.table() != Table::Account).cloned().collect();
            winning_items(&rows, options)
        }
    }
}

/// The items of a row; none if the row is rejected.
fn items(row: &Row, options: &Options) -> Vec<Item> {
    items_of(row, options).unwrap_or_default()
}

/// The items of all rows of a user; none if the user is missing or not migrated.
pub(super) fn items_of_user(rows: &[Row], options: &Options) -> BTreeMap<Key, Item> {
    of_user(rows.iter().find(|row| standing(row, options).is_some()), rows, options)
}

/// The items of the rows, without those whose key another of the rows has a better claim to. The
/// keys that decide about a whole row are resolved first, then the other keys among the remaining
/// rows.
pub(super) fn winning_items(rows: &[Row], options: &Options) -> BTreeMap<Key, Item> {
    let mut standing: Vec<_> = rows.iter().map(|row| (row.id(), items(row, options))).collect();
    let is_needed = |item: &Item| matches!(item.on_conflict, OnConflict::Row(_));
    let holders = holders(&standing, is_needed);
    standing.retain(|(id, items)| {
        items
            .iter()
            .filter(|item| is_needed(item))
            .all(|item| holders.get(&key(item)) == Some(&(item.rank, id.clone())))
    });
    let holders = self::holders(&standing, |_| true);
    let mut found = BTreeMap::new();
    for (id, items) in standing {
        let has = |item: &Item| holders.get(&key(item)) == Some(&(item.rank, id.clone()));
        found.extend(items.into_iter().filter(has).map(|item| (key(&item), item)));
    }
    found
}

/// The row with the best claim to each key of the wanted items.
fn holders(rows: &[(String, Vec<Item>)], wanted: impl Fn(&Item) -> bool) -> BTreeMap<Key, (Rank, String)> {
    let mut holders = BTreeMap::new();
    for (id, items) in rows {
        for item in items.iter().filter(|item| wanted(item)) {
            let claim = (item.rank, id.clone());
            let holder = holders.entry(key(item)).or_insert_with(|| claim.clone());
            if *holder < claim {
                *holder = claim;
            }
        }
    }
    holders
}

/// Whether a change of the user's own row decides if the user, or the user's logins, are migrated
/// at all. Such a change affects all items of the user.
pub(super) fn affects_all_items(table: Table, change: [Option<&Row>; 2], options: &Options) -> bool {
    let [before, after] = change.map(|row| row.and_then(|row| standing(row, options)));
    table == Table::User && before != after
}

/// The writes for the items that a change of one row touches. `rows` are the user's rows of the
/// table after the change.
pub(super) fn of_row(change: [Option<&Row>; 2], user: Option<&Row>, rows: &[Row], options: &Options) -> ItemWrites {
    let mut touched: BTreeSet<_> =
        change.into_iter().flatten().flat_map(|row| items(row, options)).map(|item| key(&item)).collect();
    // A row that gains or loses one of these keys may gain or lose its other items, too.
    for row in rows {
        let keys: Vec<_> = items(row, options).iter().map(key).collect();
        if keys.iter().any(|key| touched.contains(key)) {
            touched.extend(keys);
        }
    }
    let mut found = of_user(user, rows, options);
    let mut writes = ItemWrites::default();
    for key in touched {
        match found.remove(&key) {
            Some(item) => drop(writes.puts.insert(key, item)),
            None => drop(writes.deletes.insert(key)),
        }
    }
    writes
}
