//! The resolved content of a template: the model between the template reader and the parts that run
//! it.
//!
//! It is independent of YAML, sockets and processes. Durations and sizes are already checked
//! against the limits of their AWS services.

mod authorizers;
mod messaging;
mod queues_and_buckets;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use self::authorizers::{
    Authorizer, AuthorizerEvent, AuthorizerKind, IdentitySource, JwtAuthorizer, LambdaAuthorizer, RouteAuthorizer,
};
pub(crate) use self::messaging::{
    Endpoint, EventInvoke, FilterScope, Messaging, Rule, RuleTarget, Subscription, Target,
};
pub(crate) use self::queues_and_buckets::BucketNotification;
pub use self::queues_and_buckets::{Bucket, KinesisStream, Queue, QueueMapping, Redrive};

/// All parts of a template that this machine runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// `AWS::DynamoDB::Table`.
    pub tables: Vec<Table>,
    /// `AWS::Serverless::Function`.
    pub functions: Vec<Function>,
    /// HTTP APIs, REST APIs, function URLs and listeners of load balancers. The first is served on the stack's own port.
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
    /// `ReservedConcurrentExecutions`.
    pub reserved_concurrency: Option<u32>,
    /// The ARN of `Role`, or of the role that SAM makes of `Policies`. `None`: the role is not in the
    /// template, so the function may do everything here.
    pub role: Option<String>,
    /// `HttpApi` and `Api` events, and the function URL.
    pub routes: Vec<Route>,
    /// `DynamoDB` and `Kinesis` events.
    pub stream_mappings: Vec<StreamMapping>,
    /// `SQS` events.
    pub queue_mappings: Vec<QueueMapping>,
    /// `Schedule` and `ScheduleV2` events.
    pub schedules: Vec<Schedule>,
}

impl Function {
    /// The name for people: the binary's if the template has it, else the logical id.
    #[must_use]
    pub fn short_name(&self) -> &str {
        self.binary.as_deref().unwrap_or(&self.logical_id)
    }

    /// Whether the function is a web server behind the Lambda Web Adapter.
    #[must_use]
    pub fn uses_web_adapter(&self) -> bool {
        self.layers.iter().any(|layer| crate::functions::web_adapter::is_adapter(layer))
    }
}

/// One route of an API; its function contains it.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// Logical id of the API.
    pub api: String,
    /// API Gateway's route key: `GET /stats/daily/{date}`, `ANY /x/{proxy+}` or `$default`.
    pub route_key: String,
    /// The form of the event.
    pub payload: PayloadFormat,
    /// The authorizer that decides about requests.
    pub authorizer: RouteAuthorizer,
    /// `AuthorizationScopes`: a token needs one of them.
    pub scopes: Vec<String>,
}

impl Route {
    /// A route that leaves the authorizer to its API.
    pub(crate) fn new(api: &str, route_key: &str, payload: PayloadFormat) -> Self {
        let (api, route_key) = (api.to_owned(), route_key.to_owned());
        Self { api, route_key, payload, authorizer: RouteAuthorizer::Default, scopes: Vec::new() }
    }
}

/// The form of an HTTP event and of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayloadFormat {
    /// 1.0, of REST APIs.
    V1,
    /// 2.0, of HTTP APIs and function URLs.
    V2,
    /// Of load balancers.
    LoadBalancer {
        /// `lambda.multi_value_headers.enabled` of the target group.
        multi_value: bool,
    },
}

/// The kind of an API. Kinds differ in their events, their errors and their paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ApiKind {
    /// `AWS::Serverless::HttpApi`.
    Http,
    /// `AWS::Serverless::Api`.
    Rest,
    /// `FunctionUrlConfig` of a function.
    FunctionUrl,
    /// `AWS::ElasticLoadBalancingV2::Listener`.
    LoadBalancer,
}

/// An HTTP API, a REST API, a function URL, or a listener of a load balancer.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpApi {
    /// The key under `Resources`, or the id that SAM gives it.
    pub logical_id: String,
    /// Its kind.
    pub kind: ApiKind,
    /// `StageName`; `$default` has no part in the path.
    pub stage: String,
    /// `Variables` or `StageVariables`, in each event.
    pub stage_variables: BTreeMap<String, String>,
    /// `BinaryMediaTypes` of a REST API: bodies of these types arrive as base64.
    pub binary_media_types: Vec<String>,
    /// `CorsConfiguration` or `Cors`.
    pub cors: Option<Cors>,
    /// `DefaultRouteSettings` or `MethodSettings`: steady requests per second, and burst.
    pub throttle: Option<Throttle>,
    /// The authorizers that routes can choose.
    pub authorizers: Vec<Authorizer>,
    /// The name of the authorizer of routes that choose none.
    pub default_authorizer: Option<String>,
}

