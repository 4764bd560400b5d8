//! Chooses the owners, and for each other table the foreign key that leads to one. Rows of one
//! owner move together, so the best owner is the table that most other tables depend on.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::catalog::{SourceColumn, SourceTable};
use super::words::{folded, is_person, is_tenant, is_tools_own, singular};
use crate::source::ForeignKeyAction;

/// Where the rows of a table belong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Each row is an owner.
    Owner,
    /// The column has the owner's id, or the key of a row of the parent `through`.
    Owned { owner: String, column: String, through: Option<String>, is_guess: bool },
    /// The table is not in the draft, for this reason.
    LeftOut(String),
}

impl Place {
    /// Why the table is not in the draft.
    pub(super) fn left_out(&self) -> Option<&str> {
        if let Self::LeftOut(why) = self { Some(why) } else { None }
    }
}

/// The places of all tables, by name.
pub(super) type Places = BTreeMap<String, Place>;

/// A way from a table to another one on which its rows may depend.
#[derive(Debug, Clone)]
struct Edge<'s> {
    parent: &'s SourceTable,
    /// Columns of the table, and of the parent.
    columns: Vec<(String, String)>,
    /// There is no foreign key: the name of the column says so.
    is_guess: bool,
    /// The rows can do without the parent, so they do not belong to it.
    is_weak: bool,
    is_cascade: bool,
    is_required: bool,
    /// The place of its first column in the table's key.
    place_in_key: Option<usize>,
    place: usize,
}

/// A lookup table has few rows, on each of which many rows depend.
const LOOKUP_ROWS_MAX: f64 = 1_000.0;
const LOOKUP_FAN_OUT: f64 = 100.0;

/// While a table is empty, a lookup table is a table with a key and a name.
const LOOKUP_COLUMNS_MAX: usize = 3;

/// Chooses the places. `named` are the owners that the user wants; without them, each table that
/// depends on no other one is an owner.
pub(super) fn choose(tables: &[SourceTable], named: &[String]) -> Places {
    let is_usable = |table: &&SourceTable| !table.key.is_empty() && !table.is_inherited && !is_tools_own(&table.name);
    let usable: Vec<&SourceTable> = tables.iter().filter(is_usable).collect();
    let mut edges: BTreeMap<&str, Vec<Edge<'_>>> =
        usable.iter().map(|table| (table.name.as_str(), edges_of(table, &usable))).collect();
    if named.is_empty() {
        edges.values_mut().for_each(|edges| edges.retain(|edge| !edge.is_weak));
    }
    let mut owners: BTreeSet<String> = named.iter().cloned().collect();
    // A cycle of foreign keys has no beginning: its owner is the table that most others depend on.
    loop {
        let reach = reach_of(&edges, &owners);
        let in_cycle = usable.iter().filter(|table| {
            !owners.contains(&table.name) && table.only_key().is_some() && reach[&*table.name].contains(&*table.name)
        });
        match in_cycle.max_by_key(|table| (reach[&*table.name].len(), Reverse(&table.name))) {
            Some(table) if named.is_empty() => drop(owners.insert(table.name.clone())),
            _ => break,
        }
    }
    let reach = reach_of(&edges, &owners);
    for (child, edges) in &mut edges {
        edges.sort_by_key(|edge| Reverse(edge.rank(child, reach[&*edge.parent.name].len())));
    }
    let mut chooser = Chooser { edges, owners, is_named: !named.is_empty(), places: Places::new() };
    for table in &usable {
        chooser.place(table, &mut BTreeSet::new());
    }
    let mut places = chooser.places;
    for table in tables.iter().filter(|table| !is_usable(table)) {
        let why = if is_tools_own(&table.name) {
            "it belongs to a tool for migrations of the schema"
        } else if table.is_inherited {
            "it inherits from another table, or another one from it, so its rows are read twice"
        } else {
            "it has neither a primary key nor a unique index of NOT NULL columns, so its rows cannot be told apart"
        };
        places.insert(table.name.clone(), Place::LeftOut(why.to_owned()));
    }
    places
}

/// For each table, the tables that depend on it, directly or not.
fn reach_of<'s>(
    edges: &BTreeMap<&'s str, Vec<Edge<'s>>>,
    owners: &BTreeSet<String>,
) -> BTreeMap<&'s str, BTreeSet<&'s str>> {
    let mut reach: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|name| (*name, BTreeSet::new())).collect();
    for start in edges.keys() {
        let (mut waiting, mut seen) = (vec![*start], BTreeSet::new());
        while let Some(name) = waiting.pop() {
            if owners.contains(name) {
                continue;
            }
            for edge in &edges[name] {
                let parent = edge.parent.name.as_str();
                if seen.insert(parent) {
                    waiting.push(parent);
                }
            }
        }
        for parent in seen {
            reach.entry(parent).or_default().insert(start);
        }
    }
    reach
}

