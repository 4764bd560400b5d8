//! The way back of an owner after `finished`: the rows of PostgreSQL from the items that the new
//! application has written since. It reads the mapping backwards, and what it cannot bring back it
//! names.

mod all_owners;
mod not_returned;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use all_owners::NOT_RETURNED;
use not_returned::{ItemOrRow, NotReturned};

use super::item_writes;
use super::sides::Sides;
use crate::Failure;
use crate::item::{AS_OF, Attributes, Item, Key, RUN, VERSION, text};
use crate::mapping::Table;
use crate::mapping::invert::{Inverse, cell};
use crate::mapping::value::Value;
use crate::row::{Cell, Columns, Row};
use crate::source::Restricted;

/// The most passes over an owner. A row may need another one that PostgreSQL has refused before.
const PASSES_MAX: usize = 8;

/// The result for an owner.
#[derive(Debug, Default)]
struct ReturnedOwner {
    /// The rows that were written or deleted.
    rows: u64,
    left: Vec<NotReturned>,
}

/// A row on its way back.
#[derive(Debug)]
struct Returning {
    before: Option<Row>,
    after: Row,
    /// The deleted item that stands for the row, and its type.
    gone: Option<(Key, String)>,
    /// Whether another item of the row is left.
    is_kept: bool,
}

impl Returning {
    fn new(before: Option<Row>, after: Row) -> Self {
        Self { before, after, gone: None, is_kept: false }
    }

    fn is_gone(&self) -> bool {
        self.gone.is_some() && !self.is_kept
    }

    /// The columns with other values than before.
    fn changed(&self) -> Vec<&String> {
        let before = |name| self.before.as_ref().and_then(|before| before.columns.get(name));
        self.after.columns.iter().filter(|(name, cell)| before(*name) != Some(cell)).map(|(name, _)| name).collect()
    }

    /// The row whose key identifies it.
    fn of(&self) -> &Row {
        self.before.as_ref().unwrap_or(&self.after)
    }

    /// The columns to write; none for a deletion.
    fn change(&self) -> Option<Row> {
        let change = self.before.as_ref().map_or_else(|| self.after.clone(), |before| self.after.changed_since(before));
        (!self.is_gone()).then_some(change)
    }

    /// Why the row still differs after it was written.
    fn changed_again(&self) -> String {
        if self.is_gone() {
            return "PostgreSQL keeps the row without its item: a trigger may do so".to_owned();
        }
        let text = |row: &Row, name| row.columns.get(name).and_then(Cell::text).unwrap_or_else(|| "null".to_owned());
        let values = self.changed().into_iter().map(|name| {
            let stored = self.before.as_ref().map(|before| format!(", PostgreSQL stored {}", text(before, name)));
            format!("{name}: the item has {}{}", text(&self.after, name), stored.unwrap_or_default())
        });
        let values = values.collect::<Vec<_>>().join("; ");
        format!("{values}. PostgreSQL changed the value: it rounds to the column's type, or a trigger changes it")
    }
}

/// The place of a row, the place of the item among those of its table, and the item that the row
/// becomes.
type Winner = (usize, usize, Item);

/// The state of an owner on the way back.
struct OwnerReturn<'r> {
    sides: &'r Sides,
    owner: &'r str,
    rows: Vec<Returning>,
    left: Vec<NotReturned>,
}

