//! `AWS::ApiGateway::*`: a REST API in the form of CloudFormation and of the CDK, converted to an
//! OpenAPI document. So there is one reader of routes.

use std::collections::BTreeMap;

use super::intrinsics::Resolver;
use super::properties::Properties;
use super::resources::{self, ROOT_RESOURCE};
use super::yaml::{Node, NodeKind};
use super::{authorizers, gateway_responses, openapi, rest_api, routes};
use crate::stack::{ApiKind, HttpApi, Stack};

/// The deepest path; API Gateway allows far less.
const DEPTH_MAX: usize = 64;

/// The parts of an API.
const PARTS: [&str; 8] = [
    resources::REST_RESOURCE,
    resources::REST_METHOD,
    resources::REST_DEPLOYMENT,
    resources::REST_STAGE,
    resources::REST_AUTHORIZER,
    resources::REST_VALIDATOR,
    resources::REST_MODEL,
    resources::REST_RESPONSE,
];

/// Models that each API has.
const OWN_MODELS: [&str; 2] = ["Empty", "Error"];

/// Adds the APIs with their routes, after all functions are read.
pub(super) fn add(resolver: &Resolver<'_>, stack: &mut Stack) {
    for (id, resource, properties) in Properties::of_type(resolver, resources::GATEWAY_REST) {
        let parts = Parts { resolver, api: id };
        let media_types = properties.texts("BinaryMediaTypes").iter().map(|kind| kind.replace("~1", "/")).collect();
        let body = properties.raw("Body").cloned();
        properties.finish(resources::GATEWAY_REST);
        let mut api = HttpApi { binary_media_types: media_types, ..HttpApi::new(id, ApiKind::Rest) };
        parts.stage(resource, &mut api);
        stack.http_apis.push(api);
        let own = parts.document(resource);
        let document = match body {
            Some(body) if own.get("paths").is_some_and(|paths| paths.entries().is_empty()) => body,
            Some(body) => {
                let message = "a Body beside an AWS::ApiGateway::Method is not supported on this machine";
                resolver.problems.unsupported(&body, message);
                continue;
            }
            None => own,
        };
        openapi::add(&document, id, resolver, stack);
    }
    add_foreign(resolver, stack);
}

/// Parts of other APIs: a response of one that SAM makes has an effect, and others have none.
fn add_foreign(resolver: &Resolver<'_>, stack: &mut Stack) {
    let is_own = |id: &str| {
        let found = resolver.resources.iter().find(|(other, _)| other == id).and_then(|(_, api)| api.get("Type"));
        found.and_then(Node::as_text) == Some(resources::GATEWAY_REST)
    };
    for kind in PARTS {
        for (id, _, properties) in Properties::of_type(resolver, kind) {
            let Some(api) = properties.required("RestApiId").filter(|api| !is_own(api)) else { continue };
            let parts = Parts { resolver, api: &api };
            let found = stack.http_apis.iter_mut().find(|other| other.logical_id == api && other.kind == ApiKind::Rest);
            if let (resources::REST_RESPONSE, Some(found)) = (kind, found) {
                let responses = map(&properties.node, parts.responses());
                found.gateway_responses.extend(gateway_responses::of_document(&responses, resolver));
            } else {
                let message = format!("{id} is left out: {api} is not an {} of this template", resources::GATEWAY_REST);
                resolver.problems.left_out(&properties.node, message);
            }
        }
    }
}

/// The resources that belong to one API.
struct Parts<'a> {
    resolver: &'a Resolver<'a>,
    api: &'a str,
}

/// A part of a document: a name with its value.
type Entry = (String, Node);

fn map(place: &Node, entries: Vec<Entry>) -> Node {
    place.with(NodeKind::Map(entries))
}

impl<'a> Parts<'a> {
    fn of(&self, kind: &'static str) -> impl Iterator<Item = (&'a String, Properties<'a>)> {
        let own = self.api;
        Properties::of_type(self.resolver, kind)
            .filter(move |(_, _, properties)| properties.text("RestApiId").as_deref() == Some(own))
            .map(|(id, _, properties)| (id, properties))
    }

    /// The first stage, or that of a deployment.
    fn stage(&self, place: &Node, api: &mut HttpApi) {
        let mut deployed = None;
        for (_, deployment) in self.of(resources::REST_DEPLOYMENT) {
            deployed = deployed.or(deployment.text("StageName"));
            deployment.finish(resources::REST_DEPLOYMENT);
        }
        let mut names = Vec::new();
        for (_, stage) in self.of(resources::REST_STAGE) {
            names.extend(stage.required("StageName"));
            let variables = rest_api::stage_variables(&stage, "Variables");
            let settings = stage.list("MethodSettings");
            let throttle = settings.iter().find_map(|settings| rest_api::throttle(&stage, settings));
            stage.finish(resources::REST_STAGE);
            if names.len() > 1 {
                let message = format!("only one stage is supported on this machine, and {} is the first", names[0]);
                self.resolver.problems.unsupported(&stage.node, message);
            } else {
                (api.stage_variables, api.throttle) = (variables, throttle);
            }
        }
        match names.into_iter().next().or(deployed) {
            Some(name) => api.stage = name,
            None => self.resolver.problems.ignored(place, "the API has no stage: its routes have no stage in the path"),
        }
    }

