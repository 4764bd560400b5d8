//! Decides whether a request may reach its function: by a function or by a signed token.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-lambda-authorizer.html>,
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-use-lambda-authorizer.html>.

#[cfg(feature = "jwt")]
mod jwt;
#[cfg(feature = "jwt")]
mod keys;
mod lambda;
mod policy;

use std::sync::Arc;

use axum::http::request::Parts;
use serde_json::{Map, Value, json};

#[cfg(feature = "jwt")]
use self::jwt::JwtVerifier;
pub(crate) use self::lambda::LambdaDecider;
use super::multi_value;
use crate::functions::Functions;
#[cfg(not(feature = "jwt"))]
use crate::left_out::jwt::JwtVerifier;
use crate::stack::{
    ApiKind, AuthorizerEvent, AuthorizerKind, HttpApi, IdentitySource, PayloadFormat, Route, RouteAuthorizer,
};

/// The authorizer of one or several routes.
#[derive(Debug)]
pub(super) struct Authorizer {
    decider: Decider,
}

#[derive(Debug)]
enum Decider {
    // In boxes, as a verifier is empty without the feature `jwt`.
    Lambda(Box<LambdaDecider>),
    Jwt(Box<JwtVerifier>),
}

/// A request for a decision.
#[derive(Clone, Copy)]
pub(crate) struct AuthorizerRequest<'a> {
    pub(crate) parts: &'a Parts,
    /// The API of the request.
    pub(crate) api: &'a HttpApi,
    /// `arn:aws:execute-api:<region>:<account>:<api>/<stage>/<method>/<path>`.
    pub(crate) arn: &'a str,
    /// The scopes of the route.
    #[cfg_attr(not(feature = "jwt"), expect(dead_code, reason = "only the feature `jwt` uses it"))]
    pub(crate) scopes: &'a [String],
    /// Builds the function's event in a format, without a body.
    pub(crate) event: &'a (dyn Fn(PayloadFormat) -> Value + Sync),
}

/// An accepted request: its function sees these in its event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Grant {
    /// By a function.
    Lambda { principal: Option<String>, context: Map<String, Value> },
    /// By a token.
    #[cfg_attr(not(feature = "jwt"), expect(dead_code, reason = "only the feature `jwt` uses it"))]
    Jwt { claims: Map<String, Value>, scopes: Option<Vec<String>> },
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The request has no valid identity.
    Unauthorized,
    /// The identity may not make this request.
    Forbidden {
        /// A statement denies it; otherwise none allows it.
        explicit: bool,
    },
    /// The authorizer does not work.
    Failed,
}

/// The authorizers of an API, by their names.
pub(super) fn of_api(api: &HttpApi, functions: &Functions) -> Vec<(String, Arc<Authorizer>)> {
    let authorizer = |authorizer: &crate::stack::Authorizer| {
        let decider = match &authorizer.kind {
            AuthorizerKind::Lambda(lambda) => Decider::Lambda(Box::new(LambdaDecider::new(
                lambda.clone(),
                Arc::clone(functions.get(&lambda.function)?),
            ))),
            AuthorizerKind::Jwt(jwt) => Decider::Jwt(Box::new(JwtVerifier::new(jwt.clone()))),
        };
        Some((authorizer.name.clone(), Arc::new(Authorizer { decider })))
    };
    api.authorizers.iter().filter_map(authorizer).collect()
}

/// The authorizer that a route chooses.
pub(super) fn of_route(api: &HttpApi, route: &Route, all: &[(String, Arc<Authorizer>)]) -> Option<Arc<Authorizer>> {
    let name = match &route.authorizer {
        RouteAuthorizer::None => return None,
        RouteAuthorizer::Named(name) => name,
        RouteAuthorizer::Default => api.default_authorizer.as_ref()?,
    };
    all.iter().find(|(other, _)| other == name).map(|(_, authorizer)| Arc::clone(authorizer))
}