impl Sides {
    /// Brings an owner's rows to the state of the items. May be repeated.
    async fn return_owner(&self, owner: &str) -> Result<ReturnedOwner, Failure> {
        let items = self.dynamo.items_of(&self.world.partitions(owner)).await?;
        let found: BTreeMap<Key, Attributes> =
            items.into_iter().filter_map(|item| Some((self.key(&item)?, item))).collect();
        let (mut rows_written, mut pass) = (0, 0);
        // What PostgreSQL has taken. It takes the same change again and again if it stores another
        // value each time.
        let mut taken: BTreeMap<_, Vec<Columns>> = BTreeMap::new();
        loop {
            let rows = self.postgres.rows_of(owner).await?;
            let rows = rows.into_iter().map(|row| Returning::new(Some(row.clone()), row)).collect();
            let mut state = OwnerReturn { sides: self, owner, rows, left: Vec::new() };
            let winners = state.winners();
            for (key, (place, spec, item)) in winners.iter().filter(|(key, _)| !found.contains_key(key)) {
                if !self.may_be_missing(owner, item).await? {
                    state.remove(key, *place, *spec);
                }
            }
            state.read(&winners, &found);
            state.name_computed();
            let changed = state.rows.iter().filter(|row| row.is_gone() || !row.changed().is_empty());
            let (mut progress, mut left) = (0, Vec::new());
            for row in changed {
                let (of, change) = (row.of(), row.change());
                let columns = change.as_ref().map(|change| change.columns.clone()).unwrap_or_default();
                let taken = taken.entry((of.table.name.clone(), of.id(), row.is_gone())).or_default();
                let is_same = |taken: &Columns| columns.iter().all(|(name, cell)| taken.get(name) == Some(cell));
                if pass == PASSES_MAX || taken.iter().any(is_same) {
                    left.push((ItemOrRow::of_row(of), "changed", row.changed_again()));
                } else if let Some(why) = self.postgres.return_row(of, change.as_ref()).await? {
                    left.push((ItemOrRow::of_row(of), "refused", why));
                } else {
                    progress += 1;
                    taken.push(columns);
                }
            }
            rows_written += progress;
            if progress == 0 {
                left.into_iter().for_each(|(place, what, detail)| state.leave(place, what, detail));
                return Ok(ReturnedOwner { rows: rows_written, left: state.left });
            }
            pass += 1;
        }
    }
}