    fn document(&self, place: &Node) -> Node {
        let mut paths: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for (_, resource) in self.of(resources::REST_RESOURCE) {
            resource.required("PathPart");
            resource.required("ParentId");
            resource.finish(resources::REST_RESOURCE);
        }
        for (_, method) in self.of(resources::REST_METHOD) {
            let (resource, name) = (method.required("ResourceId"), method.required("HttpMethod"));
            let path = resource.and_then(|resource| self.path(&method, &resource));
            let operation = self.operation(&method);
            method.finish(resources::REST_METHOD);
            let (Some(path), Some(name)) = (path, name) else { continue };
            let name = match name.to_ascii_uppercase().as_str() {
                "ANY" => "x-amazon-apigateway-any-method".to_owned(),
                _ => name.to_ascii_lowercase(),
            };
            paths.entry(path).or_default().push((name, operation));
        }
        let paths = paths.into_iter().map(|(path, operations)| (path, map(place, operations))).collect();
        let entries = [
            ("swagger", place.text("2.0")),
            ("paths", map(place, paths)),
            ("securityDefinitions", map(place, self.authorizers())),
            ("definitions", map(place, self.models(place))),
            (openapi::VALIDATORS, map(place, self.validators())),
            ("x-amazon-apigateway-gateway-responses", map(place, self.responses())),
        ];
        map(place, entries.map(|(name, node)| (name.to_owned(), node)).into())
    }

    fn path(&self, method: &Properties<'_>, resource: &str) -> Option<String> {
        let (mut path, mut next) = (String::new(), resource.to_owned());
        for _ in 0..DEPTH_MAX {
            if next == ROOT_RESOURCE {
                return Some(if path.is_empty() { "/".to_owned() } else { path });
            }
            let Some((_, found)) = self.of(resources::REST_RESOURCE).find(|(id, _)| **id == next) else { break };
            path = format!("/{}{path}", found.text("PathPart")?);
            next = found.text("ParentId")?;
        }
        let place = method.raw("ResourceId").unwrap_or(&method.node);
        method.wrong(place, format!("{next} is not an {} of {} below its root", resources::REST_RESOURCE, self.api))
    }

    fn operation(&self, method: &Properties<'_>) -> Node {
        let mut entries = vec![("security".to_owned(), self.security(method))];
        if let Some(key) = method.raw("ApiKeyRequired").filter(|key| key.as_text() != Some("false")) {
            self.resolver.problems.unchecked(key, authorizers::KEYS_IGNORED);
        }
        let mut parameters = Vec::new();
        for (name, is_required) in method.raw("RequestParameters").map(Node::entries).unwrap_or_default() {
            let place = match name.split('.').nth(2) {
                Some("header") => "header",
                Some("querystring") => "query",
                _ => continue,
            };
            let name = name.splitn(4, '.').last().unwrap_or_default();
            let parts =
                [("in", method.node.text(place)), ("name", method.node.text(name)), ("required", is_required.clone())];
            parameters.push(map(is_required, parts.map(|(name, node)| (name.to_owned(), node)).into()));
        }
        entries.push(("parameters".to_owned(), method.node.with(NodeKind::List(parameters))));
        if let Some(models) = method.raw("RequestModels") {
            let content = models.entries().iter().filter_map(|(kind, model)| {
                let name = self.resolver.text(model)?;
                let reference = map(model, vec![("$ref".to_owned(), model.text(format!("#/definitions/{name}")))]);
                Some((kind.clone(), map(model, vec![("schema".to_owned(), reference)])))
            });
            let content = map(models, content.collect());
            entries.push(("requestBody".to_owned(), map(models, vec![("content".to_owned(), content)])));
        }
        if let Some(validator) = method.raw("RequestValidatorId") {
            entries.push((openapi::VALIDATOR.to_owned(), validator.clone()));
        }
        if let Some(integration) = method.map("Integration") {
            entries.push((openapi::INTEGRATION.to_owned(), integration_of(&integration)));
        }
        map(&method.node, entries)
    }

