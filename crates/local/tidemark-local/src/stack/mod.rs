//! The resolved content of a template: the model between the template reader and the parts that run
//! it.
//!
//! It is independent of YAML, sockets and processes. Durations and sizes are already checked
//! against the limits of their AWS services.

mod apis;
mod authorizers;
mod messaging;
mod queues_and_buckets;
mod roles;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use self::apis::{
    ApiKind, Cors, FixedResponse, GatewayResponse, HttpApi, PayloadFormat, RequestChecks, Route, Throttle,
    WebSocketApi, WebSocketRoute,
};
pub use self::authorizers::{
    Authorizer, AuthorizerEvent, AuthorizerKind, IdentitySource, JwtAuthorizer, LambdaAuthorizer, RouteAuthorizer,
};
pub(crate) use self::messaging::{
    Endpoint, EventInvoke, FilterScope, Messaging, Rule, RuleTarget, Subscription, Target, Topic,
};
pub use self::queues_and_buckets::{Bucket, KinesisStream, Queue, QueueMapping, Redrive};
pub(crate) use self::queues_and_buckets::{BucketNotification, CorsRule};
pub use self::roles::{Condition, Effect, Quantifier, Role, Statement, Test};
use crate::secret_value::SecretValue;

/// All parts of a template that this machine runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// `AWS::DynamoDB::Table`.
    pub tables: Vec<Table>,
    /// `AWS::Serverless::Function`.
    pub functions: Vec<Function>,
    /// HTTP APIs, REST APIs, function URLs and listeners of load balancers. The first is served on
    /// the stack's own port.
    pub http_apis: Vec<HttpApi>,
    /// `AWS::ApiGatewayV2::Api` with its parts.
    pub web_socket_api: Option<WebSocketApi>,
    /// `AWS::SecretsManager::Secret`.
    pub secrets: Vec<Secret>,
    /// `AWS::SSM::Parameter`.
    pub ssm_parameters: Vec<SsmParameter>,
    /// `AWS::SQS::Queue`.
    pub queues: Vec<Queue>,
    /// `AWS::Kinesis::Stream`.
    pub kinesis_streams: Vec<KinesisStream>,
    /// `AWS::S3::Bucket`.
    pub buckets: Vec<Bucket>,
    /// `AWS::IAM::Role`.
    pub roles: Vec<Role>,
    /// Event buses, rules, topics and settings of asynchronous invocations.
    pub(crate) messaging: Messaging,
    /// `Metadata.LocalCommands`: what the pages may run on this machine, by name.
    pub(crate) commands: BTreeMap<String, String>,
}

/// A DynamoDB table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `TableName`, resolved.
    pub name: String,
    /// The body of a `CreateTable` request: CloudFormation and the API use the same property names.
    pub create_table: serde_json::Value,
    /// The attribute of `TimeToLiveSpecification`, if enabled. Epoch seconds.
    pub ttl_attribute: Option<String>,
    /// `PointInTimeRecoverySpecification`.
    pub point_in_time_recovery: bool,
    /// `Metadata.Waiting`.
    pub waiting: Option<Waiting>,
}

/// Items of a table that wait for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The name of these items together.
    pub name: String,
    /// The name of the partition key.
    pub partition_key: String,
    /// The partition that contains them.
    pub partition: String,
    /// The attribute that marks an item as done.
    pub until: String,
    /// The command that shows them.
    pub command: String,
}

/// A Lambda function: one unmodified binary.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `FunctionName`, resolved.
    pub name: String,
    /// `CodeUri`: the folder of its crate or workspace, relative to the template.
    pub code_uri: PathBuf,
    /// Whether `CodeUri` has the function's binary, `bootstrap`: an asset of the CDK, which is a folder
    /// or a zip archive.
    pub is_built: bool,
    /// `Handler`; for some builders it is the binary's name.
    pub handler: String,
    /// `Metadata.BuildProperties.Binary`; `None`: inferred from the packages in the folder.
    pub binary: Option<String>,
    /// `Environment.Variables`, resolved (strings, as Lambda passes them).
    pub environment: BTreeMap<String, String>,
    /// `MemorySize`, MiB.
    pub memory_size_mib: u32,
    /// `Timeout`.
    pub timeout: Duration,
    /// `Layers` that are named by an ARN.
    pub layers: Vec<String>,
    /// `AutoPublishAlias`, resolved.
    pub alias: Option<String>,
    /// `ReservedConcurrentExecutions`.
    pub reserved_concurrency: Option<u32>,
    /// The ARN of `Role`, or of the role that SAM makes of `Policies`. `None`: the role is not in
    /// the template, so the function may do everything here.
    pub role: Option<String>,
    /// `HttpApi` and `Api` events, and the function URL.
    pub routes: Vec<Route>,
    /// `DynamoDB` and `Kinesis` events.
    pub stream_mappings: Vec<StreamMapping>,
    /// `SQS` events.
    pub queue_mappings: Vec<QueueMapping>,
    /// `Schedule` and `ScheduleV2` events.
    pub schedules: Vec<Schedule>,
    /// `--debug` names it: its one instance waits for a debugger.
    pub is_debugged: bool,
}

