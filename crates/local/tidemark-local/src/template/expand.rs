//! Rewrites a template before it is read: includes files, repeats the loops of CloudFormation's
//! language extensions, and gives resources of CloudFormation the form of SAM or of one region.
//!
//! Source:
//! <https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/intrinsic-function-reference-foreach.html>.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::Value;

use super::files::Files;
use super::known_properties::{self, Mark};
use super::problems::Problems;
use super::yaml::{Node, NodeKind};
use super::{globals, resources};

/// The transform that allows loops.
pub(super) const LANGUAGE_EXTENSIONS: &str = "AWS::LanguageExtensions";

/// The macro that inserts a file.
const INCLUDE: &str = "AWS::Include";

const LOOP: &str = "Fn::ForEach::";

/// The most repetitions of all loops together. CloudFormation allows 500 resources.
const REPETITIONS_MAX: usize = 1_000;

/// The template without loops, global tables and CloudFormation's functions.
pub(super) fn expand(root: &Node, parameters: &BTreeMap<String, String>, files: Files<'_>) -> Node {
    let left = Cell::new(REPETITIONS_MAX);
    let loops = Loops { root, parameters, files, left: &left };
    let root = loops.expand(root);
    let sections = root.entries().iter().map(|(name, section)| {
        let section = if name == "Resources" { converted(section, files.problems) } else { section.clone() };
        (name.clone(), section)
    });
    root.with(NodeKind::Map(sections.collect()))
}

struct Loops<'a> {
    root: &'a Node,
    parameters: &'a BTreeMap<String, String>,
    files: Files<'a>,
    left: &'a Cell<usize>,
}

impl Loops<'_> {
    /// The node with the entries of each loop in its place.
    fn expand(&self, node: &Node) -> Node {
        match &node.kind {
            NodeKind::List(items) => node.with(NodeKind::List(items.iter().map(|item| self.expand(item)).collect())),
            NodeKind::Map(entries) => {
                let mut expanded = Vec::with_capacity(entries.len());
                for (name, value) in entries {
                    match included(name, value) {
                        Some(location) => match self.files.read(location) {
                            // An included file cannot include another one.
                            Some(file) if entries.len() == 1 => return file,
                            file => expanded.extend(file.iter().flat_map(Node::entries).cloned()),
                        },
                        None if name.starts_with(LOOP) => expanded.extend(self.repeat(name, value)),
                        None => expanded.push((name.clone(), self.expand(value))),
                    }
                }
                node.with(NodeKind::Map(expanded))
            }
            NodeKind::Scalar(..) | NodeKind::StreamOf(_) => node.clone(),
        }
    }

    /// The entries of a loop, once for each value.
    fn repeat(&self, name: &str, node: &Node) -> Vec<(String, Node)> {
        let wrong = |message: String| {
            self.files.problems.at(node, message);
            Vec::new()
        };
        if !self.is_allowed() {
            return wrong(format!("{name} needs the transform {LANGUAGE_EXTENSIONS}"));
        }
        let Some([identifier, collection, body]) = node.items() else {
            return wrong(format!("{name} takes an identifier, a list and a map"));
        };
        let (Some(identifier), Some(values)) = (identifier.as_text(), self.values(collection)) else {
            return wrong(format!("{name} takes an identifier, and a list of texts or a parameter with one"));
        };
        let mut entries = Vec::new();
        for value in &values {
            let Some(left) = self.left.get().checked_sub(1) else {
                return wrong(format!("the loops of a template repeat more than {REPETITIONS_MAX} times"));
            };
            self.left.set(left);
            entries.extend(self.expand(&substituted(body, identifier, value)).entries().iter().cloned());
        }
        entries
    }

    fn is_allowed(&self) -> bool {
        let Some(transform) = self.root.get("Transform") else { return false };
        let all = transform.items().unwrap_or(std::slice::from_ref(transform));
        all.iter().any(|transform| transform.as_text() == Some(LANGUAGE_EXTENSIONS))
    }

    fn values(&self, collection: &Node) -> Option<Vec<String>> {
        if let Some(items) = collection.items() {
            return items.iter().map(|item| item.as_text().map(str::to_owned)).collect();
        }
        let ("Ref", name) = collection.intrinsic()? else { return None };
        let name = name.as_text()?;
        let default = || self.root.get("Parameters")?.get(name)?.get("Default")?.as_text().map(str::to_owned);
        let list = self.parameters.get(name).cloned().or_else(default)?;
        Some(list.split(',').map(|value| value.trim().to_owned()).collect())
    }
}

