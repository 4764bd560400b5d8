//! HTTP and WebSocket APIs, and the routes of functions.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::{Authorizer, IdentitySource, LambdaAuthorizer, RouteAuthorizer};

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
    /// `TimeoutInMillis` of the integration; `None`: the maximum of its kind of API.
    pub timeout: Option<Duration>,
    /// What the API checks before its function is called.
    pub checks: RequestChecks,
}

/// What a REST API with a request validator checks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestChecks {
    /// The headers and parameters of the query that a request needs.
    pub parameters: Vec<IdentitySource>,
    /// JSON schemas of bodies by content type; `$default` is any.
    pub bodies: BTreeMap<String, Value>,
}

/// A response that an API gives by itself: a `mock` integration.
#[derive(Debug, Clone, PartialEq)]
pub struct FixedResponse {
    /// The status.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

/// A response of a REST API to a request that reaches no function, as the template changes it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GatewayResponse {
    /// Instead of the status of its type.
    pub status: Option<u16>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// The content type, and the body with `$context` variables.
    pub template: Option<(String, String)>,
}

impl Route {
    /// A route that leaves the authorizer to its API.
    pub(crate) fn new(api: &str, route_key: &str, payload: PayloadFormat) -> Self {
        let (api, route_key) = (api.to_owned(), route_key.to_owned());
        Self {
            api,
            route_key,
            payload,
            authorizer: RouteAuthorizer::Default,
            scopes: Vec::new(),
            timeout: None,
            checks: RequestChecks::default(),
        }
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
    /// `InvokeMode: RESPONSE_STREAM` of a function URL.
    pub streams_responses: bool,
    /// `CorsConfiguration` or `Cors`.
    pub cors: Option<Cors>,
    /// `DefaultRouteSettings` or `MethodSettings`: steady requests per second, and burst.
    pub throttle: Option<Throttle>,
    /// The authorizers that routes can choose.
    pub authorizers: Vec<Authorizer>,
    /// The name of the authorizer of routes that choose none.
    pub default_authorizer: Option<String>,
    /// Routes without a function, with the response that each has.
    pub fixed_routes: Vec<(Route, FixedResponse)>,
    /// `GatewayResponses`, by their types.
    pub gateway_responses: BTreeMap<String, GatewayResponse>,
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
            streams_responses: false,
            cors: None,
            throttle: None,
            authorizers: Vec::new(),
            default_authorizer: None,
            fixed_routes: Vec::new(),
            gateway_responses: BTreeMap::new(),
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
