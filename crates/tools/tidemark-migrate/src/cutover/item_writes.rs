//! Derives the items to write from the change of a row. The result is the same as if all rows were
//! transformed again.

use std::collections::{BTreeMap, BTreeSet};

use super::not_migrated::NotMigrated;
use crate::item::{Attributes, Item, Key, first_lost, holders, text};
use crate::mapping::{OnConflict, World};
use crate::reject::{Reason, Reject};
use crate::row::Row;

/// Items to put, and keys of items to delete.
#[derive(Debug, Clone, Default)]
pub(super) struct ItemWrites {
    pub(super) puts: BTreeMap<Key, Item>,
    /// Keys, and whether no other owner has an item with this key.
    pub(super) deletes: BTreeMap<Key, bool>,
    /// Rows whose values DynamoDB cannot store, and those of the deleted keys that they may have
    /// had.
    pub(super) rejected: Vec<(NotMigrated, Vec<Key>)>,
    /// Other rows and values that become nothing.
    pub(super) left_out: Vec<NotMigrated>,
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

/// What rows become.
#[derive(Debug, Default)]
pub(super) struct Derived<'r> {
    pub(super) items: BTreeMap<Key, Item>,
    /// Rows whose values DynamoDB cannot store.
    pub(super) rejected: Vec<(&'r Row, Reject)>,
    /// Other rows and values that become nothing, unless nobody needs to look at them.
    pub(super) left_out: Vec<NotMigrated>,
}

impl Derived<'_> {
    /// Each rejected row, and the items that it still has, of those that were found. `is_any`:
    /// nobody knows the earlier key of a row that has none now, so it has all items of its types
    /// that no row becomes.
    pub(super) fn kept_items(
        &self,
        owner: Option<&Row>,
        found: &BTreeMap<Key, Attributes>,
        world: &World,
        is_any: impl Fn(&NotMigrated) -> bool,
    ) -> Vec<(NotMigrated, Vec<Key>)> {
        let mut taken = BTreeSet::new();
        let kept = self.rejected.iter().map(|(row, reject)| {
            let (one, specs) = (NotMigrated::new(row, reject, false), &row.table.items);
            let keys = world.keys(row, owner);
            let is_any = keys.len() < specs.len() && is_any(&one);
            let is_of_types =
                |item: &Attributes| specs.iter().any(|spec| spec.kind == text(item, &world.mapping.target.kind));
            let is_kept = |(key, item): &(&Key, &Attributes)| {
                !self.items.contains_key(*key)
                    && (keys.iter().any(|(own, _)| own == *key) || (is_any && is_of_types(item)))
            };
            let kept = found.iter().filter(is_kept).map(|(key, _)| key.clone());
            (one, kept.filter(|key| taken.insert(key.clone())).collect())
        });
        kept.collect()
    }

    /// Notes for each rejected row those of the deleted keys that it had before the change. A row
    /// that was rejected before, too, keeps what it still has.
    fn note_rejected(&self, states: &[&Row], owners: &[Option<&Row>], writes: &mut ItemWrites, world: &World) {
        if self.rejected.is_empty() {
            return;
        }
        let owners: Vec<_> = owners.iter().map(|owner| (*owner, owner.map(|row| world.owner(row)))).collect();
        let keys = |state: &Row| {
            let keys = owners.iter().flat_map(|(owner, _)| world.keys(state, *owner));
            keys.map(|(key, _)| key).collect::<Vec<_>>()
        };
        let is_stored = |state: &Row| owners.iter().any(|(_, owner)| world.items(state, owner.as_ref()).is_ok());
        for (row, reject) in &self.rejected {
            let (mut own, others): (Vec<&Row>, Vec<&Row>) =
                states.iter().copied().partition(|state| state.is_same(row));
            own.push(row);
            let mut lost: BTreeSet<_> = own.iter().flat_map(|state| keys(state)).collect();
            lost.retain(|key| writes.deletes.contains_key(key));
            // The earlier state of a row does not have the rows that are joined with it.
            if row.table.joins.is_empty() && !own.into_iter().any(is_stored) {
                let of_others: BTreeSet<_> = others.into_iter().flat_map(keys).collect();
                for key in lost.difference(&of_others) {
                    writes.deletes.remove(key);
                }
                lost.clear();
            }
            writes.rejected.push((NotMigrated::new(row, reject, false), lost.into_iter().collect()));
        }
    }
}

