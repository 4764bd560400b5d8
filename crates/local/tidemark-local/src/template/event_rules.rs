//! `AWS::Events::EventBus`, `AWS::Events::Rule`, and the rules of functions' events.

use std::collections::BTreeMap;

use serde_json::Value;

use super::intrinsics::Resolver;
use super::problems::ProblemCode;
use super::properties::{Properties, json};
use super::yaml::Node;
use super::{resources, targets};
use crate::event_source_mapping::filter::Filters;
use crate::eventbridge::input::{JsonPath, PATHS_MAX, TEMPLATE_LENGTH_MAX, TargetInput, gives_json};
use crate::eventbridge::{DEFAULT_BUS, bus_name};
use crate::schedules::Expression;
use crate::stack::{Function, Rule, RuleTarget, Schedule, Stack, Target};

/// A rule has at most five targets. Source:
/// <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html>.
const TARGETS_MAX: usize = 5;

/// Reads a bus and returns its name.
pub(super) fn bus(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<String> {
    properties.raw("Name");
    properties.finish("AWS::Events::EventBus");
    resources::name(properties.resolver, id, resources::EVENT_BUS, resource)
}

/// Reads an `AWS::Events::Rule`.
pub(super) fn rule(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Rule> {
    properties.raw("Name");
    let resolver = properties.resolver;
    let bus = bus_of(properties);
    let (pattern, schedule) = (pattern(properties, "EventPattern"), schedule(properties, &bus));
    let enabled = enabled(properties);
    let items = properties.list("Targets");
    if items.len() > TARGETS_MAX {
        resolver.problems.at(&properties.node, format!("a rule has at most {TARGETS_MAX} targets"));
    }
    let targets: Vec<RuleTarget> = items.iter().filter_map(|item| rule_target(resolver, item)).collect();
    if schedule.is_some() && targets.iter().any(|target| !matches!(target.target, Target::Function(_))) {
        let message = "a schedule invokes only functions on this machine: its other targets get nothing";
        resolver.problems.ignored(properties.raw("ScheduleExpression").unwrap_or(resource), message);
    }
    properties.finish("AWS::Events::Rule");
    if properties.node.get("EventPattern").is_none() && properties.node.get("ScheduleExpression").is_none() {
        return properties.wrong(resource, "a rule has an EventPattern or a ScheduleExpression");
    }
    let name = resources::name(resolver, id, resources::EVENT_RULE, resource)?;
    Some(Rule { name, bus, pattern, schedule, targets, enabled })
}

fn rule_target(resolver: &Resolver<'_>, node: &Node) -> Option<RuleTarget> {
    let properties = Properties::new(resolver, node);
    properties.raw("Id");
    let arn = properties.required("Arn");
    let input = input(&properties);
    let group = properties.map("SqsParameters").and_then(|parameters| {
        let group = parameters.text("MessageGroupId");
        parameters.finish("AWS::Events::Rule.Targets[].SqsParameters");
        group
    });
    properties.finish("AWS::Events::Rule.Targets[]");
    let arn = arn?;
    let Some(target) = targets::target(resolver, &arn) else {
        let message = format!(
            "events for {arn} are dropped on this machine: targets are functions and queues of this template, topics and buses"
        );
        resolver.problems.ignored(properties.raw("Arn").unwrap_or(node), message);
        return None;
    };
    if matches!(target, Target::Function(_)) {
        check_json(&properties, &input);
    }
    Some(RuleTarget { target, input, group })
}

/// Reads an `EventBridgeRule` or `CloudWatchEvent` event of the function `function`.
pub(super) fn function_rule(function: &str, id: &str, event: &Properties<'_>) -> Option<Rule> {
    let bus = bus_of(event);
    let name = event.text("RuleName").unwrap_or_else(|| format!("{}-{function}{id}", crate::arn::stack_name()));
    let pattern = pattern(event, "Pattern");
    let enabled = event.boolean("Enabled").unwrap_or(true) && enabled(event);
    let input = input(event);
    check_json(event, &input);
    event.finish("AWS::Serverless::Function.Events{}.EventBridgeRule");
    if event.node.get("Pattern").is_none() {
        return event.refuse(ProblemCode::Missing, &event.node, "Pattern is missing");
    }
    let target = RuleTarget { target: Target::Function(function.to_owned()), input, group: None };
    Some(Rule { name, bus, pattern, schedule: None, targets: vec![target], enabled })
}

/// Gives the functions of rules with schedules these schedules.
pub(super) fn schedule_functions(stack: &mut Stack) {
    let Stack { messaging, functions, .. } = stack;
    for rule in &messaging.rules {
        let Some(expression) = &rule.schedule else { continue };
        for RuleTarget { target, input, .. } in &rule.targets {
            let Target::Function(id) = target else { continue };
            let function = functions.iter_mut().find(|function: &&mut Function| function.logical_id == *id);
            let input = match input {
                TargetInput::Constant(text) => serde_json::from_str(text).ok(),
                _ => None,
            };
            let (event_id, expression) = (rule.name.clone(), expression.clone());
            let arn = crate::arn::rule(&rule.name);
            let enabled = rule.enabled;
            let schedule =
                Schedule { event_id, expression, time_zone: None, input, enabled, arn, is_schedulers: false };
            function.into_iter().for_each(|function| function.schedules.push(schedule.clone()));
        }
    }
}

fn bus_of(properties: &Properties<'_>) -> String {
    let name = properties.text("EventBusName");
    name.map_or_else(|| DEFAULT_BUS.to_owned(), |name| bus_name(&name).to_owned())
}

fn enabled(properties: &Properties<'_>) -> bool {
    match properties.text("State").as_deref() {
        None | Some("ENABLED" | "ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS") => true,
        Some("DISABLED") => false,
        Some(other) => {
            let place = properties.raw("State").unwrap_or(&properties.node);
            properties.resolver.problems.at(place, format!("State must be ENABLED or DISABLED, not {other}"));
            false
        }
    }
}

fn pattern(properties: &Properties<'_>, name: &str) -> Option<Value> {
    let node = properties.get(name)?;
    let place = properties.raw(name).unwrap_or(&properties.node);
    // CloudFormation also accepts the pattern as text.
    let pattern = match node.as_text().map(serde_json::from_str::<Value>) {
        None => json(&node),
        Some(Ok(pattern)) => pattern,
        Some(Err(error)) => return properties.wrong(place, format!("the pattern is not JSON: {error}")),
    };
    match Filters::compile(std::slice::from_ref(&pattern)) {
        Ok(_) => Some(pattern),
        Err(error) => properties.wrong(place, error.to_string()),
    }
}

fn schedule(properties: &Properties<'_>, bus: &str) -> Option<String> {
    let expression = properties.text("ScheduleExpression")?;
    let place = properties.raw("ScheduleExpression").unwrap_or(&properties.node);
    if bus != DEFAULT_BUS {
        return properties.wrong(place, "only a rule of the default bus can have a ScheduleExpression");
    }
    for target in properties.raw("Targets").and_then(Node::items).unwrap_or_default() {
        for name in ["InputPath", "InputTransformer"] {
            if let Some(node) = target.get(name) {
                let message = format!("with a ScheduleExpression, {name} is not supported on this machine: use Input");
                properties.resolver.problems.unsupported(node, message);
            }
        }
    }
    match Expression::parse(&expression) {
        Ok(_) => Some(expression),
        Err(error) => properties.wrong(place, error.to_string()),
    }
}

/// `Input`, `InputPath` or `InputTransformer`; at most one of them.
fn input(properties: &Properties<'_>) -> TargetInput {
    let names = ["Input", "InputPath", "InputTransformer"];
    if names.iter().filter(|name| properties.node.get(name).is_some()).count() > 1 {
        let message = "a target has at most one of Input, InputPath and InputTransformer";
        properties.resolver.problems.at(&properties.node, message);
    }
    let constant = properties.text("Input").map(TargetInput::Constant);
    let path = properties.text("InputPath").and_then(|path| parse_path(properties, &path)).map(TargetInput::Path);
    constant.or(path).or_else(|| transformer(&properties.map("InputTransformer")?)).unwrap_or_default()
}

fn transformer(properties: &Properties<'_>) -> Option<TargetInput> {
    let template = properties.required("InputTemplate");
    let mut paths = BTreeMap::new();
    if let Some(map) = properties.map("InputPathsMap") {
        for (name, node) in map.node.entries() {
            let path = properties.resolver.text(node).and_then(|path| parse_path(properties, &path));
            paths.extend(path.map(|path| (name.clone(), path)));
        }
    }
    properties.finish("AWS::Events::Rule.Targets[].InputTransformer");
    let template = template?;
    if paths.len() > PATHS_MAX || template.len() > TEMPLATE_LENGTH_MAX {
        let message =
            format!("an input transformer has at most {PATHS_MAX} paths and {TEMPLATE_LENGTH_MAX} characters");
        return properties.wrong(&properties.node, message);
    }
    Some(TargetInput::Transformer { paths, template })
}

fn parse_path(properties: &Properties<'_>, path: &str) -> Option<JsonPath> {
    JsonPath::parse(path).map_err(|problem| properties.resolver.problems.at(&properties.node, problem)).ok()
}

/// Records an input that a function cannot receive, because it is not JSON.
fn check_json(properties: &Properties<'_>, input: &TargetInput) {
    let (name, is_json) = match input {
        TargetInput::Constant(text) => ("Input", serde_json::from_str::<Value>(text).is_ok()),
        TargetInput::Transformer { template, .. } => ("InputTransformer", gives_json(template)),
        TargetInput::Event | TargetInput::Path(_) => return,
    };
    if !is_json {
        let place = properties.raw(name).unwrap_or(&properties.node);
        let message = format!("{name} must give JSON: a text needs quotes, \"like this\"");
        properties.resolver.problems.at(place, message);
    }
}