/// The time limit of everything that waits for a person with a debugger: 12 hours, the longest
/// visibility time-out of a queue.
pub const DEBUG_TIME_MAX: Duration = Duration::from_hours(12);

impl Function {
    /// The name for people: the binary's if the template has it, else the logical id.
    pub fn short_name(&self) -> &str {
        self.binary.as_deref().unwrap_or(&self.logical_id)
    }

    /// The limit of a wait for the function, which is `usual` without a debugger.
    pub fn time_limit(&self, usual: Duration) -> Duration {
        if self.is_debugged { DEBUG_TIME_MAX } else { usual }
    }

    /// Whether the function has this version or alias.
    pub fn publishes(&self, qualifier: &str) -> bool {
        match qualifier {
            "$LATEST" => true,
            "1" => self.alias.is_some(),
            _ => self.alias.as_deref() == Some(qualifier),
        }
    }

    /// Whether the function's code is in a zip archive.
    pub fn is_archive(&self) -> bool {
        self.is_built && self.code_uri.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"))
    }

    /// Whether the function is a web server behind the Lambda Web Adapter.
    pub fn uses_web_adapter(&self) -> bool {
        self.layers.iter().any(|layer| is_web_adapter(layer))
    }
}

/// Whether a layer's ARN is the Web Adapter's, of any version and processor.
pub(crate) fn is_web_adapter(layer: &str) -> bool {
    layer.contains(":layer:LambdaAdapterLayer")
}

/// A Lambda event source mapping on a DynamoDB or Kinesis stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamMapping {
    /// The event's key under `Events`; with the function's logical id it forms the mapping's name.
    pub event_id: String,
    /// The stream that is read.
    pub stream: StreamRef,
    /// `StartingPosition`.
    pub starting_position: StartingPosition,
    /// `BatchSize`, 1 to 10,000.
    pub batch_size: usize,
    /// `MaximumBatchingWindowInSeconds`.
    pub batching_window: Duration,
    /// `TumblingWindowInSeconds`; zero: no window, and the event has no `shardId` or `state`.
    pub tumbling_window: Duration,
    /// `FilterCriteria.Filters[].Pattern`: a record passes if one of them matches, or if there are
    /// none.
    pub filters: Vec<serde_json::Value>,
    /// `BisectBatchOnFunctionError`.
    pub bisect_on_error: bool,
    /// `FunctionResponseTypes` contains `ReportBatchItemFailures`.
    pub report_batch_item_failures: bool,
    /// `MaximumRetryAttempts`; `None`: until the record expires.
    pub retry_attempts_max: Option<u32>,
    /// `MaximumRecordAgeInSeconds`; `None`: as long as the stream keeps the record.
    pub record_age_max: Option<Duration>,
    /// `ParallelizationFactor`, 1 to 10.
    pub parallelization_factor: u32,
    /// `DestinationConfig.OnFailure`: the queue's logical id.
    pub on_failure_queue: Option<String>,
    /// `Enabled`.
    pub enabled: bool,
}

/// The stream of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamRef {
    /// The stream of the table with this logical id.
    Table(String),
    /// The Kinesis stream with this ARN.
    Kinesis(String),
}

/// The position of a mapping without a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartingPosition {
    /// The oldest record of the stream.
    TrimHorizon,
    /// Only later records.
    Latest,
    /// Records since this time, milliseconds since the epoch.
    AtTimestamp(i64),
}

/// A schedule that invokes a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// The event's key under `Events`.
    pub event_id: String,
    /// `rate(5 minutes)`, `cron(0 3 * * ? *)` or `at(...)`; checked when the template is read.
    pub expression: String,
    /// `ScheduleExpressionTimezone`; `None` is UTC.
    pub time_zone: Option<String>,
    /// `Input`: the event. `None`: EventBridge's default event.
    pub input: Option<serde_json::Value>,
    /// `Enabled` or `State`.
    pub enabled: bool,
    /// The ARN of the rule, or of the schedule.
    pub arn: String,
    /// Whether it is a schedule of EventBridge Scheduler, and not a rule of EventBridge.
    pub is_schedulers: bool,
}

/// A secret. A generated value is stored in the data folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Secret {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `Name`, resolved.
    pub name: String,
    /// The ARN: the value of `Ref`, accepted by `GetSecretValue`.
    pub arn: String,
    /// Where its value comes from.
    pub value: SecretValue,
}

/// A parameter of Systems Manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsmParameter {
    /// `Name`, resolved.
    pub name: String,
    /// `Type`.
    pub kind: String,
    /// `Value`.
    pub value: String,
}
