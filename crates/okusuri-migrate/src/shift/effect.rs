//! What a change of a row does to items: the same as if everything were transformed anew.

use std::collections::{BTreeMap, BTreeSet};

use store::okusuri::Key;

use crate::source::{Row, Table};
use crate::transform::{Item, Options, items_of};

/// Items to put, and keys where none may be left.
#[derive(Debug, Clone, Default)]
pub(super) struct Effect {
    pub(super) puts: BTreeMap<Key, Item>,
    pub(super) deletes: BTreeSet<Key>,
}

fn key(item: &Item) -> Key {
    Key { partition: item.partition.clone(), sort: item.sort.clone() }
}

/// A row that is rejected has no items.
fn items(row: &Row, options: &Options) -> Vec<Item> {
    items_of(row, options).unwrap_or_default()
}

/// Among rows that become the same item the newest counts, and of two as new the one with the higher id.
fn rank(item: &Item, row: &Row) -> (i64, i64, String) {
    let id = row.id();
    (item.version, id.parse().unwrap_or_default(), id)
}

/// The items of a user's rows. Of a user who is not there, or not carried over, there are none.
pub(super) fn whole(rows: &[Row], options: &Options) -> BTreeMap<Key, Item> {
    let is_there = rows.iter().any(|row| row.table() == Table::User && items_of(row, options).is_ok());
    if is_there { winners(rows, options) } else { BTreeMap::new() }
}

/// The items of rows, each of the row that counts.
pub(super) fn winners(rows: &[Row], options: &Options) -> BTreeMap<Key, Item> {
    let mut found: BTreeMap<Key, (_, Item)> = BTreeMap::new();
    for row in rows {
        for item in items(row, options) {
            let rank = rank(&item, row);
            match found.get(&key(&item)) {
                Some((known, _)) if *known >= rank => {}
                _ => drop(found.insert(key(&item), (rank, item))),
            }
        }
    }
    found.into_iter().map(|(key, (_, item))| (key, item)).collect()
}

/// Whether a change of a user's own row decides if the user is carried over at all, so that it is about everything of theirs.
pub(super) fn is_about_everything(table: Table, change: [Option<&Row>; 2], options: &Options) -> bool {
    let [before, after] = change.map(|row| row.is_some_and(|row| items_of(row, options).is_ok()));
    table == Table::User && before != after
}

/// What becomes of the items that a change of one row touches. `rows` are the user's rows of the table as they are after it.
pub(super) fn of_row(change: [Option<&Row>; 2], user: Option<&Row>, rows: &[Row], options: &Options) -> Effect {
    let touched = change.into_iter().flatten().flat_map(|row| items(row, options)).map(|item| key(&item));
    let is_there = user.is_some_and(|user| items_of(user, options).is_ok());
    let mut found = if is_there { winners(rows, options) } else { BTreeMap::new() };
    let mut effect = Effect::default();
    for key in touched {
        match found.remove(&key) {
            Some(item) => drop(effect.puts.insert(key, item)),
            None if effect.puts.contains_key(&key) => {}
            None => drop(effect.deletes.insert(key)),
        }
    }
    effect
}
