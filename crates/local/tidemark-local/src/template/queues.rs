//! `AWS::SQS::Queue`, and `SQS` events: queues and the mappings that read them.

use std::time::Duration;

use super::intrinsics::Resolver;
use super::properties::Properties;
use super::resources;
use super::stream_mappings::{self, filters, reports_failures};
use super::yaml::Node;
use crate::queues::GROUP_LIMIT_WITHOUT_GROUPS;
use crate::stack::{Queue, QueueMapping, Redrive, Stack};

/// SQS's limits and defaults.
///
/// Source:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html>.
const VISIBILITY_DEFAULT: Duration = Duration::from_secs(30);
const VISIBILITY_S_MAX: i64 = 43_200;
const DELAY_S_MAX: i64 = 900;
const RETENTION_DEFAULT: Duration = Duration::from_secs(345_600);
const RETENTION_S_MAX: i64 = 1_209_600;
const WAIT_S_MAX: i64 = 20;
const MESSAGE_BYTES_MIN: i64 = 1_024;
const MESSAGE_BYTES_MAX: i64 = 1_048_576;
const RECEIVE_COUNT_MAX: i64 = 1_000;

/// Lambda's limits and default for mappings on queues.
const BATCH_SIZE_DEFAULT: usize = 10;
const BATCH_SIZE_MAX: i64 = 10_000;
const FIFO_BATCH_SIZE_MAX: usize = 10;
const BATCHING_WINDOW_S_MAX: i64 = 300;
const CONCURRENCY_MAX: i64 = 1_000;

/// Reads a queue.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<Queue> {
    properties.raw("QueueName");
    let fifo = properties.boolean("FifoQueue").unwrap_or_default();
    let redrive = properties.map("RedrivePolicy").and_then(|policy| {
        let target = policy.required("deadLetterTargetArn");
        let count = policy.count("maxReceiveCount", 1..=RECEIVE_COUNT_MAX);
        policy.finish("AWS::SQS::Queue.RedrivePolicy");
        Some(Redrive { target_arn: target?, receive_count_max: count? })
    });
    let message_bytes_max = properties.count("MaximumMessageSize", MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX);
    let seconds = |name: &str, low: i64, high: i64| properties.seconds(name, low..=high);
    let one_of = |name: &str, yes: &str, no: &str| match properties.text(name) {
        None => false,
        Some(text) if text == yes || text == no => text == yes,
        Some(other) => {
            let place = properties.raw(name).unwrap_or(resource);
            properties.wrong::<()>(place, format!("{name} must be {no} or {yes}, not {other}"));
            false
        }
    };
    let queue = Queue {
        logical_id: id.to_owned(),
        name: String::new(),
        arn: String::new(),
        fifo,
        content_based_deduplication: properties.boolean("ContentBasedDeduplication").unwrap_or_default(),
        deduplicates_groups: one_of("DeduplicationScope", "messageGroup", "queue"),
        limits_groups: one_of("FifoThroughputLimit", "perMessageGroupId", "perQueue"),
        visibility_timeout: seconds("VisibilityTimeout", 0, VISIBILITY_S_MAX).unwrap_or(VISIBILITY_DEFAULT),
        delay: seconds("DelaySeconds", 0, DELAY_S_MAX).unwrap_or_default(),
        retention: seconds("MessageRetentionPeriod", 60, RETENTION_S_MAX).unwrap_or(RETENTION_DEFAULT),
        receive_wait: seconds("ReceiveMessageWaitTimeSeconds", 0, WAIT_S_MAX).unwrap_or_default(),
        message_bytes_max: message_bytes_max.unwrap_or(crate::queues::MESSAGE_BYTES_MAX),
        redrive,
    };
    properties.finish(resources::QUEUE);
    let name = resources::name(properties.resolver, id, resources::QUEUE, resource)?;
    if fifo != name.ends_with(".fifo") {
        let place = properties.raw("QueueName").unwrap_or(resource);
        return properties.wrong(place, "the name of a FIFO queue, and only of such a queue, ends with .fifo");
    }
    if queue.limits_groups && !queue.deduplicates_groups {
        let place = properties.raw("FifoThroughputLimit").unwrap_or(resource);
        return properties.wrong(place, GROUP_LIMIT_WITHOUT_GROUPS);
    }
    if queue.limits_groups {
        let place = properties.raw("FifoThroughputLimit").unwrap_or(resource);
        properties.resolver.problems.ignored(place, "FifoThroughputLimit has no effect on this machine");
    }
    let arn = resources::attribute(properties.resolver, id, resources::QUEUE, resource, "Arn")?;
    Some(Queue { name, arn, ..queue })
}

