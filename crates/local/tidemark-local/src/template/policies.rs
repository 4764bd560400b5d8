//! The permissions of functions: their `Policies`, `AWS::IAM::Role`, `AWS::IAM::ManagedPolicy` and
//! `AWS::IAM::Policy`.
//!
//! A condition that cannot be checked here is ignored with a warning: then AWS allows less.

use std::collections::BTreeMap;

use super::intrinsics::Resolver;
use super::known_policies::{self, KnownStatement};
use super::properties::Properties;
use super::resources;
use super::yaml::{Node, NodeKind};
use crate::arn;
use crate::policies::{FROM_ADDRESS, LEADING_KEYS};
use crate::stack::{Condition, Effect, Function, Quantifier, Role, Statement, StreamRef, Test};

/// The condition keys that calls have here.
const KEYS: [&str; 2] = [LEADING_KEYS, FROM_ADDRESS];

/// The roles and policies that were read so far.
#[derive(Debug, Default)]
pub(super) struct PolicyParts {
    /// Each role with the names or ARNs of its managed policies, and their positions.
    roles: Vec<(Role, Vec<(String, Node)>)>,
    /// By ARN.
    managed: BTreeMap<String, Vec<Statement>>,
    /// The statements of `AWS::IAM::Policy`, by the name of their role.
    inline: Vec<(String, Statement)>,
    /// The functions' roles, and the positions of these references.
    wanted: Vec<(String, Node)>,
}

impl PolicyParts {
    /// Reads a role.
    pub(super) fn add_role(&mut self, id: &str, resource: &Node, properties: &Properties<'_>) {
        let resolver = properties.resolver;
        let managed = properties.list("ManagedPolicyArns").into_iter();
        let managed = managed.filter_map(|node| Some((resolver.text(&node)?, node))).collect();
        let mut statements = Vec::new();
        let policies = properties.raw("Policies").map(|list| resolver.chosen_items(list));
        for policy in policies.unwrap_or_default() {
            let policy = Properties::new(resolver, policy);
            let name = format!("{id}: {}", policy.required("PolicyName").unwrap_or_default());
            statements.extend(document(&name, &policy));
            policy.finish("AWS::IAM::Role.Policies[]");
        }
        properties.finish(resources::ROLE);
        let name = resources::name(resolver, id, resources::ROLE, resource).unwrap_or_default();
        let arn = resources::attribute(resolver, id, resources::ROLE, resource, "Arn").unwrap_or_default();
        self.roles.push((Role { logical_id: id.to_owned(), name, arn, statements }, managed));
    }

    /// Reads a managed policy, or one that names its roles.
    pub(super) fn add_policy(&mut self, id: &str, kind: &str, resource: &Node, properties: &Properties<'_>) {
        let statements = document(id, properties);
        let roles = properties.texts("Roles");
        properties.finish(kind);
        for role in roles {
            self.inline.extend(statements.iter().map(|statement| (role.clone(), statement.clone())));
        }
        if let Some(arn) = resources::reference(properties.resolver, id, kind, resource) {
            self.managed.insert(arn, statements);
        }
    }

    /// Reads the permissions of a function, and returns its role: `Role`, or the role that SAM
    /// makes of `Policies`. SAM ignores `Policies` beside `Role`.
    pub(super) fn role_of(&mut self, function: &Function, properties: &Properties<'_>) -> Option<String> {
        let policies = properties.raw("Policies");
        if let Some(place) = properties.raw("Role") {
            self.wanted.extend(function.role.clone().map(|role| (role, place.clone())));
            return function.role.clone();
        }
        let resolver = properties.resolver;
        let id = format!("{}Role", function.logical_id);
        let name = format!("{}-{id}", arn::stack_name());
        let arn = format!("{}:role/{name}", arn::of_account("iam"));
        let (mut statements, mut managed) = (Vec::new(), Vec::new());
        let place = &properties.node;
        // SAM adds a mapping's permissions to the role.
        for mapping in &function.stream_mappings {
            let policy = match mapping.stream {
                StreamRef::Table(_) => "AWSLambdaDynamoDBExecutionRole",
                StreamRef::Kinesis(_) => "AWSLambdaKinesisExecutionRole",
            };
            if !managed.iter().any(|(known, _)| known == policy) {
                managed.push((policy.to_owned(), place.clone()));
            }
        }
        if !function.queue_mappings.is_empty() {
            managed.push(("AWSLambdaSQSQueueExecutionRole".to_owned(), place.clone()));
        }
        for policy in policies.map(|list| resolver.chosen_items(list)).unwrap_or_default() {
            let Some((name, parameters)) = policy_template(policy) else {
                match resolver.resolve(policy) {
                    None => {}
                    Some(node) if node.entries().is_empty() => {
                        managed.extend(resolver.text(&node).map(|name| (name, policy.clone())));
                    }
                    Some(_) => statements.extend(self::statements(&id, &Properties::new(resolver, policy))),
                }
                continue;
            };
            statements.extend(from_template(name, parameters, resolver));
        }
        self.roles.push((Role { logical_id: id, name, arn: arn.clone(), statements }, managed));
        Some(arn)
    }

