//! `AWS::ElasticLoadBalancingV2::*`: listeners whose target groups are functions.
//!
//! Each listener is an API. Rules choose by path and method; the most specific path wins, whatever
//! `Priority` says.

use std::collections::BTreeMap;

use super::intrinsics::Resolver;
use super::problems::ProblemCode;
use super::properties::Properties;
use super::yaml::Node;
use super::{resources, routes, targets};
use crate::stack::{ApiKind, HttpApi, PayloadFormat, Route, RouteAuthorizer, Stack};

/// A target group that is a function.
struct TargetGroup {
    /// The index of the function.
    function: usize,
    payload: PayloadFormat,
}

/// Adds the listeners and their routes to the functions, which are all read by now.
pub(super) fn add(resolver: &Resolver<'_>, stack: &mut Stack) {
    let groups: BTreeMap<String, TargetGroup> = Properties::of_type(resolver, resources::TARGET_GROUP)
        .filter_map(|(id, resource, properties)| {
            let arn = resources::reference(resolver, id, resources::TARGET_GROUP, resource)?;
            let group = target_group(&properties, stack);
            properties.raw("Targets");
            properties.raw("TargetGroupAttributes");
            properties.finish(resources::TARGET_GROUP);
            Some((arn, group?))
        })
        .collect();
    let mut listeners = BTreeMap::new();
    for (id, resource, properties) in Properties::of_type(resolver, resources::LISTENER) {
        if let Some(group) = forward(&properties, "DefaultActions").and_then(|arn| groups.get(&arn)) {
            stack.functions[group.function].routes.push(route(id, "$default", group.payload));
        }
        properties.finish(resources::LISTENER);
        let arn = resources::reference(resolver, id, resources::LISTENER, resource);
        listeners.extend(arn.map(|arn| (arn, id)));
        stack.http_apis.push(HttpApi::new(id, ApiKind::LoadBalancer));
    }
    for (_, _, properties) in Properties::of_type(resolver, resources::LISTENER_RULE) {
        let listener = properties.text("ListenerArn").and_then(|arn| listeners.get(&arn).copied());
        let group = forward(&properties, "Actions").and_then(|arn| groups.get(&arn));
        let keys = route_keys(&properties);
        properties.finish(resources::LISTENER_RULE);
        let (Some(listener), Some(group)) = (listener, group) else { continue };
        for key in keys {
            match routes::check_key(&key) {
                Ok(()) => stack.functions[group.function].routes.push(route(listener, &key, group.payload)),
                Err(message) => properties.resolver.problems.at(&properties.node, message),
            }
        }
    }
}

fn route(listener: &str, key: &str, payload: PayloadFormat) -> Route {
    Route { authorizer: RouteAuthorizer::None, ..Route::new(listener, key, payload) }
}

fn target_group(properties: &Properties<'_>, stack: &Stack) -> Option<TargetGroup> {
    if properties.text("TargetType").as_deref() != Some("lambda") {
        let message = "the targets of this group are not on this machine: only functions are";
        properties.resolver.problems.ignored(&properties.node, message);
        return None;
    }
    let target = properties.list("Targets").first().cloned()?;
    let arn = Properties::new(properties.resolver, &target).required("Id")?;
    let id = targets::function(properties.resolver, &arn);
    let function = stack.functions.iter().position(|function| Some(&function.logical_id) == id.as_ref());
    let multi_value = properties.list("TargetGroupAttributes").iter().any(|attribute| {
        let text = |name: &str| attribute.get(name).and_then(Node::as_text);
        text("Key") == Some("lambda.multi_value_headers.enabled") && text("Value") == Some("true")
    });
    let payload = PayloadFormat::LoadBalancer { multi_value };
    function.map(|function| TargetGroup { function, payload }).or_else(|| {
        properties.refuse(ProblemCode::UnknownName, &target, format!("{arn} is not a function of this template"))
    })
}

/// The ARN of the target group to which actions forward.
fn forward(properties: &Properties<'_>, name: &str) -> Option<String> {
    let actions = properties.list(name);
    let action = Properties::new(properties.resolver, actions.last()?);
    match action.text("Type").as_deref() {
        Some("forward") => {}
        other => {
            let message = format!(
                "the action {} has no effect on this machine: only forward has",
                other.unwrap_or("without a Type")
            );
            properties.resolver.problems.ignored(&action.node, message);
            return None;
        }
    }
    action.text("TargetGroupArn").or_else(|| {
        let groups = action.map("ForwardConfig")?.list("TargetGroups");
        Properties::new(properties.resolver, groups.first()?).text("TargetGroupArn")
    })
}

/// The route keys for the conditions of a rule. A pattern `/a/*` becomes `/a/{proxy+}`.
fn route_keys(rule: &Properties<'_>) -> Vec<String> {
    let (mut paths, mut methods) = (Vec::new(), Vec::new());
    for condition in rule.list("Conditions") {
        let condition = Properties::new(rule.resolver, &condition);
        let values = |config: &str| match condition.map(config) {
            Some(config) => config.texts("Values"),
            None => condition.texts("Values"),
        };
        match condition.text("Field").as_deref() {
            Some("path-pattern") => paths.extend(values("PathPatternConfig")),
            Some("http-request-method") => methods.extend(values("HttpRequestMethodConfig")),
            other => {
                let field = other.unwrap_or("without a Field");
                let message = format!(
                    "the condition {field} is not supported on this machine: only path-pattern and http-request-method are"
                );
                rule.resolver.problems.unsupported(&condition.node, message);
            }
        }
    }
    if methods.is_empty() {
        methods.push("ANY".to_owned());
    }
    if paths.is_empty() {
        paths.push("/*".to_owned());
    }
    let path = |pattern: &String| match pattern.strip_suffix("/*") {
        Some(before) => format!("{before}/{{proxy+}}"),
        None => pattern.clone(),
    };
    let keys = |method: &String| paths.iter().map(|pattern| format!("{method} {}", path(pattern))).collect::<Vec<_>>();
    methods.iter().flat_map(keys).collect()
}
