//! `AWS::IAM::Role` and `AWS::IAM::ManagedPolicy`: the permissions of functions.
//!
//! An unsupported statement is an error: otherwise only AWS would enforce it.

use std::collections::BTreeMap;

use super::intrinsics::Resolver;
use super::properties::Properties;
use super::resources;
use super::yaml::{Node, NodeKind};
use crate::policies::{FROM_ADDRESS, LEADING_KEYS};
use crate::stack::{Condition, Function, Quantifier, Role, Statement, Test};

/// Properties that only AWS uses.
const ROLE_CLOUD_ONLY: [&str; 7] = [
    "AssumeRolePolicyDocument",
    "Description",
    "MaxSessionDuration",
    "Path",
    "PermissionsBoundary",
    "RoleName",
    "Tags",
];
const POLICY_CLOUD_ONLY: [&str; 3] = ["Description", "ManagedPolicyName", "Path"];

/// The condition keys that calls have here.
const KEYS: [&str; 2] = [LEADING_KEYS, FROM_ADDRESS];

/// The roles and managed policies that were read so far.
#[derive(Debug, Default)]
pub(super) struct PolicyParts {
    /// Each role with the ARNs of its managed policies, and the positions of these ARNs.
    roles: Vec<(Role, Vec<(String, Node)>)>,
    /// By ARN.
    managed: BTreeMap<String, Vec<Statement>>,
    /// The ARNs of the functions' roles, and the positions of these ARNs.
    wanted: Vec<(String, Node)>,
}

impl PolicyParts {
    /// Reads a role.
    pub(super) fn add_role(&mut self, id: &str, resource: &Node, properties: &Properties<'_>) {
        let resolver = properties.resolver;
        let managed = properties.raw("ManagedPolicyArns").map(|list| list.items().unwrap_or_default().to_vec());
        let managed = managed.unwrap_or_default().into_iter().filter_map(|node| Some((resolver.text(&node)?, node)));
        let managed = managed.collect();
        let mut statements = Vec::new();
        let policies = properties.raw("Policies").and_then(Node::items).unwrap_or_default();
        for policy in policies {
            let policy = Properties::new(resolver, policy);
            let name = format!("{id}: {}", policy.required("PolicyName").unwrap_or_default());
            statements.extend(document(&name, &policy));
            policy.finish("a policy", &[]);
        }
        properties.finish("a role", &ROLE_CLOUD_ONLY);
        let name = resources::name(resolver, id, resources::ROLE, resource).unwrap_or_default();
        let arn = resources::attribute(resolver, id, resources::ROLE, resource, "Arn").unwrap_or_default();
        self.roles.push((Role { logical_id: id.to_owned(), name, arn, statements }, managed));
    }

    /// Reads a managed policy.
    pub(super) fn add_managed(&mut self, id: &str, resource: &Node, properties: &Properties<'_>) {
        let statements = document(id, properties);
        properties.finish("a managed policy", &POLICY_CLOUD_ONLY);
        if let Some(arn) = resources::reference(properties.resolver, id, resources::MANAGED_POLICY, resource) {
            self.managed.insert(arn, statements);
        }
    }

    /// Records the role of a function.
    pub(super) fn want(&mut self, function: &Function, place: &Node) {
        self.wanted.extend(function.role.clone().map(|role| (role, place.clone())));
    }

    /// The roles, with the statements of their managed policies.
    pub(super) fn assemble(self, resolver: &Resolver<'_>) -> Vec<Role> {
        let Self { roles, managed, wanted } = self;
        for (arn, place) in &wanted {
            if !roles.iter().any(|(role, _)| role.arn == *arn) {
                resolver.problems.at(place, format!("{arn} is not a role of this template"));
            }
        }
        let with_managed = |(mut role, arns): (Role, Vec<(String, Node)>)| {
            for (arn, place) in arns {
                match managed.get(&arn) {
                    Some(statements) => role.statements.extend(statements.iter().cloned()),
                    None => resolver.problems.at(&place, format!("{arn} is not a policy of this template")),
                }
            }
            role
        };
        roles.into_iter().map(with_managed).collect()
    }
}

