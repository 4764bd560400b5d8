//! `DynamoDB` and `Kinesis` events: event source mappings on streams, within Lambda's limits.

use std::time::Duration;

use super::problems::ProblemCode;
use super::properties::Properties;
use super::yaml::{Node, NodeKind};
use super::{intrinsics::Resolver, resources};
use crate::event_source_mapping::filter::Filters;
use crate::stack::{StartingPosition, StreamMapping, StreamRef};

/// Lambda's limits and defaults for DynamoDB streams.
const BATCH_SIZE_DEFAULT: usize = 100;
const BATCH_SIZE_MAX: i64 = 10_000;
const BATCHING_WINDOW_S_MAX: i64 = 300;
const TUMBLING_WINDOW_S_MAX: i64 = 900;
const RETRY_ATTEMPTS_MAX: i64 = 10_000;
const RECORD_AGE_S_MIN: i64 = 60;
const RECORD_AGE_S_MAX: i64 = 604_800;
const PARALLELIZATION_MAX: i64 = 10;
const FILTERS_MAX: usize = 5;
const FILTER_LENGTH_MAX: usize = 4_096;

/// Reads a `DynamoDB` event whose stream is in the property `source`.
pub(super) fn read(id: &str, event: &Properties<'_>, source: &str) -> Option<StreamMapping> {
    let stream = table(event, source).map(StreamRef::Table);
    read_mapping(id, stream, event, key(source, "DynamoDB"))
}

/// Reads a `Kinesis` event whose stream is in the property `source`.
pub(super) fn read_kinesis(id: &str, event: &Properties<'_>, source: &str) -> Option<StreamMapping> {
    let arn = event.required(source);
    let place = event.raw(source).unwrap_or(&event.node);
    let stream = match arn {
        Some(arn) if !arn.starts_with("arn:") => {
            event.wrong(place, format!("{arn} is not the ARN of a stream: !GetAtt Stream.Arn"))
        }
        arn => arn.map(StreamRef::Kinesis),
    };
    read_mapping(id, stream, event, key(source, "Kinesis"))
}

