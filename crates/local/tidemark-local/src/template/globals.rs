//! `Globals`: the shared properties of functions and HTTP APIs, merged into each as SAM does.

use super::problems::Problems;
use super::resources;
use super::yaml::{Node, NodeKind};

/// The sections of `Globals`, with the type of resource that each is merged into.
const SECTIONS: [(&str, &str); 4] = [
    ("Api", resources::REST_API),
    ("Function", resources::FUNCTION),
    ("HttpApi", resources::HTTP_API),
    ("SimpleTable", resources::SIMPLE_TABLE),
];

/// The template with `Globals` merged into its resources. The section stays, because the implicit
/// API uses it.
pub(super) fn merge(root: &Node, problems: &Problems) -> Node {
    let Some(globals) = root.get("Globals") else { return root.clone() };
    for (name, section) in globals.entries() {
        if !SECTIONS.iter().any(|(known, _)| known == name) {
            problems.ignored(section, format!("Globals of {name} have no effect on this machine"));
        }
    }
    let sections = root.entries().iter().map(|(name, section)| {
        let section = if name == "Resources" { with_globals(section, globals) } else { section.clone() };
        (name.clone(), section)
    });
    root.with(NodeKind::Map(sections.collect()))
}

fn with_globals(section: &Node, globals: &Node) -> Node {
    let resources = section.entries().iter().map(|(id, resource)| {
        let kind = resource.get("Type").and_then(Node::as_text);
        let section = SECTIONS.iter().find(|(_, of)| Some(*of) == kind);
        let shared = section.and_then(|(name, _)| globals.get(name)).and_then(|shared| wanted(shared, resource));
        let resource = shared.map_or_else(|| resource.clone(), |shared| with_properties(resource, &shared));
        (id.clone(), resource)
    });
    section.with(NodeKind::Map(resources.collect()))
}

/// The resource without any `Globals`.
pub(super) fn ignored(resource: &Node) -> Node {
    let others = resource.entries().iter().filter(|(name, _)| name != "IgnoreGlobals").cloned();
    let all = ("IgnoreGlobals".to_owned(), resource.text("*"));
    resource.with(NodeKind::Map(others.chain([all]).collect()))
}

/// The shared properties without those that `IgnoreGlobals` of the resource names, or none of them.
fn wanted(shared: &Node, resource: &Node) -> Option<Node> {
    let Some(ignored) = resource.get("IgnoreGlobals") else { return Some(shared.clone()) };
    if ignored.as_text() == Some("*") {
        return None;
    }
    let is_ignored = |name: &str| ignored.items().unwrap_or_default().iter().any(|item| item.as_text() == Some(name));
    let entries = shared.entries().iter().filter(|(name, _)| !is_ignored(name)).cloned().collect();
    Some(shared.with(NodeKind::Map(entries)))
}

fn with_properties(resource: &Node, shared: &Node) -> Node {
    let NodeKind::Map(mut entries) = resource.kind.clone() else { return resource.clone() };
    match entries.iter_mut().find(|(name, _)| name == "Properties") {
        Some((_, own)) => *own = overlay(shared, own),
        None => entries.push(("Properties".to_owned(), shared.clone())),
    }
    resource.with(NodeKind::Map(entries))
}

/// Merges maps and joins lists; any other value is the resource's own.
fn overlay(shared: &Node, own: &Node) -> Node {
    match (&shared.kind, &own.kind) {
        // An intrinsic function is one value, although it is written as a map.
        _ if shared.intrinsic().is_some() || own.intrinsic().is_some() => own.clone(),
        (NodeKind::Map(below), NodeKind::Map(above)) => {
            let mut entries = above.clone();
            for (name, value) in below {
                match entries.iter_mut().find(|(other, _)| other == name) {
                    Some((_, own)) => *own = overlay(value, own),
                    None => entries.push((name.clone(), value.clone())),
                }
            }
            own.with(NodeKind::Map(entries))
        }
        (NodeKind::List(below), NodeKind::List(above)) => {
            own.with(NodeKind::List(below.iter().chain(above).cloned().collect()))
        }
        _ => own.clone(),
    }
}