/// What all rows of an owner become.
pub(super) fn of_owner<'r>(rows: &'r [Row], world: &World) -> Derived<'r> {
    let owner = rows.iter().find(|row| world.is_owners(row));
    derived(rows, owner, world)
}

/// What rows become, without the items whose key another of the rows has a better claim to, which
/// are left out. The keys that decide about a whole row are resolved first, then the other keys among the remaining
/// rows.
pub(super) fn derived<'r>(rows: &'r [Row], owner: Option<&Row>, world: &World) -> Derived<'r> {
    let owner = owner.map(|row| world.owner(row));
    let mut all = Derived::default();
    let mut standing: Vec<(&Row, Vec<Item>)> = Vec::with_capacity(rows.len());
    for row in rows {
        let needs_review = |reject: &Reject| !world.is_expected(&row.table.name, reject.reason.as_str());
        match world.items(row, owner.as_ref()) {
            Ok(made) => {
                let left_out = made.left_out.iter().filter(|reject| needs_review(reject));
                all.left_out.extend(left_out.map(|reject| NotMigrated::new(row, reject, true)));
                standing.push((row, made.items));
            }
            Err(reject) if !needs_review(&reject) => {}
            Err(reject) if reject.is_decided => all.left_out.push(NotMigrated::new(row, &reject, false)),
            Err(reject) => all.rejected.push((row, reject)),
        }
    }
    let lost = |row: &Row, item: &Item, reason: &Reason, kept: bool| {
        let is_unexpected = !world.is_expected(&row.table.name, reason.as_str());
        is_unexpected.then(|| NotMigrated::new(row, &Reject { is_decided: true, ..item.taken(reason) }, kept))
    };
    let of_rows = |rows: &[(&Row, Vec<Item>)], wanted: fn(&&Item) -> bool| {
        holders(rows.iter().flat_map(|(_, items)| items).filter(wanted))
    };
    let needed = of_rows(&standing, |item| item.on_conflict.rejects_row());
    standing.retain(|(row, items)| {
        let beaten = first_lost(items, |item| !item.is_holder(&needed));
        all.left_out.extend(beaten.and_then(|(item, reason)| lost(row, item, reason, false)));
        beaten.is_none()
    });
    let claims = of_rows(&standing, |_| true);
    for (row, items) in standing {
        for item in items {
            if item.is_holder(&claims) {
                all.items.insert(item.key.clone(), item);
            } else if let OnConflict::LeaveOut(reason) = &item.on_conflict {
                all.left_out.extend(lost(row, &item, reason, true));
            }
        }
    }
    all
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
    let mut derived = derived(rows, owner, world);
    let mut writes = ItemWrites { left_out: std::mem::take(&mut derived.left_out), ..ItemWrites::default() };
    for (key, is_own) in touched {
        match derived.items.remove(&key) {
            Some(item) => drop(writes.puts.insert(key, item)),
            None => drop(writes.deletes.insert(key, is_own)),
        }
    }
    derived.note_rejected(touching, &[owner], &mut writes, world);
    writes
}

/// The writes that make an owner's items equal to all rows. `changed` are rows before and after a
/// change, and `found` the items that there are.
pub(super) fn of_all_rows(
    rows: &[Row],
    changed: &[Row],
    found: &BTreeMap<Key, Attributes>,
    world: &World,
) -> ItemWrites {
    let mut derived = of_owner(rows, world);
    let (puts, left_out) = (std::mem::take(&mut derived.items), std::mem::take(&mut derived.left_out));
    let owner = rows.iter().find(|row| world.is_owners(row));
    let mut deletes: BTreeMap<_, _> = changed.iter().chain(rows).flat_map(|row| world.keys(row, owner)).collect();
    for (key, item) in found {
        deletes.extend(world.markers_of(item).into_iter().map(|key| (key, false)));
        deletes.insert(key.clone(), true);
    }
    deletes.retain(|key, _| !puts.contains_key(key));
    let mut writes = ItemWrites { puts, deletes, left_out, ..ItemWrites::default() };
    let states: Vec<_> = changed.iter().collect();
    let owners: Vec<_> = changed.iter().filter(|row| world.is_owners(row)).map(Some).chain([owner]).collect();
    derived.note_rejected(&states, &owners, &mut writes, world);
    writes
}