    /// The roles, with the statements of their managed policies. A role that is not in the template
    /// is not enforced.
    pub(super) fn assemble(self, resolver: &Resolver<'_>) -> Vec<Role> {
        let Self { roles, managed, inline, wanted } = self;
        for (arn, place) in &wanted {
            if !roles.iter().any(|(role, _)| role.arn == *arn) {
                resolver
                    .problems
                    .unchecked(place, format!("{arn} is not a role of this template, so it is not enforced"));
            }
        }
        let with_managed = |(mut role, policies): (Role, Vec<(String, Node)>)| {
            let own = inline.iter().filter(|(of, _)| *of == role.name).map(|(_, statement)| statement.clone());
            role.statements.extend(own);
            for (name, place) in policies {
                match (managed.get(&name), known_policies::managed(&name)) {
                    (Some(statements), _) => role.statements.extend(statements.iter().cloned()),
                    (None, Some(known)) => {
                        let read = |known: &KnownStatement| known_statement(&name, *known, "", place.line);
                        role.statements.extend(known.iter().map(read));
                    }
                    (None, None) => resolver.problems.unchecked(
                        &place,
                        format!("{name} is neither a policy of this template nor known here, so it grants nothing"),
                    ),
                }
            }
            role
        };
        roles.into_iter().map(with_managed).collect()
    }
}

/// The name and the parameters of a policy template: `- DynamoDBReadPolicy: { TableName: … }`.
fn policy_template(policy: &Node) -> Option<(&str, &Node)> {
    match policy.entries() {
        [(name, parameters)] if name != "Statement" && policy.intrinsic().is_none() => Some((name, parameters)),
        _ => None,
    }
}

fn from_template(name: &str, parameters: &Node, resolver: &Resolver<'_>) -> Vec<Statement> {
    let Some(template) = known_policies::policy_template(name) else {
        resolver.scan(parameters);
        if !name.ends_with("Policy") && !name.ends_with("_v2") {
            resolver.problems.unknown(parameters, format!("{name} is not a policy template of SAM"));
        }
        // It concerns a service that is not on this machine.
        return Vec::new();
    };
    let value = parameters.get(template.parameter).and_then(|value| resolver.text(value));
    let Some(value) = value else {
        resolver.problems.missing(parameters, format!("{name} needs the parameter {}", template.parameter));
        return Vec::new();
    };
    template.statements.iter().map(|known| known_statement(name, *known, &value, parameters.line)).collect()
}

fn known_statement(policy: &str, known: KnownStatement, value: &str, line: usize) -> Statement {
    let service = known.actions.first().and_then(|action| action.split(':').next()).unwrap_or_default();
    let resource = |pattern: &&str| match (*pattern, service) {
        ("*", _) => "*".to_owned(),
        // A parameter may be an ARN already.
        (pattern, _) if pattern.starts_with("{}") && value.starts_with("arn:") => pattern.replace("{}", value),
        (pattern, "s3") => format!("arn:aws:s3:::{}", pattern.replace("{}", value)),
        (pattern, _) => format!("{}:{}", arn::of_region(service), pattern.replace("{}", value)),
    };
    Statement {
        policy: policy.to_owned(),
        line,
        effect: Effect::Allow,
        actions: known.actions.iter().map(|action| (*action).to_owned()).collect(),
        resources: known.resources.iter().map(resource).collect(),
        conditions: Vec::new(),
    }
}