/// The place of the file that an entry includes.
fn included<'a>(name: &str, value: &'a Node) -> Option<&'a Node> {
    let is_include = name == "Fn::Transform" && value.get("Name").and_then(Node::as_text) == Some(INCLUDE);
    is_include.then(|| value.get("Parameters")?.get("Location")).flatten()
}

/// The node with a value in place of a loop's identifier. `&{Name}` has only the letters and digits
/// of the value.
fn substituted(node: &Node, identifier: &str, value: &str) -> Node {
    let plain: String = value.chars().filter(char::is_ascii_alphanumeric).collect();
    let replaced =
        |text: &str| text.replace(&format!("${{{identifier}}}"), value).replace(&format!("&{{{identifier}}}"), &plain);
    if let Some(("Ref", name)) = node.intrinsic()
        && name.as_text() == Some(identifier)
    {
        return node.text(value);
    }
    match &node.kind {
        NodeKind::Scalar(text, Value::String(_)) => node.text(replaced(text)),
        NodeKind::List(items) => {
            node.with(NodeKind::List(items.iter().map(|item| substituted(item, identifier, value)).collect()))
        }
        NodeKind::Map(entries) => {
            let entries = entries.iter().map(|(name, own)| (replaced(name), substituted(own, identifier, value)));
            node.with(NodeKind::Map(entries.collect()))
        }
        NodeKind::Scalar(..) | NodeKind::StreamOf(_) => node.clone(),
    }
}

/// Converts the name and the value of a property.
type Convert = fn(&str, &Node) -> (String, Node);

/// The property in the other form; `None` if the other form does not know it, or nobody does.
fn property(
    kinds: (&str, &str),
    convert: Convert,
    name: &str,
    value: &Node,
    problems: &Problems,
) -> Option<(String, Node)> {
    let (from, to) = kinds;
    let Some(mark) = known_properties::mark(from, name) else {
        problems.unknown_property(value, from, name);
        return None;
    };
    let converted = convert(name, value);
    if known_properties::mark(to, &converted.0).is_some() {
        return Some(converted);
    }
    match mark {
        Mark::Refused => problems.unsupported(value, format!("{name} of {from} is not supported on this machine")),
        Mark::Warned => problems.ignored(value, format!("{name} of {from} has no effect on this machine")),
        Mark::Runs | Mark::Aws => {}
    }
    None
}

/// The resources in the forms that are read: a global table is a table, and CloudFormation's
/// function is SAM's without events.
fn converted(section: &Node, problems: &Problems) -> Node {
    let resources = section.entries().iter().map(|(id, resource)| {
        let original = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
        let (kind, convert): (_, Convert) = match original {
            resources::GLOBAL_TABLE => (resources::TABLE, |name, value| (name.to_owned(), value.clone())),
            resources::CLOUD_FUNCTION => (resources::FUNCTION, function_property),
            _ => return (id.clone(), resource.clone()),
        };
        let entries = resource.entries().iter().map(|(name, value)| {
            let value = match name.as_str() {
                "Type" => value.text(kind),
                "Properties" => {
                    let entries = value.entries().iter();
                    let entries =
                        entries.filter_map(|(name, value)| property((original, kind), convert, name, value, problems));
                    value.with(NodeKind::Map(entries.collect()))
                }
                _ => value.clone(),
            };
            (name.clone(), value)
        });
        // They are SAM's.
        (id.clone(), globals::ignored(&resource.with(NodeKind::Map(entries.collect()))))
    });
    section.with(NodeKind::Map(resources.collect()))
}

/// A property of `AWS::Lambda::Function` as SAM names it.
fn function_property(name: &str, value: &Node) -> (String, Node) {
    match name {
        // An archive in a bucket does not tell where the crate is.
        "Code" => ("CodeUri".to_owned(), if value.as_text().is_some() { value.clone() } else { value.text(".") }),
        "TracingConfig" => ("Tracing".to_owned(), value.clone()),
        "DeadLetterConfig" => ("DeadLetterQueue".to_owned(), dead_letters(value)),
        _ => (name.to_owned(), value.clone()),
    }
}

/// SAM names the service of a dead-letter target.
fn dead_letters(config: &Node) -> Node {
    let NodeKind::Map(mut entries) = config.kind.clone() else { return config.clone() };
    let is_topic = config.get("TargetArn").and_then(|arn| arn.intrinsic()).is_some_and(|(name, _)| name == "Ref");
    entries.push(("Type".to_owned(), config.text(if is_topic { "SNS" } else { "SQS" })));
    config.with(NodeKind::Map(entries))
}
