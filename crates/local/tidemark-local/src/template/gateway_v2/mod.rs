//! `AWS::ApiGatewayV2::*`: assembles WebSocket APIs and HTTP APIs from their parts.
//!
//! CloudFormation has a resource for each part: the API, its stage, its authorizers, and for each
//! route the route itself and its integration.

mod http;
mod parts;
mod websocket;

use super::intrinsics::Resolver;
use super::properties::Properties;
use super::yaml::Node;
use super::{resources, targets};
use crate::arn;
use crate::stack::{Authorizer, Function, Stack};
use parts::{Api, Integration, Protocol, Route, Stage};

/// The parts that were read so far. Each names its API.
#[derive(Debug, Default)]
pub(super) struct GatewayParts {
    apis: Vec<Api>,
    stages: Vec<Stage>,
    routes: Vec<Route>,
    integrations: Vec<Integration>,
    authorizers: Vec<(String, Authorizer)>,
    /// Logical ids of routes that have a response.
    responses: Vec<String>,
}

impl GatewayParts {
    /// Reads the part `id`. An invalid part is recorded as a problem and left out.
    pub(super) fn add(&mut self, id: &str, kind: &str, properties: &Properties<'_>) {
        match kind {
            resources::GATEWAY_API => self.apis.extend(parts::read_api(id, properties)),
            resources::GATEWAY_STAGE => self.stages.extend(parts::read_stage(properties)),
            resources::GATEWAY_ROUTE => self.routes.extend(parts::read_route(id, properties)),
            resources::GATEWAY_INTEGRATION => self.integrations.extend(parts::read_integration(id, properties)),
            resources::GATEWAY_AUTHORIZER => self.authorizers.extend(parts::read_authorizer(id, properties)),
            _ => self.responses.extend(parts::read_response(properties)),
        }
    }

    /// Adds the assembled APIs and their routes to the stack.
    pub(super) fn assemble(&self, resolver: &Resolver<'_>, stack: &mut Stack) {
        let is_socket = |api: &&Api| matches!(api.protocol, Protocol::WebSocket { .. });
        let mut sockets = self.apis.iter().filter(is_socket);
        if let Some(api) = sockets.next() {
            for other in sockets {
                let message =
                    format!("only one WebSocket API is supported on this machine, and {} is the first", api.id);
                resolver.problems.unsupported(&other.place, message);
            }
            stack.web_socket_api = self.websocket(api, resolver, &stack.functions);
        }
        for api in self.apis.iter().filter(|api| !is_socket(api)) {
            self.http(api, resolver, stack);
        }
    }

    /// The stage of an API. One API has one stage on this machine.
    fn stage(&self, api: &Api, resolver: &Resolver<'_>) -> Option<&Stage> {
        let mut stages = self.stages.iter().filter(|stage| stage.api == api.id);
        let stage = stages.next()?;
        for other in stages {
            let message = format!("only one stage is supported on this machine, and {} is the first", stage.name);
            resolver.problems.unsupported(&other.place, message);
        }
        Some(stage)
    }

    fn routes_of(&self, api: &Api) -> impl Iterator<Item = &Route> {
        self.routes.iter().filter(|route| route.api == api.id)
    }

    /// The integration of a route; records a problem if the template does not have it.
    fn integration(&self, route: &Route, resolver: &Resolver<'_>) -> Option<&Integration> {
        let found = self.integrations.iter().find(|integration| integration.id == route.target);
        if found.is_none() {
            let message = format!("{} is not an {} of this template", route.target, resources::GATEWAY_INTEGRATION);
            resolver.problems.unknown(&route.target_place, message);
        }
        found
    }
}

/// The index of the function of an integration; records a problem if the template does not have it.
fn function_of(resolver: &Resolver<'_>, functions: &[Function], uri: &str, place: &Node) -> Option<usize> {
    let arn = targets::invoked(uri);
    let found = functions.iter().position(|function| arn::function(&function.name) == arn);
    if found.is_none() {
        resolver.problems.unknown(place, format!("{arn} is not a function of this template"));
    }
    found
}
