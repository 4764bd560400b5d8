//! Authorizers in `Auth` of APIs, and the choice in `Auth` of events.

use std::time::Duration;

use super::intrinsics::Resolver;
use super::problems::ProblemCode;
use super::properties::Properties;
use super::yaml::Node;
use super::{routes, targets};
use crate::stack::{
    ApiKind, Authorizer, AuthorizerEvent, AuthorizerKind, IdentitySource, JwtAuthorizer, LambdaAuthorizer,
    RouteAuthorizer, Stack,
};

/// How long API Gateway uses an authorizer's answer again, and its limit.
///
/// Source: <https://docs.aws.amazon.com/apigateway/latest/developerguide/configure-api-gateway-lambda-authorization.html>.
const TTL_DEFAULT: Duration = Duration::from_secs(300);
const TTL_S_MAX: i64 = 3_600;

/// The header of a token.
const TOKEN_HEADER: &str = "Authorization";

/// The warning for a request that AWS would count.
pub(super) const KEYS_IGNORED: &str = "API keys are not checked on this machine";

/// The choice of a route without an authorizer.
const NO_AUTHORIZER: &str = "NONE";

/// Reads `Auth` of an API: its authorizers, and the name of the default one.
pub(super) fn of_api(api: &Properties<'_>, kind: ApiKind) -> (Vec<Authorizer>, Option<String>) {
    let Some(auth) = api.map("Auth") else { return (Vec::new(), None) };
    let default = choice(&auth, "DefaultAuthorizer");
    api_key(&auth);
    let mut all = Vec::new();
    if let Some(authorizers) = auth.map("Authorizers") {
        for (name, node) in authorizers.node.entries() {
            let authorizer = Properties::new(api.resolver, node);
            let kind = read(&authorizer, kind);
            authorizer.finish("AWS::Serverless::Api.Auth.Authorizers{}");
            all.extend(kind.map(|kind| Authorizer { name: name.clone(), kind }));
        }
    }
    auth.finish("AWS::Serverless::Api.Auth");
    let RouteAuthorizer::Named(default) = default else { return (all, None) };
    (all, Some(default))
}

/// Reads `Auth` of an event: the authorizer, and the scopes.
pub(super) fn of_event(event: &Properties<'_>) -> (RouteAuthorizer, Vec<String>) {
    let Some(auth) = event.map("Auth") else { return (RouteAuthorizer::Default, Vec::new()) };
    let authorizer = choice(&auth, "Authorizer");
    api_key(&auth);
    let scopes = auth.texts("AuthorizationScopes");
    auth.finish("AWS::Serverless::Function.Events{}.Api.Auth");
    (authorizer, scopes)
}

/// Records chosen authorizers that their APIs do not have.
pub(super) fn check(resolver: &Resolver<'_>, stack: &Stack) {
    let missing = |id: &str, name: &str| {
        let resource = resolver.resources.iter().find(|(other, _)| other == id).map(|(_, node)| node);
        let events = resource.and_then(|resource| resource.get("Properties")?.get("Events"));
        if let Some(place) = events.or(resource) {
            resolver.problems.unknown(place, format!("there is no authorizer {name} in its API"));
        }
    };
    for api in &stack.http_apis {
        let has = |name: &String| api.authorizers.iter().any(|authorizer| authorizer.name == *name);
        if let Some(name) = api.default_authorizer.as_ref().filter(|name| !has(name)) {
            missing(&api.logical_id, name);
        }
        for function in &stack.functions {
            for route in function.routes.iter().filter(|route| route.api == api.logical_id) {
                if let RouteAuthorizer::Named(name) = &route.authorizer
                    && !has(name)
                {
                    missing(&function.logical_id, name);
                }
            }
        }
    }
}

/// API keys are a quota, and no proof of a client.
fn api_key(auth: &Properties<'_>) {
    if let Some(key) = auth.raw("ApiKeyRequired") {
        auth.resolver.problems.unchecked(key, KEYS_IGNORED);
    }
}

