//! Event buses: `PutEvents`, rules, and the delivery of events to their targets.
//!
//! Source: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-what-is.html>. An event is
//! delivered asynchronously: to a function with Lambda's retries for asynchronous invocations.
//! Events are not stored, so a restart drops those that wait for a retry.

pub(crate) mod api;
mod entry;
pub(crate) mod input;
mod recent;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use self::input::RuleContext;
use self::recent::{MatchedRule, RecentEvent, RecentEvents};
use crate::arn;
use crate::event_source_mapping::filter::Filters;
use crate::functions::Functions;
use crate::queue_delivery::{QueueDelivery, text_attributes};
use crate::queues::NewMessage;
use crate::random_id::random_id;
use crate::sns::{Attribute, Message, Topics};
use crate::stack::{Messaging, Rule, RuleTarget, Target};

/// The bus of every account.
pub(crate) const DEFAULT_BUS: &str = "default";

/// All event buses of a stack.
#[derive(Debug)]
pub(crate) struct Buses {
    by_name: BTreeMap<String, Vec<CompiledRule>>,
    functions: Arc<Functions>,
    topics: Arc<Topics>,
    queues: Arc<QueueDelivery>,
    recent: Mutex<RecentEvents>,
}

/// A rule with its compiled pattern.
#[derive(Debug)]
struct CompiledRule {
    rule: Rule,
    filters: Filters,
}

/// An event before it is put on a bus.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewEvent {
    /// `source`: `aws.s3`.
    pub(crate) source: String,
    /// `detail-type`: `Object Created`.
    pub(crate) detail_type: String,
    /// `resources`: ARNs.
    pub(crate) resources: Vec<String>,
    /// `detail`: a JSON object.
    pub(crate) detail: Value,
    /// `time`.
    pub(crate) time: Timestamp,
}

/// How an event came to a bus. An event that another bus sent is not sent to a third one.
///
/// Source: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-bus-to-bus.html>.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Sender,
    OtherBus,
}

impl Buses {
    /// The buses of a template, and the default one. A bus that only a rule names exists too.
    pub(crate) fn new(
        messaging: &Messaging,
        functions: &Arc<Functions>,
        topics: &Arc<Topics>,
        queues: &Arc<QueueDelivery>,
    ) -> Arc<Self> {
        let mut by_name: BTreeMap<String, Vec<CompiledRule>> = BTreeMap::new();
        for name in [DEFAULT_BUS].into_iter().chain(messaging.buses.iter().map(String::as_str)) {
            by_name.entry(name.to_owned()).or_default();
        }
        for rule in &messaging.rules {
            let Some(pattern) = &rule.pattern else { continue };
            // The template reader has compiled the pattern before, so this cannot fail.
            if let Ok(filters) = Filters::compile(std::slice::from_ref(pattern)) {
                let rules = by_name.entry(rule.bus.clone()).or_default();
                rules.push(CompiledRule { rule: rule.clone(), filters });
            }
        }
        Arc::new(Self {
            by_name,
            functions: Arc::clone(functions),
            topics: Arc::clone(topics),
            queues: Arc::clone(queues),
            recent: Mutex::default(),
        })
    }

    /// Puts an event on a bus, by its name or ARN, and returns the event's id. As on AWS, an event
    /// for a bus that does not exist is accepted and dropped.
    pub(crate) fn put(&self, bus: &str, event: NewEvent) -> String {
        let id = random_id();
        self.receive(bus_name(bus), envelope(&id, event), Origin::Sender);
        id
    }

    fn receive(&self, bus: &str, event: Value, origin: Origin) {
        let Some(rules) = self.by_name.get(bus) else {
            tracing::warn!("an event for the bus {bus} was dropped: there is no such bus");
            return self.keep(RecentEvent::new(bus, false, event, Vec::new()));
        };
        let matched: Vec<&Rule> = rules
            .iter()
            .filter(|compiled| compiled.rule.enabled && compiled.filters.pass(&event))
            .map(|compiled| &compiled.rule)
            .collect();
        let names = matched.iter().map(|rule| MatchedRule::of(rule)).collect();
        self.keep(RecentEvent::new(bus, true, event.clone(), names));
        for rule in matched {
            for target in &rule.targets {
                self.pass_on(rule, target, &event, origin);
            }
        }
    }

