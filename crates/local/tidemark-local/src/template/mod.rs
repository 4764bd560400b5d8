//! Reads a SAM template into a [`Stack`].
//!
//! Tables, functions, routes and mappings are declared only in the template. Therefore the reader
//! ignores nothing silently. An unsupported part that functions would notice, such as a trigger or
//! an authorizer, is an error with line and path, and so is a reference to a missing name. Any
//! other unsupported part is on the list of ignored parts. Properties that are known to matter only
//! on AWS are on explicit lists; they are checked for errors too.

mod authorizers;
mod buckets;
mod event_invoke;
mod event_rules;
mod expand;
mod files;
mod function;
mod function_url;
mod gateway_responses;
mod gateway_v2;
mod globals;
mod http_api;
mod intrinsics;
mod kinesis;
mod known_policies;
mod known_properties;
mod lambda_resources;
mod layers;
mod load_balancers;
mod mock;
mod models;
mod nested;
mod openapi;
mod parameters;
mod policies;
mod problems;
mod properties;
mod queues;
mod resources;
mod rest_api;
mod rest_resources;
mod routes;
mod schedules;
mod secrets;
mod ssm;
mod stream_mappings;
mod table;
mod targets;
mod topics;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use self::problems::{ProblemCode, TemplateError, TemplateProblem};

use self::files::Files;
use self::intrinsics::Resolver;
use self::problems::Problems;
use self::properties::Properties;
use self::resources::ResourceSupport;
use self::yaml::{Node, NodeKind};
use crate::stack::Stack;

/// SAM's transform.
const SERVERLESS_TRANSFORM: &str = "AWS::Serverless-2016-10-31";

/// Transforms without effect on the resources that run here.
const IGNORED_TRANSFORMS: [&str; 1] = ["AWS::SecretsManager-2020-07-23"];

/// A template that this machine can run.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    /// The parts that run here.
    pub stack: Stack,
    /// The parts that have no effect here, sorted by line.
    pub ignored: Vec<TemplateProblem>,
    /// The other files that it names.
    pub files: Vec<PathBuf>,
}

impl Template {
    /// The template, if no part of it is ignored.
    ///
    /// # Errors
    /// The ignored parts.
    pub fn strict(self) -> Result<Self, TemplateError> {
        if self.ignored.is_empty() {
            Ok(self)
        } else {
            Err(TemplateError { problems: self.ignored, files: self.files })
        }
    }
}

/// The content of the template `yaml`, with `parameters` in place of its defaults.
///
/// # Errors
/// All problems of the template at once.
pub fn read(yaml: &str, parameters: &BTreeMap<String, String>) -> Result<Template, TemplateError> {
    read_in(None, yaml, parameters)
}

/// The content of the template `yaml`, which may name files in `folder`.
///
/// # Errors
/// All problems of the template at once.
pub fn read_in(
    folder: Option<&Path>,
    yaml: &str,
    parameters: &BTreeMap<String, String>,
) -> Result<Template, TemplateError> {
    let root =
        yaml::parse(yaml, None).map_err(|problem| TemplateError { problems: vec![problem], files: Vec::new() })?;
    let problems = Problems::default();
    let stack = read_root(&root, parameters, Files { folder, root: folder, problems: &problems });
    problems.finish(stack)
}

fn read_root(root: &Node, parameters: &BTreeMap<String, String>, files: Files<'_>) -> Stack {
    let expanded = nested::inline(&expand::expand(root, parameters, files), files);
    let merged = globals::merge(&expanded, files.problems);
    let resolver = Resolver::new(&merged, parameters, files.problems);
    sections(&merged, &resolver);
    stack(&merged, &resolver, files)
}

fn sections(root: &Node, resolver: &Resolver<'_>) {
    for (name, section) in root.entries() {
        match name.as_str() {
            "AWSTemplateFormatVersion" | "Description" | "Metadata" | "Parameters" | "Mappings" | "Resources" => {}
            "Transform" => transforms(section, resolver),
            "Conditions" => section.entries().iter().for_each(|(name, condition)| {
                resolver.holds(name, condition);
            }),
            "Globals" | "Outputs" => resolver.scan(section),
            // What the CDK adds is about its own tools.
            "Rules" if section.entries().iter().all(|(name, _)| name == "CheckBootstrapVersion") => {}
            "Rules" => resolver.problems.unchecked(section, "the rules for parameters are not checked on this machine"),
            _ => resolver.problems.at(section, format!("{name} is not a section of a template")),
        }
    }
    if root.get("Resources").is_none_or(|resources| resources.entries().is_empty()) {
        resolver.problems.missing(root, "the template declares no Resources");
    }
}

fn transforms(section: &Node, resolver: &Resolver<'_>) {
    for transform in section.items().unwrap_or(std::slice::from_ref(section)) {
        match transform.as_text() {
            Some(SERVERLESS_TRANSFORM | expand::LANGUAGE_EXTENSIONS) => {}
            Some(name) if IGNORED_TRANSFORMS.contains(&name) => {
                resolver.problems.ignored(transform, format!("the transform {name} has no effect on this machine"));
            }
            _ => resolver.problems.unsupported(
                transform,
                format!("a macro may change any part of a template: only {SERVERLESS_TRANSFORM} runs on this machine"),
            ),
        }
    }
}

