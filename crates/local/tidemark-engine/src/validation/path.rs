//! Document paths, such as `a.b[0]`.

use std::fmt::{Display, Formatter, Result};

use serde_json::{Map, Value, json};

/// A path from an item to a value in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path(pub(super) Vec<Step>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Name(String),
    Index(usize),
}

impl Path {
    /// The path to an attribute.
    pub(crate) fn of_attribute(name: &str) -> Self {
        Self(vec![Step::Name(name.to_owned())])
    }

    /// The attribute that it begins with.
    pub(crate) fn attribute(&self) -> &str {
        match self.0.first() {
            Some(Step::Name(name)) => name,
            _ => "",
        }
    }

    /// Whether it leads into an attribute's value.
    pub(crate) fn is_nested(&self) -> bool {
        self.0.len() > 1
    }
}

/// As DynamoDB writes it: `[a, b, [0]]`.
impl Display for Path {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let steps: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        write!(formatter, "[{}]", steps.join(", "))
    }
}

impl Display for Step {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        match self {
            Self::Name(name) => formatter.write_str(name),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// Why two of the paths cannot stand in one expression: one contains the other, or a value would
/// have to be a map and a list.
pub(super) fn clash(paths: &[Path]) -> Option<String> {
    paths.iter().enumerate().find_map(|(index, two)| {
        let (how, one) = paths[..index].iter().find_map(|one| {
            let differing = one.0.iter().zip(&two.0).find(|(left, right)| left != right);
            match differing {
                None => Some(("overlap", one)),
                Some((Step::Name(_), Step::Index(_)) | (Step::Index(_), Step::Name(_))) => Some(("conflict", one)),
                Some(_) => None,
            }
        })?;
        Some(format!(
            "Two document paths {how} with each other; must remove or rewrite one of these paths; path one: {one}, \
             path two: {two}"
        ))
    })
}

/// The parts of `item` that the paths lead to. Elements of a list keep their order and close ranks.
pub(crate) fn project(item: &Map<String, Value>, paths: &[Path]) -> Map<String, Value> {
    let steps: Vec<&[Step]> = paths.iter().map(|path| path.0.as_slice()).collect();
    members(item, &steps)
}

fn members(item: &Map<String, Value>, paths: &[&[Step]]) -> Map<String, Value> {
    let mut projected = Map::new();
    for (name, value) in item {
        let behind = behind(paths, |step| matches!(step, Step::Name(other) if other == name));
        if let Some(value) = part(value, &behind) {
            projected.insert(name.clone(), value);
        }
    }
    projected
}

/// The part of a value, itself at most 32 levels deep, that the paths lead to.
fn part(value: &Value, paths: &[&[Step]]) -> Option<Value> {
    if paths.iter().any(|path| path.is_empty()) {
        return Some(value.clone());
    }
    if let Some(map) = value["M"].as_object() {
        let part = members(map, paths);
        return (!part.is_empty()).then(|| json!({ "M": part }));
    }
    let part = |(index, value)| part(value, &behind(paths, |step| *step == Step::Index(index)));
    let parts: Vec<Value> = value["L"].as_array()?.iter().enumerate().filter_map(part).collect();
    (!parts.is_empty()).then(|| json!({ "L": parts }))
}

/// The rests of the paths whose first step is taken.
fn behind<'a>(paths: &[&'a [Step]], is_taken: impl Fn(&Step) -> bool) -> Vec<&'a [Step]> {
    paths
        .iter()
        .filter_map(|path| path.split_first().filter(|(first, _)| is_taken(first)).map(|(_, rest)| rest))
        .collect()
}
