//! The gateway's own errors. REST APIs have other words and statuses than HTTP APIs and function
//! URLs, and a template can change them.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html>.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use super::authorizers::Refusal;
use super::integration_response::message;
use crate::stack::{ApiKind, GatewayResponse, HttpApi};

/// Why a request does not get the response of its function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GatewayError {
    /// No route matches.
    NoRoute,
    /// The function failed, or its result is no HTTP response.
    FunctionFailed,
    /// The body is too large.
    TooLarge,
    /// The headers are too large.
    HeadersTooLarge,
    /// No instance could be reached.
    Unavailable,
    /// The function took too long.
    TimedOut,
    /// The API's limit of requests is reached.
    Throttled,
    /// Required parameters are missing; the text names them.
    BadParameters(String),
    /// The body does not fit its model; the text says where.
    BadBody(String),
    /// An authorizer refuses the request.
    Refused(Refusal),
}

impl GatewayError {
    /// The response of an API, as its template changes it.
    pub(crate) fn response(&self, api: &HttpApi) -> Response<Body> {
        let (status, text) = self.status_and_text(api.kind);
        let kind = self.response_type();
        let all = if status.is_client_error() { "DEFAULT_4XX" } else { "DEFAULT_5XX" };
        match api.gateway_responses.get(kind).or_else(|| api.gateway_responses.get(all)) {
            Some(changed) => self.changed(status, &text, if kind.is_empty() { all } else { kind }, changed),
            None => self.unchanged(status, &text, api.kind),
        }
    }

    fn status_and_text(&self, kind: ApiKind) -> (StatusCode, String) {
        let is_rest = kind == ApiKind::Rest;
        let (status, text) = match (self, kind) {
            (Self::NoRoute, ApiKind::Rest) => (StatusCode::FORBIDDEN, "Missing Authentication Token"),
            (Self::NoRoute, _) => (StatusCode::NOT_FOUND, "Not Found"),
            (Self::FunctionFailed, ApiKind::Rest) => (StatusCode::BAD_GATEWAY, "Internal server error"),
            (Self::FunctionFailed, ApiKind::Http) => (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
            (Self::FunctionFailed, ApiKind::FunctionUrl) => (StatusCode::BAD_GATEWAY, "Internal Server Error"),
            (Self::FunctionFailed, ApiKind::LoadBalancer) => (StatusCode::BAD_GATEWAY, "Bad Gateway"),
            (Self::TooLarge, ApiKind::Rest) => (StatusCode::PAYLOAD_TOO_LARGE, "Request Too Long"),
            (Self::TooLarge, _) => (StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"),
            (Self::HeadersTooLarge, _) => {
                (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "Request Header Fields Too Large")
            }
            (Self::Unavailable, ApiKind::Rest) => (StatusCode::INTERNAL_SERVER_ERROR, "Internal server error"),
            (Self::Unavailable, ApiKind::Http) => (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
            (Self::Unavailable, ApiKind::FunctionUrl) => (StatusCode::TOO_MANY_REQUESTS, "Too Many Requests"),
            (Self::Unavailable, ApiKind::LoadBalancer) => (StatusCode::BAD_GATEWAY, "Bad Gateway"),
            (Self::TimedOut, ApiKind::Rest) => (StatusCode::GATEWAY_TIMEOUT, "Endpoint request timed out"),
            (Self::TimedOut, ApiKind::LoadBalancer) => (StatusCode::GATEWAY_TIMEOUT, "Gateway Time-out"),
            (Self::TimedOut, _) => (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
            (Self::Throttled, _) => (StatusCode::TOO_MANY_REQUESTS, "Too Many Requests"),
            (Self::BadParameters(text), _) => (StatusCode::BAD_REQUEST, text.as_str()),
            (Self::BadBody(_), _) => (StatusCode::BAD_REQUEST, "Invalid request body"),
            (Self::Refused(Refusal::Unauthorized), _) => (StatusCode::UNAUTHORIZED, "Unauthorized"),
            (Self::Refused(Refusal::Forbidden { explicit: true }), ApiKind::Rest) => {
                (StatusCode::FORBIDDEN, "User is not authorized to access this resource with an explicit deny")
            }
            (Self::Refused(Refusal::Forbidden { .. }), ApiKind::Rest) => {
                (StatusCode::FORBIDDEN, "User is not authorized to access this resource")
            }
            (Self::Refused(Refusal::Forbidden { .. }), _) => (StatusCode::FORBIDDEN, "Forbidden"),
            (Self::Refused(Refusal::Failed), _) => {
                (StatusCode::INTERNAL_SERVER_ERROR, if is_rest { "" } else { "Internal Server Error" })
            }
        };
        (status, text.to_owned())
    }

    /// The type of a REST API's response; empty if only the default types apply.
    fn response_type(&self) -> &'static str {
        match self {
            Self::NoRoute => "MISSING_AUTHENTICATION_TOKEN",
            Self::TooLarge | Self::HeadersTooLarge => "REQUEST_TOO_LARGE",
            Self::TimedOut => "INTEGRATION_TIMEOUT",
            Self::Throttled => "THROTTLED",
            Self::BadParameters(_) => "BAD_REQUEST_PARAMETERS",
            Self::BadBody(_) => "BAD_REQUEST_BODY",
            Self::Refused(Refusal::Unauthorized) => "UNAUTHORIZED",
            Self::Refused(Refusal::Forbidden { .. }) => "ACCESS_DENIED",
            Self::Refused(Refusal::Failed) => "AUTHORIZER_FAILURE",
            Self::FunctionFailed | Self::Unavailable => "",
        }
    }

    fn unchanged(&self, status: StatusCode, text: &str, kind: ApiKind) -> Response<Body> {
        let body = match self {
            Self::Refused(Refusal::Forbidden { .. }) if kind == ApiKind::Rest => json!({ "Message": text }),
            Self::Refused(Refusal::Failed) if kind == ApiKind::Rest => json!({ "message": null }),
            _ => return message(status, text),
        };
        let mut response = message(status, "");
        *response.body_mut() = Body::from(body.to_string());
        response
    }

    fn changed(&self, status: StatusCode, text: &str, kind: &str, changed: &GatewayResponse) -> Response<Body> {
        let status = changed.status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(status);
        let mut response = message(status, text);
        if let Some((content_type, template)) = &changed.template {
            let detail = if let Self::BadBody(detail) = self { detail } else { text };
            // The one with quotes is a whole JSON string.
            let body = template
                .replace("$context.error.messageString", &Value::String(text.to_owned()).to_string())
                .replace("$context.error.message", text)
                .replace("$context.error.responseType", kind)
                .replace("$context.error.validationErrorString", detail);
            *response.body_mut() = Body::from(body);
            let value = HeaderValue::from_str(content_type);
            value.into_iter().for_each(|value| drop(response.headers_mut().insert(header::CONTENT_TYPE, value)));
        }
        for (name, value) in &changed.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}
