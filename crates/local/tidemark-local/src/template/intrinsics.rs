//! Intrinsic functions: resolves `Ref`, `Sub`, conditions and others to values.

use std::cell::RefCell;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::problems::{ProblemCode, Problems, problem};
use super::properties::json;
use super::resources::Generated;
use super::yaml::{Node, NodeKind};
use super::{parameters, resources};

/// CloudFormation functions that have no meaning on one machine. Properties that only AWS uses may
/// contain them.
const CLOUD_FUNCTIONS: [&str; 2] = ["Fn::Cidr", "Fn::Transform"];

/// The functions that are resolved here.
const FUNCTIONS: [&str; 13] = [
    "Ref",
    "Fn::Sub",
    "Fn::GetAtt",
    "Fn::If",
    "Fn::Join",
    "Fn::Select",
    "Fn::Split",
    "Fn::FindInMap",
    "Fn::Base64",
    "Fn::GetAZs",
    "Fn::ImportValue",
    "Fn::Length",
    "Fn::ToJsonString",
];

/// The availability zones of the local region.
const ZONES: [&str; 3] = ["a", "b", "c"];

/// The functions of conditions.
const CONDITION_FUNCTIONS: [&str; 5] = ["Fn::Equals", "Fn::And", "Fn::Or", "Fn::Not", "Condition"];

/// The values of names in one template.
#[derive(Debug)]
pub(super) struct Resolver<'a> {
    pub(super) problems: &'a Problems,
    parameters: BTreeMap<String, Node>,
    conditions: &'a [(String, Node)],
    mappings: &'a [(String, Node)],
    pub(super) resources: &'a [(String, Node)],
    /// Resources that SAM adds to the template, by their logical ids.
    generated: BTreeMap<String, Generated>,
    /// The names that are being resolved, to detect a cycle.
    under_way: RefCell<Vec<String>>,
}

impl<'a> Resolver<'a> {
    /// A resolver for the template `root`.
    pub(super) fn new(root: &'a Node, given: &BTreeMap<String, String>, problems: &'a Problems) -> Self {
        let section = |name: &str| root.get(name).map(Node::entries).unwrap_or_default();
        let mut resolver = Self {
            problems,
            parameters: parameters::values(root.get("Parameters"), given, root, problems),
            conditions: section("Conditions"),
            mappings: section("Mappings"),
            resources: section("Resources"),
            generated: BTreeMap::new(),
            under_way: RefCell::default(),
        };
        resolver.generated = resources::generated(&resolver);
        resolver
    }

    /// The value without intrinsic functions; `None` for `AWS::NoValue`, or after an error, which
    /// is then recorded.
    pub(super) fn resolve(&self, node: &Node) -> Option<Node> {
        if let Some((function, argument)) = node.intrinsic() {
            return self.call(node, function, argument);
        }
        match &node.kind {
            NodeKind::List(items) => {
                Some(node.with(NodeKind::List(items.iter().filter_map(|item| self.resolve(item)).collect())))
            }
            NodeKind::Map(entries) => {
                let stray = entries.iter().find(|(name, _)| name.starts_with("Fn::"));
                if let Some((name, stray)) = stray {
                    self.problems.at(stray, format!("{name} must be the only entry of its map"));
                    return None;
                }
                let entries = entries.iter().filter_map(|(name, value)| Some((name.clone(), self.resolve(value)?)));
                Some(node.with(NodeKind::Map(entries.collect())))
            }
            NodeKind::Scalar(..) | NodeKind::StreamOf(_) => Some(node.clone()),
        }
    }

