//! `HttpApi` and `Api` events, converted to API Gateway's route keys.

use std::collections::BTreeMap;
use std::time::Duration;

use super::intrinsics::Resolver;
use super::problems::ProblemCode;
use super::properties::Properties;
use super::yaml::Node;
use super::{authorizers, models, openapi, resources};
use crate::stack::{IdentitySource, PayloadFormat, RequestChecks, Route, Stack};

/// The methods of a route.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "ANY"];

/// The route for requests that match no other route.
const DEFAULT_ROUTE: &str = "$default";

/// The warning for a request that AWS would check.
pub(super) const IAM_IGNORED: &str = "AWS_IAM is not enforced on this machine: anyone may call this";

/// Reads the route of an `HttpApi` event.
pub(super) fn read(event: &Properties<'_>) -> Option<Route> {
    let api = api_of(event, "ApiId", resources::HTTP_API, resources::IMPLICIT_HTTP_API);
    let payload = match event.text("PayloadFormatVersion").as_deref() {
        Some("1.0") => PayloadFormat::V1,
        None | Some("2.0") => PayloadFormat::V2,
        Some(other) => {
            let message = format!("PayloadFormatVersion must be 1.0 or 2.0, not {other}");
            event.resolver.problems.at(&event.node, message);
            PayloadFormat::V2
        }
    };
    let route_key = route_key(event);
    let (authorizer, scopes) = authorizers::of_event(event);
    let timeout = timeout(event);
    event.finish("AWS::Serverless::Function.Events{}.HttpApi");
    Some(Route { authorizer, scopes, timeout, ..Route::new(&api?, &route_key?, payload) })
}

/// Reads the route of an `Api` event.
pub(super) fn read_rest(event: &Properties<'_>) -> Option<Route> {
    let api = api_of(event, "RestApiId", resources::REST_API, resources::IMPLICIT_REST_API);
    let route_key = match (event.node.get("Method"), event.node.get("Path")) {
        (Some(_), Some(_)) => route_key(event),
        _ => event.wrong(&event.node, "an Api event needs both Method and Path"),
    };
    let (authorizer, scopes) = authorizers::of_event(event);
    let timeout = timeout(event);
    let checks = api.as_ref().map(|api| checks(event, api)).unwrap_or_default();
    event.finish("AWS::Serverless::Function.Events{}.Api");
    Some(Route { authorizer, scopes, timeout, checks, ..Route::new(&api?, &route_key?, PayloadFormat::V1) })
}

/// How long the integration may take.
fn timeout(event: &Properties<'_>) -> Option<Duration> {
    event.count("TimeoutInMillis", openapi::TIMEOUT_MS_MIN..=openapi::TIMEOUT_MS_MAX).map(Duration::from_millis)
}

/// What `RequestModel` and `RequestParameters` make the API check. Without a validator, AWS lets
/// every request pass.
fn checks(event: &Properties<'_>, api: &str) -> RequestChecks {
    let mut checks = RequestChecks::default();
    let mut required = Vec::new();
    for item in event.list("RequestParameters") {
        let is_required = |options: &Node| options.get("Required").and_then(Node::as_text) == Some("true");
        let named = item.entries().iter().filter(|(_, options)| is_required(options)).map(|(name, _)| name.as_str());
        required.extend(named.filter_map(required_parameter));
    }
    let Some(model) = event.map("RequestModel") else { return checks };
    if model.boolean("ValidateParameters").unwrap_or_default() {
        checks.parameters = required;
    }
    let name = model.required("Model");
    let validates_body = model.boolean("ValidateBody").unwrap_or_default();
    model.boolean("Required");
    model.finish("AWS::Serverless::Function.Events{}.Api.RequestModel");
    let properties = event.resolver.resources.iter().find(|(id, _)| id == api);
    let properties = properties.and_then(|(_, api)| api.get("Properties"));
    let models = properties.map(|properties| models::of_api(&Properties::new(event.resolver, properties)));
    match (name.and_then(|name| Some((models?.remove(&name), name))), validates_body) {
        (Some((Some(schema), _)), true) => drop(checks.bodies.insert("application/json".to_owned(), schema)),
        (Some((None, name)), _) => {
            event.resolver.problems.unknown(&model.node, format!("{name} is not one of the Models of {api}"));
        }
        _ => {}
    }
    checks
}

