//! Nested stacks: puts the resources of a template in another file in the place of the resource that
//! names it, each with the name of that resource before its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::files::Files;
use super::intrinsics::{Piece, pieces};
use super::yaml::{Node, NodeKind};
use super::{expand, globals, known_properties, resources};

/// The deepest nesting, and the most nested stacks together.
const DEPTH_MAX: usize = 8;
const STACKS_MAX: usize = 100;

/// The attribute before the name of an output.
const OUTPUTS: &str = "Outputs.";

/// The template with all nested stacks in their places.
pub(super) fn inline(root: &Node, files: Files<'_>) -> Node {
    Inliner { files, left: &Cell::new(STACKS_MAX), depth: 0 }.inline(root)
}

#[derive(Clone, Copy)]
struct Inliner<'a> {
    files: Files<'a>,
    left: &'a Cell<usize>,
    depth: usize,
}

/// Values by the names that refer to them: `Parameter` and `Stack.Outputs.Name`.
type Values = BTreeMap<String, Node>;

impl Inliner<'_> {
    fn inline(&self, root: &Node) -> Node {
        let (mut all, mut outputs, mut stacks) = (Vec::new(), Values::new(), Vec::new());
        let mut others: BTreeMap<&str, Vec<(String, Node)>> = BTreeMap::new();
        for (id, resource) in root.get("Resources").map(Node::entries).unwrap_or_default() {
            let Some(child) = self.child(id, resource) else {
                all.push((id.clone(), resource.clone()));
                continue;
            };
            stacks.push(id.as_str());
            let names = Names { prefix: id, values: self.parameters(resource, &child) };
            for (name, output) in child.get("Outputs").map(Node::entries).unwrap_or_default() {
                let value = output.get("Value").map(|value| names.renamed(value));
                outputs.extend(value.map(|value| (format!("{id}.{OUTPUTS}{name}"), value)));
            }
            for section in ["Conditions", "Mappings"] {
                let own = child.get(section).map(Node::entries).unwrap_or_default().iter();
                let own = own.map(|(name, node)| (format!("{id}{name}"), names.renamed(node)));
                others.entry(section).or_default().extend(own);
            }
            let whole = resource.get("Condition");
            for (name, own) in child.get("Resources").map(Node::entries).unwrap_or_default() {
                let (own, condition) = names.resource(own, whole);
                all.push((format!("{id}{name}"), own));
                others.entry("Conditions").or_default().extend(condition);
            }
        }
        if stacks.is_empty() {
            return root.clone();
        }
        self.check_names(&all, &stacks);
        // A stack may get the output of another one, and pass it on as its own. Each time from the
        // first values: stacks that need each other then end with the deepest nesting.
        let first = Names { prefix: "", values: outputs.clone() };
        for _ in 0..DEPTH_MAX {
            outputs.values_mut().for_each(|value| *value = first.renamed(value));
        }
        all.iter_mut().for_each(|(_, resource)| *resource = without_dependencies(resource, &stacks));
        let names = Names { prefix: "", values: outputs };
        let mut sections: Vec<(String, Node)> = Vec::new();
        for (name, section) in root.entries() {
            let section = match name.as_str() {
                "Resources" => names.renamed(&section.with(NodeKind::Map(std::mem::take(&mut all)))),
                "Outputs" => names.renamed(section),
                _ => section.clone(),
            };
            sections.push((name.clone(), section));
        }
        for (name, more) in others {
            match sections.iter_mut().find(|(other, _)| other == name) {
                Some((_, section)) => {
                    let entries = section.entries().iter().cloned().chain(more).collect();
                    *section = section.with(NodeKind::Map(entries));
                }
                None => sections.push((name.to_owned(), root.with(NodeKind::Map(more)))),
            }
        }
        root.with(NodeKind::Map(sections))
    }

    /// Records resources whose names are the same, now that those of nested stacks begin with the
    /// stack's: `OrdersTable`, and `Table` in the stack `Orders`.
    fn check_names(&self, all: &[(String, Node)], stacks: &[&str]) {
        let mut seen: BTreeMap<&str, &Node> = BTreeMap::new();
        for (id, place) in all {
            let Some(first) = seen.insert(id, place) else { continue };
            let at = |node: &Node| {
                let file = node.file.as_deref().map(|file| format!(" of {file}")).unwrap_or_default();
                format!("{}{file}", node.path)
            };
            let (first, second, stacks) = (at(first), at(place), stacks.join(", "));
            let message = format!(
                "{first} and {second} are both named {id} on this machine, where a nested stack's name is put before its resources (stacks: {stacks}): rename one"
            );
            self.files.problems.at(place, message);
        }
    }

    /// The template that a resource names, if it is one on this machine. The reader refuses others.
    fn child(&self, id: &str, resource: &Node) -> Option<Node> {
        let kind = resource.get("Type")?.as_text()?;
        let properties = resource.get("Properties")?;
        if ![resources::NESTED_STACK, resources::APPLICATION].contains(&kind) {
            return None;
        }
        for (name, node) in properties.entries() {
            if known_properties::mark(kind, name).is_none() {
                self.files.problems.unknown_property(node, kind, name);
            }
        }
        let location = match kind {
            resources::NESTED_STACK => {
                let asset = resource.get("Metadata").and_then(|metadata| metadata.get(resources::ASSET_PATH));
                asset.or_else(|| properties.get("TemplateURL"))?
            }
            _ => properties.get("Location")?,
        };
        let name = location.as_text().filter(|name| !name.contains("://"))?;
        let problems = self.files.problems;
        let left = self.left.get().checked_sub(1).filter(|_| self.depth < DEPTH_MAX);
        let Some(left) = left else {
            let message =
                format!("{id}: nested stacks are at most {DEPTH_MAX} deep and {STACKS_MAX} together on this machine");
            problems.unsupported(location, message);
            return Some(location.with(NodeKind::Map(Vec::new())));
        };
        self.left.set(left);
        let Some(root) = self.files.read(location) else { return Some(location.with(NodeKind::Map(Vec::new()))) };
        let path = self.files.folder?.join(name);
        let files = Files { folder: path.parent(), ..self.files };
        let given = properties.get("Parameters").map(Node::entries).unwrap_or_default().iter();
        let given = given.filter_map(|(name, value)| Some((name.clone(), value.as_text()?.to_owned()))).collect();
        let root = expand::expand(&root, &given, files);
        for section in ["Api", "HttpApi"] {
            if let Some(place) = root.get("Globals").and_then(|globals| globals.get(section)) {
                let message =
                    format!("Globals of {section} in a nested stack apply only to the APIs that it declares itself");
                problems.ignored(place, message);
            }
        }
        let root = Inliner { files, depth: self.depth + 1, ..*self }.inline(&root);
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        Some(moved(&globals::merge(&root, problems), folder))
    }

    /// The values of a child's parameters: what the parent gives, else the defaults.
    fn parameters(&self, resource: &Node, child: &Node) -> Values {
        let problems = self.files.problems;
        let given = resource.get("Properties").and_then(|properties| properties.get("Parameters"));
        let declared = child.get("Parameters").map(Node::entries).unwrap_or_default();
        for (name, place) in given.map(Node::entries).unwrap_or_default() {
            if !declared.iter().any(|(other, _)| other == name) {
                problems
                    .unknown(place, format!("the parameter {name} is given, but the nested stack does not declare it"));
            }
        }
        let value = |(name, declaration): &(String, Node)| {
            let given = given.and_then(|given| given.get(name)).or_else(|| declaration.get("Default"));
            let Some(given) = given else {
                problems.missing(resource, format!("the nested stack needs the parameter {name}"));
                return None;
            };
            let is_list = declaration.get("Type").and_then(Node::as_text).is_some_and(|kind| kind.contains("List"));
            let value = match given.as_text().filter(|_| is_list) {
                Some(text) => {
                    let items = text.split(',').map(|item| given.text(item.trim())).collect();
                    given.with(NodeKind::List(items))
                }
                None => given.clone(),
            };
            Some((name.clone(), value))
        };
        declared.iter().filter_map(value).collect()
    }
}