/// The foreign keys of a table to others, and the columns whose names say the same.
fn edges_of<'s>(table: &SourceTable, all: &[&'s SourceTable]) -> Vec<Edge<'s>> {
    let mut edges = Vec::new();
    for key in &table.foreign_keys {
        let Some(parent) = all.iter().find(|parent| parent.name == key.refers_to) else { continue };
        let first = &key.columns[0].0;
        let is_required = key.columns.iter().all(|(own, _)| table.column(own).is_some_and(|own| own.is_required));
        let mut edge = Edge::new(table, parent, key.columns.clone(), first, is_required);
        edge.is_cascade = key.on_delete == ForeignKeyAction::Cascade;
        edge.is_weak =
            key.on_delete == ForeignKeyAction::Set || (!edge.is_cascade && is_only_described(table, parent, &edge));
        edges.push(edge);
    }
    for column in &table.columns {
        let has_key = |edge: &Edge<'_>| edge.columns.iter().any(|(own, _)| *own == column.name);
        if edges.iter().any(has_key) {
            continue;
        }
        let named = all.iter().find_map(|parent| {
            let key = parent.only_key().filter(|_| parent.name != table.name)?;
            let names = [singular(&parent.name), parent.name.clone()].map(|name| format!("{}id", folded(&name)));
            let is_named = names.contains(&folded(&column.name));
            (is_named && is_similar(column, parent.column(key)?)).then_some((*parent, key))
        });
        let Some((parent, key)) = named else { continue };
        let columns = vec![(column.name.clone(), key.to_owned())];
        let mut edge = Edge::new(table, parent, columns, &column.name, column.is_required);
        (edge.is_guess, edge.is_weak) = (true, is_only_described(table, parent, &edge));
        edges.push(edge);
    }
    edges
}

/// Whether two columns may have the same ids.
fn is_similar(one: &SourceColumn, other: &SourceColumn) -> bool {
    let group = |column: &SourceColumn| match column.kind.as_str() {
        "bigint" | "integer" | "smallint" => "number".to_owned(),
        "text" | "character varying" | "character" | "citext" => "text".to_owned(),
        kind => kind.to_owned(),
    };
    group(one) == group(other)
}

/// Whether the parent only describes the row: it is a lookup table, or the row is a person of its
/// own.
fn is_only_described(table: &SourceTable, parent: &SourceTable, edge: &Edge<'_>) -> bool {
    if edge.place_in_key.is_some() || is_tenant(&parent.name) || is_person(&parent.name) {
        return false;
    }
    if is_person(&table.name) {
        return true;
    }
    if table.rows > 0.0 {
        return parent.rows <= LOOKUP_ROWS_MAX && table.rows > parent.rows.max(1.0) * LOOKUP_FAN_OUT;
    }
    parent.columns.len() <= LOOKUP_COLUMNS_MAX && parent.foreign_keys.is_empty()
}

impl<'s> Edge<'s> {
    fn new(
        table: &SourceTable,
        parent: &'s SourceTable,
        columns: Vec<(String, String)>,
        first: &str,
        is_required: bool,
    ) -> Self {
        let place = table.columns.iter().position(|column| column.name == first).unwrap_or_default();
        let place_in_key = table.key.iter().position(|column| column == first);
        Self { parent, columns, is_guess: false, is_weak: false, is_cascade: false, is_required, place_in_key, place }
    }

    /// The column that names a row of the parent; `None` if several columns do.
    fn names_row(&self) -> Option<&str> {
        match self.columns.as_slice() {
            [(own, other)] if self.parent.only_key() == Some(other) => Some(own),
            _ => None,
        }
    }

    /// The edge with the greatest rank shows best where a row belongs.
    fn rank(&self, child: &str, reach: usize) -> impl Ord + use<> {
        let parent = folded(&singular(&self.parent.name));
        let column = self.columns.first().map(|(own, _)| folded(own)).unwrap_or_default();
        let kind = if is_tenant(&self.parent.name) { 2 } else { u8::from(is_person(&self.parent.name)) };
        (
            (!self.is_weak, !self.is_guess, self.place_in_key.is_some(), Reverse(self.place_in_key)),
            // `order_items` belongs to `orders`, and not to `products`.
            (folded(child).starts_with(&parent), self.is_cascade, self.is_required),
            // `author_id` says less about a row than `post_id`.
            (column == format!("{parent}id"), kind, reach, Reverse(self.place)),
        )
    }
}

struct Chooser<'s> {
    /// The best edge of each table comes first.
    edges: BTreeMap<&'s str, Vec<Edge<'s>>>,
    owners: BTreeSet<String>,
    is_named: bool,
    places: Places,
}

impl Chooser<'_> {
    /// Places a table after the tables on which it depends.
    fn place(&mut self, table: &SourceTable, above: &mut BTreeSet<String>) {
        if self.places.contains_key(&table.name) || !above.insert(table.name.clone()) {
            return;
        }
        let edges = self.edges[&*table.name].clone();
        let mut place = self.owners.contains(&table.name).then_some(Place::Owner);
        for edge in &edges {
            if place.is_none() {
                self.place(edge.parent, above);
                place = self.link(edge);
            }
        }
        above.remove(&table.name);
        let place = place.unwrap_or_else(|| match (table.only_key(), self.is_named) {
            (Some(_), false) => Place::Owner,
            (_, true) => Place::LeftOut("no foreign key leads from it to an owner that was named".to_owned()),
            (None, false) => Place::LeftOut(format!(
                "its key has several columns ({}), and none of its foreign keys leads to an owner",
                table.key.join(", ")
            )),
        });
        self.places.insert(table.name.clone(), place);
    }

    /// The place of a row that depends on the parent; `None` if a mapping cannot say so.
    fn link(&self, edge: &Edge<'_>) -> Option<Place> {
        let (parent, is_guess) = (&edge.parent.name, edge.is_guess);
        match self.places.get(parent)? {
            Place::LeftOut(_) => None,
            Place::Owner => {
                let column = edge.names_row()?.to_owned();
                Some(Place::Owned { owner: parent.clone(), column, through: None, is_guess })
            }
            Place::Owned { owner, column, through, .. } => {
                let owner = owner.clone();
                // A foreign key of several columns may contain the one that leads further.
                if let Some((own, _)) = edge.columns.iter().find(|(_, other)| other == column) {
                    return Some(Place::Owned { owner, column: own.clone(), through: through.clone(), is_guess });
                }
                let column = edge.names_row()?.to_owned();
                Some(Place::Owned { owner, column, through: Some(parent.clone()), is_guess })
            }
        }
    }
}