fn choice(auth: &Properties<'_>, name: &str) -> RouteAuthorizer {
    match auth.text(name) {
        None => RouteAuthorizer::Default,
        Some(chosen) => chosen_by(auth, &chosen),
    }
}

/// The authorizer of this name; `AWS_IAM` and `NONE` are predefined.
fn chosen_by(properties: &Properties<'_>, name: &str) -> RouteAuthorizer {
    match name {
        NO_AUTHORIZER => RouteAuthorizer::None,
        "AWS_IAM" => {
            properties.resolver.problems.unchecked(&properties.node, routes::IAM_IGNORED);
            RouteAuthorizer::None
        }
        name => RouteAuthorizer::Named(name.to_owned()),
    }
}

fn read(authorizer: &Properties<'_>, api: ApiKind) -> Option<AuthorizerKind> {
    if let Some(jwt) = authorizer.map("JwtConfiguration") {
        return read_jwt(authorizer, &jwt).map(AuthorizerKind::Jwt);
    }
    if authorizer.raw("FunctionArn").is_some() {
        return read_lambda(authorizer, api).map(AuthorizerKind::Lambda);
    }
    let message = "only authorizers with a FunctionArn or a JwtConfiguration are supported on this machine: \
                   verify a Cognito user pool with a JwtConfiguration of an HTTP API, or with a function";
    authorizer.refuse(ProblemCode::Unsupported, &authorizer.node, message)
}

fn read_jwt(authorizer: &Properties<'_>, jwt: &Properties<'_>) -> Option<JwtAuthorizer> {
    let issuer = jwt.required("issuer");
    let audience = jwt.texts("audience");
    jwt.finish("AWS::Serverless::Api.Auth.Authorizers{}.JwtConfiguration");
    let scopes = authorizer.texts("AuthorizationScopes");
    let identity = match authorizer.raw("IdentitySource") {
        None => IdentitySource::Header(TOKEN_HEADER.to_owned()),
        Some(place) => expression(authorizer, place)?,
    };
    jwt_authorizer(jwt, issuer?, audience, identity, scopes)
}

fn jwt_authorizer(
    jwt: &Properties<'_>,
    issuer: String,
    audience: Vec<String>,
    identity: IdentitySource,
    scopes: Vec<String>,
) -> Option<JwtAuthorizer> {
    if audience.is_empty() {
        return jwt.refuse(
            ProblemCode::Missing,
            &jwt.node,
            "audience is missing: a token would be accepted that was made for anyone else",
        );
    }
    Some(JwtAuthorizer { issuer, audience, identity, scopes })
}

fn read_lambda(authorizer: &Properties<'_>, api: ApiKind) -> Option<LambdaAuthorizer> {
    let arn = authorizer.required("FunctionArn")?;
    let function = function(authorizer, authorizer.raw("FunctionArn").unwrap_or(&authorizer.node), &arn);
    let event = match api {
        ApiKind::Rest => match authorizer.text("FunctionPayloadType").as_deref() {
            None | Some("TOKEN") => AuthorizerEvent::Token,
            Some("REQUEST") => AuthorizerEvent::RequestV1,
            Some(other) => {
                let message = format!("FunctionPayloadType must be TOKEN or REQUEST, not {other}");
                return authorizer.wrong(&authorizer.node, message);
            }
        },
        _ => event_format(authorizer, "AuthorizerPayloadFormatVersion")?,
    };
    let simple_responses = authorizer.boolean("EnableSimpleResponses").unwrap_or_default();
    let mut read = LambdaAuthorizer {
        function: function?,
        event,
        simple_responses,
        identity: Vec::new(),
        validation: None,
        ttl: TTL_DEFAULT,
    };
    if let Some(identity) = authorizer.map("Identity") {
        let header = identity.text("Header").into_iter().chain(identity.texts("Headers"));
        read.identity = header.map(IdentitySource::Header).collect();
        read.identity.extend(identity.texts("QueryStrings").into_iter().map(IdentitySource::Query));
        read.identity.extend(identity.texts("StageVariables").into_iter().map(IdentitySource::StageVariable));
        read.identity.extend(identity.texts("Context").into_iter().map(IdentitySource::Context));
        read.validation = validation(&identity, "ValidationExpression");
        read.ttl = identity.seconds("ReauthorizeEvery", 0..=TTL_S_MAX).unwrap_or(TTL_DEFAULT);
        identity.finish("AWS::Serverless::Api.Auth.Authorizers{}.Identity");
    }
    if event == AuthorizerEvent::Token && read.identity.is_empty() {
        read.identity.push(IdentitySource::Header(TOKEN_HEADER.to_owned()));
    }
    Some(read)
}