    fn pass_on(&self, rule: &Rule, target: &RuleTarget, event: &Value, origin: Origin) {
        match &target.target {
            Target::Bus(_) if origin == Origin::OtherBus => {
                tracing::warn!("rule {}: an event that came from another bus is not sent to a third one", rule.name);
            }
            // A bus gets the whole event, also if the target has an input.
            Target::Bus(bus) => self.receive(bus, event.clone(), Origin::OtherBus),
            other => {
                let arn = rule_arn(rule);
                let payload = target.input.payload(event, &RuleContext { arn: &arn, name: &rule.name });
                self.send_in_group(other, payload, target.group.clone());
            }
        }
    }

    /// Sends a payload to a receiver that is not a bus.
    pub(crate) fn send(&self, target: &Target, payload: String) {
        self.send_in_group(target, payload, None);
    }

    fn send_in_group(&self, target: &Target, payload: String, group: Option<String>) {
        match target {
            Target::Function(id) => match self.functions.get(id) {
                Some(pool) => self.functions.invoke_event(pool, Bytes::from(payload)),
                None => tracing::warn!("an event for the function {id} was dropped: there is no such function"),
            },
            Target::Queue(queue) => {
                self.queues.send(queue, NewMessage { body: payload, group, ..NewMessage::default() })
            }
            Target::Topic(topic) => self.topics.pass_on(topic, Message { text: payload, ..Message::default() }),
            Target::Bus(_) => {}
        }
    }

    /// Sends the record of an asynchronous invocation to a destination of the function.
    ///
    /// Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html>.
    pub(crate) fn send_record(&self, target: &Target, function_arn: &str, success: bool, record: Value) {
        let Target::Bus(bus) = target else { return self.send(target, record.to_string()) };
        let result = if success { "Success" } else { "Failure" };
        let event = NewEvent {
            source: "lambda".to_owned(),
            detail_type: format!("Lambda Function Invocation Result - {result}"),
            resources: vec![bus_arn(bus), format!("{function_arn}:$LATEST")],
            detail: record,
            time: Timestamp::now(),
        };
        self.put(bus, event);
    }

    /// Sends the payload of a failed asynchronous invocation to the function's dead-letter queue.
    ///
    /// Source: <https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html#invocation-dlq>.
    pub(crate) fn send_dead_letter(&self, target: &Target, body: String, attributes: BTreeMap<String, String>) {
        match target {
            Target::Queue(queue) => {
                let attributes = text_attributes(attributes);
                self.queues.send(queue, NewMessage { body, attributes, ..NewMessage::default() });
            }
            Target::Topic(topic) => {
                let text = |value| Attribute { data_type: "String".to_owned(), value };
                let attributes = attributes.into_iter().map(|(name, value)| (name, text(value))).collect();
                self.topics.pass_on(topic, Message { text: body, attributes, ..Message::default() });
            }
            Target::Function(_) | Target::Bus(_) => {}
        }
    }

    fn keep(&self, event: RecentEvent) {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).keep(event);
    }

    /// The newest events, the newest first.
    pub(crate) fn recent(&self) -> Value {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).newest_first()
    }

    /// How many events came so far.
    pub(crate) fn count(&self) -> u64 {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// The names of all buses with their rules.
    fn all(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &Rule>)> {
        self.by_name.iter().map(|(name, rules)| (name.as_str(), rules.iter().map(|compiled| &compiled.rule)))
    }
}

/// The event as targets receive it.
///
/// Source: <https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html>.
fn envelope(id: &str, event: NewEvent) -> Value {
    json!({
        "version": "0",
        "id": id,
        "detail-type": event.detail_type,
        "source": event.source,
        "account": arn::account(),
        "time": format!("{:.0}", event.time),
        "region": arn::region(),
        "resources": event.resources,
        "detail": event.detail,
    })
}

/// The name in a bus's ARN, or the name itself.
pub(crate) fn bus_name(name_or_arn: &str) -> &str {
    name_or_arn.split_once(":event-bus/").map_or(name_or_arn, |(_, name)| name)
}

/// A bus's ARN.
pub(crate) fn bus_arn(name: &str) -> String {
    format!("{}:event-bus/{name}", arn::of_region("events"))
}

/// A rule's ARN; it contains the bus's name unless that is the default bus.
fn rule_arn(rule: &Rule) -> String {
    let (events, Rule { bus, name, .. }) = (arn::of_region("events"), rule);
    if bus == DEFAULT_BUS { format!("{events}:rule/{name}") } else { format!("{events}:rule/{bus}/{name}") }
}
