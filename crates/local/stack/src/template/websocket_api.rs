//! `AWS::ApiGatewayV2::*`: assembles the one WebSocket API of a template.
//!
//! CloudFormation has a resource for each part: the API, its stage, and for each route the route
//! itself, its integration, and a route response if the function's response is sent to the client.

use std::collections::BTreeMap;
use std::time::Duration;

use super::intrinsics::Resolver;
use super::properties::Properties;
use super::yaml::Node;
use super::{http_api, resources};
use crate::arn;
use crate::stack::{Function, Throttle, WebSocketApi, WebSocketRoute};

/// The predefined routes of API Gateway.
const OWN_ROUTES: [&str; 3] = ["$connect", "$disconnect", "$default"];

/// Maximum and default timeout of an integration.
///
///  Source:
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html>.
const INTEGRATION_MS_MAX: i64 = 29_000;

/// The part of an invocation ARN between the region and the function's ARN.
const INVOCATION_PATH: &str = ":lambda:path/2015-03-31/functions/";

/// Properties without effect on one machine.
const API_CLOUD_ONLY: [&str; 5] = ["Description", "DisableExecuteApiEndpoint", "IpAddressType", "Name", "Tags"];
const STAGE_CLOUD_ONLY: [&str; 5] = ["AccessLogSettings", "AutoDeploy", "DeploymentId", "Description", "Tags"];

/// The parts that were read so far.
#[derive(Debug, Default)]
pub(super) struct WebSocketParts {
    apis: Vec<Api>,
    stages: Vec<Stage>,
    routes: Vec<Route>,
    integrations: Vec<Integration>,
    /// Logical ids of routes that have a response.
    responses: Vec<String>,
}

#[derive(Debug)]
struct Api {
    id: String,
    place: Node,
    selection: Vec<String>,
}

#[derive(Debug)]
struct Stage {
    place: Node,
    name: String,
    throttle: Option<Throttle>,
    route_throttles: BTreeMap<String, (Node, Throttle)>,
}

#[derive(Debug)]
struct Route {
    id: String,
    key: String,
    place: Node,
    /// Logical id of its integration.
    target: String,
    target_place: Node,
    selects_response: bool,
}

#[derive(Debug)]
struct Integration {
    id: String,
    /// The function's ARN.
    function: String,
    place: Node,
    timeout: Duration,
}

impl WebSocketParts {
    /// Reads the part `id`. An invalid part is recorded as a problem and left out.
    pub(super) fn add(&mut self, id: &str, kind: &str, properties: &Properties<'_>) {
        match kind {
            resources::SOCKET_API => self.apis.extend(read_api(id, properties)),
            resources::SOCKET_STAGE => self.stages.extend(read_stage(properties)),
            resources::SOCKET_ROUTE => self.routes.extend(read_route(id, properties)),
            resources::SOCKET_INTEGRATION => self.integrations.extend(read_integration(id, properties)),
            _ => self.responses.extend(read_response(properties)),
        }
    }

    /// The assembled API; `None` if there is none, or after a problem, which is then recorded.
    pub(super) fn assemble(self, resolver: &Resolver<'_>, functions: &[Function]) -> Option<WebSocketApi> {
        let api = self.apis.first()?;
        for other in &self.apis[1..] {
            resolver.problems.at(
                &other.place,
                format!("only one WebSocket API is supported on this machine, and {} is the first", api.id),
            );
        }
        let Some(stage) = self.stages.first() else {
            resolver.problems.at(&api.place, format!("{} has no {}", api.id, resources::SOCKET_STAGE));
            return None;
        };
        for other in &self.stages[1..] {
            resolver.problems.at(
                &other.place,
                format!("only one stage is supported on this machine, and {} is the first", stage.name),
            );
        }
        let mut routes: Vec<WebSocketRoute> = Vec::new();
        for route in &self.routes {
            let (key, place) = (&route.key, &route.place);
            if routes.iter().any(|other| other.route_key == *key) {
                resolver.problems.at(place, format!("the route {key} already exists"));
            } else {
                routes.extend(self.route(route, stage, resolver, functions));
            }
        }
        for (key, (place, _)) in &stage.route_throttles {
            if !self.routes.iter().any(|route| route.key == *key) {
                resolver.problems.at(place, format!("there is no route {key}"));
            }
        }
        let (logical_id, selection) = (api.id.clone(), api.selection.clone());
        Some(WebSocketApi { logical_id, selection, stage: stage.name.clone(), throttle: stage.throttle, routes })
    }