/// Reads an `AWS::ApiGatewayV2::Authorizer`.
pub(super) fn of_resource(authorizer: &Properties<'_>) -> Option<AuthorizerKind> {
    let sources = authorizer.list("IdentitySource");
    let identity = sources.iter().map(|place| expression(authorizer, place)).collect::<Option<Vec<_>>>()?;
    match authorizer.required("AuthorizerType")?.as_str() {
        "JWT" => {
            let jwt = authorizer.map("JwtConfiguration");
            let Some(jwt) = jwt else {
                return authorizer.refuse(ProblemCode::Missing, &authorizer.node, "JwtConfiguration is missing");
            };
            let (issuer, audience) = (jwt.required("Issuer"), jwt.texts("Audience"));
            jwt.finish("AWS::ApiGatewayV2::Authorizer.JwtConfiguration");
            let default = IdentitySource::Header(TOKEN_HEADER.to_owned());
            let identity = identity.into_iter().next().unwrap_or(default);
            jwt_authorizer(&jwt, issuer?, audience, identity, Vec::new()).map(AuthorizerKind::Jwt)
        }
        "REQUEST" => {
            let event = event_format(authorizer, "AuthorizerPayloadFormatVersion")?;
            let uri = authorizer.required("AuthorizerUri")?;
            let place = authorizer.raw("AuthorizerUri").unwrap_or(&authorizer.node);
            let function = function(authorizer, place, targets::invoked(&uri))?;
            let simple_responses = authorizer.boolean("EnableSimpleResponses").unwrap_or_default();
            let ttl = authorizer.seconds("AuthorizerResultTtlInSeconds", 0..=TTL_S_MAX).unwrap_or(TTL_DEFAULT);
            let validation = None;
            Some(AuthorizerKind::Lambda(LambdaAuthorizer {
                function,
                event,
                simple_responses,
                identity,
                validation,
                ttl,
            }))
        }
        other => authorizer.wrong(&authorizer.node, format!("AuthorizerType must be JWT or REQUEST, not {other}")),
    }
}

