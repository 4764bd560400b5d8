//! `AWS::Serverless::Function`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::properties::Properties;
use super::yaml::Node;
use super::{layers, queues, resources, routes, schedules, stream_mappings};
use crate::stack::Function;

/// Lambda's limits and defaults.
const MEMORY_MIB_DEFAULT: u32 = 128;
const MEMORY_MIB_MAX: i64 = 10_240;
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(3);
const TIMEOUT_S_MAX: i64 = 900;
const CONCURRENCY_MAX: i64 = 1_000_000;

/// Variables that Lambda reserves, so that a template cannot set them.
const RESERVED_VARIABLES: [&str; 5] =
    ["_HANDLER", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

/// Prefix of further reserved variables.
const RESERVED_PREFIX: &str = "AWS_LAMBDA_";

/// Reads a function with its events.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Function> {
    properties.raw("FunctionName");
    let runtime = properties.text("Runtime").unwrap_or_default();
    if !(runtime.starts_with("provided") || runtime == "rust") {
        let place = properties.raw("Runtime").unwrap_or(resource);
        let message =
            format!("{id} is left out with its events: only binaries run on this machine, on provided.al2023");
        properties.resolver.problems.left_out(place, message);
        properties.resolver.scan(&properties.node);
        return None;
    }
    let asset = asset(resource, properties);
    let mut function = Function {
        is_built: asset.is_some(),
        logical_id: id.to_owned(),
        name: resources::name(properties.resolver, id, resources::FUNCTION, resource).unwrap_or_default(),
        code_uri: asset.or_else(|| properties.text("CodeUri")).map_or_else(|| PathBuf::from("."), PathBuf::from),
        handler: properties.text("Handler").unwrap_or_default(),
        binary: binary(resource, properties),
        environment: environment(properties),
        memory_size_mib: properties
            .count("MemorySize", i64::from(MEMORY_MIB_DEFAULT)..=MEMORY_MIB_MAX)
            .unwrap_or(MEMORY_MIB_DEFAULT),
        timeout: properties.seconds("Timeout", 1..=TIMEOUT_S_MAX).unwrap_or(TIMEOUT_DEFAULT),
        layers: layers::read(properties),
        alias: properties.text("AutoPublishAlias"),
        reserved_concurrency: properties.count("ReservedConcurrentExecutions", 0..=CONCURRENCY_MAX),
        role: properties.text("Role"),
        routes: Vec::new(),
        stream_mappings: Vec::new(),
        queue_mappings: Vec::new(),
        schedules: Vec::new(),
        is_debugged: false,
    };
    // Read with the role.
    properties.raw("Policies");
    properties.raw("FunctionUrlConfig");
    if let Some(events) = properties.raw("Events") {
        for (event_id, event) in events.entries() {
            add_event(&mut function, event_id, event, properties);
        }
    }
    properties.finish(resources::FUNCTION);
    Some(function)
}

/// The folder or the archive of the function's code, if the CDK has made it.
fn asset(resource: &Node, properties: &Properties<'_>) -> Option<String> {
    let place = resource.get("Metadata")?.get(resources::ASSET_PATH)?;
    properties.raw("CodeUri");
    properties.resolver.text(place)
}

/// The binary's name, in the metadata that `sam build` also reads.
fn binary(resource: &Node, properties: &Properties<'_>) -> Option<String> {
    properties.resolver.text(resource.get("Metadata")?.get("BuildProperties")?.get("Binary")?)
}

fn environment(properties: &Properties<'_>) -> BTreeMap<String, String> {
    let Some(environment) = properties.map("Environment") else { return BTreeMap::new() };
    let node = environment.node.clone();
    // Resolve each variable separately, so that an error names its line.
    let variables = environment.raw("Variables").cloned();
    environment.finish("AWS::Serverless::Function.Environment");
    let Some(variables) = variables.filter(|variables| variables.intrinsic().is_none()) else {
        if node.get("Variables").is_some() {
            properties.resolver.problems.at(&node, "Variables must be a map of names and values");
        }
        return BTreeMap::new();
    };
    let mut environment = BTreeMap::new();
    for (name, value) in variables.entries() {
        if RESERVED_VARIABLES.contains(&name.as_str()) || name.starts_with(RESERVED_PREFIX) {
            properties.resolver.problems.at(value, format!("Lambda reserves the variable {name}"));
        }
        if let Some(text) = properties.resolver.text(value) {
            environment.insert(name.clone(), text);
        }
    }
    environment
}

fn add_event(function: &mut Function, id: &str, event: &Node, properties: &Properties<'_>) {
    let resolver = properties.resolver;
    let outer = Properties::new(resolver, event);
    let kind = outer.required("Type").unwrap_or_default();
    let nothing = event.with(super::yaml::NodeKind::Map(Vec::new()));
    let inner = Properties::new(resolver, outer.raw("Properties").unwrap_or(&nothing));
    outer.finish("AWS::Serverless::Function.Events{}");
    match kind.as_str() {
        "Api" => function.routes.extend(routes::read_rest(&inner)),
        "HttpApi" => function.routes.extend(routes::read(&inner)),
        "DynamoDB" => function.stream_mappings.extend(stream_mappings::read(id, &inner, "Stream")),
        "Kinesis" => function.stream_mappings.extend(stream_mappings::read_kinesis(id, &inner, "Stream")),
        "SQS" => function.queue_mappings.extend(queues::read_mapping(id, &inner, "Queue")),
        "Schedule" => {
            let name = format!("{}-{}{id}", crate::arn::stack_name(), function.logical_id);
            function.schedules.extend(schedules::read(id, &name, &inner));
        }
        "ScheduleV2" => {
            let (name, key) = (format!("{}{id}", function.logical_id), "AWS::Serverless::Function.Events{}.ScheduleV2");
            function.schedules.extend(schedules::read_v2(id, &name, &inner, key));
        }
        // Read by `event_invoke`.
        "EventBridgeRule" | "CloudWatchEvent" | "SNS" | "S3" | "" => {}
        other => resolver.problems.unsupported(
            event,
            format!("events of type {other} are not supported on this machine; Api, HttpApi, DynamoDB, Kinesis, SQS, SNS, S3, EventBridgeRule, Schedule and ScheduleV2 are"),
        ),
    }
}
