//! `EventInvokeConfig` and `DeadLetterQueue` of a function, and its events from buses and topics.

use super::properties::Properties;
use super::yaml::{Node, NodeKind};
use super::{event_rules, targets, topics};
use crate::stack::{EventInvoke, Messaging, Target};

/// Lambda's limits.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-configuring.html>.
const RETRIES_MAX: i64 = 2;
const AGE_S_MIN: i64 = 60;
const AGE_S_MAX: i64 = 21_600;

/// Reads the events of a function from buses and topics, and the settings of its
/// asynchronous invocations.
pub(super) fn function(id: &str, properties: &Properties<'_>, messaging: &mut Messaging) {
    for (event_id, event) in properties.raw("Events").map(Node::entries).unwrap_or_default() {
        let nothing = event.with(NodeKind::Map(Vec::new()));
        let inner = || Properties::new(properties.resolver, event.get("Properties").unwrap_or(&nothing));
        match event.get("Type").and_then(Node::as_text) {
            Some("EventBridgeRule" | "CloudWatchEvent") => {
                messaging.rules.extend(event_rules::function_rule(id, event_id, &inner()));
            }
            Some("SNS") => messaging.subscriptions.extend(topics::function_subscription(id, &inner())),
            _ => {}
        }
    }
    let (config, dead_letters) = (properties.map("EventInvokeConfig"), properties.map("DeadLetterQueue"));
    if config.is_some() || dead_letters.is_some() {
        let settings = config.map(|config| event_invoke(&config)).unwrap_or_default();
        let dead_letters = dead_letters.and_then(|queue| destination(&queue, "TargetArn"));
        messaging.event_invokes.insert(id.to_owned(), EventInvoke { dead_letters, ..settings });
    }
}

fn event_invoke(config: &Properties<'_>) -> EventInvoke {
    let default = EventInvoke::default();
    let retries = config.count("MaximumRetryAttempts", 0..=RETRIES_MAX).unwrap_or(default.retries);
    let age_max = config.seconds("MaximumEventAgeInSeconds", AGE_S_MIN..=AGE_S_MAX).unwrap_or(default.age_max);
    let destinations = config.map("DestinationConfig");
    let of = |name: &str| destinations.as_ref().and_then(|both| destination(&both.map(name)?, "Destination"));
    let (on_success, on_failure) = (of("OnSuccess"), of("OnFailure"));
    destinations.iter().for_each(|both| both.finish("AWS::Serverless::Function.EventInvokeConfig.DestinationConfig"));
    config.finish("AWS::Serverless::Function.EventInvokeConfig");
    EventInvoke { retries, age_max, on_success, on_failure, dead_letters: None }
}

/// The receiver whose ARN is in the property `name`.
fn destination(properties: &Properties<'_>, name: &str) -> Option<Target> {
    let (kind, arn) = (properties.text("Type"), properties.text(name));
    properties.finish(match name {
        "TargetArn" => "AWS::Serverless::Function.DeadLetterQueue",
        _ => "AWS::Serverless::Function.EventInvokeConfig.DestinationConfig.OnFailure",
    });
    let Some(arn) = arn else {
        // SAM generates the queue or the topic.
        let kind = kind.unwrap_or_default();
        let message = format!("a generated destination of the type {kind} is not supported on this machine: name one");
        properties.resolver.problems.ignored(&properties.node, message);
        return None;
    };
    let target = targets::target(properties.resolver, &arn);
    if target.is_none() {
        let message = format!("records for {arn} are dropped on this machine: it is not in this template");
        properties.resolver.problems.ignored(&properties.node, message);
    }
    target
}