/// Reads `x-amazon-apigateway-authorizer` of an OpenAPI document, whose scheme names this header.
pub(super) fn of_document(authorizer: &Properties<'_>, api: ApiKind, header: Option<String>) -> Option<AuthorizerKind> {
    let kind = authorizer.required("type")?.to_ascii_lowercase();
    let mut identity = Vec::new();
    if let Some(place) = authorizer.raw("identitySource") {
        let place = authorizer.resolver.resolve(place)?;
        for item in place.items().unwrap_or(std::slice::from_ref(&place)) {
            // A REST API has a list with commas.
            let sources = item.as_text().unwrap_or_default().split(',').map(|source| item.text(source.trim()));
            identity.extend(sources.map(|source| expression(authorizer, &source)).collect::<Option<Vec<_>>>()?);
        }
    }
    let header = || IdentitySource::Header(header.unwrap_or_else(|| TOKEN_HEADER.to_owned()));
    let event = match (kind.as_str(), api) {
        ("jwt", ApiKind::Http) => {
            let jwt = authorizer.map("jwtConfiguration");
            let Some(jwt) = jwt else {
                return authorizer.refuse(ProblemCode::Missing, &authorizer.node, "jwtConfiguration is missing");
            };
            let (issuer, audience) = (jwt.required("issuer"), jwt.texts("audience"));
            let identity = identity.into_iter().next().unwrap_or_else(header);
            return jwt_authorizer(&jwt, issuer?, audience, identity, Vec::new()).map(AuthorizerKind::Jwt);
        }
        ("token", ApiKind::Rest) => {
            if identity.is_empty() {
                identity.push(header());
            }
            AuthorizerEvent::Token
        }
        ("request", ApiKind::Rest) => AuthorizerEvent::RequestV1,
        ("request", _) => event_format(authorizer, "authorizerPayloadFormatVersion")?,
        _ => {
            let place = authorizer.raw("type").unwrap_or(&authorizer.node);
            return authorizer.wrong(
                place,
                format!("authorizers of the type {kind} are not supported on this machine: token, request and jwt are"),
            );
        }
    };
    let uri = authorizer.required("authorizerUri")?;
    let place = authorizer.raw("authorizerUri").unwrap_or(&authorizer.node);
    Some(AuthorizerKind::Lambda(LambdaAuthorizer {
        function: function(authorizer, place, targets::invoked(&uri))?,
        event,
        simple_responses: authorizer.boolean("enableSimpleResponses").unwrap_or_default(),
        identity,
        validation: validation(authorizer, "identityValidationExpression"),
        ttl: authorizer.seconds("authorizerResultTtlInSeconds", 0..=TTL_S_MAX).unwrap_or(TTL_DEFAULT),
    }))
}

/// The function with this ARN.
fn function(authorizer: &Properties<'_>, place: &Node, arn: &str) -> Option<String> {
    targets::function(authorizer.resolver, arn).or_else(|| {
        authorizer.refuse(ProblemCode::UnknownName, place, format!("{arn} is not a function of this template"))
    })
}

fn event_format(authorizer: &Properties<'_>, name: &str) -> Option<AuthorizerEvent> {
    match authorizer.text(name).as_deref() {
        Some("1.0") => Some(AuthorizerEvent::RequestV1),
        None | Some("2.0") => Some(AuthorizerEvent::RequestV2),
        Some(other) => authorizer.wrong(&authorizer.node, format!("{name} must be 1.0 or 2.0, not {other}")),
    }
}

fn validation(properties: &Properties<'_>, name: &str) -> Option<String> {
    let expression = properties.text(name)?;
    match regex_lite::Regex::new(&expression) {
        Ok(_) => Some(expression),
        Err(error) => {
            let place = properties.raw(name).unwrap_or(&properties.node);
            properties.wrong(place, format!("{name} is not a regular expression: {error}"))
        }
    }
}

/// An expression such as `$request.header.Authorization`. REST APIs write it without the dollar,
/// and WebSocket APIs as `route.request.header.Authorization`.
fn expression(properties: &Properties<'_>, place: &Node) -> Option<IdentitySource> {
    let text = properties.resolver.text(place)?;
    let (kind, name) = text.trim_start_matches('$').rsplit_once('.').unwrap_or_default();
    let name = name.to_owned();
    match kind {
        "request.header" | "method.request.header" | "route.request.header" => Some(IdentitySource::Header(name)),
        "request.querystring" | "method.request.querystring" | "route.request.querystring" => {
            Some(IdentitySource::Query(name))
        }
        "stageVariables" => Some(IdentitySource::StageVariable(name)),
        _ if text.trim_start_matches('$').starts_with("context.") => {
            let path = text.trim_start_matches('$').trim_start_matches("context.");
            Some(IdentitySource::Context(path.to_owned()))
        }
        _ => properties.wrong(place, format!("{text:?} is not a source of an identity")),
    }
}