/// The statements of a `PolicyDocument`.
fn document(policy: &str, properties: &Properties<'_>) -> Vec<Statement> {
    let resolver = properties.resolver;
    let Some(document) = properties.raw("PolicyDocument") else {
        resolver.problems.at(&properties.node, "PolicyDocument is missing");
        return Vec::new();
    };
    let document = Properties::new(resolver, document);
    let statements = document.raw("Statement").map(|node| node.items().unwrap_or(std::slice::from_ref(node)).to_vec());
    document.finish("a policy document", &["Id", "Version"]);
    statements.unwrap_or_default().iter().map(|node| statement(policy, &Properties::new(resolver, node))).collect()
}

fn statement(policy: &str, properties: &Properties<'_>) -> Statement {
    if let Some(effect) = properties.required("Effect").filter(|effect| effect != "Allow") {
        properties
            .resolver
            .problems
            .at(&properties.node, format!("only Effect Allow is supported on this machine, not {effect}"));
    }
    for name in ["NotAction", "NotResource"] {
        if let Some(node) = properties.raw(name) {
            let message = format!("{name} is not supported on this machine: list what the statement allows");
            properties.resolver.problems.at(node, message);
        }
    }
    let conditions = properties.raw("Condition").map(|node| conditions(properties.resolver, node));
    let statement = Statement {
        policy: policy.to_owned(),
        line: properties.node.line,
        actions: one_or_more(properties, "Action"),
        resources: one_or_more(properties, "Resource"),
        conditions: conditions.unwrap_or_default(),
    };
    properties.finish("a statement", &["Sid"]);
    statement
}

/// A required string, or a required list of strings.
fn one_or_more(properties: &Properties<'_>, name: &str) -> Vec<String> {
    let Some(node) = properties.raw(name) else {
        properties.resolver.problems.at(&properties.node, format!("{name} is missing"));
        return Vec::new();
    };
    texts(properties.resolver, node)
}

fn texts(resolver: &Resolver<'_>, node: &Node) -> Vec<String> {
    let items = node.items().unwrap_or(std::slice::from_ref(node));
    items.iter().filter_map(|item| text(resolver, item)).collect()
}

/// The text; for a table's stream, an ARN that matches any stream of the table.
fn text(resolver: &Resolver<'_>, node: &Node) -> Option<String> {
    let resolved = resolver.resolve(node)?;
    let NodeKind::StreamOf(table) = &resolved.kind else { return resolver.text(&resolved) };
    let (_, resource) = resolver.resources.iter().find(|(id, _)| id == table)?;
    let arn = resources::attribute(resolver, table, resources::TABLE, resource, "Arn")?;
    Some(format!("{arn}/stream/*"))
}

fn conditions(resolver: &Resolver<'_>, node: &Node) -> Vec<Condition> {
    let mut conditions = Vec::new();
    for (name, keys) in node.entries() {
        let Some((quantifier, test)) = operator(name) else {
            resolver.problems.at(keys, format!("the condition operator {name} is not supported on this machine"));
            continue;
        };
        for (key, values) in keys.entries() {
            if !KEYS.contains(&key.as_str()) {
                resolver.problems.at(values, format!("the condition key {key} is not supported on this machine"));
            }
            conditions.push(Condition { key: key.clone(), quantifier, test, values: texts(resolver, values) });
        }
    }
    conditions
}

fn operator(name: &str) -> Option<(Option<Quantifier>, Test)> {
    let (quantifier, test) = match name.split_once(':') {
        Some(("ForAllValues", test)) => (Some(Quantifier::All), test),
        Some(("ForAnyValue", test)) => (Some(Quantifier::Any), test),
        Some(_) => return None,
        None => (None, name),
    };
    let test = match test {
        "StringEquals" => Test::Equals,
        "StringNotEquals" => Test::NotEquals,
        "StringLike" => Test::Like,
        "StringNotLike" => Test::NotLike,
        "Null" => Test::Null,
        _ => return None,
    };
    Some((quantifier, test))
}