/// The template with its files relative to the folder of the template that names it.
fn moved(root: &Node, folder: &Path) -> Node {
    let with_folder = |node: &Node| match node.as_text() {
        Some(path) if !path.contains("://") => node.text(folder.join(path).to_string_lossy().into_owned()),
        _ => node.clone(),
    };
    let change = |node: &Node, change: &dyn Fn(&str, &Node) -> Node| {
        let entries = node.entries().iter().map(|(name, value)| (name.clone(), change(name, value)));
        node.with(NodeKind::Map(entries.collect()))
    };
    change(root, &|section, node| match section {
        "Resources" => change(node, &|_, resource| {
            // The parent's are not theirs.
            change(&globals::ignored(resource), &|name, node| match name {
                "Properties" => change(node, &|name, node| match name {
                    "CodeUri" | "DefinitionUri" => with_folder(node),
                    _ => node.clone(),
                }),
                "Metadata" => change(node, &|name, node| {
                    if name == resources::ASSET_PATH { with_folder(node) } else { node.clone() }
                }),
                _ => node.clone(),
            })
        }),
        _ => node.clone(),
    })
}

/// The resource without the stacks on which it depends: their resources are there at once.
fn without_dependencies(resource: &Node, stacks: &[&str]) -> Node {
    let entries = resource.entries().iter().map(|(name, value)| {
        if name != "DependsOn" {
            return (name.clone(), value.clone());
        }
        let items = value.items().unwrap_or(std::slice::from_ref(value)).iter();
        let others = items.filter(|item| item.as_text().is_none_or(|name| !stacks.contains(&name))).cloned();
        (name.clone(), value.with(NodeKind::List(others.collect())))
    });
    resource.with(NodeKind::Map(entries.collect()))
}

