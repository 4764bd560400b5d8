//! `AWS::SNS::Topic`, `AWS::SNS::Subscription`, and `SNS` events of functions.

use serde_json::Value;

use super::properties::{Properties, json};
use super::yaml::Node;
use super::{resources, targets};
use crate::event_source_mapping::filter::Filters;
use crate::stack::{Endpoint, FilterScope, Messaging, Subscription, Target, Topic};

/// Reads a topic with its inline subscriptions.
pub(super) fn topic(id: &str, resource: &Node, properties: &Properties<'_>, messaging: &mut Messaging) {
    let resolver = properties.resolver;
    properties.raw("TopicName");
    let fifo = properties.boolean("FifoTopic").unwrap_or_default();
    let Some(topic) = resources::reference(resolver, id, resources::TOPIC, resource) else { return };
    if fifo != topic.ends_with(".fifo") {
        let place = properties.raw("TopicName").unwrap_or(resource);
        resolver.problems.at(place, "the name of a FIFO topic, and only of such a topic, ends with .fifo");
    }
    for item in properties.list("Subscription") {
        let item = Properties::new(resolver, &item);
        messaging.subscriptions.extend(subscription_to(&topic, &item));
    }
    let content_based_deduplication = properties.boolean("ContentBasedDeduplication").unwrap_or_default();
    let deduplicates_groups = properties.text("FifoThroughputScope").as_deref() == Some("MessageGroup");
    properties.finish(resources::TOPIC);
    messaging.topics.push(Topic { arn: topic, content_based_deduplication, deduplicates_groups });
}

/// Reads an `AWS::SNS::Subscription`.
pub(super) fn subscription(properties: &Properties<'_>) -> Option<Subscription> {
    let topic = properties.required("TopicArn")?;
    subscription_to(&topic, properties)
}

fn subscription_to(topic: &str, properties: &Properties<'_>) -> Option<Subscription> {
    let protocol = properties.required("Protocol");
    let address = properties.required("Endpoint");
    let (filter, scope) = (filter(properties), scope(properties));
    let raw = properties.boolean("RawMessageDelivery").unwrap_or(false);
    properties.finish(resources::SUBSCRIPTION);
    let endpoint = endpoint(properties, &protocol?, address?)?;
    check_fifo(topic, &endpoint, properties)?;
    Some(Subscription { topic: topic.to_owned(), endpoint, filter, scope, raw })
}

/// Refuses an endpoint that SNS refuses for the kind of the topic.
fn check_fifo(topic: &str, endpoint: &Endpoint, properties: &Properties<'_>) -> Option<()> {
    let problem = match endpoint {
        Endpoint::Queue(queue) if queue.ends_with(".fifo") && !topic.ends_with(".fifo") => {
            "FIFO SQS Queues can not be subscribed to standard SNS topics"
        }
        Endpoint::Function(_) | Endpoint::Mail(_) if topic.ends_with(".fifo") => {
            "a FIFO topic delivers to queues only: subscribe a queue, and give the function an SQS event"
        }
        _ => return Some(()),
    };
    properties.wrong(&properties.node, problem)
}

fn endpoint(properties: &Properties<'_>, protocol: &str, address: String) -> Option<Endpoint> {
    let found = match protocol {
        "email" | "email-json" => return Some(Endpoint::Mail(address)),
        "lambda" | "sqs" => targets::target(properties.resolver, &address),
        _ => {
            let message = format!("no message is sent by {protocol} on this machine");
            properties.resolver.problems.ignored(&properties.node, message);
            return None;
        }
    };
    match (protocol, found) {
        ("lambda", Some(Target::Function(id))) => Some(Endpoint::Function(id)),
        ("sqs", Some(Target::Queue(arn))) => Some(Endpoint::Queue(arn)),
        _ => {
            let message = format!("messages for {address} are dropped: it is not in this template");
            let place = properties.raw("Endpoint").unwrap_or(&properties.node);
            properties.resolver.problems.ignored(place, message);
            None
        }
    }
}

/// Reads an `SNS` event of the function `function`.
pub(super) fn function_subscription(function: &str, event: &Properties<'_>) -> Option<Subscription> {
    let topic = event.required("Topic");
    let (filter, scope) = (filter(event), scope(event));
    if let Some(through_queue) = event.get("SqsSubscription").filter(|node| node.as_text() != Some("false")) {
        let message =
            "SqsSubscription is not supported on this machine: write a queue, a subscription and an SQS event";
        event.resolver.problems.unsupported(&through_queue, message);
    }
    event.finish("AWS::Serverless::Function.Events{}.SNS");
    let (topic, endpoint) = (topic?, Endpoint::Function(function.to_owned()));
    check_fifo(&topic, &endpoint, event)?;
    Some(Subscription { topic, endpoint, filter, scope, raw: false })
}

fn filter(properties: &Properties<'_>) -> Option<Value> {
    let node = properties.get("FilterPolicy")?;
    let place = properties.raw("FilterPolicy").unwrap_or(&properties.node);
    let of_body = properties.text("FilterPolicyScope").as_deref() == Some("MessageBody");
    let policy = match node.as_text().map(serde_json::from_str::<Value>) {
        None => json(&node),
        Some(Ok(policy)) => policy,
        Some(Err(error)) => return properties.wrong(place, format!("the filter policy is not JSON: {error}")),
    };
    match Filters::compile(std::slice::from_ref(&policy)) {
        Ok(_) if !of_body && is_nested(&policy) => {
            properties.wrong(place, "Filter policy scope MessageAttributes does not support nested filter policy")
        }
        Ok(_) => Some(policy),
        Err(error) => properties.wrong(place, error.to_string()),
    }
}

fn is_nested(policy: &Value) -> bool {
    policy.as_object().is_some_and(|fields| {
        fields.iter().any(|(name, value)| match value {
            Value::Array(policies) if name == "$or" => policies.iter().any(is_nested),
            value => value.is_object(),
        })
    })
}

fn scope(properties: &Properties<'_>) -> FilterScope {
    match properties.text("FilterPolicyScope").as_deref() {
        None | Some("MessageAttributes") => FilterScope::MessageAttributes,
        Some("MessageBody") => FilterScope::MessageBody,
        Some(other) => {
            let place = properties.raw("FilterPolicyScope").unwrap_or(&properties.node);
            let message = format!("FilterPolicyScope must be MessageAttributes or MessageBody, not {other}");
            properties.resolver.problems.at(place, message);
            FilterScope::MessageAttributes
        }
    }
}
