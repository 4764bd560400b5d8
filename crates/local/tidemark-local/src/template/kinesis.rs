//! `AWS::Kinesis::Stream`.

use super::intrinsics::Resolver;
use super::properties::Properties;
use super::resources;
use super::yaml::Node;
use crate::arn;
use crate::arn::kinesis_stream_name;
use crate::stack::{KinesisStream, Stack, StreamRef};

/// Most shards of a stream on this machine; on AWS an account's quota is 500 or more.
const SHARDS_MAX: i64 = 200;

/// The shards of a stream without a `ShardCount`: on demand, AWS begins with four.
const SHARDS_ON_DEMAND: u32 = 4;

/// Limits of the retention, hours.
const RETENTION_H_MIN: u32 = 24;
const RETENTION_H_MAX: i64 = 8_760;

/// Reads a stream.
pub(super) fn read(id: &str, resource: &Node, properties: &Properties<'_>) -> Option<KinesisStream> {
    properties.raw("Name");
    let shards = properties.count("ShardCount", 1..=SHARDS_MAX).unwrap_or(SHARDS_ON_DEMAND);
    let retention_h = properties
        .count("RetentionPeriodHours", i64::from(RETENTION_H_MIN)..=RETENTION_H_MAX)
        .unwrap_or(RETENTION_H_MIN);
    properties.finish(resources::KINESIS_STREAM);
    let name = resources::name(properties.resolver, id, resources::KINESIS_STREAM, resource)?;
    let arn = resources::attribute(properties.resolver, id, resources::KINESIS_STREAM, resource, "Arn")?;
    Some(KinesisStream { logical_id: id.to_owned(), name, arn, shards, retention_h })
}

/// Adds the streams that events name by an ARN from outside the template.
pub(super) fn add_foreign(stack: &mut Stack, resolver: &Resolver<'_>) {
    for function in &stack.functions {
        for mapping in &function.stream_mappings {
            let StreamRef::Kinesis(stream) = &mapping.stream else { continue };
            let name = kinesis_stream_name(stream).to_owned();
            if stack.kinesis_streams.iter().any(|known| known.name == name) {
                continue;
            }
            if let Some((_, place)) = resolver.resources.iter().find(|(id, _)| *id == function.logical_id) {
                let message =
                    format!("the stream {stream} is not in this template: an empty one of its name stands in for it");
                resolver.problems.ignored(place, message);
            }
            let arn = format!("{}:stream/{name}", arn::of_region("kinesis"));
            let (logical_id, shards, retention_h) = (name.clone(), 1, RETENTION_H_MIN);
            stack.kinesis_streams.push(KinesisStream { logical_id, name, arn, shards, retention_h });
        }
    }
}
