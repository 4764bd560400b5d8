//! The gateway's own errors. REST APIs have other words and statuses than HTTP APIs and function
//! URLs.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html>.

use axum::body::Body;
use axum::http::{Response, StatusCode};

use super::integration_response::message;
use crate::stack::ApiKind;

/// No route matches.
pub(super) fn no_route(kind: ApiKind) -> Response<Body> {
    match kind {
        ApiKind::Rest => message(StatusCode::FORBIDDEN, "Missing Authentication Token"),
        ApiKind::Http | ApiKind::FunctionUrl | ApiKind::LoadBalancer => message(StatusCode::NOT_FOUND, "Not Found"),
    }
}

/// The function failed, or its result is no HTTP response.
pub(super) fn function_failed(kind: ApiKind) -> Response<Body> {
    match kind {
        ApiKind::Rest => message(StatusCode::BAD_GATEWAY, "Internal server error"),
        ApiKind::Http => message(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        ApiKind::FunctionUrl => message(StatusCode::BAD_GATEWAY, "Internal Server Error"),
        ApiKind::LoadBalancer => message(StatusCode::BAD_GATEWAY, "Bad Gateway"),
    }
}

/// The request is too large.
pub(super) fn too_large(kind: ApiKind) -> Response<Body> {
    let text = if kind == ApiKind::Rest { "Request Too Long" } else { "Request Entity Too Large" };
    message(StatusCode::PAYLOAD_TOO_LARGE, text)
}

/// No instance could be reached.
pub(super) fn unavailable(kind: ApiKind) -> Response<Body> {
    match kind {
        ApiKind::Rest => message(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error"),
        ApiKind::Http => message(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
        ApiKind::FunctionUrl => message(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests"),
        ApiKind::LoadBalancer => message(StatusCode::BAD_GATEWAY, "Bad Gateway"),
    }
}

/// The function took too long.
pub(super) fn timed_out(kind: ApiKind) -> Response<Body> {
    match kind {
        ApiKind::Rest => message(StatusCode::GATEWAY_TIMEOUT, "Endpoint request timed out"),
        ApiKind::Http | ApiKind::FunctionUrl => message(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
        ApiKind::LoadBalancer => message(StatusCode::GATEWAY_TIMEOUT, "Gateway Time-out"),
    }
}
