//! Assembles a WebSocket API.

use std::time::Duration;

use super::super::intrinsics::Resolver;
use super::super::{resources, routes};
use super::parts::{Api, Protocol, Route, Stage};
use super::{GatewayParts, function_of};
use crate::stack::{AuthorizerEvent, AuthorizerKind, Function, LambdaAuthorizer, WebSocketApi, WebSocketRoute};

/// The predefined routes of API Gateway.
const OWN_ROUTES: [&str; 3] = ["$connect", "$disconnect", "$default"];

/// Maximum and default timeout of an integration.
const INTEGRATION_MAX: Duration = Duration::from_secs(29);

impl GatewayParts {
    /// The API with its routes; `None` after a problem, which is then recorded.
    pub(super) fn websocket(&self, api: &Api, resolver: &Resolver<'_>, functions: &[Function]) -> Option<WebSocketApi> {
        let Protocol::WebSocket { selection } = &api.protocol else { return None };
        let Some(stage) = self.stage(api, resolver) else {
            resolver.problems.missing(&api.place, format!("{} has no {}", api.id, resources::GATEWAY_STAGE));
            return None;
        };
        let mut routes: Vec<WebSocketRoute> = Vec::new();
        for route in self.routes_of(api) {
            if routes.iter().any(|other| other.route_key == route.key) {
                resolver.problems.at(&route.place, format!("the route {} already exists", route.key));
            } else {
                routes.extend(self.websocket_route(route, stage, resolver, functions));
            }
        }
        for (key, (place, _)) in &stage.route_throttles {
            if !self.routes_of(api).any(|route| route.key == *key) {
                resolver.problems.unknown(place, format!("there is no route {key}"));
            }
        }
        Some(WebSocketApi {
            logical_id: api.id.clone(),
            selection: selection.clone(),
            stage: stage.name.clone(),
            throttle: stage.throttle,
            routes,
        })
    }

    fn websocket_route(
        &self,
        route: &Route,
        stage: &Stage,
        resolver: &Resolver<'_>,
        functions: &[Function],
    ) -> Option<WebSocketRoute> {
        let Route { key, place, .. } = route;
        if key.is_empty() || (key.starts_with('$') && !OWN_ROUTES.contains(&key.as_str())) {
            let message = format!("{key:?} is not a route key; the keys with $ are {}", OWN_ROUTES.join(", "));
            resolver.problems.at(place, message);
        }
        if let Some((other, place)) = route.response_selection.as_ref().filter(|(selected, _)| selected != "$default") {
            resolver.problems.at(place, format!("{other:?} is not supported: WebSocket APIs have only $default"));
        }
        let integration = self.integration(route, resolver)?;
        if !integration.uri.contains(":lambda:path/") || !integration.uri.ends_with("/invocations") {
            let message = format!("{:?} is not the ARN of a function's invocations", integration.uri);
            resolver.problems.at(&integration.place, message);
            return None;
        }
        let function = function_of(resolver, functions, &integration.uri, &integration.place)?;
        Some(WebSocketRoute {
            route_key: key.clone(),
            function: functions[function].logical_id.clone(),
            timeout: integration.timeout.unwrap_or(INTEGRATION_MAX).min(INTEGRATION_MAX),
            responds: route.response_selection.is_some() && self.responses.contains(&route.id),
            throttle: stage.route_throttles.get(key).map(|(_, throttle)| *throttle),
            authorizer: self.websocket_authorizer(route, resolver),
        })
    }

    /// The authorizer of `$connect`; other routes cannot have one.
    fn websocket_authorizer(&self, route: &Route, resolver: &Resolver<'_>) -> Option<LambdaAuthorizer> {
        let (kind, place) = route.authorization.as_ref().filter(|(kind, _)| kind != "NONE")?;
        if kind == "AWS_IAM" {
            resolver.problems.unchecked(place, routes::IAM_IGNORED);
            return None;
        }
        let chosen = self
            .authorizers
            .iter()
            .find(|(api, own)| *api == route.api && Some(&own.name) == route.authorizer.as_ref());
        match chosen.map(|(_, authorizer)| &authorizer.kind) {
            Some(AuthorizerKind::Lambda(lambda)) if kind == "CUSTOM" && route.key == "$connect" => {
                // Authorizers of WebSocket APIs have one format, and keep no answers.
                let event = AuthorizerEvent::RequestV1;
                Some(LambdaAuthorizer { event, simple_responses: false, ttl: Duration::ZERO, ..lambda.clone() })
            }
            _ => {
                let message = "only $connect of a WebSocket API can have an authorizer, of the type CUSTOM and with an AuthorizerId that is a function";
                resolver.problems.at(place, message);
                None
            }
        }
    }
}
