//! The event of a load balancer's target group.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/services-alb.html>.

use std::net::IpAddr;

use axum::http::header;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::event::is_text;
use super::multi_value::{Multiple, all_headers, last};
use crate::arn;

/// The event for a request to the listener `listener`. With `multi_value`, all values of headers
/// and parameters are in lists.
pub(super) fn build(parts: &Parts, body: &Bytes, listener: &str, multi_value: bool, source_ip: IpAddr) -> Value {
    let headers = all_headers(parts, source_ip).into_iter();
    let headers: Multiple = headers.map(|(name, values)| (name.to_ascii_lowercase(), values)).collect();
    // A load balancer does not decode parameters.
    let mut query = Multiple::new();
    for pair in parts.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        query.entry(name.to_owned()).or_default().push(value.to_owned());
    }
    let is_plain = is_text(&parts.headers) && !parts.headers.contains_key(header::CONTENT_ENCODING);
    let (body, is_base64) = match std::str::from_utf8(body) {
        Ok(text) if is_plain => (text.to_owned(), false),
        _ => (STANDARD.encode(body), true),
    };
    let group = format!("{}:targetgroup/{listener}/0000000000000000", arn::of_region("elasticloadbalancing"));
    let mut event = json!({
        "requestContext": { "elb": { "targetGroupArn": group } },
        "httpMethod": parts.method.as_str(),
        "path": parts.uri.path(),
        "body": body,
        "isBase64Encoded": is_base64,
    });
    if multi_value {
        event["multiValueHeaders"] = json!(headers);
        event["multiValueQueryStringParameters"] = json!(query);
    } else {
        event["headers"] = json!(last(&headers));
        event["queryStringParameters"] = json!(last(&query));
    }
    event
}
