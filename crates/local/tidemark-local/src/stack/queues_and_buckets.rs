//! Queues with their mappings, Kinesis streams, and buckets with their notifications.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Target;

/// A queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Queue {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `QueueName`, resolved.
    pub name: String,
    /// The ARN, as `GetAtt Arn` returns it.
    pub arn: String,
    /// `FifoQueue`.
    pub fifo: bool,
    /// `ContentBasedDeduplication`.
    pub content_based_deduplication: bool,
    /// `DeduplicationScope: messageGroup`: each group has deduplication ids of its own.
    pub deduplicates_groups: bool,
    /// `FifoThroughputLimit: perMessageGroupId`, without an effect here.
    pub limits_groups: bool,
    /// `VisibilityTimeout`.
    pub visibility_timeout: Duration,
    /// `DelaySeconds`.
    pub delay: Duration,
    /// `MessageRetentionPeriod`.
    pub retention: Duration,
    /// `ReceiveMessageWaitTimeSeconds`.
    pub receive_wait: Duration,
    /// `MaximumMessageSize`, bytes.
    pub message_bytes_max: usize,
    /// `RedrivePolicy`.
    pub redrive: Option<Redrive>,
}

/// Where a queue's messages go that were received too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    /// `deadLetterTargetArn`.
    pub target_arn: String,
    /// `maxReceiveCount`.
    pub receive_count_max: u32,
}

impl Queue {
    /// A standard or FIFO queue with SQS's defaults, for a queue that another stack owns.
    pub fn standing_in(name: &str) -> Self {
        Self {
            logical_id: name.to_owned(),
            name: name.to_owned(),
            arn: format!("{}:{name}", crate::arn::of_region("sqs")),
            fifo: name.ends_with(".fifo"),
            content_based_deduplication: true,
            deduplicates_groups: false,
            limits_groups: false,
            visibility_timeout: Duration::from_secs(30),
            delay: Duration::ZERO,
            retention: Duration::from_secs(345_600),
            receive_wait: Duration::ZERO,
            message_bytes_max: crate::queues::MESSAGE_BYTES_MAX,
            redrive: None,
        }
    }
}

/// A Lambda event source mapping on a queue.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueMapping {
    /// The event's key under `Events`.
    pub event_id: String,
    /// The queue's ARN.
    pub queue: String,
    /// `BatchSize`, 1 to 10,000.
    pub batch_size: usize,
    /// `MaximumBatchingWindowInSeconds`.
    pub batching_window: Duration,
    /// `FilterCriteria.Filters[].Pattern`.
    pub filters: Vec<serde_json::Value>,
    /// `FunctionResponseTypes` contains `ReportBatchItemFailures`.
    pub report_batch_item_failures: bool,
    /// `ScalingConfig.MaximumConcurrency`.
    pub concurrency_max: Option<usize>,
    /// `Enabled`.
    pub enabled: bool,
}

/// A Kinesis stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KinesisStream {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `Name`, resolved.
    pub name: String,
    /// The ARN, as `GetAtt Arn` returns it.
    pub arn: String,
    /// `ShardCount`.
    pub shards: u32,
    /// `RetentionPeriodHours`.
    pub retention_h: u32,
}

/// A bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct Bucket {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `BucketName`, resolved.
    pub name: String,
    /// `NotificationConfiguration`, and the `S3` events of functions.
    pub(crate) notifications: Vec<BucketNotification>,
    /// Whether changes go to the default event bus.
    pub sends_events: bool,
    /// `VersioningConfiguration`: `Enabled` or `Suspended`.
    pub(crate) versioning: Option<&'static str>,
    /// `CorsConfiguration`.
    pub(crate) cors: Vec<CorsRule>,
}

/// What pages of some origins may do with a bucket.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CorsRule {
    pub(crate) origins: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) headers: Vec<String>,
    pub(crate) exposed: Vec<String>,
    pub(crate) max_age_s: Option<i32>,
}

/// A receiver of a bucket's changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BucketNotification {
    /// The configuration's id in its events.
    pub(crate) id: String,
    /// `s3:ObjectCreated:*` and others.
    pub(crate) events: Vec<String>,
    /// The beginning of the keys.
    pub(crate) prefix: String,
    /// The end of the keys.
    pub(crate) suffix: String,
    /// The receiver.
    pub(crate) target: Target,
}