/// The key of a mapping in the table of properties: an event of this type, or a resource.
pub(super) fn key(source: &str, event: &'static str) -> &'static str {
    match (source, event) {
        ("EventSourceArn", _) => resources::EVENT_SOURCE_MAPPING,
        (_, "SQS") => "AWS::Serverless::Function.Events{}.SQS",
        (_, "Kinesis") => "AWS::Serverless::Function.Events{}.Kinesis",
        _ => "AWS::Serverless::Function.Events{}.DynamoDB",
    }
}

fn read_mapping(id: &str, stream: Option<StreamRef>, event: &Properties<'_>, key: &str) -> Option<StreamMapping> {
    let is_kinesis = matches!(stream, Some(StreamRef::Kinesis(_)));
    let position = event.required("StartingPosition");
    let starting_position = match position.as_deref() {
        Some("TRIM_HORIZON") | None => StartingPosition::TrimHorizon,
        Some("LATEST") => StartingPosition::Latest,
        Some("AT_TIMESTAMP") if is_kinesis => {
            let seconds = event.integer("StartingPositionTimestamp", 0..=i64::from(u32::MAX)).unwrap_or_default();
            StartingPosition::AtTimestamp(seconds.saturating_mul(1_000))
        }
        Some(other) => {
            let place = event.raw("StartingPosition").unwrap_or(&event.node);
            event.resolver.problems.at(place, format!("StartingPosition must be TRIM_HORIZON or LATEST, not {other}"));
            StartingPosition::TrimHorizon
        }
    };
    let parallelization_factor = event.count("ParallelizationFactor", 1..=PARALLELIZATION_MAX).unwrap_or(1);
    let tumbling_window = event.seconds("TumblingWindowInSeconds", 0..=TUMBLING_WINDOW_S_MAX).unwrap_or_default();
    if parallelization_factor > 1 && !tumbling_window.is_zero() {
        let place = event.raw("ParallelizationFactor").unwrap_or(&event.node);
        event.resolver.problems.at(
            place,
            "a tumbling window passes one state per shard from batch to batch, and parallel batches of a shard would \
             lose its order: with TumblingWindowInSeconds, ParallelizationFactor must be 1",
        );
    }
    if parallelization_factor > 1 && tumbling_window.is_zero() {
        let place = event.raw("ParallelizationFactor").unwrap_or(&event.node);
        event.resolver.problems.ignored(
            place,
            "this machine processes one batch of a shard at a time: on AWS, records of different items overtake each \
             other, and a function that counts by sequence numbers would lose some",
        );
    }
    let report_batch_item_failures = reports_failures(event);
    if !tumbling_window.is_zero() && !report_batch_item_failures {
        event.resolver.problems.ignored(
            &event.node,
            "without FunctionResponseTypes: [ReportBatchItemFailures], Lambda ignores the failures that the function \
             returns: a function that counts in a tumbling window would lose these records",
        );
    }
    let mapping = StreamMapping {
        event_id: id.to_owned(),
        stream: stream?,
        starting_position,
        batch_size: event.count("BatchSize", 1..=BATCH_SIZE_MAX).unwrap_or(BATCH_SIZE_DEFAULT),
        batching_window: event.seconds("MaximumBatchingWindowInSeconds", 0..=BATCHING_WINDOW_S_MAX).unwrap_or_default(),
        tumbling_window,
        filters: filters(event),
        bisect_on_error: event.boolean("BisectBatchOnFunctionError").unwrap_or_default(),
        report_batch_item_failures,
        // In Lambda, -1 means: until the record expires.
        retry_attempts_max: event
            .integer("MaximumRetryAttempts", -1..=RETRY_ATTEMPTS_MAX)
            .and_then(|n| n.try_into().ok()),
        record_age_max: record_age(event),
        parallelization_factor,
        on_failure_queue: destination(event),
        enabled: event.boolean("Enabled").unwrap_or(true),
    };
    event.finish(key);
    Some(mapping)
}

fn table(event: &Properties<'_>, source: &str) -> Option<String> {
    let Some(node) = event.raw(source) else {
        return event.refuse(ProblemCode::Missing, &event.node, format!("{source} is missing"));
    };
    match event.get(source)?.kind {
        NodeKind::StreamOf(table) => Some(table),
        _ => event.wrong(
            node,
            format!("{source} must be the StreamArn of a table of this template: !GetAtt Table.StreamArn"),
        ),
    }
}

pub(super) fn filters(event: &Properties<'_>) -> Vec<serde_json::Value> {
    let Some(criteria) = event.map("FilterCriteria") else { return Vec::new() };
    let list = criteria.list("Filters");
    criteria.finish("AWS::Lambda::EventSourceMapping.FilterCriteria");
    if list.len() > FILTERS_MAX {
        event.resolver.problems.at(&criteria.node, format!("a mapping has at most {FILTERS_MAX} filters"));
    }
    list.iter().filter_map(|node| pattern(event, node)).collect()
}

fn pattern(event: &Properties<'_>, node: &Node) -> Option<serde_json::Value> {
    let filter = Properties::new(event.resolver, node);
    let pattern = filter.required("Pattern")?;
    let place = filter.raw("Pattern").unwrap_or(node).clone();
    filter.finish("AWS::Lambda::EventSourceMapping.FilterCriteria.Filters[]");
    if pattern.len() > FILTER_LENGTH_MAX {
        return event.wrong(&place, format!("a pattern has at most {FILTER_LENGTH_MAX} characters"));
    }
    let value = match serde_json::from_str::<serde_json::Value>(&pattern) {
        Ok(value) => value,
        Err(error) => return event.wrong(&place, format!("the pattern is not JSON: {error}")),
    };
    match Filters::compile(std::slice::from_ref(&value)) {
        Ok(_) => Some(value),
        Err(error) => event.wrong(&place, error.to_string()),
    }
}

pub(super) fn reports_failures(event: &Properties<'_>) -> bool {
    let types = event.texts("FunctionResponseTypes");
    for other in types.iter().filter(|name| *name != "ReportBatchItemFailures") {
        event
            .resolver
            .problems
            .at(&event.node, format!("{other} is not a response type; only ReportBatchItemFailures is"));
    }
    !types.is_empty()
}

fn record_age(event: &Properties<'_>) -> Option<Duration> {
    let seconds = event.integer("MaximumRecordAgeInSeconds", -1..=RECORD_AGE_S_MAX)?;
    if (0..RECORD_AGE_S_MIN).contains(&seconds) {
        let place = event.raw("MaximumRecordAgeInSeconds").unwrap_or(&event.node);
        return event.wrong(
            place,
            format!("MaximumRecordAgeInSeconds must be -1, or {RECORD_AGE_S_MIN} to {RECORD_AGE_S_MAX}"),
        );
    }
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

fn destination(event: &Properties<'_>) -> Option<String> {
    let config = event.map("DestinationConfig")?;
    let on_failure = config.map("OnFailure");
    config.finish("AWS::Lambda::EventSourceMapping.DestinationConfig");
    let on_failure = on_failure?;
    let kind = on_failure.text("Type");
    let arn = on_failure.required("Destination");
    on_failure.finish("AWS::Lambda::EventSourceMapping.DestinationConfig.OnFailure");
    if kind.is_some_and(|kind| kind != "SQS") {
        return event.refuse(
            ProblemCode::Unsupported,
            &on_failure.node,
            "only queues are supported for failed batches on this machine: Type must be SQS",
        );
    }
    let arn = arn?;
    let place = on_failure.raw("Destination").unwrap_or(&on_failure.node);
    let queue = queue_of(event.resolver, &arn);
    queue.or_else(|| {
        event.refuse(ProblemCode::UnknownName, place, format!("{arn} is not the ARN of a queue of this template"))
    })
}

fn queue_of(resolver: &Resolver<'_>, arn: &str) -> Option<String> {
    let queues = resolver
        .resources
        .iter()
        .filter(|(_, resource)| resource.get("Type").and_then(Node::as_text) == Some(resources::QUEUE));
    queues
        .filter(|(id, queue)| {
            resources::attribute(resolver, id, resources::QUEUE, queue, "Arn").as_deref() == Some(arn)
        })
        .map(|(id, _)| id.clone())
        .next()
}