/// The statements of a `PolicyDocument`.
fn document(policy: &str, properties: &Properties<'_>) -> Vec<Statement> {
    let Some(document) = properties.raw("PolicyDocument").and_then(|node| properties.resolver.chosen(node)) else {
        properties.resolver.problems.missing(&properties.node, "PolicyDocument is missing");
        return Vec::new();
    };
    statements(policy, &Properties::new(properties.resolver, document))
}

fn statements(policy: &str, document: &Properties<'_>) -> Vec<Statement> {
    let resolver = document.resolver;
    let statements = document.raw("Statement").map(|list| resolver.chosen_items(list)).unwrap_or_default();
    document.finish("AWS::IAM::Policy.PolicyDocument");
    statements.into_iter().filter_map(|node| statement(policy, &Properties::new(resolver, node))).collect()
}

/// A statement; none if it denies calls under a condition that is not known here.
fn statement(policy: &str, properties: &Properties<'_>) -> Option<Statement> {
    let problems = properties.resolver.problems;
    let effect = match properties.required("Effect").as_deref() {
        Some("Deny") => Effect::Deny,
        Some("Allow") | None => Effect::Allow,
        Some(other) => return properties.wrong(&properties.node, format!("Effect must be Allow or Deny, not {other}")),
    };
    for name in ["NotAction", "NotResource"] {
        if let Some(node) = properties.raw(name) {
            problems
                .unsupported(node, format!("{name} is not supported on this machine: list what the statement allows"));
        }
    }
    let read = properties.raw("Condition").and_then(|node| properties.resolver.chosen(node));
    let read = read.map(|node| conditions(properties.resolver, node)).unwrap_or_default();
    let statement = Statement {
        policy: policy.to_owned(),
        line: properties.node.line,
        effect,
        actions: one_or_more(properties, "Action"),
        resources: one_or_more(properties, "Resource"),
        conditions: read.known,
    };
    properties.finish("AWS::IAM::Policy.PolicyDocument.Statement[]");
    // Without the unknown condition, the statement would deny more than on AWS.
    (effect == Effect::Allow || read.all_known).then_some(statement)
}

/// A required string, or a required list of strings.
fn one_or_more(properties: &Properties<'_>, name: &str) -> Vec<String> {
    let Some(node) = properties.raw(name) else {
        properties.resolver.problems.missing(&properties.node, format!("{name} is missing"));
        return Vec::new();
    };
    texts(properties.resolver, node)
}

fn texts(resolver: &Resolver<'_>, node: &Node) -> Vec<String> {
    resolver.chosen_items(node).into_iter().filter_map(|item| text(resolver, item)).collect()
}

/// The text; for a table's stream, an ARN that matches any stream of the table.
fn text(resolver: &Resolver<'_>, node: &Node) -> Option<String> {
    let resolved = resolver.resolve(node)?;
    let NodeKind::StreamOf(table) = &resolved.kind else { return resolver.text(&resolved) };
    let (_, resource) = resolver.resources.iter().find(|(id, _)| id == table)?;
    let arn = resources::attribute(resolver, table, resources::TABLE, resource, "Arn")?;
    Some(format!("{arn}/stream/*"))
}

/// The conditions of a statement that are checked here.
struct Conditions {
    known: Vec<Condition>,
    all_known: bool,
}

impl Default for Conditions {
    fn default() -> Self {
        Self { known: Vec::new(), all_known: true }
    }
}

fn conditions(resolver: &Resolver<'_>, node: &Node) -> Conditions {
    let mut conditions = Conditions::default();
    for (name, keys) in node.entries() {
        let Some((quantifier, test)) = operator(name) else {
            resolver.problems.unchecked(keys, format!("conditions with {name} are not checked on this machine"));
            conditions.all_known = false;
            continue;
        };
        for (key, values) in keys.entries() {
            if KEYS.contains(&key.as_str()) {
                let values = texts(resolver, values);
                conditions.known.push(Condition { key: key.clone(), quantifier, test, values });
            } else {
                resolver.problems.unchecked(values, format!("conditions on {key} are not checked on this machine"));
                conditions.all_known = false;
            }
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