    fn route(
        &self,
        route: &Route,
        stage: &Stage,
        resolver: &Resolver<'_>,
        functions: &[Function],
    ) -> Option<WebSocketRoute> {
        let Some(integration) = self.integrations.iter().find(|integration| integration.id == route.target) else {
            let message = format!("{} is not an {} of this template", route.target, resources::SOCKET_INTEGRATION);
            resolver.problems.at(&route.target_place, message);
            return None;
        };
        let Some(function) = functions.iter().find(|function| arn::function(&function.name) == integration.function)
        else {
            let message = format!("{} is not a function of this template", integration.function);
            resolver.problems.at(&integration.place, message);
            return None;
        };
        Some(WebSocketRoute {
            route_key: route.key.clone(),
            function: function.logical_id.clone(),
            timeout: integration.timeout,
            responds: route.selects_response && self.responses.contains(&route.id),
            throttle: stage.route_throttles.get(&route.key).map(|(_, throttle)| *throttle),
        })
    }
}

fn read_api(id: &str, properties: &Properties<'_>) -> Option<Api> {
    let place = properties.node.clone();
    let protocol = properties.required("ProtocolType");
    let expression = properties.required("RouteSelectionExpression");
    properties.finish("a WebSocket API", &API_CLOUD_ONLY);
    if protocol? != "WEBSOCKET" {
        let message =
            format!("only WebSocket APIs are supported in this type; an HTTP API is an {}", resources::HTTP_API);
        return properties.wrong(&place, message);
    }
    let expression = expression?;
    match selection(&expression) {
        Some(selection) => Some(Api { id: id.to_owned(), place, selection }),
        None => {
            let place = properties.raw("RouteSelectionExpression").unwrap_or(&place);
            properties.wrong(place, format!("{expression:?} is not of the form $request.body.action"))
        }
    }
}

/// The path to a route key: `$request.body.a.b` and `${request.body.a.b}` give `a`, `b`.
fn selection(expression: &str) -> Option<Vec<String>> {
    let inner = expression.strip_prefix('$')?;
    let inner = inner.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(inner);
    let names: Vec<String> = inner.strip_prefix("request.body.")?.split('.').map(str::to_owned).collect();
    let is_name = |name: &String| {
        !name.is_empty() && name.chars().all(|character| character.is_ascii_alphanumeric() || "_-".contains(character))
    };
    names.iter().all(is_name).then_some(names)
}

fn read_stage(properties: &Properties<'_>) -> Option<Stage> {
    let belongs = belongs_to_api(properties);
    let name = properties.required("StageName");
    let throttle = properties.map("DefaultRouteSettings").and_then(|settings| http_api::throttle(&settings));
    let mut route_throttles = BTreeMap::new();
    if let Some(settings) = properties.map("RouteSettings") {
        for (key, node) in settings.node.entries() {
            let own = http_api::throttle(&Properties::new(properties.resolver, node));
            route_throttles.extend(own.map(|own| (key.clone(), (node.clone(), own))));
        }
    }
    properties.finish("a stage", &STAGE_CLOUD_ONLY);
    let (place, name) = (properties.node.clone(), name.filter(|_| belongs)?);
    let is_name = name.chars().all(|character| character.is_ascii_alphanumeric() || "_-".contains(character));
    if name.is_empty() || !is_name {
        return properties.wrong(&place, format!("{name:?} is not a stage name: use letters, digits, _ and -"));
    }
    Some(Stage { place, name, throttle, route_throttles })
}

