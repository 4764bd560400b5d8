//! The event of a REST API, payload format 1.0.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html>.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::event::request_id;
use super::multi_value::{all_headers, last, query_parameters};
use super::routes::{Match, decode};
use crate::arn;
use crate::random_id::random_id;

/// The parts of an API that its events contain.
#[derive(Debug, Clone, Copy)]
pub(super) struct EventApi<'a> {
    pub(super) id: &'a str,
    pub(super) stage: &'a str,
    pub(super) stage_variables: &'a BTreeMap<String, String>,
    /// Media types whose bodies arrive as base64; `*/*` is all of them.
    pub(super) binary_media_types: &'a [String],
    /// Whether this is a REST API. An HTTP API with payload format 1.0 decides by the content type.
    pub(super) is_rest: bool,
}

/// The event for a request that matched `route`. `path` is without the stage.
pub(super) fn build<T>(
    parts: &Parts,
    path: &str,
    body: &Bytes,
    route: &Match<'_, T>,
    api: EventApi<'_>,
    source_ip: IpAddr,
) -> Value {
    let now = Timestamp::now();
    let headers = all_headers(parts, source_ip);
    let query = query_parameters(parts.uri.query().unwrap_or_default());
    let (text, is_base64) = encoded_body(body, &parts.headers, api);
    let resource = route.route_key.split_once(' ').map_or(route.route_key, |(_, path)| path);
    let header = |name: &str| parts.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let host = header("host").unwrap_or_default();
    // A REST API passes the path on as sent, an HTTP API decoded.
    let path = if api.is_rest { path.to_owned() } else { decode(path) };
    let domain = host.split(':').next().unwrap_or_default();
    let mut event = json!({
        "resource": resource,
        "path": path,
        "httpMethod": parts.method.as_str(),
        "headers": last(&headers),
        "multiValueHeaders": headers,
        "queryStringParameters": none_if_empty(last(&query)),
        "multiValueQueryStringParameters": none_if_empty(query.clone()),
        "pathParameters": none_if_empty(route.path_parameters.clone()),
        "stageVariables": none_if_empty(api.stage_variables.clone()),
        "requestContext": {
            "accountId": arn::account(),
            "apiId": api.id,
            "domainName": domain,
            "domainPrefix": domain.split('.').next(),
            "extendedRequestId": request_id(),
            "httpMethod": parts.method.as_str(),
            "identity": {
                "accessKey": null,
                "accountId": null,
                "apiKey": header("x-api-key"),
                "caller": null,
                "cognitoAuthenticationProvider": null,
                "cognitoAuthenticationType": null,
                "cognitoIdentityId": null,
                "cognitoIdentityPoolId": null,
                "sourceIp": source_ip.to_string(),
                "user": null,
                "userAgent": header("user-agent"),
                "userArn": null,
            },
            "path": format!("/{}{}", api.stage.trim_start_matches("$default"), path),
            "protocol": format!("{:?}", parts.version),
            "requestId": random_id(),
            "requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
            "requestTimeEpoch": now.as_millisecond(),
            "resourceId": "local",
            "resourcePath": resource,
            "stage": api.stage,
        },
        "body": text,
        "isBase64Encoded": is_base64,
    });
    if !api.is_rest {
        event["version"] = "1.0".into();
    }
    event
}

fn encoded_body(body: &Bytes, headers: &HeaderMap, api: EventApi<'_>) -> (Option<String>, bool) {
    if body.is_empty() {
        return (None, false);
    }
    let content_type = headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let is_binary = if api.is_rest {
        api.binary_media_types.iter().any(|kind| is_media_type(kind, essence))
    } else {
        !super::event::is_text(headers)
    };
    match std::str::from_utf8(body) {
        Ok(text) if !is_binary => (Some(text.to_owned()), false),
        _ if is_binary || !api.is_rest => (Some(STANDARD.encode(body)), true),
        // A REST API takes a body as text if its type is not on the list.
        _ => (Some(String::from_utf8_lossy(body).into_owned()), false),
    }
}

/// Whether a media type is that of a pattern such as `image/*`.
fn is_media_type(pattern: &str, media_type: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("*/") => true,
        Some(prefix) => media_type.starts_with(prefix),
        None => media_type.eq_ignore_ascii_case(pattern),
    }
}

fn none_if_empty<K, T>(values: BTreeMap<K, T>) -> Option<BTreeMap<K, T>> {
    (!values.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http_api::routes::Routes;

    fn event(uri: &str, content_type: &str, body: &'static [u8], binary: &[&str]) -> Value {
        let request = axum::http::Request::post(uri)
            .header("host", "127.0.0.1:3000")
            .header("content-type", content_type)
            .header("x-forwarded-for", "10.0.0.1")
            .header("x-many", "a")
            .header("x-many", "b");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let routes = Routes::new([("POST /things/{id}".to_owned(), ())]).unwrap();
        let route = routes.find("POST", "/things/a%20b").unwrap();
        let binary: Vec<String> = binary.iter().map(|kind| (*kind).to_owned()).collect();
        let stage_variables = BTreeMap::from([("color".to_owned(), "red".to_owned())]);
        let api = EventApi {
            id: "Api",
            stage: "Prod",
            stage_variables: &stage_variables,
            binary_media_types: &binary,
            is_rest: true,
        };
        build(&parts, "/things/a%20b", &Bytes::from_static(body), &route, api, "127.0.0.1".parse().unwrap())
    }

    #[test]
    fn rest_event_has_single_and_multiple_values_and_stage() {
        let event = event("/Prod/things/a%20b?x=1&x=2+3", "text/plain", b"hello", &[]);
        assert_eq!((&event["resource"], &event["path"]), (&json!("/things/{id}"), &json!("/things/a%20b")));
        assert_eq!(event["requestContext"]["path"], "/Prod/things/a%20b");
        assert_eq!(event["pathParameters"], json!({ "id": "a b" }));
        assert_eq!(event["queryStringParameters"], json!({ "x": "2 3" }));
        assert_eq!(event["multiValueQueryStringParameters"], json!({ "x": ["1", "2 3"] }));
        assert_eq!(event["multiValueHeaders"]["x-many"], json!(["a", "b"]));
        assert_eq!((&event["headers"]["X-Forwarded-For"], event.get("version")), (&json!("10.0.0.1, 127.0.0.1"), None));
        assert_eq!(event["stageVariables"], json!({ "color": "red" }));
        assert_eq!((&event["body"], &event["isBase64Encoded"]), (&json!("hello"), &json!(false)));
        let parsed: aws_lambda_events::apigw::ApiGatewayProxyRequest = serde_json::from_value(event).unwrap();
        assert_eq!(parsed.http_method.as_str(), "POST");
    }

    #[test]
    fn body_is_base64_only_if_its_media_type_is_binary() {
        let is_base64 =
            |binary: &[&str]| event("/things/1", "image/png", &[0xff, 0xfe], binary)["isBase64Encoded"].clone();
        assert_eq!([is_base64(&["image/*"]), is_base64(&["*/*"]), is_base64(&["image/png"])], [true, true, true]);
        assert_eq!([is_base64(&[]), is_base64(&["text/*"])], [false, false]);
    }
}
