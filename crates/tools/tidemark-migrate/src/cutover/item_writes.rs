//! Derives the items to write from the change of a row. The result is the same as if all rows were
//! transformed again.

use std::collections::BTreeMap;

use crate::item::{Item, Key};
use crate::mapping::{Candidate, OnConflict, World};
use crate::row::Row;

/// Items to put, and keys of items to delete.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemWrites {
    pub(super) puts: BTreeMap<Key, Item>,
    /// Keys, and whether no other owner has an item with this key.
    pub(super) deletes: BTreeMap<Key, bool>,
}

impl ItemWrites {
    /// Leaves an item out whose key another owner has, and with it the rows that need the key.
    /// False if it is not in the writes.
    pub(super) fn leave_out(&mut self, key: &Key) -> bool {
        let put = self.puts.remove(key);
        let rejected = self.puts.extract_if(.., |_, item| item.needs.contains(key));
        self.deletes.extend(rejected.map(|(key, item)| (key, item.is_own)));
        put.is_some() | self.deletes.remove(key).is_some()
    }
}

/// The items of all rows of an owner.
pub(super) fn items_of_owner(rows: &[Row], world: &World) -> BTreeMap<Key, Item> {
    let owner = rows.iter().find(|row| world.is_owners(row));
    winning_items(rows, owner, world)
}

/// The items of the rows, without those whose key another of the rows has a better claim to. The
/// keys that decide about a whole row are resolved first, then the other keys among the remaining
/// rows.
pub(super) fn winning_items(rows: &[Row], owner: Option<&Row>, world: &World) -> BTreeMap<Key, Item> {
    let owner = owner.map(|row| world.owner(row));
    let items = |row| {
        let made = world.items(Candidate { row, owner: owner.as_ref() });
        made.map(|made| made.items).unwrap_or_default()
    };
    let mut standing: Vec<Vec<Item>> = rows.iter().map(items).collect();
    let is_needed = |item: &Item| matches!(item.on_conflict, OnConflict::RejectRow(_));
    let needed = holders(&standing, is_needed);
    let holds = |holders: &BTreeMap<Key, Vec<u8>>, item: &Item| holders.get(&item.key) == Some(&item.rank);
    standing.retain(|items| items.iter().filter(|item| is_needed(item)).all(|item| holds(&needed, item)));
    let all = holders(&standing, |_| true);
    let winners = standing.into_iter().flatten().filter(|item| holds(&all, item));
    winners.map(|item| (item.key.clone(), item)).collect()
}

/// The best claim to each key of the wanted items. A rank belongs to one row only.
fn holders(rows: &[Vec<Item>], wanted: impl Fn(&Item) -> bool) -> BTreeMap<Key, Vec<u8>> {
    let mut holders: BTreeMap<Key, Vec<u8>> = BTreeMap::new();
    for item in rows.iter().flatten().filter(|item| wanted(item)) {
        let holder = holders.entry(item.key.clone()).or_insert_with(|| item.rank.clone());
        if *holder < item.rank {
            holder.clone_from(&item.rank);
        }
    }
    holders
}

/// Whether a change of the owner's own row decides about items of other rows. Such a change affects
/// all items of the owner.
pub(super) fn affects_all_items(change: [Option<&Row>; 2], world: &World) -> bool {
    let is_owners = change.iter().flatten().any(|row| world.is_owners(row));
    let [before, after] = change.map(|row| world.owner_facts(row));
    is_owners && before != after
}

/// The writes for the items of some rows, before and after a change. `rows` are the owner's rows
/// after the change that may have one of these items.
pub(super) fn of_rows(touching: &[&Row], owner: Option<&Row>, rows: &[Row], world: &World) -> ItemWrites {
    let mut touched: BTreeMap<_, _> = touching.iter().flat_map(|row| world.keys(row, owner)).collect();
    // A row that gains or loses one of these keys may gain or lose its other items, too.
    for row in rows {
        let keys = world.keys(row, owner);
        if keys.iter().any(|(key, _)| touched.contains_key(key)) {
            touched.extend(keys);
        }
    }
    let mut found = winning_items(rows, owner, world);
    let mut writes = ItemWrites::default();
    for (key, is_own) in touched {
        match found.remove(&key) {
            Some(item) => drop(writes.puts.insert(key, item)),
            None => drop(writes.deletes.insert(key, is_own)),
        }
    }
    writes
}
