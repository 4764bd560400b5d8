//! Converts a function's result to an HTTP response, payload formats 1.0 and 2.0.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// The response for a result.
///
/// # Errors
/// Why the result is no response.
pub(crate) fn read(result: &[u8]) -> Result<Response<Body>, String> {
    let value: Value = serde_json::from_slice(result).map_err(not_json)?;
    match value.as_object() {
        Some(fields) if fields.contains_key("statusCode") => explicit(fields),
        // Without a status code, the result itself is the body.
        _ => {
            let body = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let mut response = Response::new(Body::from(body));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            Ok(response)
        }
    }
}

/// The response for a result in payload format 1.0. It needs a status code, and may have several
/// values for a header.
///
/// # Errors
/// Why the result is no response.
pub(crate) fn read_v1(result: &[u8]) -> Result<Response<Body>, String> {
    let value: Value = serde_json::from_slice(result).map_err(not_json)?;
    let fields = value.as_object().ok_or("it is not a JSON object")?;
    let mut response = explicit(fields)?;
    for (name, values) in fields.get("multiValueHeaders").and_then(Value::as_object).into_iter().flatten() {
        let name = header_name(name)?;
        if name == header::CONTENT_LENGTH {
            continue;
        }
        // Values in this map replace the single value of the same name.
        response.headers_mut().remove(&name);
        for value in values.as_array().into_iter().flatten().filter_map(Value::as_str) {
            let value = header_value(&name, value)?;
            response.headers_mut().append(&name, value);
        }
    }
    Ok(response)
}

/// The response without a body that the prelude of a streamed result describes. The status is 200
/// if it names none.
///
/// # Errors
/// Why it describes no response.
pub(crate) fn of_prelude(prelude: &[u8]) -> Result<Response<Body>, String> {
    let mut fields: Map<String, Value> = serde_json::from_slice(prelude).map_err(not_json)?;
    fields.entry("statusCode").or_insert(200.into());
    fields.remove("body");
    explicit(&fields)
}

/// The status that `statusCode` names.
///
/// # Errors
/// Why it names none.
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

/// The gateway's own response: `{"message": ...}`.
#[must_use]
pub(crate) fn message(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(json!({ "message": message }).to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn explicit(fields: &Map<String, Value>) -> Result<Response<Body>, String> {
    let status = status(fields.get("statusCode"))?;
    let body = match fields.get("body") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(body)) if fields.get("isBase64Encoded") == Some(&Value::Bool(true)) => STANDARD
            .decode(body)
            .map_err(|error| format!("`isBase64Encoded` is true, and `body` is not base64: {error}"))?,
        Some(Value::String(body)) => body.clone().into_bytes(),
        Some(other) => other.to_string().into_bytes(),
    };
    let has_body = !body.is_empty();
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in fields.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let value = match value {
            Value::String(value) => value.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => continue,
        };
        let name = header_name(name)?;
        // This server sets these headers itself.
        if name != header::CONTENT_LENGTH && name != header::CONNECTION && name != header::TRANSFER_ENCODING {
            let value = header_value(&name, &value)?;
            headers.insert(name, value);
        }
    }
    for cookie in fields.get("cookies").and_then(Value::as_array).into_iter().flatten() {
        let cookie = cookie.as_str().ok_or("`cookies` has a member that is not text")?;
        headers.append(header::SET_COOKIE, header_value(&header::SET_COOKIE, cookie)?);
    }
    if has_body && !headers.contains_key(header::CONTENT_TYPE) {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain;charset=UTF-8"));
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let refusal = read(result.as_bytes()).expect_err(result);
            assert!(refusal.contains(reason), "{result}: {refusal}");
        }
    }

    #[test]
    fn response_of_format_1_needs_a_status_and_repeats_headers() {
        let result = br#"{"statusCode":200,"headers":{"x-a":"0"},"multiValueHeaders":{"x-a":["1","2"]},"body":"b"}"#;
        let response = read_v1(result).expect("a response");
        let values: Vec<_> = response.headers().get_all("x-a").iter().collect();
        assert_eq!(values, ["1", "2"]);
        assert!(read_v1(br#"{"body":"no status"}"#).is_err() && read_v1(b"[]").is_err());
    }

    #[test]
    fn each_cookie_has_its_own_header() {
        let response = read(br#"{"statusCode":200,"cookies":["a=1","b=2; HttpOnly"]}"#).expect("a response");
        let cookies: Vec<_> = response.headers().get_all("set-cookie").iter().collect();
        assert_eq!(cookies, ["a=1", "b=2; HttpOnly"]);
    }
}
