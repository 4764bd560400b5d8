//! Reads the parts of APIs, each by itself.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::authorizers;
use super::super::http_api::{cors_of, throttle};
use super::super::intrinsics::Resolver;
use super::super::problems::ProblemCode;
use super::super::properties::Properties;
use super::super::resources;
use super::super::rest_api::stage_variables;
use super::super::yaml::Node;
use crate::stack::{Authorizer, Cors, PayloadFormat, Throttle};

/// Maximum timeout of an integration of a WebSocket API and of an HTTP API.
///
/// Source:
/// <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-execution-service-websocket-limits-table.html>.
const INTEGRATION_MS_MAX: i64 = 30_000;

#[derive(Debug)]
pub(super) struct Api {
    pub(super) id: String,
    pub(super) place: Node,
    pub(super) protocol: Protocol,
}

#[derive(Debug)]
pub(super) enum Protocol {
    /// With the path to the route key in a message.
    WebSocket { selection: Vec<String> },
    /// With the ARN of a function that `Target` names, and its route.
    Http { cors: Option<Cors>, quick_create: Option<(String, String)> },
}

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) api: String,
    pub(super) place: Node,
    pub(super) name: String,
    pub(super) throttle: Option<Throttle>,
    pub(super) route_throttles: BTreeMap<String, (Node, Throttle)>,
    pub(super) variables: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct Route {
    pub(super) api: String,
    pub(super) id: String,
    pub(super) key: String,
    pub(super) place: Node,
    /// Logical id of its integration.
    pub(super) target: String,
    pub(super) target_place: Node,
    /// `AuthorizationType`.
    pub(super) authorization: Option<(String, Node)>,
    /// Logical id of its authorizer.
    pub(super) authorizer: Option<String>,
    pub(super) scopes: Vec<String>,
    pub(super) response_selection: Option<(String, Node)>,
}

#[derive(Debug)]
pub(super) struct Integration {
    pub(super) id: String,
    /// The function's ARN, or that of its invocations.
    pub(super) uri: String,
    pub(super) place: Node,
    pub(super) timeout: Option<Duration>,
    pub(super) payload: PayloadFormat,
}

