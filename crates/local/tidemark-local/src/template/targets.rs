//! The receivers of events and messages, by their ARNs.

use super::intrinsics::Resolver;
use super::resources;
use super::yaml::Node;
use crate::eventbridge::bus_name;
use crate::stack::Target;

/// The receiver with this ARN, if it is a function or a queue of the template, a topic or a bus.
pub(super) fn target(resolver: &Resolver<'_>, arn: &str) -> Option<Target> {
    let resource = arn.splitn(6, ':').nth(5).unwrap_or_default();
    match arn.split(':').nth(2)? {
        "lambda" => function(resolver, arn).map(Target::Function),
        "sqs" => has(resolver, resources::QUEUE, arn).map(|_| Target::Queue(arn.to_owned())),
        "sns" => Some(Target::Topic(arn.to_owned())),
        "events" if resource.starts_with("event-bus/") => Some(Target::Bus(bus_name(arn).to_owned())),
        _ => None,
    }
}

/// The logical id of the function with this ARN, which may end with a version or an alias.
pub(super) fn function(resolver: &Resolver<'_>, arn: &str) -> Option<String> {
    let unqualified = arn.splitn(8, ':').take(7).collect::<Vec<_>>().join(":");
    has(resolver, resources::FUNCTION, &unqualified)
}

/// The logical id of the resource with this type and `Arn`.
fn has(resolver: &Resolver<'_>, kind: &str, arn: &str) -> Option<String> {
    let of_kind = |resource: &Node| resource.get("Type").and_then(Node::as_text) == Some(kind);
    let found = resolver.resources.iter().find(|(id, resource)| {
        of_kind(resource) && resources::attribute(resolver, id, kind, resource, "Arn").as_deref() == Some(arn)
    });
    found.map(|(id, _)| id.clone())
}

/// The part of an invocation ARN between the region and the function's ARN.
const INVOCATION_PATH: &str = ":lambda:path/2015-03-31/functions/";

/// The function's ARN in the ARN of its invocations.
pub(super) fn invoked(uri: &str) -> &str {
    let arn = uri.split_once(INVOCATION_PATH).map_or(uri, |(_, arn)| arn);
    arn.strip_suffix("/invocations").unwrap_or(arn)
}
