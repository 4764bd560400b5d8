//! APIs that an OpenAPI document describes: `DefinitionBody`, `DefinitionUri` and `Body`.
//!
//! OpenAPI 3 and Swagger 2, with API Gateway's extensions:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-swagger-extensions.html>.
//! A part that callers or functions would notice, and that is not here, is refused with its path.

use std::time::Duration;

use serde_json::{Value, json};

use super::files::Files;
use super::intrinsics::Resolver;
use super::problems::{ProblemCode, problem};
use super::properties::{Properties, json as to_json};
use super::yaml::{Node, NodeKind};
use super::{authorizers, gateway_responses, mock, models, resources, routes, targets};
use crate::stack::{
    ApiKind, Authorizer, Cors, FixedResponse, HttpApi, IdentitySource, PayloadFormat, RequestChecks, Route,
    RouteAuthorizer, Stack,
};

pub(super) const INTEGRATION: &str = "x-amazon-apigateway-integration";
pub(super) const AUTHORIZER: &str = "x-amazon-apigateway-authorizer";
pub(super) const VALIDATOR: &str = "x-amazon-apigateway-request-validator";
pub(super) const VALIDATORS: &str = "x-amazon-apigateway-request-validators";

/// API Gateway's extensions that are read, or that change nothing for a caller. Others are refused.
const EXTENSIONS: [&str; 19] = [
    INTEGRATION,
    AUTHORIZER,
    VALIDATOR,
    VALIDATORS,
    "x-amazon-apigateway-any-method",
    "x-amazon-apigateway-api-key-source",
    "x-amazon-apigateway-auth",
    "x-amazon-apigateway-authtype",
    "x-amazon-apigateway-binary-media-types",
    "x-amazon-apigateway-cors",
    "x-amazon-apigateway-documentation",
    "x-amazon-apigateway-endpoint-configuration",
    "x-amazon-apigateway-gateway-responses",
    "x-amazon-apigateway-importexport-version",
    "x-amazon-apigateway-integrations",
    "x-amazon-apigateway-minimum-compression-size",
    "x-amazon-apigateway-security-policy",
    "x-amazon-apigateway-tag-value",
    "x-amazon-apigateway-policy",
];

/// What an integration with a function may have. Functions notice none of it.
const OF_FUNCTION: [&str; 14] = [
    "cacheKeyParameters",
    "cacheNamespace",
    "connectionType",
    "contentHandling",
    "credentials",
    "description",
    "httpMethod",
    "passthroughBehavior",
    "payloadFormatVersion",
    "requestTemplates",
    "responses",
    "timeoutInMillis",
    "type",
    "uri",
];

/// How often a reference may lead to another one.
const REFERENCES_MAX: usize = 8;

/// Limits of a time-out.
pub(super) const TIMEOUT_MS_MIN: i64 = 50;
pub(super) const TIMEOUT_MS_MAX: i64 = 30_000;

/// Adds the routes of all documents to their functions and APIs, which are all read by now.
pub(super) fn add_all(resolver: &Resolver<'_>, stack: &mut Stack, files: Files<'_>) {
    for (id, resource) in resolver.resources {
        let kind = resource.get("Type").and_then(Node::as_text).unwrap_or_default();
        let Some(properties) = resource.get("Properties").filter(|_| resolver.is_made(resource)) else { continue };
        let document = match kind {
            resources::REST_API | resources::HTTP_API => properties.get("DefinitionBody").cloned().or_else(|| {
                let place = resolver.resolve(properties.get("DefinitionUri")?)?;
                files.read(&place)
            }),
            resources::GATEWAY_API => properties.get("Body").cloned(),
            _ => None,
        };
        if let Some(document) = document {
            add(&document, id, resolver, stack);
        }
    }
}

/// Reads a document into the API with this logical id.
pub(super) fn add(document: &Node, id: &str, resolver: &Resolver<'_>, stack: &mut Stack) {
    let Some(index) = stack.http_apis.iter().position(|api| api.logical_id == *id) else { return };
    let Some(root) = resolver.resolve(document) else { return };
    let mut api = stack.http_apis[index].clone();
    Document { root: &root, resolver }.read(&mut api, stack);
    stack.http_apis[index] = api;
}

/// Records APIs of the template without a route.
pub(super) fn check_routes(resolver: &Resolver<'_>, stack: &Stack) {
    for api in stack.http_apis.iter().filter(|api| matches!(api.kind, ApiKind::Http | ApiKind::Rest)) {
        let leads_here = |route: &Route| route.api == api.logical_id;
        let has_route = stack.functions.iter().any(|function| function.routes.iter().any(leads_here));
        let place = resolver.resources.iter().find(|(id, _)| *id == api.logical_id);
        if let Some((id, place)) = place.filter(|_| !has_route && api.fixed_routes.is_empty()) {
            resolver.problems.unsupported(place, format!("no route of {id} works on this machine"));
        }
    }
}

