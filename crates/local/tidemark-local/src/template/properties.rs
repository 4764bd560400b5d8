//! A map in which every entry is read, or treated as the table of properties says.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::Value;

use super::intrinsics::Resolver;
use super::known_properties::{self, Mark};
use super::problems::{ProblemCode, problem};
use super::yaml::{Node, NodeKind, number};

/// A map that is being read.
#[derive(Debug)]
pub(super) struct Properties<'a> {
    pub(super) resolver: &'a Resolver<'a>,
    pub(super) node: Node,
    used: RefCell<BTreeSet<String>>,
}

impl<'a> Properties<'a> {
    /// The entries of `node`, which must be a map.
    pub(super) fn new(resolver: &'a Resolver<'a>, node: &Node) -> Self {
        if !matches!(node.kind, NodeKind::Map(_)) {
            resolver.problems.at(node, format!("expected a map, found {}", node.describe()));
        }
        Self { resolver, node: node.clone(), used: RefCell::default() }
    }

    /// The resources of a type that are made, each with its id and its properties.
    pub(super) fn of_type(
        resolver: &'a Resolver<'a>,
        kind: &'static str,
    ) -> impl Iterator<Item = (&'a String, &'a Node, Self)> {
        let is_it = move |resource: &Node| resource.get("Type").and_then(Node::as_text) == Some(kind);
        let made = move |(_, resource): &&'a (String, Node)| is_it(resource) && resolver.is_made(resource);
        resolver.resources.iter().filter(made).map(|(id, resource)| {
            let nothing = resource.with(NodeKind::Map(Vec::new()));
            (id, resource, Self::new(resolver, resource.get("Properties").unwrap_or(&nothing)))
        })
    }

    /// The entry without resolving it.
    pub(super) fn raw(&self, name: &str) -> Option<&Node> {
        self.used.borrow_mut().insert(name.to_owned());
        self.node.get(name)
    }

    /// The resolved entry.
    pub(super) fn get(&self, name: &str) -> Option<Node> {
        self.resolver.resolve(self.raw(name)?)
    }

    /// An entry that is a map.
    pub(super) fn map(&self, name: &str) -> Option<Self> {
        Some(Self::new(self.resolver, &self.get(name)?))
    }

    /// The items of an entry that is a list.
    pub(super) fn list(&self, name: &str) -> Vec<Node> {
        let Some(node) = self.get(name) else { return Vec::new() };
        match node.kind {
            NodeKind::List(items) => items,
            _ => {
                self.resolver.problems.at(&node, format!("expected a list, found {}", node.describe()));
                Vec::new()
            }
        }
    }

    /// The strings of an entry that is a list.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        self.list(name).iter().filter_map(|item| self.resolver.text(item)).collect()
    }

    /// A string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.resolver.text(self.raw(name)?)
    }

    /// A required string.
    pub(super) fn required(&self, name: &str) -> Option<String> {
        if self.node.get(name).is_none() {
            self.resolver.problems.missing(&self.node, format!("{name} is missing"));
        }
        self.text(name)
    }

    /// A boolean.
    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        let node = self.get(name)?;
        match node.as_text() {
            Some("true" | "True" | "TRUE" | "yes" | "Yes" | "on") => Some(true),
            Some("false" | "False" | "FALSE" | "no" | "No" | "off") => Some(false),
            _ => self.wrong(&node, format!("expected true or false, found {}", node.describe())),
        }
    }

    /// An integer within AWS's limits.
    pub(super) fn integer(&self, name: &str, limits: RangeInclusive<i64>) -> Option<i64> {
        let node = self.get(name)?;
        let value = node.as_text().and_then(number).as_ref().and_then(Value::as_i64);
        match value {
            Some(value) if limits.contains(&value) => Some(value),
            _ => {
                let found = node.as_text().unwrap_or_else(|| node.describe()).to_owned();
                let (low, high) = limits.into_inner();
                self.wrong(&node, format!("{name} must be {low} to {high}, not {found}"))
            }
        }
    }

    /// An integer of the type `T`, within AWS's limits.
    pub(super) fn count<T: TryFrom<i64>>(&self, name: &str, limits: RangeInclusive<i64>) -> Option<T> {
        T::try_from(self.integer(name, limits)?).ok()
    }

    /// A number of at least 0.
    pub(super) fn rate(&self, name: &str) -> Option<f64> {
        let node = self.get(name)?;
        match node.as_text().and_then(|text| text.parse::<f64>().ok()) {
            Some(value) if value.is_finite() && value >= 0.0 => Some(value),
            _ => self.wrong(&node, format!("{name} must be a number of at least 0")),
        }
    }

    /// Whole seconds within AWS's limits.
    pub(super) fn seconds(&self, name: &str, limits: RangeInclusive<i64>) -> Option<Duration> {
        self.count::<u64>(name, limits).map(Duration::from_secs)
    }

    /// Records every entry that AWS does not know, and every entry that was not read, as the table
    /// of properties says for this key.
    pub(super) fn finish(&self, key: &str) {
        let used = self.used.borrow();
        for (name, value) in self.node.entries() {
            let mark = known_properties::mark(key, name);
            let unread = !used.contains(name);
            if unread {
                self.resolver.scan(value);
            }
            match mark {
                None => self.resolver.problems.unknown_property(value, key, name),
                Some(_) if !unread => {}
                Some(Mark::Aws) => {}
                Some(Mark::Refused) => {
                    let message = format!("{name} of {key} is not supported on this machine");
                    self.resolver.problems.unsupported(value, message);
                }
                Some(Mark::Runs | Mark::Warned) => {
                    self.resolver.problems.ignored(value, format!("{name} of {key} has no effect on this machine"));
                }
            }
        }
    }

    /// Records a problem.
    pub(super) fn wrong<T>(&self, place: &Node, message: impl Into<String>) -> Option<T> {
        self.refuse(ProblemCode::Invalid, place, message)
    }

    /// Records a problem of this kind.
    pub(super) fn refuse<T>(&self, code: ProblemCode, place: &Node, message: impl Into<String>) -> Option<T> {
        self.resolver.problems.add(problem(place, code, message));
        None
    }
}

/// The value as JSON, with its YAML types.
pub(super) fn json(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Scalar(_, value) => value.clone(),
        NodeKind::List(items) => Value::Array(items.iter().map(json).collect()),
        NodeKind::Map(entries) => entries.iter().map(|(name, value)| (name.clone(), json(value))).collect(),
        NodeKind::StreamOf(table) => Value::String(table.clone()),
    }
}
