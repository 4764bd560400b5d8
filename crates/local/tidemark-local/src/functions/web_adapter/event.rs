//! Turns an event into the HTTP request that the adapter sends to the server.

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::{AdapterError, Settings};

/// The characters of a query that need no encoding (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The shape of an event, which is also that of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventShape {
    /// An HTTP API's payload format 2.0, or a function URL.
    V2,
    /// A REST API, or an HTTP API's payload format 1.0.
    V1,
    /// A load balancer's target group; with or without multi-value headers.
    LoadBalancer { multi_value: bool },
    /// Any other event: the server gets it as JSON.
    PassThrough,
}

/// A request to the server.
#[derive(Debug)]
pub(super) struct AdapterRequest {
    pub(super) shape: EventShape,
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The request for an event.
pub(super) fn request(payload: &[u8], settings: &Settings) -> Result<AdapterRequest, AdapterError> {
    let event: Value = serde_json::from_slice(payload)?;
    let shape = shape(&event);
    let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (method, path, query) = match shape {
        EventShape::PassThrough => return Ok(pass_through(payload, settings)),
        EventShape::V2 => (text("/requestContext/http/method"), text("/rawPath"), text("/rawQueryString").to_owned()),
        // A load balancer does not decode the query.
        EventShape::LoadBalancer { .. } => (text("/httpMethod"), text("/path"), query(&event, str::to_owned)),
        EventShape::V1 => (text("/httpMethod"), text("/path"), query(&event, encoded)),
    };
    let path = settings.base_path.as_deref().and_then(|base| path.strip_prefix(base)).unwrap_or(path);
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mark = if query.is_empty() { "" } else { "?" };
    let mut headers = headers(&event);
    insert(&mut headers, "x-amzn-request-context", &event.get("requestContext").unwrap_or(&Value::Null).to_string());
    let body = match event.get("isBase64Encoded").and_then(Value::as_bool) {
        Some(true) => STANDARD.decode(text("/body"))?.into(),
        _ => Bytes::copy_from_slice(text("/body").as_bytes()),
    };
    // The body may have been decoded; the client sets its length again.
    headers.remove("content-length");
    headers.remove("transfer-encoding");
    Ok(AdapterRequest {
        shape,
        method: method.to_owned(),
        target: format!("{slash}{path}{mark}{query}"),
        headers,
        body,
    })
}

fn shape(event: &Value) -> EventShape {
    let context = event.get("requestContext");
    let has = |name: &str| context.and_then(|context| context.get(name)).is_some();
    if has("elb") {
        EventShape::LoadBalancer { multi_value: event.get("multiValueHeaders").is_some() }
    } else if has("http") {
        EventShape::V2
    } else if context.is_some() && event.get("httpMethod").is_some() {
        EventShape::V1
    } else {
        EventShape::PassThrough
    }
}

fn pass_through(payload: &[u8], settings: &Settings) -> AdapterRequest {
    let mut headers = HeaderMap::new();
    insert(&mut headers, "content-type", "application/json");
    let target = format!("/{}", settings.pass_through_path.trim_start_matches('/'));
    let body = Bytes::copy_from_slice(payload);
    AdapterRequest { shape: EventShape::PassThrough, method: "POST".to_owned(), target, headers, body }
}

/// The multi-value map if there is one, else the single-value map.
fn pairs<'a>(event: &'a Value, multi: &str, single: &str) -> Vec<(&'a str, &'a str)> {
    let map = |name: &str| event.get(name).and_then(Value::as_object);
    let values = |(name, value): (&'a String, &'a Value)| {
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        values.iter().filter_map(move |value| Some((name.as_str(), value.as_str()?))).collect::<Vec<_>>()
    };
    let found: Option<&Map<String, Value>> = map(multi).filter(|map| !map.is_empty()).or_else(|| map(single));
    found.into_iter().flatten().flat_map(values).collect()
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

fn query(event: &Value, encode: fn(&str) -> String) -> String {
    let pairs = pairs(event, "multiValueQueryStringParameters", "queryStringParameters");
    let pair = |(name, value): (&str, &str)| format!("{}={}", encode(name), encode(value));
    pairs.into_iter().map(pair).collect::<Vec<_>>().join("&")
}

fn headers(event: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs(event, "multiValueHeaders", "headers") {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
            headers.append(name, value);
        }
    }
    let cookies = event.get("cookies").and_then(Value::as_array);
    let cookies: Vec<&str> = cookies.into_iter().flatten().filter_map(Value::as_str).collect();
    if !cookies.is_empty() {
        insert(&mut headers, "cookie", &cookies.join("; "));
    }
    headers
}

/// Sets a header, if its value can be one.
fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn of(event: &Value, variables: &[(&str, &str)]) -> AdapterRequest {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let settings = Settings::of(&variables.collect::<BTreeMap<_, _>>());
        request(event.to_string().as_bytes(), &settings).unwrap()
    }

    #[test]
    fn an_event_of_payload_2_becomes_a_request() {
        let event = json!({
            "version": "2.0", "rawPath": "/api/a%20b", "rawQueryString": "x=1&x=2", "cookies": ["a=1", "b=2"],
            "headers": { "x-one": "1" }, "body": "aGk=", "isBase64Encoded": true,
            "requestContext": { "http": { "method": "PUT" } },
        });
        let request = of(&event, &[("AWS_LWA_REMOVE_BASE_PATH", "/api")]);
        assert_eq!((request.method.as_str(), request.target.as_str()), ("PUT", "/a%20b?x=1&x=2"));
        assert_eq!(request.headers["cookie"], "a=1; b=2");
        assert_eq!(request.headers["x-amzn-request-context"], r#"{"http":{"method":"PUT"}}"#);
        assert_eq!((request.shape, &*request.body), (EventShape::V2, b"hi".as_slice()));
    }

    #[test]
    fn payload_1_and_load_balancer_events_keep_every_value() {
        let event = json!({
            "httpMethod": "GET", "path": "/", "multiValueQueryStringParameters": { "q": ["a b", "c"] },
            "multiValueHeaders": { "x-one": ["1", "2"] }, "requestContext": {},
        });
        let request = of(&event, &[]);
        assert_eq!((request.shape, request.target.as_str()), (EventShape::V1, "/?q=a%20b&q=c"));
        assert_eq!(request.headers.get_all("x-one").iter().count(), 2);
        let event = json!({
            "httpMethod": "GET", "path": "/", "queryStringParameters": { "q": "a%20b" }, "requestContext": { "elb": {} },
        });
        assert_eq!(of(&event, &[]).target, "/?q=a%20b");
    }

    #[test]
    fn another_event_is_posted_to_the_pass_through_path() {
        let event = json!({ "Records": [] });
        let request = of(&event, &[]);
        assert_eq!((request.shape, request.target.as_str()), (EventShape::PassThrough, "/events"));
        assert_eq!(of(&event, &[("AWS_LWA_PASS_THROUGH_PATH", "/sqs")]).target, "/sqs");
    }
}