/// Renames what a template refers to.
struct Names<'a> {
    prefix: &'a str,
    values: Values,
}

impl Names<'_> {
    /// The name in the parent. The APIs that SAM adds are shared.
    fn name(&self, name: &str) -> String {
        let is_shared = name.starts_with("AWS::")
            || name.starts_with(resources::IMPLICIT_HTTP_API)
            || name.starts_with(resources::IMPLICIT_REST_API);
        if is_shared { name.to_owned() } else { format!("{}{name}", self.prefix) }
    }

    /// A resource, whose condition also needs that of the whole stack: then a new condition.
    fn resource(&self, resource: &Node, whole: Option<&Node>) -> (Node, Option<(String, Node)>) {
        let NodeKind::Map(mut entries) = self.renamed(resource).kind else { return (resource.clone(), None) };
        for (name, value) in &mut entries {
            if name == "DependsOn" || name == "Condition" {
                let items = value.items().unwrap_or(std::slice::from_ref(value));
                let items: Vec<Node> =
                    items.iter().map(|item| item.text(self.name(item.as_text().unwrap_or_default()))).collect();
                *value = match (name.as_str(), items.as_slice()) {
                    ("Condition", [one]) => one.clone(),
                    _ => value.with(NodeKind::List(items)),
                };
            }
        }
        let Some(whole) = whole else { return (resource.with(NodeKind::Map(entries)), None) };
        let mut added = None;
        match entries.iter_mut().find(|(name, _)| name == "Condition") {
            None => entries.push(("Condition".to_owned(), whole.clone())),
            Some((_, own)) => {
                let name = format!("{}And{}", whole.as_text().unwrap_or_default(), own.as_text().unwrap_or_default());
                let both = [whole.clone(), own.clone()];
                let both = both.map(|name| name.with(NodeKind::Map(vec![("Condition".to_owned(), name.clone())])));
                let and = own.with(NodeKind::Map(vec![("Fn::And".to_owned(), own.with(NodeKind::List(both.into())))]));
                *own = own.text(name.clone());
                added = Some((name, and));
            }
        }
        (resource.with(NodeKind::Map(entries)), added)
    }

    fn renamed(&self, node: &Node) -> Node {
        let first = |argument: &Node| {
            let Some([name, rest @ ..]) = argument.items() else { return self.renamed(argument) };
            let name = name.as_text().map_or_else(|| self.renamed(name), |text| name.text(self.name(text)));
            let rest = rest.iter().map(|item| self.renamed(item));
            argument.with(NodeKind::List(std::iter::once(name).chain(rest).collect()))
        };
        let call = |name: &str, argument: Node| node.with(NodeKind::Map(vec![(name.to_owned(), argument)]));
        match (node.intrinsic(), &node.kind) {
            (Some(("Ref", target)), _) => {
                let name = target.as_text().unwrap_or_default();
                self.values.get(name).cloned().unwrap_or_else(|| call("Ref", target.text(self.name(name))))
            }
            (Some(("Fn::GetAtt", target)), _) => {
                let parts: Vec<&str> =
                    target.items().unwrap_or(std::slice::from_ref(target)).iter().filter_map(Node::as_text).collect();
                let name = parts.join(".");
                self.values.get(&name).cloned().unwrap_or_else(|| call("Fn::GetAtt", target.text(self.name(&name))))
            }
            (Some(("Fn::Sub", argument)), _) => call("Fn::Sub", self.substitution(argument)),
            (Some((name @ ("Fn::If" | "Fn::FindInMap"), argument)), _) => call(name, first(argument)),
            (_, NodeKind::Map(entries)) => {
                let entry = |(name, value): &(String, Node)| {
                    let value = match value.as_text() {
                        // Of a condition; that of a resource is renamed with it.
                        Some(text) if name == "Condition" && entries.len() == 1 => value.text(self.name(text)),
                        _ => self.renamed(value),
                    };
                    (name.clone(), value)
                };
                node.with(NodeKind::Map(entries.iter().map(entry).collect()))
            }
            (_, NodeKind::List(items)) => {
                node.with(NodeKind::List(items.iter().map(|item| self.renamed(item)).collect()))
            }
            (_, NodeKind::Scalar(..) | NodeKind::StreamOf(_)) => node.clone(),
        }
    }

    /// The argument of `Fn::Sub`. A parameter becomes a variable of its own.
    fn substitution(&self, argument: &Node) -> Node {
        let (template, own) = match argument.items() {
            Some([template, own]) => (template, own.entries()),
            _ => (argument, Default::default()),
        };
        let mut variables: Vec<(String, Node)> =
            own.iter().map(|(name, value)| (name.clone(), self.renamed(value))).collect();
        let mut text = String::new();
        for piece in pieces(template.as_text().unwrap_or_default()) {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Literal(name) => text.push_str(&format!("${{!{name}}}")),
                Piece::Variable(name) if own.iter().any(|(other, _)| other == name) => {
                    text.push_str(&format!("${{{name}}}"));
                }
                Piece::Variable(name) => match self.values.get(name) {
                    None => text.push_str(&format!("${{{}}}", self.name(name))),
                    Some(value) => {
                        // A dot would be an attribute.
                        let variable = format!("{}{}", self.prefix, name.replace('.', ""));
                        text.push_str(&format!("${{{variable}}}"));
                        if !variables.iter().any(|(other, _)| *other == variable) {
                            variables.push((variable, value.clone()));
                        }
                    }
                },
            }
        }
        let text = template.with(NodeKind::Scalar(text.clone(), Value::String(text)));
        if variables.is_empty() {
            return text;
        }
        argument.with(NodeKind::List(vec![text, argument.with(NodeKind::Map(variables))]))
    }
}
