//! Assembles an HTTP API.

use super::super::intrinsics::Resolver;
use super::super::routes;
use super::parts::{Api, Protocol, Route};
use super::{GatewayParts, function_of};
use crate::stack::{self, ApiKind, HttpApi, PayloadFormat, RouteAuthorizer, Stack};

impl GatewayParts {
    /// Adds the API and its routes to the stack.
    pub(super) fn http(&self, api: &Api, resolver: &Resolver<'_>, stack: &mut Stack) {
        let Protocol::Http { cors, quick_create } = &api.protocol else { return };
        let mut assembled = HttpApi { cors: cors.clone(), ..HttpApi::new(&api.id, ApiKind::Http) };
        if let Some(stage) = self.stage(api, resolver) {
            assembled.stage.clone_from(&stage.name);
            assembled.stage_variables = stage.variables.clone();
            assembled.throttle = stage.throttle;
            for (place, _) in stage.route_throttles.values() {
                let message = "settings of single routes have no effect on this machine: only those of all routes have";
                resolver.problems.ignored(place, message);
            }
        } else if quick_create.is_none() {
            // On AWS, an API without a stage cannot be reached.
            resolver.problems.ignored(&api.place, "the API has no stage: $default is served");
        }
        let own = self.authorizers.iter().filter(|(id, _)| *id == api.id);
        assembled.authorizers = own.map(|(_, authorizer)| authorizer.clone()).collect();
        if let Some((target, key)) = quick_create
            && let Some(function) = function_of(resolver, &stack.functions, target, &api.place)
            && checked(key, resolver, &api.place)
        {
            stack.functions[function].routes.push(stack::Route::new(&api.id, key, PayloadFormat::V2));
        }
        for route in self.routes_of(api) {
            let Some(integration) = self.integration(route, resolver) else { continue };
            let found = function_of(resolver, &stack.functions, &integration.uri, &integration.place);
            let (Some(function), true) = (found, checked(&route.key, resolver, &route.place)) else { continue };
            stack.functions[function].routes.push(stack::Route {
                authorizer: authorizer(route, resolver),
                scopes: route.scopes.clone(),
                timeout: integration.timeout,
                ..stack::Route::new(&api.id, &route.key, integration.payload)
            });
        }
        stack.http_apis.push(assembled);
    }
}

/// Whether a route's key is valid; records a problem if not.
fn checked(key: &str, resolver: &Resolver<'_>, place: &super::Node) -> bool {
    routes::check_key(key).map_err(|message| resolver.problems.at(place, message)).is_ok()
}

fn authorizer(route: &Route, resolver: &Resolver<'_>) -> RouteAuthorizer {
    let Some((kind, place)) = &route.authorization else { return RouteAuthorizer::None };
    match (kind.as_str(), &route.authorizer) {
        ("NONE", _) => RouteAuthorizer::None,
        ("AWS_IAM", _) => {
            resolver.problems.unchecked(place, routes::IAM_IGNORED);
            RouteAuthorizer::None
        }
        ("JWT" | "CUSTOM", Some(id)) => RouteAuthorizer::Named(id.clone()),
        _ => {
            resolver
                .problems
                .at(place, format!("{kind} needs an AuthorizerId, and must be JWT, CUSTOM, AWS_IAM or NONE"));
            RouteAuthorizer::None
        }
    }
}