/// `method.request.header.Name` or `method.request.querystring.name`; a part of the path is always
/// there.
pub(super) fn required_parameter(name: &str) -> Option<IdentitySource> {
    let header = name.strip_prefix("method.request.header.").map(|name| IdentitySource::Header(name.to_owned()));
    header.or_else(|| Some(IdentitySource::Query(name.strip_prefix("method.request.querystring.")?.to_owned())))
}

fn route_key(event: &Properties<'_>) -> Option<String> {
    let (method, path) = (event.text("Method"), event.text("Path"));
    let route_key = match (method, path) {
        (_, Some(path)) if path == DEFAULT_ROUTE => DEFAULT_ROUTE.to_owned(),
        (None, None) => DEFAULT_ROUTE.to_owned(),
        (Some(method), Some(path)) => {
            let method = method.to_ascii_uppercase();
            let method = if method == "*" { "ANY" } else { &method };
            let key = format!("{method} {path}");
            if let Err(message) = check_key(&key) {
                return event.wrong(&event.node, message);
            }
            key
        }
        _ => {
            return event.wrong(&event.node, "set both Method and Path, or neither for the $default route");
        }
    };
    Some(route_key)
}

/// Records routes that two events of one API share.
pub(super) fn check_duplicates(resolver: &Resolver<'_>, stack: &Stack) {
    let mut seen = BTreeMap::new();
    for function in &stack.functions {
        for route in &function.routes {
            let key = (route.api.clone(), without_names(&route.route_key));
            let Some(first) = seen.insert(key, &function.logical_id) else { continue };
            let place = resolver.resources.iter().find(|(id, _)| *id == function.logical_id).map(|(_, node)| node);
            let events = place.and_then(|place| place.get("Properties")?.get("Events"));
            if let Some(place) = events.or(place) {
                resolver.problems.at(place, format!("the route {} already leads to {first}", route.route_key));
            }
        }
    }
}

/// The logical id of an event's API: `property`, or the implicit one.
fn api_of(event: &Properties<'_>, property: &str, kind: &str, implicit: &str) -> Option<String> {
    let Some(node) = event.raw(property) else { return Some(implicit.to_owned()) };
    let id = event.resolver.text(node)?;
    let found = event.resolver.resources.iter().find(|(other, _)| *other == id).and_then(|(_, api)| api.get("Type"));
    if id == implicit || found.and_then(Node::as_text) == Some(kind) {
        return Some(id);
    }
    event.refuse(ProblemCode::UnknownName, node, format!("{id} is not an {kind} of this template"))
}

/// Checks a key such as `GET /things/{id}`.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    if key == DEFAULT_ROUTE {
        return Ok(());
    }
    let Some((method, path)) = key.split_once(' ') else {
        return Err(format!("{key:?} is not a route key: expected `GET /path` or `$default`"));
    };
    if !METHODS.contains(&method) {
        return Err(format!("{method} is not a method of a route"));
    }
    check_path(path).map_err(|message| format!("{path:?} is not a route's path: {message}"))
}

fn check_path(path: &str) -> Result<(), String> {
    let Some(inner) = path.strip_prefix('/') else { return Err("it must begin with /".to_owned()) };
    let segments: Vec<&str> = inner.split('/').collect();
    let mut names = Vec::new();
    for (index, segment) in segments.iter().enumerate() {
        let last = index + 1 == segments.len();
        if segment.is_empty() && !last {
            return Err("it has an empty segment".to_owned());
        }
        let Some(variable) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            if segment.contains(['{', '}']) {
                return Err(format!("a variable must be a whole segment, unlike {segment}"));
            }
            continue;
        };
        let name = variable.strip_suffix('+').unwrap_or(variable);
        if name != variable && !last {
            return Err(format!("{segment} takes the rest of the path, so nothing can follow it"));
        }
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "._:-".contains(c)) {
            return Err(format!("{segment} does not name a variable"));
        }
        if names.contains(&name) {
            return Err(format!("it contains the variable {name} twice"));
        }
        names.push(name);
    }
    Ok(())
}

/// The key without the names of its variables: routes that differ only in these names match the
/// same requests.
fn without_names(route_key: &str) -> String {
    let segments = route_key.split('/').map(|segment| match segment {
        segment if segment.starts_with('{') && segment.ends_with("+}") => "{+}",
        segment if segment.starts_with('{') => "{}",
        segment => segment,
    });
    segments.collect::<Vec<_>>().join("/")
}
