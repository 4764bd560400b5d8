//! A table's schema: keys and indexes, and the cost of a write in each index.

use dynoxide::{AttributeValue, Database, Item};
use serde_json::Value;

use super::buckets::Partition;
use super::write_units;

/// A table's keys and global indexes.
#[derive(Debug, Clone)]
pub(crate) struct TableSchema {
    pub(super) table: String,
    pub(super) on_demand: bool,
    keys: Keys,
    indexes: Vec<Index>,
}

#[derive(Debug, Clone)]
struct Keys {
    partition: String,
    sort: Option<String>,
}

#[derive(Debug, Clone)]
struct Index {
    name: String,
    keys: Keys,
    /// `None`: all attributes. Otherwise these, besides the keys.
    projected: Option<Vec<String>>,
}

impl TableSchema {
    /// The schema of `table`, if the table exists.
    pub(crate) fn of(tables: &Database, table: &str) -> Option<Self> {
        let metadata = tables.get_table_metadata(table).ok()??;
        let indexes: Vec<Value> = serde_json::from_str(metadata.gsi_definitions.as_deref().unwrap_or("[]")).ok()?;
        Some(Self {
            table: metadata.table_name,
            on_demand: metadata.billing_mode.as_deref() == Some("PAY_PER_REQUEST"),
            keys: Keys::parse(&serde_json::from_str(&metadata.key_schema).ok()?)?,
            indexes: indexes.iter().map(Index::parse).collect::<Option<_>>()?,
        })
    }

    /// The key attributes of `item`.
    pub(super) fn key_of(&self, item: &Item) -> Item {
        let names = std::iter::once(&self.keys.partition).chain(&self.keys.sort);
        names.filter_map(|name| Some((name.clone(), item.get(name)?.clone()))).collect()
    }

    /// The table's partition that holds `item`; a key is enough.
    pub(super) fn partition(&self, item: &Item) -> Option<Partition> {
        Some(self.partition_of(None, item.get(&self.keys.partition)?))
    }

    /// The partition for a key's value, in the table or in the named index.
    pub(super) fn partition_of(&self, index: Option<&str>, key: &AttributeValue) -> Partition {
        let key = serde_json::to_string(key).unwrap_or_default();
        Partition { table: self.table.clone(), index: index.map(str::to_owned), key }
    }

    /// The partition key attribute of the table or of the named index.
    pub(crate) fn partition_key(&self, index: Option<&str>) -> Option<&str> {
        let keys = match index {
            None => &self.keys,
            Some(name) => &self.indexes.iter().find(|index| index.name == name)?.keys,
        };
        Some(&keys.partition)
    }

    /// The index partitions that contain `item`.
    pub(super) fn index_partitions<'a>(&'a self, item: &'a Item) -> impl Iterator<Item = Partition> + 'a {
        self.indexes
            .iter()
            .filter(|index| index.keys.complete(item))
            .filter_map(|index| Some(self.partition_of(Some(&index.name), item.get(&index.keys.partition)?)))
    }

    /// The cost in each index of replacing `old` by `new`. An unchanged entry costs nothing. An
    /// entry that is added, removed or changed costs one write; an entry whose key changes costs
    /// two.
    pub(super) fn index_costs(&self, old: Option<&Item>, new: Option<&Item>) -> Vec<(Partition, f64)> {
        let mut costs = Vec::new();
        for index in &self.indexes {
            let entry = |item: Option<&Item>| item.and_then(|item| index.entry(&self.keys, item));
            let place = |entry: &Item| {
                let key = entry.get(&index.keys.partition).map(|key| self.partition_of(Some(&index.name), key));
                key.map(|key| (key, write_units(entry)))
            };
            match (entry(old), entry(new)) {
                (Some(old), Some(new)) if old == new => {}
                (Some(old), Some(new)) if index.keys.same(&old, &new) => {
                    let units = write_units(&old).max(write_units(&new));
                    costs.extend(place(&new).map(|(partition, _)| (partition, units)));
                }
                (old, new) => costs.extend(old.iter().chain(&new).filter_map(place)),
            }
        }
        costs
    }
}

impl Keys {
    fn parse(schema: &Value) -> Option<Self> {
        let name = |kind: &str| {
            let element = schema.as_array()?.iter().find(|element| element["KeyType"] == kind)?;
            element["AttributeName"].as_str().map(str::to_owned)
        };
        Some(Self { partition: name("HASH")?, sort: name("RANGE") })
    }

    fn complete(&self, item: &Item) -> bool {
        item.contains_key(&self.partition) && self.sort.as_ref().is_none_or(|sort| item.contains_key(sort))
    }

    fn same(&self, left: &Item, right: &Item) -> bool {
        let names = std::iter::once(&self.partition).chain(&self.sort);
        names.into_iter().all(|name| left.get(name) == right.get(name))
    }

    fn contains(&self, name: &str) -> bool {
        self.partition == name || self.sort.as_deref() == Some(name)
    }
}

impl Index {
    fn parse(definition: &Value) -> Option<Self> {
        let names = |names: &Value| {
            let names = names.as_array().into_iter().flatten();
            names.filter_map(|name| name.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let projection = &definition["Projection"];
        let projected = match projection["ProjectionType"].as_str() {
            Some("KEYS_ONLY") => Some(Vec::new()),
            Some("INCLUDE") => Some(names(&projection["NonKeyAttributes"])),
            _ => None,
        };
        let name = definition["IndexName"].as_str()?.to_owned();
        Some(Self { name, keys: Keys::parse(&definition["KeySchema"])?, projected })
    }

    /// The index's copy of `item`, if the item is in the index.
    fn entry(&self, table: &Keys, item: &Item) -> Option<Item> {
        if !self.keys.complete(item) {
            return None;
        }
        let Some(projected) = &self.projected else { return Some(item.clone()) };
        let holds = |name: &str| {
            table.contains(name) || self.keys.contains(name) || projected.iter().any(|other| other == name)
        };
        Some(item.iter().filter(|(name, _)| holds(name)).map(|(name, value)| (name.clone(), value.clone())).collect())
    }
}
