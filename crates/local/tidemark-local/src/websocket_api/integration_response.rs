//! Interprets a function's result for a connection.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api-route-keys-connect-disconnect.html>.

use axum::http::{HeaderValue, StatusCode};
use serde_json::Value;

use crate::http_api::integration_response::{not_json, status};

/// The parts of a function's result that a connection uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IntegrationResponse {
    /// `statusCode`; for `$connect`, whether to accept the handshake.
    pub status: StatusCode,
    /// The header `Sec-WebSocket-Protocol`: the subprotocol that `$connect` chose.
    pub protocol: Option<HeaderValue>,
    /// `body`: sent to the client if the route has a response.
    pub body: Option<String>,
}

/// Parses a result. API Gateway takes one without a status for a failure.
pub(super) fn read(result: &[u8]) -> Result<IntegrationResponse, String> {
    let result: Value = serde_json::from_slice(result).map_err(not_json)?;
    let status = status(result.get("statusCode"))?;
    let mut headers = result.get("headers").and_then(Value::as_object).into_iter().flatten();
    let protocol = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
    let protocol = protocol.and_then(|(_, value)| HeaderValue::from_str(value.as_str()?).ok());
    let body = result.get("body").and_then(Value::as_str).map(str::to_owned);
    Ok(IntegrationResponse { status, protocol, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_has_a_status_and_may_name_a_subprotocol() {
        let answer = read(br#"{"statusCode": 200, "headers": {"Sec-WebSocket-Protocol": "v1"}, "body": "hello"}"#);
        let expected = IntegrationResponse {
            status: StatusCode::OK,
            protocol: Some(HeaderValue::from_static("v1")),
            body: Some("hello".to_owned()),
        };
        assert_eq!(answer, Ok(expected));
        assert_eq!(read(br#"{"statusCode": "401"}"#).map(|answer| answer.status), Ok(StatusCode::UNAUTHORIZED));
    }

    #[test]
    fn a_result_without_a_status_is_a_failure() {
        for result in ["", "null", "{}", r#"{"statusCode": 101}"#, r#"{"statusCode": 70000}"#, r#"{"statusCode": []}"#]
        {
            assert!(read(result.as_bytes()).is_err(), "{result}");
        }
    }
}