struct Document<'a> {
    root: &'a Node,
    resolver: &'a Resolver<'a>,
}

/// Where a route leads.
enum Backend {
    Function(String),
    Fixed(FixedResponse),
    /// To a function that is left out, with a warning of its own.
    LeftOut,
}

impl<'a> Document<'a> {
    fn read(&self, api: &mut HttpApi, stack: &mut Stack) {
        if self.root.get("openapi").or_else(|| self.root.get("swagger")).is_none() {
            self.wrong::<()>(self.root, "neither `openapi` nor `swagger`: this is no OpenAPI document");
        }
        self.check_extensions(self.root);
        self.security_schemes(api);
        if let Some(responses) = self.root.get("x-amazon-apigateway-gateway-responses") {
            api.gateway_responses.extend(gateway_responses::of_document(responses, self.resolver));
        }
        if let Some(types) = self.root.get("x-amazon-apigateway-binary-media-types") {
            api.binary_media_types.extend(types.items().unwrap_or_default().iter().filter_map(text));
        }
        if let Some(cors) = self.root.get("x-amazon-apigateway-cors").filter(|_| api.kind == ApiKind::Http) {
            api.cors.get_or_insert_with(|| cors_of(cors));
        }
        let Some(paths) = self.root.get("paths") else { return };
        for (path, item) in paths.entries().iter().filter(|(path, _)| path.starts_with('/')) {
            self.check_extensions(item);
            for (method, operation) in item.entries() {
                let method = match method.as_str() {
                    "x-amazon-apigateway-any-method" => "ANY".to_owned(),
                    "get" | "head" | "post" | "put" | "patch" | "delete" | "options" => method.to_ascii_uppercase(),
                    "$ref" | "trace" => {
                        self.refuse::<()>(
                            ProblemCode::Unsupported,
                            operation,
                            format!("{method} of a path is not supported on this machine"),
                        );
                        continue;
                    }
                    _ => continue,
                };
                let key = if path == "/$default" { "$default".to_owned() } else { format!("{method} {path}") };
                self.operation(&key, item, operation, api, stack);
            }
        }
    }

    fn operation(&self, key: &str, path: &Node, operation: &Node, api: &mut HttpApi, stack: &mut Stack) {
        self.check_extensions(operation);
        if let Err(message) = routes::check_key(key) {
            self.resolver.problems.at(operation, message);
            return;
        }
        let Some(integration) = operation.get(INTEGRATION) else {
            let own = |route: &Route| route.api == api.logical_id && route.route_key == key;
            if !stack.functions.iter().any(|function| function.routes.iter().any(own)) {
                self.wrong::<()>(operation, format!("{key} has no {INTEGRATION}: AWS does not deploy such an API"));
            }
            return;
        };
        let Some(integration) = self.dereferenced(integration) else { return };
        let (authorizer, scopes) = self.authorizer(operation, api);
        let checks = if api.kind == ApiKind::Rest { self.checks(path, operation) } else { RequestChecks::default() };
        let payload = match integration.get("payloadFormatVersion").and_then(text).as_deref() {
            Some("2.0") if api.kind == ApiKind::Http => PayloadFormat::V2,
            _ => PayloadFormat::V1,
        };
        let properties = Properties::new(self.resolver, integration);
        let timeout = properties.count("timeoutInMillis", TIMEOUT_MS_MIN..=TIMEOUT_MS_MAX).map(Duration::from_millis);
        let route = Route { authorizer, scopes, checks, timeout, ..Route::new(&api.logical_id, key, payload) };
        // SAM adds no integration for an event whose API has a document: the document alone decides.
        for function in &mut stack.functions {
            function.routes.retain(|other| (&other.api, &other.route_key) != (&route.api, &route.route_key));
        }
        match self.backend(key, integration, stack) {
            Some(Backend::Function(id)) => {
                let functions = stack.functions.iter_mut();
                functions.filter(|function| function.logical_id == id).for_each(|own| own.routes.push(route.clone()));
            }
            Some(Backend::Fixed(response)) => api.fixed_routes.push((route, response)),
            Some(Backend::LeftOut) | None => {}
        }
    }

