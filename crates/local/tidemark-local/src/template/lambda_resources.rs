//! Resources beside a function that SAM writes into it: mappings, URLs and schedules.

use super::http_api::cors_of;
use super::intrinsics::Resolver;
use super::problems::ProblemCode;
use super::properties::Properties;
use super::yaml::{Node, NodeKind};
use super::{function_url, queues, resources, schedules, stream_mappings, targets};
use crate::stack::{ApiKind, HttpApi, PayloadFormat, Route, RouteAuthorizer, Stack};

/// Adds the mappings, URLs and schedules to their functions, which are all read by now.
pub(super) fn add(resolver: &Resolver<'_>, stack: &mut Stack) {
    for (id, resource) in resolver.resources {
        let kind = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
        let reads = [resources::EVENT_SOURCE_MAPPING, resources::LAMBDA_URL, resources::SCHEDULE];
        if !reads.contains(&kind) || !resolver.is_made(resource) {
            continue;
        }
        let nothing = resource.with(NodeKind::Map(Vec::new()));
        let properties = Properties::new(resolver, resource.get("Properties").unwrap_or(&nothing));
        match kind {
            resources::EVENT_SOURCE_MAPPING => mapping(id, &properties, stack),
            resources::LAMBDA_URL => url(id, &properties, stack),
            _ => schedule(id, &properties, stack),
        };
    }
}

/// The index of the function with the ARN or the name in this property.
fn function(properties: &Properties<'_>, name: &str, stack: &Stack) -> Option<usize> {
    let given = properties.required(name)?;
    let place = properties.raw(name).unwrap_or(&properties.node);
    let by_arn = targets::function(properties.resolver, &given);
    let is = |function: &crate::stack::Function| {
        by_arn.as_ref().is_some_and(|id| function.logical_id == *id) || function.name == given
    };
    let found = stack.functions.iter().position(is);
    found.or_else(|| {
        properties.refuse(
            ProblemCode::UnknownName,
            place,
            format!("{given} is not a function of this template that runs here"),
        )
    })
}

fn mapping(id: &str, properties: &Properties<'_>, stack: &mut Stack) -> Option<()> {
    let function = function(properties, "FunctionName", stack)?;
    let function = &mut stack.functions[function];
    let source = properties.get("EventSourceArn");
    let arn = source.as_ref().and_then(Node::as_text).unwrap_or_default();
    match source.as_ref().map(|source| &source.kind) {
        Some(NodeKind::StreamOf(_)) => {
            function.stream_mappings.extend(stream_mappings::read(id, properties, "EventSourceArn"))
        }
        Some(_) if arn.contains(":kinesis:") => {
            function.stream_mappings.extend(stream_mappings::read_kinesis(id, properties, "EventSourceArn"));
        }
        Some(_) if arn.contains(":sqs:") => {
            function.queue_mappings.extend(queues::read_mapping(id, properties, "EventSourceArn"));
        }
        _ => {
            let place = properties.raw("EventSourceArn").unwrap_or(&properties.node);
            let message = "EventSourceArn must be the ARN of a table's stream, a Kinesis stream or a queue";
            return properties.wrong(place, message);
        }
    }
    Some(())
}

fn url(id: &str, properties: &Properties<'_>, stack: &mut Stack) -> Option<()> {
    let function = function(properties, "TargetFunctionArn", stack)?;
    let streams_responses = function_url::read_settings(properties);
    properties.raw("Qualifier");
    let cors = properties.raw("Cors").and_then(|node| cors_of(properties, node));
    properties.finish(resources::LAMBDA_URL);
    stack.http_apis.push(HttpApi { cors, streams_responses, ..HttpApi::new(id, ApiKind::FunctionUrl) });
    let route = Route::new(id, "$default", PayloadFormat::V2);
    stack.functions[function].routes.push(Route { authorizer: RouteAuthorizer::None, ..route });
    Some(())
}

fn schedule(id: &str, properties: &Properties<'_>, stack: &mut Stack) -> Option<()> {
    let target = properties.map("Target")?;
    let function = function(&target, "Arn", stack)?;
    let input = target.text("Input");
    target.finish("AWS::Scheduler::Schedule.Target");
    let group = format!("{}-{id}", crate::arn::stack_name());
    let mut schedule = schedules::read_v2(id, &group, properties, resources::SCHEDULE)?;
    schedule.input = input.map(|input| serde_json::from_str(&input).unwrap_or(serde_json::Value::String(input)));
    stack.functions[function].schedules.push(schedule);
    Some(())
}
