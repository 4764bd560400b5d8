//! Converts a function's result to an HTTP response, payload formats 1.0 and 2.0.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::stack::{ApiKind, FixedResponse, PayloadFormat};

/// What a REST API accepts in a result.
const REST_FIELDS: [&str; 5] = ["statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"];

/// The response for a result of a function behind an API.
pub(crate) fn read(result: &[u8], kind: ApiKind, payload: PayloadFormat) -> Result<Response<Body>, String> {
    let value: Value = serde_json::from_slice(result).map_err(not_json)?;
    if payload == PayloadFormat::V2 && value.get("statusCode").is_none() {
        // Without a status code, the result itself is the body.
        let body = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        return Ok(with_type(Response::new(Body::from(body)), "application/json"));
    }
    let fields = value.as_object().ok_or("it is not a JSON object")?;
    let is_rest = kind == ApiKind::Rest;
    if let Some(unknown) = fields.keys().find(|name| is_rest && !REST_FIELDS.contains(&name.as_str())) {
        return Err(format!(
            "`{unknown}` is no field of a REST API's response, and such an API accepts no other field"
        ));
    }
    let status = match fields.get("statusCode") {
        None if is_rest => StatusCode::OK,
        code => status(code)?,
    };
    let body = body(fields)?;
    let content_type = match kind {
        ApiKind::Rest | ApiKind::FunctionUrl => "application/json",
        ApiKind::Http => "text/plain;charset=UTF-8",
        ApiKind::LoadBalancer => "application/octet-stream",
    };
    let has_type = is_rest || !body.is_empty();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if payload != (PayloadFormat::LoadBalancer { multi_value: true }) {
        insert_headers(headers, fields)?;
    }
    match payload {
        PayloadFormat::V2 => append_cookies(headers, fields)?,
        PayloadFormat::V1 | PayloadFormat::LoadBalancer { multi_value: true } => insert_multiple(headers, fields)?,
        PayloadFormat::LoadBalancer { multi_value: false } => {}
    }
    Ok(if has_type { with_type(response, content_type) } else { response })
}

/// The response with this content type, if it has none.
fn with_type(mut response: Response<Body>, content_type: &'static str) -> Response<Body> {
    response.headers_mut().entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static(content_type));
    response
}

/// The response without a body that the prelude of a streamed result describes. The status is 200
/// if it names none.
pub(crate) fn of_prelude(prelude: &[u8]) -> Result<Response<Body>, String> {
    let fields: Map<String, Value> = serde_json::from_slice(prelude).map_err(not_json)?;
    let mut response = Response::new(Body::empty());
    if let Some(code) = fields.get("statusCode") {
        *response.status_mut() = status(Some(code))?;
    }
    insert_headers(response.headers_mut(), &fields)?;
    append_cookies(response.headers_mut(), &fields)?;
    Ok(response)
}

/// The status that `statusCode` names.
pub(crate) fn status(code: Option<&Value>) -> Result<StatusCode, String> {
    let status = match code.ok_or("`statusCode` is missing")? {
        Value::Number(number) => number.as_u64().and_then(|status| u16::try_from(status).ok()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    Ok(status.filter(|status| !status.is_informational()).ok_or("`statusCode` is not a status from 200")?)
}

/// Why a result is not JSON.
pub(crate) fn not_json(error: serde_json::Error) -> String {
    format!("it is not JSON: {error}")
}

fn header_name(name: &str) -> Result<HeaderName, String> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| format!("`{name}` is not the name of a header"))
}

fn header_value(name: &HeaderName, value: &str) -> Result<HeaderValue, String> {
    HeaderValue::from_str(value).map_err(|_| format!("the header `{name}` has a value that HTTP does not allow"))
}

/// The response of a `mock` integration.
pub(crate) fn fixed(fixed: &FixedResponse) -> Response<Body> {
    let mut response = Response::new(Body::from(fixed.body.clone()));
    *response.status_mut() = StatusCode::from_u16(fixed.status).unwrap_or_default();
    for (name, value) in &fixed.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
            response.headers_mut().insert(name, value);
        }
    }
    with_type(response, "application/json")
}

/// The gateway's own response: `{"message": ...}`.
pub(crate) fn message(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(json!({ "message": message }).to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The bytes of `body`.
fn body(fields: &Map<String, Value>) -> Result<Vec<u8>, String> {
    match fields.get("body") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(body)) if fields.get("isBase64Encoded") == Some(&Value::Bool(true)) => STANDARD
            .decode(body)
            .map_err(|error| format!("`isBase64Encoded` is true, and `body` is not base64: {error}")),
        Some(Value::String(body)) => Ok(body.clone().into_bytes()),
        Some(_) => Err("`body` is not text: encode it, for example with `serde_json::to_string`".to_owned()),
    }
}

/// The member with this name, if there is one, which must be an object.
fn object<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<Option<&'a Map<String, Value>>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_object().map(Some).ok_or_else(|| format!("`{name}` is not an object")),
    }
}

/// Whether this server sets a header itself.
fn is_own(name: &HeaderName) -> bool {
    [header::CONTENT_LENGTH, header::CONNECTION, header::TRANSFER_ENCODING].contains(name)
}

