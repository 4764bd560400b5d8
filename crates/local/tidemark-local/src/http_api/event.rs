//! The event of an HTTP API, payload format 2.0.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::added_headers::added;
use super::routes::{Match, decode};
use crate::arn;
use crate::stack::ApiKind;

/// The event for a request that matched `route`.
pub(crate) fn build<T>(
    parts: &Parts,
    body: &Bytes,
    route: &Match<'_, T>,
    (kind, api_id, stage): (ApiKind, &str, &str),
    source_ip: IpAddr,
    now: Timestamp,
) -> Value {
    let query = parts.uri.query().unwrap_or_default();
    let mut headers = headers(&parts.headers);
    let host = headers.get("host").cloned().unwrap_or_default();
    let domain = host.rsplit_once(':').map_or(host.as_str(), |(domain, _)| domain);
    headers.extend(added(parts, source_ip).map(|(name, value)| (name.to_ascii_lowercase(), value)));
    // API Gateway passes the path on decoded, even as `rawPath`, and a function URL as sent. The
    // query stays as sent.
    let path = if kind == ApiKind::FunctionUrl { parts.uri.path().to_owned() } else { decode(parts.uri.path()) };
    let mut event = json!({
        "version": "2.0",
        "routeKey": route.route_key,
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {
            "accountId": arn::account(),
            "apiId": api_id,
            "domainName": domain,
            "domainPrefix": domain.split('.').next(),
            "http": {
                "method": parts.method.as_str(),
                "path": path,
                "protocol": format!("{:?}", parts.version),
                "sourceIp": source_ip.to_string(),
                "userAgent": headers.get("user-agent").map_or("", String::as_str),
            },
            "requestId": request_id(),
            "routeKey": route.route_key,
            "stage": stage,
            "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
            "timeEpoch": now.as_millisecond(),
        },
        "isBase64Encoded": false,
    });
    let Some(fields) = event.as_object_mut() else { return event };
    // As on AWS, empty fields are absent.
    let cookies = cookies(&parts.headers);
    if !cookies.is_empty() {
        fields.insert("cookies".to_owned(), json!(cookies));
    }
    let parameters = query_parameters(query);
    if !parameters.is_empty() {
        fields.insert("queryStringParameters".to_owned(), json!(parameters));
    }
    if !route.path_parameters.is_empty() {
        fields.insert("pathParameters".to_owned(), json!(route.path_parameters));
    }
    insert_body(fields, body, &parts.headers);
    event
}

fn insert_body(fields: &mut Map<String, Value>, body: &Bytes, headers: &HeaderMap) {
    if body.is_empty() {
        return;
    }
    let text = is_text(headers).then(|| std::str::from_utf8(body).ok()).flatten();
    let (body, encoded) = text.map_or_else(|| (STANDARD.encode(body), true), |text| (text.to_owned(), false));
    fields.insert("body".to_owned(), Value::String(body));
    fields.insert("isBase64Encoded".to_owned(), Value::Bool(encoded));
}

/// The content types that API Gateway passes as text. Forms are not among them: they arrive as
/// base64.
pub(super) fn is_text(headers: &HeaderMap) -> bool {
    let Some(content_type) = headers.get(header::CONTENT_TYPE) else { return true };
    let essence =
        content_type.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(essence.as_str(), "application/json" | "application/xml" | "application/javascript")
        || essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
}

/// Headers with lower-case names, repeated ones joined by commas, without cookies.
fn headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| *name != header::COOKIE) {
        let value = String::from_utf8_lossy(value.as_bytes());
        joined
            .entry(name.as_str().to_owned())
            .and_modify(|before| {
                before.push(',');
                before.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    joined
}

fn cookies(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(';'))
        .map(|cookie| cookie.trim().to_owned())
        .filter(|cookie| !cookie.is_empty())
        .collect()
}

/// Decoded query parameters, repeated names joined by commas.
fn query_parameters(query: &str) -> BTreeMap<String, String> {
    let mut joined: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()).into_owned() {
        joined
            .entry(name)
            .and_modify(|before| {
                before.push(',');
                before.push_str(&value);
            })
            .or_insert(value);
    }
    joined
}