    fn backend(&self, key: &str, integration: &Node, stack: &Stack) -> Option<Backend> {
        let kind = integration.get("type").and_then(text).unwrap_or_default().to_ascii_lowercase();
        match kind.as_str() {
            "mock" => mock::read(integration, self.resolver).map(Backend::Fixed),
            "aws_proxy" => {
                for (name, node) in integration.entries().iter().filter(|(name, _)| !OF_FUNCTION.contains(&&**name)) {
                    self.refuse::<()>(
                        ProblemCode::Unsupported,
                        node,
                        format!("{name} of an integration is not supported on this machine"),
                    );
                }
                let Some(place) = integration.get("uri") else {
                    return self.refuse(ProblemCode::Missing, integration, "uri is missing");
                };
                let uri = text(place)?;
                let Some(id) = targets::function(self.resolver, targets::invoked(&uri)) else {
                    return self.refuse(
                        ProblemCode::UnknownName,
                        place,
                        format!("{uri} is not a function of this template"),
                    );
                };
                if stack.functions.iter().any(|function| function.logical_id == id) {
                    return Some(Backend::Function(id));
                }
                let message = format!("{key} is left out with its function {id}");
                self.resolver.problems.left_out(place, message);
                Some(Backend::LeftOut)
            }
            other => {
                let place = integration.get("type").unwrap_or(integration);
                self.refuse(ProblemCode::Unsupported, place, format!("{key}: integrations of the type {other:?} are not supported on this machine: only aws_proxy with a function, and mock, are"))
            }
        }
    }

    /// Adds the authorizers of the document to the API.
    fn security_schemes(&self, api: &mut HttpApi) {
        for (name, scheme) in self.schemes() {
            self.check_extensions(scheme);
            let Some(node) = scheme.get(AUTHORIZER) else { continue };
            let header = scheme.get("name").and_then(text);
            let read = authorizers::of_document(&Properties::new(self.resolver, node), api.kind, header);
            api.authorizers.extend(read.map(|kind| Authorizer { name: name.clone(), kind }));
        }
    }