impl OwnerReturn<'_> {
    /// Changes the rows so that they become the items.
    fn read(&mut self, winners: &BTreeMap<Key, Winner>, found: &BTreeMap<Key, Attributes>) {
        // An owner's own row first, and the first item of each table before the others, which may
        // be made of the same row.
        let mut waiting = Vec::new();
        for (key, item) in found {
            if let Some((place, spec, _)) = winners.get(key) {
                self.adjust(*place, *spec, key, item);
                continue;
            }
            match self.specs(item).first() {
                Some((table, spec)) => waiting.push((!self.is_owners_table(table), *spec, key, item)),
                // A look-up is made of the rows, and says nothing that they do not say.
                None if self.is_known(self.kind(item)) => {}
                None => self.leave(ItemOrRow::of_item(key), "unknown", self.kind(item).to_owned()),
            }
        }
        waiting.sort_by_key(|(is_other, spec, key, _)| (*is_other, *spec, *key));
        for (_, _, key, item) in waiting {
            self.add(key, item);
        }
        let kept = self.rows.iter_mut().filter(|row| row.is_kept).filter_map(|row| row.gone.take());
        for (key, kind) in kept.collect::<Vec<_>>() {
            self.leave(ItemOrRow::of_item(&key), "missing", kind);
        }
    }

    /// Names the rows of which only computed columns would change, and leaves them alone.
    fn name_computed(&mut self) {
        let restricted = &self.sides.postgres.schema().restricted;
        let mut left = Vec::new();
        for row in self.rows.iter_mut().filter(|row| !row.is_gone()) {
            let of_table = restricted.get(&row.after.table.name);
            let is_computed = |name: &&String| {
                of_table.and_then(|columns| columns.get(*name)).is_some_and(|kind| *kind == Restricted::Computed)
            };
            let changed = row.changed();
            if !changed.is_empty() && changed.iter().all(is_computed) {
                let names = changed.into_iter().cloned().collect::<Vec<_>>().join(", ");
                left.push((ItemOrRow::of_row(&row.after), format!("PostgreSQL computes {names}")));
                row.after.columns = row.before.as_ref().map(|before| before.columns.clone()).unwrap_or_default();
            }
        }
        left.into_iter().for_each(|(place, why)| self.leave(place, "attributes", why));
    }

    /// The owner's own row, as it is now.
    fn own_row(&self) -> Option<&Row> {
        self.rows.iter().map(|row| &row.after).find(|row| self.sides.world.is_owners(row))
    }

    /// Whether the mapping makes items of this type.
    fn is_known(&self, kind: &str) -> bool {
        self.sides.world.mapping.tables.iter().any(|table| table.items.iter().any(|spec| spec.kind == kind))
    }

    fn is_owners_table(&self, table: &Table) -> bool {
        self.sides.world.is_owners_table(table)
    }

    fn kind<'i>(&self, item: &'i Attributes) -> &'i str {
        text(item, &self.sides.world.mapping.target.kind)
    }

    /// The row of each expected item of the owner's own partitions.
    fn winners(&self) -> BTreeMap<Key, Winner> {
        let world = &self.sides.world;
        let rows: Vec<_> = self.rows.iter().map(|row| row.after.clone()).collect();
        let expected = item_writes::of_owner(&rows, world).items;
        let owner = self.own_row().map(|owner| world.owner(owner));
        let partitions = world.partitions(self.owner);
        let mut winners = BTreeMap::new();
        for (place, row) in rows.iter().enumerate() {
            let made = world.items(row, owner.as_ref()).map(|made| made.items).unwrap_or_default();
            for item in made {
                let is_winner = |winner: &Item| winner.rank == item.rank && winner.kind == item.kind;
                if partitions.contains(&item.key.partition)
                    && expected.get(&item.key).is_some_and(is_winner)
                    && let Some(spec) = row.table.items.iter().position(|spec| spec.kind == item.kind)
                {
                    winners.insert(item.key.clone(), (place, spec, item));
                }
            }
        }
        winners
    }

    /// The items of the mapping that an item of the owner alone may be.
    fn specs(&self, item: &Attributes) -> Vec<(Arc<Table>, usize)> {
        let mapping = &self.sides.world.mapping;
        let (kind, of) = (self.kind(item), mapping.kind_of(self.owner));
        let tables = mapping.owned().filter(|table| table.owner.as_ref().map(|owner| owner.kind) == of);
        let specs = tables.flat_map(|table| {
            let places = table.items.iter().enumerate().filter(|(_, spec)| spec.is_own && spec.kind == kind);
            places.map(|(place, _)| (Arc::clone(table), place))
        });
        specs.collect()
    }

    /// An inverse for a row with these columns: the owner's own row counts with its new values.
    fn inverse<'i>(&'i self, table: &'i Table) -> Option<Inverse<'i>> {
        let Self { sides, owner, .. } = self;
        let types = sides.postgres.schema().columns.get(&table.name)?;
        Some(Inverse { world: &sides.world, table, types, owner, of_owner: self.own_row() })
    }

    fn leave(&mut self, place: ItemOrRow, what: &'static str, detail: String) {
        self.left.push(NotReturned { owner: self.owner.to_owned(), place, what, detail });
    }

    /// Deletes the row of an item that is gone.
    fn remove(&mut self, key: &Key, place: usize, spec: usize) {
        let table = Arc::clone(&self.rows[place].after.table);
        // An item that depends on a condition, or that comes beside another one, may be gone
        // although its row stays.
        if table.is_first_own(spec) && table.items[spec].when.is_none() {
            self.rows[place].gone = Some((key.clone(), table.items[spec].kind.clone()));
        } else {
            self.leave(ItemOrRow::of_item(key), "missing", table.items[spec].kind.clone());
        }
    }

    /// Changes a row so that its item gets the attributes that it has in DynamoDB.
    fn adjust(&mut self, place: usize, spec: usize, key: &Key, item: &Attributes) {
        let table = Arc::clone(&self.rows[place].after.table);
        let (columns, mut lost) = match self.inverse(&table) {
            Some(inverse) => adjusted(inverse, &self.rows[place].after.columns, spec, item),
            None => return,
        };
        lost.extend(self.unknown(&table, spec, item));
        self.rows[place].after.columns = columns;
        self.rows[place].is_kept = true;
        if !lost.is_empty() {
            self.leave(ItemOrRow::of_item(key), "attributes", lost.join(", "));
        }
    }

    /// The attributes that the mapping does not make.
    fn unknown(&self, table: &Table, spec: usize, item: &Attributes) -> Vec<String> {
        let target = &self.sides.world.mapping.target;
        let own = [&target.partition, &target.sort, &target.kind, &target.owner];
        let is_own = |name: &String| own.contains(&name) || [VERSION, AS_OF, RUN].contains(&name.as_str());
        let is_made = |name: &String| table.items[spec].attributes.iter().any(|attribute| attribute.name == *name);
        let mut unknown: Vec<_> = item.keys().filter(|name| !is_own(name) && !is_made(name)).cloned().collect();
        unknown.sort();
        unknown
    }

    /// Makes a row for an item that no row becomes, or changes the row that it belongs to.
    fn add(&mut self, key: &Key, item: &Attributes) {
        for (table, spec) in self.specs(item) {
            let Some(inverse) = self.inverse(&table) else { continue };
            let of_item = &table.items[spec];
            // A row of the same pass may become this item, too.
            let becomes = |row: &Returning| {
                row.after.table.name == table.name && inverse.key_of(&row.after.columns, of_item).as_ref() == Some(key)
            };
            if let Some(place) = self.rows.iter().position(becomes) {
                return self.adjust(place, spec, key, item);
            }
            let Some(columns) = self.owner_column(&table).and_then(|own| inverse.with_key(&own, of_item, key)) else {
                continue;
            };
            let (columns, mut lost) = adjusted(inverse, &columns, spec, item);
            let row = Row::new(&table, columns).of_owner(self.owner);
            let is_known = table.key.iter().all(|name| table.cell(&row.columns, name).is_some());
            let same = |other: &Returning| other.after.table.name == table.name && other.after.key() == row.key();
            // An attribute in the key may have changed: the row stays, and becomes another item.
            if is_known && let Some(place) = self.rows.iter().position(same) {
                let before = self.rows[place].after.columns.clone();
                let is_moved = self.inverse(&table).and_then(|inverse| {
                    let moved = inverse.with_key(&before, &table.items[spec], key)?;
                    Some(adjusted(inverse, &moved, spec, item))
                });
                let Some((columns, still_lost)) = is_moved else { continue };
                self.rows[place].after.columns = columns;
                self.rows[place].gone = None;
                lost = still_lost;
            } else if is_known || table.is_first_own(spec) {
                // PostgreSQL gives the row its key, if the item does not say it.
                self.rows.push(Returning::new(None, row));
            } else {
                continue;
            }
            lost.extend(self.unknown(&table, spec, item));
            if !lost.is_empty() {
                self.leave(ItemOrRow::of_item(key), "attributes", lost.join(", "));
            }
            return;
        }
        self.leave(ItemOrRow::of_item(key), "no-row", self.kind(item).to_owned());
    }

    /// The column with the owner; none if only a parent knows the owner.
    fn owner_column(&self, table: &Table) -> Option<Columns> {
        let owner = table.owner.as_ref()?;
        if owner.through.is_some() {
            return Some(Columns::new());
        }
        let schema = self.sides.postgres.schema();
        let name = schema.column(table, &owner.column)?;
        let id = self.sides.world.mapping.id_of(owner, self.owner)?;
        let kind = schema.columns.get(&table.name)?.get(name)?;
        let cell = cell(kind, Value::Text(id.to_owned()), &self.sides.world.source_zone)?;
        Some([(name.to_owned(), cell)].into())
    }
}