impl HttpApi {
    /// An API on its default stage without settings.
    pub(crate) fn new(logical_id: &str, kind: ApiKind) -> Self {
        Self {
            logical_id: logical_id.to_owned(),
            kind,
            stage: "$default".to_owned(),
            stage_variables: BTreeMap::new(),
            binary_media_types: Vec::new(),
            cors: None,
            throttle: None,
            authorizers: Vec::new(),
            default_authorizer: None,
        }
    }
}

/// A WebSocket API on its stage.
#[derive(Debug, Clone, PartialEq)]
pub struct WebSocketApi {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `RouteSelectionExpression`: the path to the route key in a message, `["action"]` for
    /// `$request.body.action`.
    pub selection: Vec<String>,
    /// `StageName`, resolved.
    pub stage: String,
    /// `DefaultRouteSettings` of the stage.
    pub throttle: Option<Throttle>,
    /// Its routes, with unique keys.
    pub routes: Vec<WebSocketRoute>,
}

/// One route of a WebSocket API with its integration.
#[derive(Debug, Clone, PartialEq)]
pub struct WebSocketRoute {
    /// `$connect`, `$disconnect`, `$default`, or the value in a message at the API's selection
    /// path.
    pub route_key: String,
    /// Logical id of the function.
    pub function: String,
    /// `TimeoutInMillis` of the integration.
    pub timeout: Duration,
    /// Whether the body of the function's response is sent to the client: the route selects a
    /// response and has one.
    pub responds: bool,
    /// `RouteSettings` of the stage for this route; they replace the default ones.
    pub throttle: Option<Throttle>,
    /// The function that decides about handshakes; only `$connect` has one.
    pub authorizer: Option<LambdaAuthorizer>,
}

/// `CorsConfiguration` of an HTTP API.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cors {
    /// `AllowOrigins`.
    pub allow_origins: Vec<String>,
    /// `AllowMethods`.
    pub allow_methods: Vec<String>,
    /// `AllowHeaders`.
    pub allow_headers: Vec<String>,
    /// `ExposeHeaders`.
    pub expose_headers: Vec<String>,
    /// `AllowCredentials`.
    pub allow_credentials: bool,
    /// `MaxAge`.
    pub max_age: Option<Duration>,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throttle {
    /// Tokens added per second.
    pub rate_per_s: f64,
    /// Maximum number of tokens.
    pub burst: u32,
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
    /// `rate(5 minutes)` or `cron(0 3 * * ? *)`; checked when the template is read.
    pub expression: String,
    /// `ScheduleExpressionTimezone`; `None` is UTC.
    pub time_zone: Option<String>,
    /// `Input`: the event. `None`: EventBridge's default event.
    pub input: Option<serde_json::Value>,
    /// `Enabled` or `State`.
    pub enabled: bool,
}

/// A secret; its value is generated on first use and stored in the data folder.
#[derive(Debug, Clone, PartialEq)]
pub struct Secret {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `Name`, resolved.
    pub name: String,
    /// The ARN: the value of `Ref`, accepted by `GetSecretValue`.
    pub arn: String,
    /// `GenerateSecretString.PasswordLength`, 1 to 4096.
    pub length: usize,
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

/// A role with the statements of its own and its managed policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The key under `Resources`.
    pub logical_id: String,
    /// `RoleName`, resolved.
    pub name: String,
    /// The ARN, as `GetAtt Arn` returns it.
    pub arn: String,
    /// Its permissions.
    pub statements: Vec<Statement>,
}

/// Whether a statement allows or denies calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// `Allow`.
    Allow,
    /// `Deny`: no other statement can allow the call.
    Deny,
}

/// A statement of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The policy that contains it: `ClickWriterRole: store-clicks`, or a managed policy's logical
    /// id.
    pub policy: String,
    /// Its line in the template.
    pub line: usize,
    /// `Effect`.
    pub effect: Effect,
    /// `Action`, resolved; `*` stands for any text.
    pub actions: Vec<String>,
    /// `Resource`, resolved; `*` stands for any text.
    pub resources: Vec<String>,
    /// `Condition`: all of them must hold.
    pub conditions: Vec<Condition>,
}

/// A condition on one condition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// `dynamodb:LeadingKeys`.
    pub key: String,
    /// `ForAllValues:` or `ForAnyValue:`.
    pub quantifier: Option<Quantifier>,
    /// The operator.
    pub test: Test,
    /// The values to compare with.
    pub values: Vec<String>,
}

/// How many of a key's values must pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantifier {
    /// `ForAllValues`: holds without values too.
    All,
    /// `ForAnyValue`.
    Any,
}

/// A condition's operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// `StringEquals`.
    Equals,
    /// `StringNotEquals`.
    NotEquals,
    /// `StringLike`.
    Like,
    /// `StringNotLike`.
    NotLike,
    /// `Null`: `true` requires the key to be absent, `false` to be present.
    Null,
}