/// A request id in API Gateway's format: 15 characters, the last one is `=`.
pub(crate) fn request_id() -> String {
    let characters = std::iter::repeat_with(fastrand::alphanumeric);
    characters.take(14).chain(['=']).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn event(request: axum::http::request::Builder, body: &'static [u8]) -> Value {
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let path_parameters = BTreeMap::from([("day".to_owned(), "2025-10-02".to_owned())]);
        let route = Match { route_key: "POST /days/{day}", path_parameters, target: &() };
        let now = "2025-10-02T10:30:00.123Z".parse().expect("a time");
        build(
            &parts,
            &Bytes::from_static(body),
            &route,
            (ApiKind::Http, "Api", "$default"),
            IpAddr::from([127, 0, 0, 1]),
            now,
        )
    }

    #[test]
    fn a_request_becomes_an_event_of_format_2() {
        let request = Request::post("/days/2025%2D10-02?a=1&a=2&b=x%20y+z&c")
            .header("Host", "localhost:3000")
            .header("Content-Type", "application/json")
            .header("User-Agent", "test")
            .header("X-Twice", "1")
            .header("X-Twice", "2")
            .header("Cookie", "k=v; l=w")
            .header("Cookie", "m=x");
        let mut event = event(request, br#"{"a":1}"#);
        assert_eq!(event["requestContext"]["requestId"].take().as_str().map(str::len), Some(15));
        assert_eq!(event["headers"]["x-amzn-trace-id"].take().as_str().map(str::len), Some(40));
        assert_eq!(
            event,
            json!({
                "version": "2.0",
                "routeKey": "POST /days/{day}",
                "rawPath": "/days/2025-10-02",
                "rawQueryString": "a=1&a=2&b=x%20y+z&c",
                "cookies": ["k=v", "l=w", "m=x"],
                "headers": {
                    "host": "localhost:3000",
                    "content-type": "application/json",
                    "user-agent": "test",
                    "x-twice": "1,2",
                    "x-amzn-trace-id": null,
                    "x-forwarded-for": "127.0.0.1",
                    "x-forwarded-proto": "http",
                    "x-forwarded-port": "3000"
                },
                "queryStringParameters": {"a": "1,2", "b": "x y z", "c": ""},
                "pathParameters": {"day": "2025-10-02"},
                "requestContext": {
                    "accountId": "000000000000",
                    "apiId": "Api",
                    "domainName": "localhost",
                    "domainPrefix": "localhost",
                    "http": {
                        "method": "POST",
                        "path": "/days/2025-10-02",
                        "protocol": "HTTP/1.1",
                        "sourceIp": "127.0.0.1",
                        "userAgent": "test"
                    },
                    "requestId": null,
                    "routeKey": "POST /days/{day}",
                    "stage": "$default",
                    "time": "02/Oct/2025:10:30:00 +0000",
                    "timeEpoch": 1_759_401_000_123_i64
                },
                "body": "{\"a\":1}",
                "isBase64Encoded": false
            })
        );
    }

    #[test]
    fn empty_fields_are_absent() {
        let event = event(Request::get("/"), b"");
        for field in ["cookies", "queryStringParameters", "body"] {
            assert!(event.get(field).is_none(), "{field}");
        }
    }

    #[test]
    fn bodies_that_are_not_text_arrive_as_base64() {
        let cases: [(Option<&str>, &'static [u8], bool); 6] = [
            (Some("application/octet-stream"), b"ab", true),
            (Some("application/x-www-form-urlencoded"), b"a=1", true),
            (Some("application/json"), b"\xff", true),
            (Some("application/problem+json; charset=utf-8"), b"{}", false),
            (Some("text/plain"), b"x", false),
            (None, b"x", false),
        ];
        for (content_type, body, encoded) in cases {
            let request = content_type
                .into_iter()
                .fold(Request::post("/"), |request, value| request.header("content-type", value));
            assert_eq!(event(request, body)["isBase64Encoded"], json!(encoded), "{content_type:?}");
        }
    }
}