    fn schemes(&self) -> &'a [(String, Node)] {
        let new = self.root.get("components").and_then(|components| components.get("securitySchemes"));
        new.or_else(|| self.root.get("securityDefinitions")).map(Node::entries).unwrap_or_default()
    }

    fn authorizer(&self, operation: &Node, api: &HttpApi) -> (RouteAuthorizer, Vec<String>) {
        if let Some(place) = operation.get("x-amazon-apigateway-auth")
            && place.get("type").and_then(text).as_deref() == Some("AWS_IAM")
        {
            self.resolver.problems.unchecked(place, routes::IAM_IGNORED);
            return (RouteAuthorizer::None, Vec::new());
        }
        let security = operation.get("security").or_else(|| self.root.get("security"));
        let Some(security) = security else { return (RouteAuthorizer::Default, Vec::new()) };
        let requirements = security.items().unwrap_or_default().iter().flat_map(Node::entries);
        for (name, scopes) in requirements {
            if api.authorizers.iter().any(|authorizer| authorizer.name == *name) {
                let scopes = scopes.items().unwrap_or_default().iter().filter_map(text).collect();
                return (RouteAuthorizer::Named(name.clone()), scopes);
            }
            let scheme = self.schemes().iter().find(|(other, _)| other == name).map(|(_, scheme)| scheme);
            match scheme {
                None if name == "AWS_IAM" || name == "sigv4" => {
                    self.resolver.problems.unchecked(security, routes::IAM_IGNORED);
                }
                None => self.resolver.problems.unknown(security, format!("there is no security scheme {name}")),
                // Its problem is recorded.
                Some(scheme) if scheme.get(AUTHORIZER).is_some() => {}
                Some(scheme) if scheme.get("x-amazon-apigateway-authtype").is_some() => {
                    self.resolver.problems.unchecked(security, routes::IAM_IGNORED);
                }
                Some(scheme) if scheme.get("type").and_then(text).as_deref() == Some("apiKey") => {
                    self.resolver.problems.unchecked(security, authorizers::KEYS_IGNORED);
                }
                Some(_) => {
                    let message = format!("{name} has no {AUTHORIZER}, so anyone may call this, as on AWS");
                    self.resolver.problems.unchecked(security, message);
                }
            }
        }
        (RouteAuthorizer::None, Vec::new())
    }

    /// What the operation's validator checks; without one, AWS lets every request pass.
    fn checks(&self, path: &Node, operation: &Node) -> RequestChecks {
        let mut checks = RequestChecks::default();
        let chosen = operation.get(VALIDATOR).or_else(|| self.root.get(VALIDATOR));
        let Some((place, name)) = chosen.and_then(|node| Some((node, text(node)?))) else { return checks };
        let Some(validator) = self.root.get(VALIDATORS).and_then(|validators| validators.get(&name)) else {
            self.refuse::<()>(
                ProblemCode::UnknownName,
                place,
                format!("there is no request validator {name} in {VALIDATORS}"),
            );
            return checks;
        };
        let validates = |what: &str| validator.get(what).and_then(text).as_deref() == Some("true");
        let parameters = [path, operation].into_iter().filter_map(|node| node.get("parameters"));
        let parameters = parameters.flat_map(|list| list.items().unwrap_or_default());
        let parameters: Vec<&Node> = parameters.filter_map(|parameter| self.dereferenced(parameter)).collect();
        if validates("validateRequestParameters") {
            for parameter in &parameters {
                let property = |name: &str| parameter.get(name).and_then(text);
                let (Some(name), Some("true")) = (property("name"), property("required").as_deref()) else { continue };
                match property("in").as_deref() {
                    Some("header") => checks.parameters.push(IdentitySource::Header(name)),
                    Some("query") => checks.parameters.push(IdentitySource::Query(name)),
                    _ => {}
                }
            }
        }
        if validates("validateRequestBody") {
            let body = operation.get("requestBody").and_then(|body| self.dereferenced(body));
            for (kind, content) in body.and_then(|body| body.get("content")).map(Node::entries).unwrap_or_default() {
                checks.bodies.extend(content.get("schema").and_then(|node| self.model(kind, node)));
            }
            let is_body = |node: &&&Node| node.get("in").and_then(text).as_deref() == Some("body");
            if let Some(schema) = parameters.iter().find(is_body).and_then(|body| body.get("schema")) {
                let consumes = operation.get("consumes").or_else(|| self.root.get("consumes"));
                let kinds: Vec<String> =
                    consumes.and_then(Node::items).unwrap_or_default().iter().filter_map(text).collect();
                let kinds = if kinds.is_empty() { vec!["application/json".to_owned()] } else { kinds };
                checks.bodies.extend(kinds.iter().filter_map(|kind| self.model(kind, schema)));
            }
        }
        checks
    }

    /// A content type with its schema, which contains the schemas that it may refer to.
    fn model(&self, kind: &str, schema: &Node) -> Option<(String, Value)> {
        let schemas = |node: Option<&Node>| node.map(to_json).unwrap_or_else(|| json!({}));
        let components = self.root.get("components").and_then(|components| components.get("schemas"));
        let read = models::with_definitions(
            to_json(schema),
            &[
                ("components", json!({ "schemas": schemas(components) })),
                ("definitions", schemas(self.root.get("definitions"))),
            ],
        );
        models::check(self.resolver, schema, &read);
        Some((kind.to_owned(), read))
    }

    /// The node that a `$ref` within the document names.
    fn dereferenced<'n>(&self, node: &'n Node) -> Option<&'n Node>
    where
        'a: 'n,
    {
        let mut found = node;
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = found.get("$ref") else { return Some(found) };
            let target = text(reference)?;
            let parts = target.strip_prefix("#/").unwrap_or_default().split('/');
            let parts = parts.map(|part| part.replace("~1", "/").replace("~0", "~"));
            let next = parts.into_iter().try_fold(self.root, |node, part| node.get(&part));
            let Some(next) = next else {
                return self.refuse(ProblemCode::UnknownName, reference, format!("{target} is not in this document"));
            };
            found = next;
        }
        self.wrong(node, format!("more than {REFERENCES_MAX} references lead from one to the next"))
    }

    fn check_extensions(&self, node: &Node) {
        for (name, value) in node.entries() {
            if name.starts_with("x-amazon-apigateway-") && !EXTENSIONS.contains(&name.as_str()) {
                self.refuse::<()>(ProblemCode::Unsupported, value, format!("{name} is not supported on this machine"));
            }
            if name == "x-amazon-apigateway-policy" {
                self.resolver.problems.unchecked(value, "resource policies of APIs are not checked on this machine");
            }
        }
    }

    fn wrong<T>(&self, place: &Node, message: impl Into<String>) -> Option<T> {
        self.refuse(ProblemCode::Invalid, place, message)
    }

    fn refuse<T>(&self, code: ProblemCode, place: &Node, message: impl Into<String>) -> Option<T> {
        self.resolver.problems.add(problem(place, code, message));
        None
    }
}

pub(super) fn text(node: &Node) -> Option<String> {
    node.as_text().map(str::to_owned)
}

/// `x-amazon-apigateway-cors` of an HTTP API.
fn cors_of(node: &Node) -> Cors {
    let texts = |name: &str| match node.get(name).map(|list| &list.kind) {
        Some(NodeKind::List(items)) => items.iter().filter_map(text).collect(),
        Some(_) => node.get(name).and_then(text).into_iter().collect(),
        None => Vec::new(),
    };
    Cors {
        allow_origins: texts("allowOrigins"),
        allow_methods: texts("allowMethods"),
        allow_headers: texts("allowHeaders"),
        expose_headers: texts("exposeHeaders"),
        allow_credentials: node.get("allowCredentials").and_then(Node::as_text) == Some("true"),
        max_age: node.get("maxAge").and_then(Node::as_text).and_then(|age| age.parse().ok()).map(Duration::from_secs),
    }
}
