//! CORS of an HTTP API. Preflights never reach a function, and a function's own CORS headers are
//! replaced.
//!
//! Source: <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html>.

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};

use crate::stack::Cors;

const RESPONSE_HEADERS: [HeaderName; 6] = [
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_ALLOW_METHODS,
    header::ACCESS_CONTROL_ALLOW_HEADERS,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
    header::ACCESS_CONTROL_ALLOW_CREDENTIALS,
    header::ACCESS_CONTROL_MAX_AGE,
];

/// Whether a request is a preflight.
pub(super) fn is_preflight(parts: &Parts) -> bool {
    parts.method == Method::OPTIONS
        && parts.headers.contains_key(header::ORIGIN)
        && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// The response to a preflight; it allows nothing for an origin that is not allowed.
pub(super) fn preflight(cors: &Cors, request: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    if allow_origin(cors, request, headers) {
        insert_list(headers, header::ACCESS_CONTROL_ALLOW_METHODS, &cors.allow_methods);
        insert_list(headers, header::ACCESS_CONTROL_ALLOW_HEADERS, &cors.allow_headers);
        if let Some(max_age) = cors.max_age {
            headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(max_age.as_secs()));
        }
    }
    response
}

/// Replaces a function's CORS headers by the API's.
pub(super) fn apply(cors: &Cors, request: &HeaderMap, response: &mut HeaderMap) {
    for name in &RESPONSE_HEADERS {
        response.remove(name);
    }
    if allow_origin(cors, request, response) {
        insert_list(response, header::ACCESS_CONTROL_EXPOSE_HEADERS, &cors.expose_headers);
    }
}

fn allow_origin(cors: &Cors, request: &HeaderMap, response: &mut HeaderMap) -> bool {
    let Some(origin) = request.get(header::ORIGIN) else { return false };
    let allows = |allowed: &String| {
        allowed == "*"
            || allowed.as_bytes().eq_ignore_ascii_case(origin.as_bytes())
            || allowed.strip_suffix('*').is_some_and(|scheme| origin.as_bytes().starts_with(scheme.as_bytes()))
    };
    if !cors.allow_origins.iter().any(allows) {
        return false;
    }
    let any = cors.allow_origins.iter().any(|allowed| allowed == "*");
    if any && !cors.allow_credentials {
        response.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    } else {
        response.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        response.append(header::VARY, HeaderValue::from_static("origin"));
    }
    if cors.allow_credentials {
        response.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
    true
}

fn insert_list(headers: &mut HeaderMap, name: HeaderName, values: &[String]) {
    if let (false, Ok(value)) = (values.is_empty(), HeaderValue::from_str(&values.join(","))) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn cors(origin: &str) -> Cors {
        Cors {
            allow_origins: vec![origin.to_owned()],
            allow_methods: vec!["GET".to_owned(), "POST".to_owned()],
            allow_headers: vec!["content-type".to_owned()],
            expose_headers: vec!["x-id".to_owned()],
            allow_credentials: false,
            max_age: Some(Duration::from_secs(600)),
        }
    }

    fn from(origin: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ORIGIN, HeaderValue::from_static(origin))])
    }

    #[test]
    fn preflight_of_an_allowed_origin_gets_methods_and_headers() {
        let response = preflight(&cors("https://a.example"), &from("https://a.example"));
        assert_eq!(response.status(), 204);
        assert_eq!(response.headers()["access-control-allow-origin"], "https://a.example");
        assert_eq!(response.headers()["access-control-allow-methods"], "GET,POST");
        assert_eq!(response.headers()["access-control-allow-headers"], "content-type");
        assert_eq!(response.headers()["access-control-max-age"], "600");
    }

    #[test]
    fn a_preflight_of_another_origin_gets_no_cors_headers() {
        let response = preflight(&cors("https://a.example"), &from("https://b.example"));
        assert_eq!((response.status().as_u16(), response.headers().len()), (204, 0));
    }

    #[test]
    fn the_cors_headers_of_a_function_are_replaced() {
        let mut response = HeaderMap::new();
        response.insert("access-control-allow-origin", HeaderValue::from_static("https://wrong.example"));
        response.insert("access-control-allow-credentials", HeaderValue::from_static("true"));
        apply(&cors("*"), &from("https://b.example"), &mut response);
        assert_eq!(response["access-control-allow-origin"], "*");
        assert_eq!(response["access-control-expose-headers"], "x-id");
        assert!(!response.contains_key("access-control-allow-credentials"));
    }

    #[test]
    fn with_credentials_the_origin_is_named_instead_of_a_star() {
        let cors = Cors { allow_credentials: true, ..cors("https://*") };
        let mut response = HeaderMap::new();
        apply(&cors, &from("https://b.example"), &mut response);
        assert_eq!(response["access-control-allow-origin"], "https://b.example");
        assert_eq!(response["access-control-allow-credentials"], "true");
    }
}