pub(super) fn read_api(id: &str, properties: &Properties<'_>) -> Option<Api> {
    let place = properties.node.clone();
    // A document describes an HTTP API.
    let body = properties.raw("Body").is_some();
    let protocol = if body { properties.text("ProtocolType") } else { properties.required("ProtocolType") };
    let protocol = match protocol.as_deref().unwrap_or("HTTP") {
        "WEBSOCKET" => {
            if let Some(node) = properties.raw("Body") {
                properties
                    .resolver
                    .problems
                    .unsupported(node, "a Body of a WebSocket API is not supported on this machine");
            }
            let expression = properties.required("RouteSelectionExpression")?;
            let place = properties.raw("RouteSelectionExpression")?;
            let Some(selection) = selection(&expression) else {
                let message = format!("{expression:?} is not of the form $request.body.action");
                return properties.wrong(place, message);
            };
            Protocol::WebSocket { selection }
        }
        "HTTP" => {
            properties.raw("RouteSelectionExpression");
            if let Some(node) = properties.raw("BodyS3Location") {
                let message = "BodyS3Location is not supported on this machine: write the document as Body";
                properties.resolver.problems.unsupported(node, message);
            }
            let route_key = properties.text("RouteKey").unwrap_or_else(|| "$default".to_owned());
            let cors = properties.raw("CorsConfiguration").and_then(|node| cors_of(properties, node));
            let quick_create = properties.text("Target").map(|target| (target, route_key));
            Protocol::Http { cors, quick_create }
        }
        other => return properties.wrong(&place, format!("ProtocolType must be HTTP or WEBSOCKET, not {other}")),
    };
    properties.finish(resources::GATEWAY_API);
    Some(Api { id: id.to_owned(), place, protocol })
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

pub(super) fn read_stage(properties: &Properties<'_>) -> Option<Stage> {
    let api = api_of(properties);
    let name = properties.required("StageName");
    let own = properties.map("DefaultRouteSettings").and_then(|settings| throttle(&settings));
    let mut route_throttles = BTreeMap::new();
    if let Some(settings) = properties.map("RouteSettings") {
        for (key, node) in settings.node.entries() {
            let own = throttle(&Properties::new(properties.resolver, node));
            route_throttles.extend(own.map(|own| (key.clone(), (node.clone(), own))));
        }
    }
    let variables = stage_variables(properties, "StageVariables");
    properties.finish(resources::GATEWAY_STAGE);
    let (place, api, name) = (properties.node.clone(), api?, name?);
    let is_name = name.chars().all(|character| character.is_ascii_alphanumeric() || "_-".contains(character));
    if name.is_empty() || !(is_name || name == "$default") {
        return properties.wrong(&place, format!("{name:?} is not a stage name: use letters, digits, _ and -"));
    }
    Some(Stage { api, place, name, throttle: own, route_throttles, variables })
}

pub(super) fn read_route(id: &str, properties: &Properties<'_>) -> Option<Route> {
    let api = api_of(properties);
    let key = properties.required("RouteKey");
    let target = properties.required("Target");
    let with_place = |name: &str| Some((properties.text(name)?, properties.raw(name)?.clone()));
    let authorization = with_place("AuthorizationType");
    let authorizer = properties.text("AuthorizerId");
    let scopes = properties.texts("AuthorizationScopes");
    let response_selection = with_place("RouteResponseSelectionExpression");
    if let Some(key) = properties.raw("ApiKeyRequired") {
        properties.resolver.problems.unchecked(key, "API keys are not checked on this machine");
    }
    properties.finish(resources::GATEWAY_ROUTE);
    let (api, key, target) = (api?, key?, target?);
    let (place, target_place) = (properties.raw("RouteKey")?.clone(), properties.raw("Target")?.clone());
    let Some(target) = target.strip_prefix("integrations/").map(str::to_owned) else {
        return properties.wrong(&target_place, format!("{target:?} is not of the form integrations/<integration>"));
    };
    let id = id.to_owned();
    Some(Route { api, id, key, place, target, target_place, authorization, authorizer, scopes, response_selection })
}

pub(super) fn read_integration(id: &str, properties: &Properties<'_>) -> Option<Integration> {
    let api = api_of(properties);
    let (kind, uri) = (properties.required("IntegrationType"), properties.required("IntegrationUri"));
    let timeout_ms: Option<u64> = properties.count("TimeoutInMillis", 50..=INTEGRATION_MS_MAX);
    let payload = match properties.text("PayloadFormatVersion").as_deref() {
        Some("2.0") => PayloadFormat::V2,
        // The default of an integration, unlike that of SAM's events.
        _ => PayloadFormat::V1,
    };
    properties.finish(resources::GATEWAY_INTEGRATION);
    api?;
    if kind? != "AWS_PROXY" {
        let place = properties.raw("IntegrationType").unwrap_or(&properties.node);
        return properties.refuse(
            ProblemCode::Unsupported,
            place,
            "only functions are supported on this machine: IntegrationType must be AWS_PROXY",
        );
    }
    let (place, uri) = (properties.raw("IntegrationUri")?.clone(), uri?);
    let timeout = timeout_ms.map(Duration::from_millis);
    Some(Integration { id: id.to_owned(), uri, place, timeout, payload })
}

/// The logical id of an API, and an authorizer of it.
pub(super) fn read_authorizer(id: &str, properties: &Properties<'_>) -> Option<(String, Authorizer)> {
    let api = api_of(properties);
    let kind = authorizers::of_resource(properties);
    properties.finish(resources::GATEWAY_AUTHORIZER);
    Some((api?, Authorizer { name: id.to_owned(), kind: kind? }))
}

/// The logical id of a response's route.
pub(super) fn read_response(properties: &Properties<'_>) -> Option<String> {
    let api = api_of(properties);
    let (route, key) = (properties.required("RouteId"), properties.required("RouteResponseKey"));
    properties.finish(resources::GATEWAY_RESPONSE);
    api?;
    if key? != "$default" {
        return properties.wrong(&properties.node, "WebSocket APIs have only the RouteResponseKey $default");
    }
    let (route, place) = (route?, properties.raw("RouteId")?);
    is_a(properties.resolver, place, &route, resources::GATEWAY_ROUTE).then_some(route)
}

/// The logical id of a part's API.
fn api_of(properties: &Properties<'_>) -> Option<String> {
    let id = properties.required("ApiId")?;
    let place = properties.raw("ApiId")?;
    is_a(properties.resolver, place, &id, resources::GATEWAY_API).then_some(id)
}

/// Whether the resource with this logical id has the type; records a problem if not.
fn is_a(resolver: &Resolver<'_>, place: &Node, id: &str, kind: &str) -> bool {
    let resource = resolver.resources.iter().find(|(other, _)| other == id);
    let found = resource.and_then(|(_, resource)| resource.get("Type")).and_then(Node::as_text);
    if found != Some(kind) {
        resolver.problems.unknown(place, format!("{id} is not an {kind} of this template"));
    }
    found == Some(kind)
}