    /// The requirements of a method: none, or its authorizer.
    fn security(&self, method: &Properties<'_>) -> Node {
        let kind = method.text("AuthorizationType").unwrap_or_else(|| "NONE".to_owned());
        let authorizer = method.text("AuthorizerId");
        let scopes = method.raw("AuthorizationScopes").cloned();
        let place = method.raw("AuthorizationType").unwrap_or(&method.node);
        let requirement = match (kind.as_str(), authorizer) {
            ("NONE", _) => None,
            ("AWS_IAM", _) => {
                self.resolver.problems.unchecked(place, routes::IAM_IGNORED);
                None
            }
            ("CUSTOM" | "COGNITO_USER_POOLS", Some(id)) => {
                let scopes = scopes.unwrap_or_else(|| place.with(NodeKind::List(Vec::new())));
                Some(map(place, vec![(id, scopes)]))
            }
            _ => method.wrong(place, format!("{kind} needs an AuthorizerId, and must be CUSTOM, AWS_IAM or NONE")),
        };
        place.with(NodeKind::List(requirement.into_iter().collect()))
    }

    fn authorizers(&self) -> Vec<Entry> {
        let renamed = [
            ("Type", "type"),
            ("AuthorizerUri", "authorizerUri"),
            ("IdentitySource", "identitySource"),
            ("IdentityValidationExpression", "identityValidationExpression"),
            ("AuthorizerResultTtlInSeconds", "authorizerResultTtlInSeconds"),
        ];
        let read = |(id, authorizer): (&String, Properties<'_>)| {
            let entries = taken(&authorizer, &renamed);
            authorizer.finish(resources::REST_AUTHORIZER);
            let node = map(&authorizer.node, entries);
            (id.clone(), map(&authorizer.node, vec![(openapi::AUTHORIZER.to_owned(), node)]))
        };
        self.of(resources::REST_AUTHORIZER).map(read).collect()
    }

    fn models(&self, place: &Node) -> Vec<Entry> {
        let mut models: Vec<Entry> =
            OWN_MODELS.iter().map(|name| ((*name).to_owned(), map(place, Vec::new()))).collect();
        for (id, model) in self.of(resources::REST_MODEL) {
            let name = model.text("Name").unwrap_or_else(|| id.clone());
            models.extend(model.raw("Schema").map(|schema| (name, schema.clone())));
            model.finish(resources::REST_MODEL);
        }
        models
    }

    fn validators(&self) -> Vec<Entry> {
        let renamed = [
            ("ValidateRequestBody", "validateRequestBody"),
            ("ValidateRequestParameters", "validateRequestParameters"),
        ];
        let read = |(id, validator): (&String, Properties<'_>)| {
            let entries = taken(&validator, &renamed);
            validator.finish(resources::REST_VALIDATOR);
            (id.clone(), map(&validator.node, entries))
        };
        self.of(resources::REST_VALIDATOR).map(read).collect()
    }

    fn responses(&self) -> Vec<Entry> {
        let renamed = [
            ("StatusCode", "statusCode"),
            ("ResponseParameters", "responseParameters"),
            ("ResponseTemplates", "responseTemplates"),
        ];
        let read = |(_, response): (&String, Properties<'_>)| {
            let entries = taken(&response, &renamed);
            let kind = response.required("ResponseType");
            response.finish(resources::REST_RESPONSE);
            Some((kind?, map(&response.node, entries)))
        };
        self.of(resources::REST_RESPONSE).filter_map(read).collect()
    }
}

/// The properties under their names in a document.
fn taken(properties: &Properties<'_>, renamed: &[(&str, &str)]) -> Vec<Entry> {
    let entry = |(name, new): &(&str, &str)| Some(((*new).to_owned(), properties.raw(name)?.clone()));
    renamed.iter().filter_map(entry).collect()
}

fn integration_of(integration: &Properties<'_>) -> Node {
    let renamed = [
        ("Type", "type"),
        ("Uri", "uri"),
        ("TimeoutInMillis", "timeoutInMillis"),
        ("RequestTemplates", "requestTemplates"),
    ];
    let mut entries = taken(integration, &renamed);
    let responses = integration.list("IntegrationResponses").into_iter().map(|node| {
        let response = Properties::new(integration.resolver, &node);
        let pattern = response.text("SelectionPattern").filter(|pattern| !pattern.is_empty());
        let renamed = [
            ("StatusCode", "statusCode"),
            ("ResponseParameters", "responseParameters"),
            ("ResponseTemplates", "responseTemplates"),
        ];
        let entries = taken(&response, &renamed);
        response.finish("AWS::ApiGateway::Method.Integration.IntegrationResponses[]");
        (pattern.unwrap_or_else(|| "default".to_owned()), map(&node, entries))
    });
    entries.push(("responses".to_owned(), map(&integration.node, responses.collect())));
    integration.finish("AWS::ApiGateway::Method.Integration");
    map(&integration.node, entries)
}