impl Authorizer {
    /// Decides about a request.
    pub(super) async fn decide(&self, request: AuthorizerRequest<'_>) -> Result<Grant, Refusal> {
        match &self.decider {
            Decider::Lambda(lambda) => lambda.decide(request).await,
            Decider::Jwt(jwt) => jwt.decide(request).await,
        }
    }
}

impl Grant {
    /// Adds the grant to the event of a function.
    pub(super) fn add_to(self, event: &mut Value, format: PayloadFormat, api: ApiKind) {
        let value = match (self, format) {
            (Self::Lambda { context, .. }, PayloadFormat::V2) => json!({ "lambda": context }),
            (grant @ Self::Lambda { .. }, _) if api == ApiKind::Rest => grant.into_text(),
            (Self::Lambda { principal, mut context }, _) => {
                context.extend(principal.map(|principal| ("principalId".to_owned(), Value::String(principal))));
                Value::Object(context)
            }
            (Self::Jwt { claims, scopes }, PayloadFormat::V2) => {
                json!({ "jwt": { "claims": claims, "scopes": scopes } })
            }
            (Self::Jwt { claims, scopes }, _) => json!({ "claims": claims, "scopes": scopes }),
        };
        event["requestContext"]["authorizer"] = value;
    }
}

impl Grant {
    /// The context as REST and WebSocket APIs pass it on: as text.
    pub(crate) fn into_text(self) -> Value {
        let (principal, mut context) = match self {
            Self::Lambda { principal, context } => (principal, context),
            Self::Jwt { claims, .. } => (None, claims),
        };
        context.values_mut().for_each(|value| *value = Value::String(text(value)));
        context.extend(principal.map(|principal| ("principalId".to_owned(), Value::String(principal))));
        context.insert("integrationLatency".to_owned(), json!(0));
        Value::Object(context)
    }
}

/// The value of a part of a request; `None` if the request has none.
fn identity(source: &IdentitySource, request: &AuthorizerRequest<'_>) -> Option<String> {
    let value = match source {
        IdentitySource::Header(name) => {
            request.parts.headers.get(name.as_str()).and_then(|value| value.to_str().ok()).map(str::to_owned)
        }
        IdentitySource::Query(name) => {
            let query = multi_value::query_parameters(request.parts.uri.query().unwrap_or_default());
            query.get(name).and_then(|values| values.last()).cloned()
        }
        IdentitySource::StageVariable(name) => request.api.stage_variables.get(name).cloned(),
        IdentitySource::Context(path) => {
            let format = if request.api.kind == ApiKind::Rest { PayloadFormat::V1 } else { PayloadFormat::V2 };
            let pointer = format!("/requestContext/{}", path.replace('.', "/"));
            (request.event)(format).pointer(&pointer).map(text)
        }
    };
    value.filter(|value| !value.is_empty())
}

/// A value of a context or a claim as text.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The event of an authorizer that is a function.
fn lambda_event(event: AuthorizerEvent, identity: &[String], request: &AuthorizerRequest<'_>) -> Value {
    let is_rest = request.api.kind == ApiKind::Rest;
    let (format, arn) = match event {
        AuthorizerEvent::Token => {
            let token = identity.first();
            return json!({ "type": "TOKEN", "authorizationToken": token, "methodArn": request.arn });
        }
        AuthorizerEvent::RequestV1 => (PayloadFormat::V1, "methodArn"),
        AuthorizerEvent::RequestV2 => (PayloadFormat::V2, "routeArn"),
    };
    let mut event = (request.event)(format);
    if let Some(fields) = event.as_object_mut() {
        fields.remove("body");
        fields.remove("isBase64Encoded");
        fields.insert("type".to_owned(), json!("REQUEST"));
        fields.insert(arn.to_owned(), json!(request.arn));
        match format {
            PayloadFormat::V2 => {
                let identity = (!identity.is_empty()).then_some(identity);
                fields.insert("identitySource".to_owned(), json!(identity));
            }
            _ if !is_rest => {
                for name in ["identitySource", "authorizationToken"] {
                    fields.insert(name.to_owned(), json!(identity.join(",")));
                }
            }
            _ => {}
        }
    }
    event
}