fn stack(root: &Node, resolver: &Resolver<'_>, files: Files<'_>) -> Stack {
    let mut stack = Stack::default();
    let (mut gateway, mut policies) = (gateway_v2::GatewayParts::default(), policies::PolicyParts::default());
    for (id, resource) in resolver.resources {
        let kind = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
        if !matches!(resource.kind, NodeKind::Map(_)) || kind.is_empty() {
            resolver.problems.missing(resource, format!("the resource {id} has no Type"));
            continue;
        }
        if !resolver.is_made(resource) {
            continue;
        }
        match resources::support(kind) {
            ResourceSupport::Local => local((&mut stack, &mut gateway, &mut policies), id, kind, resource, resolver),
            ResourceSupport::Cloud => resolver.scan(resource),
            ResourceSupport::Unknown => {
                resolver.scan(resource);
                resolver.problems.left_out(resource, format!("{id} is left out: {kind} has no part on this machine"));
            }
            ResourceSupport::Refused(instead) => {
                resolver.problems.unsupported(resource, format!("{kind} is not supported on this machine: {instead}"));
            }
        }
    }
    let commands = root.get("Metadata").and_then(|metadata| metadata.get("LocalCommands"));
    let text = |(name, command): &(String, Node)| Some((name.clone(), command.as_text()?.to_owned()));
    stack.commands = commands.map_or(&[][..], Node::entries).iter().filter_map(text).collect();
    lambda_resources::add(resolver, &mut stack);
    load_balancers::add(resolver, &mut stack);
    buckets::add_events(&mut stack, resolver);
    queues::check_visibility(&stack, resolver);
    queues::add_foreign(&mut stack, resolver);
    kinesis::add_foreign(&mut stack, resolver);
    http_api::implicit(root, resolver, &mut stack);
    rest_api::implicit(root, resolver, &mut stack);
    gateway.assemble(resolver, &mut stack);
    rest_resources::add(resolver, &mut stack);
    openapi::add_all(resolver, &mut stack, files);
    openapi::check_routes(resolver, &stack);
    // The first is on the stack's own port: an API before a function URL.
    stack.http_apis.sort_by_key(|api| api.kind);
    stack.roles = policies.assemble(resolver);
    event_rules::schedule_functions(&mut stack);
    routes::check_duplicates(resolver, &stack);
    authorizers::check(resolver, &stack);
    stack
}

fn local(
    (stack, gateway, policies): (&mut Stack, &mut gateway_v2::GatewayParts, &mut policies::PolicyParts),
    id: &str,
    kind: &str,
    resource: &Node,
    resolver: &Resolver<'_>,
) {
    let attributes = Properties::new(resolver, resource);
    for known in ["Type", "DependsOn", "Condition", "IgnoreGlobals", "Metadata"] {
        attributes.raw(known);
    }
    if let Some(connectors) = attributes.raw("Connectors") {
        let message = "Connectors are not supported on this machine: write the permission in Policies of the function";
        resolver.problems.unsupported(connectors, message);
    }
    let nothing = resource.with(NodeKind::Map(Vec::new()));
    let properties = Properties::new(resolver, attributes.raw("Properties").unwrap_or(&nothing));
    attributes.finish("Resource");
    match kind {
        resources::SIMPLE_TABLE => stack.tables.extend(table::read_simple(id, resource, &properties)),
        resources::REST_API => stack.http_apis.push(rest_api::read(id, &properties)),
        resources::TABLE => stack.tables.extend(table::read(id, resource, &properties)),
        resources::FUNCTION => {
            event_invoke::function(id, &properties, &mut stack.messaging);
            if let Some(mut function) = function::read(id, resource, &properties) {
                function.role = policies.role_of(&function, &properties);
                if let Some((url, route)) = function_url::read(id, &properties) {
                    stack.http_apis.push(url);
                    function.routes.push(route);
                }
                stack.functions.push(function);
            }
        }
        resources::ROLE => policies.add_role(id, resource, &properties),
        resources::MANAGED_POLICY | resources::POLICY => policies.add_policy(id, kind, resource, &properties),
        resources::HTTP_API => stack.http_apis.push(http_api::read(id, &properties)),
        resources::SSM_PARAMETER => stack.ssm_parameters.extend(ssm::read(id, resource, &properties)),
        // Read once all functions are.
        resources::EVENT_SOURCE_MAPPING | resources::LAMBDA_URL | resources::SCHEDULE => {}
        _ if kind.starts_with("AWS::ApiGateway::") => {}
        resources::SECRET => stack.secrets.extend(secrets::read(id, resource, &properties)),
        resources::BUCKET => stack.buckets.extend(buckets::read(id, resource, &properties)),
        resources::KINESIS_STREAM => stack.kinesis_streams.extend(kinesis::read(id, resource, &properties)),
        resources::QUEUE => stack.queues.extend(queues::read(id, resource, &properties)),
        resources::EVENT_BUS => stack.messaging.buses.extend(event_rules::bus(id, resource, &properties)),
        resources::EVENT_RULE => stack.messaging.rules.extend(event_rules::rule(id, resource, &properties)),
        resources::TOPIC => topics::topic(id, resource, &properties, &mut stack.messaging),
        resources::SUBSCRIPTION => stack.messaging.subscriptions.extend(topics::subscription(&properties)),
        _ => gateway.add(id, kind, &properties),
    }
}
