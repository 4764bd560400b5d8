//! The declaration of a rollup: what it keeps, and where.

use std::collections::BTreeMap;
use std::fmt;

use crate::builder::RollupBuilder;
use crate::contribution::{Part, StatKey};
use crate::group::{Dimension, Group};
use crate::key::Template;
use crate::measure::Measure;

/// The prefix of the partition keys of the crate's own items.
pub const RESERVED_PREFIX: &str = "ROLLUP#";

/// What a change of an item does to the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The old image's contribution is taken back. A modification then adds the new image's.
    Retract,
    /// The statistics stay as they are.
    Keep,
}

/// The statistics about the items of a table: measures for groups, and what changes and deletions
/// do.
pub struct Rollup<T> {
    pub(crate) name: String,
    pub(crate) measures: Vec<(String, Measure<T>)>,
    pub(crate) groups: Vec<CheckedGroup<T>>,
    pub(crate) on_modify: Policy,
    pub(crate) on_remove: Policy,
    pub(crate) on_ttl: Policy,
    pub(crate) version: u32,
    pub(crate) changed_declaration: Policy,
    pub(crate) removes_empty: bool,
}

/// A group whose templates are parsed.
pub(crate) struct CheckedGroup<T> {
    pub(crate) group: Group<T>,
    pub(crate) partition: Template,
    pub(crate) sort: Template,
    pub(crate) attributes: Vec<(String, Template)>,
    /// Indexes of the rollup's measures.
    pub(crate) measures: Vec<usize>,
}

impl<T> Rollup<T> {
    /// Starts a declaration. The name is part of the keys of checkpoints and first-seen records. A
    /// rollup whose statistics another one keeps in the table counts nothing, so a rollup cannot be
    /// renamed.
    ///
    /// Without other words, modifications and deletions are retracted, and a deletion by TTL is
    /// not: an item that expires was there.
    pub fn builder(name: impl Into<String>) -> RollupBuilder<T> {
        RollupBuilder::new(name.into())
    }

    /// The name of the rollup.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a contribution may be taken back. Distinct counts then keep how many items hold each
    /// value.
    pub fn retracts(&self) -> bool {
        [self.on_modify, self.on_remove, self.on_ttl].contains(&Policy::Retract)
    }
}

impl<T> fmt::Debug for Rollup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measures: Vec<_> = self.measures.iter().map(|(name, _)| name).collect();
        let groups: Vec<_> = self.groups.iter().map(|group| &group.group).collect();
        f.debug_struct("Rollup")
            .field("name", &self.name)
            .field("measures", &measures)
            .field("groups", &groups)
            .finish_non_exhaustive()
    }
}

/// The key of a statistic and its constant attributes.
pub(crate) struct StatItem {
    pub(crate) key: (String, String),
    pub(crate) set: BTreeMap<String, String>,
}

impl<T> Rollup<T> {
    /// Where a statistic is stored; `None` for a group that is not declared.
    pub(crate) fn stat(&self, key: &StatKey) -> Option<StatItem> {
        let group = self.groups.get(key.group)?;
        let rendered = |(name, template): &(String, Template)| (name.clone(), template.render(&key.values));
        Some(StatItem {
            key: (group.partition.render(&key.values), group.sort.render(&key.values)),
            set: group.attributes.iter().map(rendered).collect(),
        })
    }

    /// The attribute that holds a part of a measure, and the number of its decimals.
    pub(crate) fn attribute(&self, measure: usize, part: Part) -> Option<(String, u8)> {
        let (name, of) = self.measures.get(measure)?;
        let attribute = of.attributes(name).into_iter().nth(usize::from(part == Part::Count))?;
        Some((attribute, if part == Part::Sum && !of.is_ranked { of.scale } else { 0 }))
    }

    /// An attribute of statistics that has one of these names.
    pub(crate) fn attribute_among(&self, names: &[&str]) -> Option<String> {
        let measures = self.measures.iter().flat_map(|(name, of)| of.attributes(name));
        let constants = self.groups.iter().flat_map(|group| group.attributes.iter().map(|(name, _)| name.clone()));
        measures.chain(constants).find(|name| names.contains(&name.as_str()))
    }

    /// The group of a statistic with this key.
    pub(crate) fn group_of(&self, partition: &str, sort: &str) -> Option<&CheckedGroup<T>> {
        self.groups.iter().find(|group| group.values_of(partition, sort).is_some())
    }

    /// Whether an item with this key is a statistic, or one of the crate's own items.
    pub(crate) fn owns(&self, partition: &str, sort: &str) -> bool {
        let is_stat = |group: &CheckedGroup<T>| group.values_of(partition, sort).is_some();
        partition.starts_with(RESERVED_PREFIX) || self.groups.iter().any(is_stat)
    }
}

impl<T> CheckedGroup<T> {
    /// The values of the dimensions that give a key; `None` for a key of something else.
    pub(crate) fn values_of(&self, partition: &str, sort: &str) -> Option<Vec<String>> {
        let is_value = |index: usize, value: &str| match self.group.dimensions.get(index) {
            Some((_, Dimension::Window(window, _))) => window.is_label(value),
            _ => true,
        };
        let mut values = vec![String::new(); self.group.dimensions.len()];
        let is_stat = self.partition.capture(partition, &is_value, &mut values)
            && self.sort.capture(sort, &is_value, &mut values);
        is_stat.then_some(values)
    }
}