    /// The items of a list, or the one value in its place, without the `If` around the list and
    /// around an item. What is inside an item is not resolved.
    pub(super) fn chosen_items<'n>(&self, list: &'n Node) -> Vec<&'n Node> {
        let list = self.chosen(list);
        let items = list.map(|list| list.items().unwrap_or(std::slice::from_ref(list)));
        items.unwrap_or_default().iter().filter_map(|item| self.chosen(item)).collect()
    }

    /// The node without the `If` around it; `None` for `AWS::NoValue`.
    pub(super) fn chosen<'n>(&self, node: &'n Node) -> Option<&'n Node> {
        match node.intrinsic() {
            Some(("Fn::If", argument)) => self.chosen(self.side(argument)?),
            Some(("Ref", name)) if name.as_text() == Some("AWS::NoValue") => None,
            _ => Some(node),
        }
    }

    /// The value of an `If`, not resolved.
    fn side<'n>(&self, argument: &'n Node) -> Option<&'n Node> {
        let Some([condition, yes, no]) = argument.items() else {
            return self.wrong(argument, "If takes a condition and two values");
        };
        let holds = self.holds(condition.as_text().unwrap_or_default(), condition);
        // Check the unused side too: an error in it would appear only on another stage.
        self.scan(if holds { no } else { yes });
        Some(if holds { yes } else { no })
    }

    /// Whether a resource is made: its condition holds. Records missing names in `DependsOn`.
    pub(super) fn is_made(&self, resource: &Node) -> bool {
        let depends_on = resource.get("DependsOn");
        let names = depends_on.map(|node| node.items().unwrap_or(std::slice::from_ref(node))).unwrap_or_default();
        for name in names {
            if !self.is_resource(name.as_text().unwrap_or_default()) {
                self.problems
                    .unknown(name, format!("there is no resource {}", name.as_text().unwrap_or("of that name")));
            }
        }
        let condition = resource.get("Condition");
        condition.is_none_or(|condition| self.holds(condition.as_text().unwrap_or_default(), condition))
    }

    /// The value as text; records an error if it is not text.
    pub(super) fn text(&self, node: &Node) -> Option<String> {
        let resolved = self.resolve(node)?;
        match (&resolved.kind, resolved.as_text()) {
            (_, Some(text)) => Some(text.to_owned()),
            (NodeKind::StreamOf(table), _) => {
                self.problems.at(node, format!("the ARN of {table}'s stream is known only after the table is created; use it only as the Stream of an event, not as text"));
                None
            }
            _ => {
                self.problems.at(node, format!("expected a string, found {}", resolved.describe()));
                None
            }
        }
    }

    /// Whether the named condition holds; records an error if it does not exist.
    pub(super) fn holds(&self, name: &str, place: &Node) -> bool {
        let Some((_, condition)) = self.conditions.iter().find(|(other, _)| other == name) else {
            self.problems.unknown(place, format!("there is no condition {name}"));
            return false;
        };
        self.guarded(&format!("condition {name}"), place, || self.test(condition)).flatten().unwrap_or(false)
    }

    /// Records unknown functions and invalid references without resolving values, for properties
    /// that only AWS uses.
    pub(super) fn scan(&self, node: &Node) {
        match node.intrinsic() {
            Some(("Ref", target)) => self.scan_reference(target, target.as_text().unwrap_or_default()),
            Some(("Fn::GetAtt", target)) => match attribute(target) {
                Some((resource, _)) if self.is_resource(&resource) => {}
                Some((resource, _)) => self.problems.unknown(target, format!("there is no resource {resource}")),
                None => self.problems.at(target, "GetAtt takes a resource and an attribute"),
            },
            Some(("Fn::Sub", argument)) => self.scan_sub(argument),
            Some((name, argument)) => {
                let known = [FUNCTIONS.as_slice(), &CLOUD_FUNCTIONS, &CONDITION_FUNCTIONS].concat();
                if !known.contains(&name) {
                    self.problems.at(node, format!("{name} is not a known function"));
                }
                if name == "Fn::If"
                    && let Some(condition) = argument.items().and_then(<[Node]>::first)
                {
                    self.holds(condition.as_text().unwrap_or_default(), condition);
                }
                self.scan(argument);
            }
            None => {
                node.items().unwrap_or_default().iter().for_each(|item| self.scan(item));
                node.entries().iter().for_each(|(_, value)| self.scan(value));
            }
        }
    }

    /// Whether the template has a resource with this logical id, or SAM adds one.
    pub(super) fn is_resource(&self, name: &str) -> bool {
        self.generated.contains_key(name) || self.resources.iter().any(|(other, _)| other == name)
    }

    fn scan_reference(&self, place: &Node, name: &str) {
        let owner = name.split_once('.').map_or(name, |(owner, _)| owner);
        let known = self.parameters.contains_key(name) || self.is_resource(owner) || name.starts_with("AWS::");
        if !known {
            self.problems.unknown(place, format!("{name:?} is neither a parameter nor a resource"));
        }
    }

    fn scan_sub(&self, argument: &Node) {
        let (template, own) = match argument.items() {
            Some([template, own]) => (template, own.entries()),
            _ => (argument, Default::default()),
        };
        own.iter().for_each(|(_, value)| self.scan(value));
        for piece in pieces(template.as_text().unwrap_or_default()) {
            let Piece::Variable(name) = piece else { continue };
            if !own.iter().any(|(other, _)| other == name) {
                self.scan_reference(template, name.split_once('.').map_or(name, |(resource, _)| resource));
            }
        }
    }

    fn call(&self, node: &Node, function: &str, argument: &Node) -> Option<Node> {
        match function {
            "Ref" => self.reference(node, argument.as_text().unwrap_or_default()),
            "Fn::Sub" => self.substitute(node, argument),
            "Fn::GetAtt" => match attribute(argument) {
                Some((resource, name)) => self.attribute(node, &resource, &name),
                None => self.wrong(argument, "GetAtt takes a resource and an attribute"),
            },
            "Fn::If" => self.resolve(self.side(argument)?),
            "Fn::Join" => {
                let Some([separator, list]) = argument.items() else {
                    return self.wrong(argument, "Join takes a separator and a list");
                };
                let list = self.resolve(list)?;
                let Some(items) = list.items() else { return self.wrong(&list, "Join takes a list") };
                let texts: Vec<String> = items.iter().map(|item| self.text(item)).collect::<Option<_>>()?;
                Some(node.text(texts.join(&self.text(separator)?)))
            }
            "Fn::Split" => {
                let Some([separator, text]) = argument.items() else {
                    return self.wrong(argument, "Split takes a separator and a string");
                };
                let (separator, text) = (self.text(separator)?, self.text(text)?);
                Some(node.with(NodeKind::List(text.split(&separator).map(|part| node.text(part)).collect())))
            }
            "Fn::Select" => {
                let Some([index, list]) = argument.items() else {
                    return self.wrong(argument, "Select takes an index and a list");
                };
                let list = self.resolve(list)?;
                let index = self.text(index)?.parse::<usize>().ok();
                match index.and_then(|index| list.items()?.get(index)) {
                    Some(item) => Some(item.clone()),
                    None => self.wrong(argument, "the list has no item of that index"),
                }
            }
            "Fn::FindInMap" => {
                let Some([mapping, first, second]) = argument.items() else {
                    return self.wrong(argument, "FindInMap takes a mapping and two keys");
                };
                let (name, first, second) = (self.text(mapping)?, self.text(first)?, self.text(second)?);
                let mapping = self.mappings.iter().find(|(other, _)| *other == name).map(|(_, mapping)| mapping);
                match mapping.and_then(|mapping| mapping.get(&first)?.get(&second)) {
                    Some(value) => Some(value.clone()),
                    None => self.refuse(
                        ProblemCode::UnknownName,
                        argument,
                        &format!("there is no {first}.{second} in a mapping {name}"),
                    ),
                }
            }
            "Fn::GetAZs" => {
                let zones = ZONES.map(|zone| node.text(format!("{}{zone}", crate::arn::region())));
                Some(node.with(NodeKind::List(zones.into())))
            }
            "Fn::ImportValue" => {
                let name = self.text(argument)?;
                let message =
                    format!("the export {name} of another stack is not known here, so it is \"imported-{name}\"");
                self.problems.ignored(node, message);
                Some(node.text(format!("imported-{name}")))
            }
            "Fn::Length" => match self.resolve(argument)?.items() {
                Some(items) => Some(node.text(items.len().to_string())),
                None => self.wrong(argument, "Length takes a list"),
            },
            "Fn::ToJsonString" => Some(node.text(json(&self.resolve(argument)?).to_string())),
            "Fn::Base64" => Some(node.text(STANDARD.encode(self.text(argument)?))),
            name => self.refuse(ProblemCode::Unsupported, node, &format!("{name} cannot be resolved on this machine")),
        }
    }

    fn reference(&self, node: &Node, name: &str) -> Option<Node> {
        if name == "AWS::NoValue" {
            return None;
        }
        if let Some(Value::String(value)) = parameters::pseudo(name) {
            return Some(node.text(value));
        }
        if let Some(value) = self.parameters.get(name) {
            return Some(node.with(value.kind.clone()));
        }
        if let Some(generated) = self.generated.get(name) {
            return Some(node.text(generated.reference.clone()));
        }
        // SAM's names for resources that belong to another one: `Api.Stage`, `Function.Version`.
        let part = name.split_once('.').and_then(|(owner, part)| self.generated.get(&format!("{owner}{part}")));
        if let Some(generated) = part {
            return Some(node.text(generated.reference.clone()));
        }
        self.resource(node, name, |resolver, kind, resource| resources::reference(resolver, name, kind, resource))
    }

    fn attribute(&self, node: &Node, resource: &str, attribute: &str) -> Option<Node> {
        if attribute == "StreamArn" {
            return self.stream(node, resource);
        }
        if let Some(generated) = self.generated.get(resource) {
            return match generated.attributes.iter().find(|(name, _)| *name == attribute) {
                Some((_, value)) => Some(node.text(value.clone())),
                None => self.wrong(node, &format!("{resource}, which SAM adds, has no attribute {attribute}")),
            };
        }
        self.resource(node, resource, |resolver, kind, found| {
            resources::attribute(resolver, resource, kind, found, attribute)
        })
    }

    fn stream(&self, node: &Node, table: &str) -> Option<Node> {
        let found = self.resources.iter().find(|(other, _)| other == table).map(|(_, resource)| resource);
        let properties = found.and_then(|resource| resource.get("Properties"));
        if properties.is_some_and(|properties| properties.get("StreamSpecification").is_some()) {
            return Some(node.with(NodeKind::StreamOf(table.to_owned())));
        }
        self.wrong(node, &format!("{table} is not a table with a StreamSpecification"))
    }

    /// Resolves a resource of the template with `value`, which gets its type.
    fn resource(
        &self,
        node: &Node,
        name: &str,
        value: impl FnOnce(&Self, &str, &Node) -> Option<String>,
    ) -> Option<Node> {
        let Some((_, resource)) = self.resources.iter().find(|(other, _)| other == name) else {
            return self.refuse(
                ProblemCode::UnknownName,
                node,
                &format!("{name:?} is neither a parameter nor a resource"),
            );
        };
        if let Some(condition) = resource.get("Condition")
            && !self.holds(condition.as_text().unwrap_or_default(), condition)
        {
            return self.wrong(node, &format!("{name} is not created, because its condition does not hold"));
        }
        let kind = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
        match self.guarded(&format!("resource {name}"), node, || value(self, kind, resource))? {
            Some(value) => Some(node.text(value)),
            None => self.refuse(
                ProblemCode::Unsupported,
                node,
                &format!("this reference to {name} ({kind}) has no value on this machine"),
            ),
        }
    }

    fn substitute(&self, node: &Node, argument: &Node) -> Option<Node> {
        let (template, own) = match argument.items() {
            Some([template, own]) => (template, own.entries()),
            _ => (argument, Default::default()),
        };
        let Some(text) = template.as_text() else { return self.wrong(argument, "Sub takes a string") };
        let mut result = String::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => result.push_str(text),
                Piece::Literal(name) => result.push_str(&format!("${{{name}}}")),
                Piece::Variable(name) => {
                    let value = match own.iter().find(|(other, _)| other == name) {
                        Some((_, value)) => self.resolve(value),
                        None => match name.split_once('.') {
                            Some((resource, attribute)) => self.attribute(template, resource, attribute),
                            None => self.reference(template, name),
                        },
                    };
                    result.push_str(&self.text(&value?)?);
                }
            }
        }
        Some(node.text(result))
    }

    fn test(&self, node: &Node) -> Option<bool> {
        let [(function, argument)] = node.entries() else {
            return self.wrong(node, "expected one of Equals, And, Or, Not or Condition");
        };
        let all = || -> Option<Vec<bool>> { argument.items()?.iter().map(|item| self.test(item)).collect() };
        let result = match function.as_str() {
            "Condition" => return Some(self.holds(argument.as_text().unwrap_or_default(), argument)),
            "Fn::Equals" => match argument.items() {
                Some([left, right]) => Some(self.text(left)? == self.text(right)?),
                _ => None,
            },
            "Fn::Not" => all().filter(|tests| tests.len() == 1).map(|tests| !tests[0]),
            "Fn::And" => all().map(|tests| tests.into_iter().all(|test| test)),
            "Fn::Or" => all().map(|tests| tests.into_iter().any(|test| test)),
            _ => return self.wrong(node, "expected one of Equals, And, Or, Not or Condition"),
        };
        if result.is_none() {
            self.problems.at(argument, format!("{function} does not accept this argument"));
        }
        result
    }

    /// Runs `work`, unless `what` is being resolved already: then the template has a cycle.
    fn guarded<T>(&self, what: &str, place: &Node, work: impl FnOnce() -> T) -> Option<T> {
        if self.under_way.borrow().iter().any(|other| other == what) {
            return self.wrong(place, &format!("{what} refers to itself"));
        }
        self.under_way.borrow_mut().push(what.to_owned());
        let result = work();
        self.under_way.borrow_mut().pop();
        Some(result)
    }

    fn wrong<T>(&self, place: &Node, message: &str) -> Option<T> {
        self.refuse(ProblemCode::Invalid, place, message)
    }

    fn refuse<T>(&self, code: ProblemCode, place: &Node, message: &str) -> Option<T> {
        self.problems.add(problem(place, code, message));
        None
    }
}

/// Resource and attribute of a `GetAtt`, in either form.
fn attribute(argument: &Node) -> Option<(String, String)> {
    if let Some([resource, attribute]) = argument.items() {
        return Some((resource.as_text()?.to_owned(), attribute.as_text()?.to_owned()));
    }
    let (resource, attribute) = argument.as_text()?.split_once('.')?;
    Some((resource.to_owned(), attribute.to_owned()))
}

/// A piece of a `Sub`'s string.
pub(super) enum Piece<'a> {
    Text(&'a str),
    /// `${Name}`.
    Variable(&'a str),
    /// `${!Name}`, which means the text `${Name}`.
    Literal(&'a str),
}

pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, name, after)) = rest
        .split_once("${")
        .and_then(|(before, after)| after.split_once('}').map(|(name, after)| (before, name, after)))
    {
        pieces.push(Piece::Text(before));
        pieces.push(match name.strip_prefix('!') {
            Some(literal) => Piece::Literal(literal),
            None => Piece::Variable(name),
        });
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    pieces
}