fn insert_headers(headers: &mut HeaderMap, fields: &Map<String, Value>) -> Result<(), String> {
    for (name, value) in object(fields, "headers")?.into_iter().flatten() {
        let value = match value {
            Value::String(value) => value.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null => continue,
            _ => return Err(format!("the header `{name}` has a value that is not text")),
        };
        let name = header_name(name)?;
        if !is_own(&name) {
            let value = header_value(&name, &value)?;
            headers.insert(name, value);
        }
    }
    Ok(())
}

/// Values in `multiValueHeaders` replace the single value of the same name.
fn insert_multiple(headers: &mut HeaderMap, fields: &Map<String, Value>) -> Result<(), String> {
    for (name, values) in object(fields, "multiValueHeaders")?.into_iter().flatten() {
        let values = values.as_array().ok_or_else(|| format!("the values of the header `{name}` are not in a list"))?;
        let name = header_name(name)?;
        if is_own(&name) {
            continue;
        }
        headers.remove(&name);
        for value in values {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            headers.append(&name, header_value(&name, &text)?);
        }
    }
    Ok(())
}

fn append_cookies(headers: &mut HeaderMap, fields: &Map<String, Value>) -> Result<(), String> {
    for cookie in fields.get("cookies").and_then(Value::as_array).into_iter().flatten() {
        let cookie = cookie.as_str().ok_or("`cookies` has a member that is not text")?;
        headers.append(header::SET_COOKIE, header_value(&header::SET_COOKIE, cookie)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: &[u8]) -> Result<Response<Body>, String> {
        super::read(result, ApiKind::Http, PayloadFormat::V2)
    }

    async fn parts(result: &str) -> (u16, String, String) {
        let response = read(result.as_bytes()).expect("a response");
        let status = response.status().as_u16();
        let content_type = response.headers().get("content-type").map(|value| value.to_str().expect("text").to_owned());
        let body = axum::body::to_bytes(response.into_body(), 1_000_000).await.expect("a body");
        (status, content_type.unwrap_or_default(), String::from_utf8(body.to_vec()).expect("text"))
    }

    fn expected(status: u16, content_type: &str, body: &str) -> (u16, String, String) {
        (status, content_type.to_owned(), body.to_owned())
    }

    #[tokio::test]
    async fn a_result_without_a_status_code_is_the_body() {
        assert_eq!(parts(r#"{"a":1}"#).await, expected(200, "application/json", r#"{"a":1}"#));
        assert_eq!(parts(r#""hello""#).await, expected(200, "application/json", "hello"));
        assert_eq!(parts("[1]").await, expected(200, "application/json", "[1]"));
    }

    #[tokio::test]
    async fn a_result_with_a_status_code_defines_the_response() {
        let result = r#"{"statusCode":201,"headers":{"Content-Type":"text/csv"},"body":"YSxi","isBase64Encoded":true}"#;
        assert_eq!(parts(result).await, expected(201, "text/csv", "a,b"));
        assert_eq!(parts(r#"{"statusCode":404,"body":"no"}"#).await, expected(404, "text/plain;charset=UTF-8", "no"));
        assert_eq!(parts(r#"{"statusCode":204}"#).await, expected(204, "", ""));
    }

    #[test]
    fn an_invalid_result_is_refused_with_its_reason() {
        for (result, reason) in [
            ("", "not JSON"),
            (r#"{"statusCode":"x"}"#, "`statusCode`"),
            (r#"{"statusCode":99}"#, "`statusCode`"),
            (r#"{"statusCode":200,"body":"%","isBase64Encoded":true}"#, "not base64"),
            (r#"{"statusCode":200,"headers":{"a b":"c"}}"#, "`a b`"),
            (r#"{"statusCode":200,"headers":{"a":"\n"}}"#, "`a`"),
            (r#"{"statusCode":200,"cookies":[1]}"#, "`cookies`"),
            (r#"{"statusCode":200,"body":{}}"#, "`body`"),
            (r#"{"statusCode":200,"headers":[]}"#, "`headers`"),
            (r#"{"statusCode":200,"headers":{"a":[]}}"#, "`a`"),
        ] {
            let refusal = read(result.as_bytes()).expect_err(result);
            assert!(refusal.contains(reason), "{result}: {refusal}");
        }
    }

    #[test]
    fn response_of_format_1_needs_a_status_and_repeats_headers() {
        let result = br#"{"statusCode":200,"headers":{"x-a":"0"},"multiValueHeaders":{"x-a":["1","2"]},"body":"b"}"#;
        let read = |result: &[u8]| super::read(result, ApiKind::Http, PayloadFormat::V1);
        let response = read(result).expect("a response");
        let values: Vec<_> = response.headers().get_all("x-a").iter().collect();
        assert_eq!(values, ["1", "2"]);
        assert!(read(br#"{"body":"no status"}"#).is_err() && read(b"[]").is_err());
    }

    #[test]
    fn each_cookie_has_its_own_header() {
        let response = read(br#"{"statusCode":200,"cookies":["a=1","b=2; HttpOnly"]}"#).expect("a response");
        let cookies: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a=1", "b=2; HttpOnly"]);
    }
}