/// The columns with as many of the item's attributes as the mapping determines, and the names of
/// the other ones.
fn adjusted(inverse: Inverse<'_>, columns: &Columns, spec: usize, item: &Attributes) -> (Columns, Vec<String>) {
    let (mut columns, mut lost) = (columns.clone(), Vec::new());
    let spec = &inverse.table.items[spec];
    for attribute in &spec.attributes {
        let value = item.get(&attribute.name);
        if !inverse.has(&columns, spec, attribute, value) {
            match inverse.with_attribute(&columns, spec, attribute, value) {
                Some(changed) => columns = changed,
                None => lost.push(attribute.name.clone()),
            }
        }
    }
    // A later attribute may have changed an earlier one again, or given it its value.
    lost.retain(|name| {
        let attribute = spec.attributes.iter().find(|attribute| attribute.name == *name);
        attribute.is_some_and(|attribute| !inverse.has(&columns, spec, attribute, item.get(name)))
    });
    let changed_again = spec.attributes.iter().filter(|attribute| {
        !lost.contains(&attribute.name) && !inverse.has(&columns, spec, attribute, item.get(&attribute.name))
    });
    let changed_again: Vec<_> = changed_again.map(|attribute| attribute.name.clone()).collect();
    lost.extend(changed_again);
    (columns, lost)
}