/// Reads an `SQS` event whose queue is in the property `source`.
pub(super) fn read_mapping(id: &str, event: &Properties<'_>, source: &str) -> Option<QueueMapping> {
    let arn = event.required(source);
    let place = event.raw(source).unwrap_or(&event.node).clone();
    let batch_size = event.count("BatchSize", 1..=BATCH_SIZE_MAX).unwrap_or(BATCH_SIZE_DEFAULT);
    let batching_window =
        event.seconds("MaximumBatchingWindowInSeconds", 0..=BATCHING_WINDOW_S_MAX).unwrap_or_default();
    let concurrency_max = event.map("ScalingConfig").and_then(|scaling| {
        let concurrency = scaling.count("MaximumConcurrency", 2..=CONCURRENCY_MAX);
        scaling.finish("AWS::Lambda::EventSourceMapping.ScalingConfig");
        concurrency
    });
    let mapping = QueueMapping {
        event_id: id.to_owned(),
        queue: arn?,
        batch_size,
        batching_window,
        filters: filters(event),
        report_batch_item_failures: reports_failures(event),
        concurrency_max,
        enabled: event.boolean("Enabled").unwrap_or(true),
    };
    event.finish(stream_mappings::key(source, "SQS"));
    let is_fifo = mapping.queue.ends_with(".fifo");
    if is_fifo && batch_size > FIFO_BATCH_SIZE_MAX {
        return event.wrong(&place, format!("BatchSize of a FIFO queue must be 1 to {FIFO_BATCH_SIZE_MAX}"));
    }
    if is_fifo && !batching_window.is_zero() {
        return event.wrong(&place, "a FIFO queue has no batching window: remove MaximumBatchingWindowInSeconds");
    }
    if batch_size > FIFO_BATCH_SIZE_MAX && batching_window.is_zero() {
        let message = "a BatchSize above 10 needs a MaximumBatchingWindowInSeconds of at least 1";
        return event.wrong(&place, message);
    }
    if !mapping.queue.starts_with("arn:") {
        return event.wrong(&place, format!("{} is not the ARN of a queue: !GetAtt Queue.Arn", mapping.queue));
    }
    Some(mapping)
}

/// Refuses a queue whose messages would become visible before the function's time-out, as Lambda
/// does.
pub(super) fn check_visibility(stack: &Stack, resolver: &Resolver<'_>) {
    for function in &stack.functions {
        for mapping in &function.queue_mappings {
            let Some(queue) = stack.queues.iter().find(|queue| queue.arn == mapping.queue) else { continue };
            let (visible, timeout) = (queue.visibility_timeout.as_secs(), function.timeout.as_secs());
            let place = resolver.resources.iter().find(|(id, _)| *id == queue.logical_id);
            if let Some((_, place)) = place.filter(|_| visible < timeout) {
                let message = format!(
                    "Queue visibility timeout: {visible} seconds is less than Function timeout: {timeout} seconds"
                );
                resolver.problems.at(place, message);
            }
        }
    }
}

/// Adds the queues that events name by an ARN from outside the template.
pub(super) fn add_foreign(stack: &mut Stack, resolver: &Resolver<'_>) {
    let wanted: Vec<(String, String)> = stack
        .functions
        .iter()
        .flat_map(|function| {
            function.queue_mappings.iter().map(|mapping| (function.logical_id.clone(), mapping.queue.clone()))
        })
        .collect();
    for (function, arn) in wanted {
        let name = arn.rsplit(':').next().unwrap_or(&arn).to_owned();
        if stack.queues.iter().any(|queue| queue.name == name) {
            continue;
        }
        if let Some((_, place)) = resolver.resources.iter().find(|(id, _)| *id == function) {
            let message = format!("the queue {arn} is not in this template: an empty one of its name stands in for it");
            resolver.problems.ignored(place, message);
        }
        stack.queues.push(Queue::standing_in(&name));
    }
}