fn read_route(id: &str, properties: &Properties<'_>) -> Option<Route> {
    let belongs = belongs_to_api(properties);
    let key = properties.required("RouteKey");
    let target = properties.required("Target");
    if let Some(authorization) = properties.text("AuthorizationType").filter(|kind| kind != "NONE") {
        let place = properties.raw("AuthorizationType").unwrap_or(&properties.node);
        properties
            .resolver
            .problems
            .at(place, format!("{authorization} is not supported on this machine: only NONE is"));
    }
    let selects_response = properties.text("RouteResponseSelectionExpression");
    if let Some(other) = selects_response.as_deref().filter(|expression| *expression != "$default") {
        let place = properties.raw("RouteResponseSelectionExpression").unwrap_or(&properties.node);
        properties
            .resolver
            .problems
            .at(place, format!("{other:?} is not supported: WebSocket APIs have only $default"));
    }
    properties.finish("a route", &["OperationName"]);
    let (key, target) = (key.filter(|_| belongs)?, target?);
    let (place, target_place) = (properties.raw("RouteKey")?.clone(), properties.raw("Target")?.clone());
    if key.is_empty() || (key.starts_with('$') && !OWN_ROUTES.contains(&key.as_str())) {
        return properties
            .wrong(&place, format!("{key:?} is not a route key; the keys with $ are {}", OWN_ROUTES.join(", ")));
    }
    let Some(target) = target.strip_prefix("integrations/").map(str::to_owned) else {
        return properties.wrong(&target_place, format!("{target:?} is not of the form integrations/<integration>"));
    };
    let selects_response = selects_response.is_some();
    Some(Route { id: id.to_owned(), key, place, target, target_place, selects_response })
}

fn read_integration(id: &str, properties: &Properties<'_>) -> Option<Integration> {
    let belongs = belongs_to_api(properties);
    let (kind, uri) = (properties.required("IntegrationType"), properties.required("IntegrationUri"));
    let timeout_ms = properties.count("TimeoutInMillis", 50..=INTEGRATION_MS_MAX);
    properties.finish("an integration", &["ConnectionType", "Description", "IntegrationMethod"]);
    if kind.filter(|_| belongs)? != "AWS_PROXY" {
        let place = properties.raw("IntegrationType").unwrap_or(&properties.node);
        return properties
            .wrong(place, "only functions are supported on this machine: IntegrationType must be AWS_PROXY");
    }
    let (place, uri) = (properties.raw("IntegrationUri")?.clone(), uri?);
    let function = uri.split_once(INVOCATION_PATH).and_then(|(_, rest)| rest.strip_suffix("/invocations"));
    let Some(function) = function.map(str::to_owned) else {
        return properties.wrong(&place, format!("{uri:?} is not the ARN of a function's invocations"));
    };
    let timeout = Duration::from_millis(timeout_ms.unwrap_or(INTEGRATION_MS_MAX.unsigned_abs()));
    Some(Integration { id: id.to_owned(), function, place, timeout })
}

/// The logical id of a response's route.
fn read_response(properties: &Properties<'_>) -> Option<String> {
    let belongs = belongs_to_api(properties);
    let (route, key) = (properties.required("RouteId"), properties.required("RouteResponseKey"));
    properties.finish("a route's response", &[]);
    if key.filter(|_| belongs)? != "$default" {
        return properties.wrong(&properties.node, "WebSocket APIs have only the RouteResponseKey $default");
    }
    let (route, place) = (route?, properties.raw("RouteId")?);
    is_a(properties.resolver, place, &route, resources::SOCKET_ROUTE).then_some(route)
}

fn belongs_to_api(properties: &Properties<'_>) -> bool {
    let id = properties.required("ApiId");
    let place = properties.raw("ApiId").unwrap_or(&properties.node);
    id.is_some_and(|id| is_a(properties.resolver, place, &id, resources::SOCKET_API))
}

/// Whether the resource with this logical id has the type; records a problem if not.
fn is_a(resolver: &Resolver<'_>, place: &Node, id: &str, kind: &str) -> bool {
    let resource = resolver.resources.iter().find(|(other, _)| other == id);
    let found = resource.and_then(|(_, resource)| resource.get("Type")).and_then(Node::as_text);
    if found != Some(kind) {
        resolver.problems.at(place, format!("{id} is not an {kind} of this template"));
    }
    found == Some(kind)
}
