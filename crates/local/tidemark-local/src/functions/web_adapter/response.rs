//! Turns the server's answer into the function's response.

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, SET_COOKIE, TRANSFER_ENCODING};
use axum::http::response::Parts;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};

use super::event::EventShape;
use crate::functions::PRELUDE_END_BYTES;

/// The beginnings of content types that are sent as text.
const TEXT_TYPES: [&str; 5] =
    ["text/", "application/json", "application/javascript", "application/xml", "application/x-www-form-urlencoded"];

/// The answer to an event that is no HTTP request: its body, as JSON if it is.
pub(super) fn pass_through(body: &[u8]) -> String {
    let json = serde_json::from_slice(body);
    json.unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned())).to_string()
}

/// The response as a stream: a prelude, and the server's body as it comes.
pub(super) fn streamed(parts: &Parts, body: Body) -> Body {
    let cookies = values(&parts.headers, SET_COOKIE.as_str());
    let mut headers = parts.headers.clone();
    headers.remove(TRANSFER_ENCODING);
    headers.remove(SET_COOKIE);
    let prelude = json!({ "statusCode": parts.status.as_u16(), "headers": single(&headers), "cookies": cookies });
    let prelude = format!("{prelude}{}", "\0".repeat(PRELUDE_END_BYTES));
    Body::from_stream(stream::iter([Ok(prelude.into())]).chain(body.into_data_stream()))
}

/// The response in the format of the event's source.
pub(super) fn of_http(shape: EventShape, parts: &Parts, body: &[u8]) -> Value {
    let text = std::str::from_utf8(body).ok().filter(|_| body.is_empty() || is_text(&parts.headers));
    let mut response = json!({
        "statusCode": parts.status.as_u16(),
        "body": text.map_or_else(|| STANDARD.encode(body), str::to_owned),
        "isBase64Encoded": text.is_none(),
    });
    let mut headers = parts.headers.clone();
    headers.remove(TRANSFER_ENCODING);
    match shape {
        EventShape::V2 => {
            let cookies = values(&headers, SET_COOKIE.as_str());
            headers.remove(SET_COOKIE);
            response["headers"] = single(&headers);
            response["cookies"] = json!(cookies);
        }
        EventShape::LoadBalancer { multi_value } => {
            let name = if multi_value { "multiValueHeaders" } else { "headers" };
            response[name] = if multi_value { multi(&headers) } else { single(&headers) };
            response["statusDescription"] = status_description(parts.status).into();
        }
        EventShape::V1 | EventShape::PassThrough => response["multiValueHeaders"] = multi(&headers),
    }
    response
}

fn is_text(headers: &HeaderMap) -> bool {
    let get = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (encoding, content_type) = (get(CONTENT_ENCODING), get(CONTENT_TYPE).to_ascii_lowercase());
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    (encoding.is_empty() || encoding == "identity")
        && (TEXT_TYPES.iter().any(|prefix| essence.starts_with(prefix))
            || essence.ends_with("+json")
            || essence.ends_with("+xml"))
}

fn status_description(status: StatusCode) -> String {
    format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default()).trim_end().to_owned()
}

fn values(headers: &HeaderMap, name: &str) -> Vec<String> {
    headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
}

fn single(headers: &HeaderMap) -> Value {
    let names = headers.keys().map(|name| (name.to_string(), Value::from(values(headers, name.as_str()).join(","))));
    Value::Object(names.collect::<Map<_, _>>())
}

fn multi(headers: &HeaderMap) -> Value {
    let names = headers.keys().map(|name| (name.to_string(), json!(values(headers, name.as_str()))));
    Value::Object(names.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(headers: &[(&str, &str)]) -> Parts {
        let mut response = axum::http::Response::builder().status(201);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        response.body(()).unwrap().into_parts().0
    }

    #[test]
    fn text_is_text_and_anything_else_is_base64() {
        let json = of_http(EventShape::V2, &parts(&[("content-type", "application/problem+json")]), b"{}");
        assert_eq!((&json["body"], &json["isBase64Encoded"]), (&json!("{}"), &json!(false)));
        let zipped = parts(&[("content-type", "text/html"), ("content-encoding", "gzip")]);
        assert_eq!(of_http(EventShape::V2, &zipped, b"x")["isBase64Encoded"], json!(true));
        assert_eq!(of_http(EventShape::V2, &parts(&[("content-type", "image/png")]), b"x")["body"], json!("eA=="));
    }

    #[test]
    fn each_source_gets_headers_in_its_own_format() {
        let parts = parts(&[("set-cookie", "a=1"), ("set-cookie", "b=2"), ("x-one", "1")]);
        let two = of_http(EventShape::V2, &parts, b"");
        assert_eq!((&two["cookies"], &two["headers"]), (&json!(["a=1", "b=2"]), &json!({ "x-one": "1" })));
        let one = of_http(EventShape::V1, &parts, b"");
        assert_eq!(one["multiValueHeaders"], json!({ "set-cookie": ["a=1", "b=2"], "x-one": ["1"] }));
        let balancer = of_http(EventShape::LoadBalancer { multi_value: false }, &parts, b"");
        assert_eq!(balancer["statusDescription"], json!("201 Created"));
    }
}
