//! The events of a WebSocket API, in the format of Lambda proxy integrations.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/websocket-api-develop-integrations-lambda.html>.

use std::collections::BTreeMap;
use std::net::IpAddr;

use axum::http::header;
use axum::http::request::Parts;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::CloseStatus;
use crate::arn;
use crate::http_api::event::request_id;
use crate::http_api::multi_value::{all_headers, last, query_parameters};
use crate::stack::WebSocketApi;

/// The client of a connection.
#[derive(Debug, Clone)]
pub struct Client {
    /// The connection's id.
    pub id: String,
    /// The time of the handshake.
    pub connected_at: Timestamp,
    /// Its address.
    pub source_ip: IpAddr,
    /// Its `User-Agent`.
    pub user_agent: Option<String>,
    /// The answer of the authorizer, in every event.
    pub authorizer: Option<Value>,
}

impl Client {
    /// The client of a handshake.
    pub fn new(parts: &Parts, source_ip: IpAddr, now: Timestamp) -> Self {
        let user_agent = parts.headers.get(header::USER_AGENT);
        let user_agent = user_agent.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        Self { id: connection_id(), connected_at: now, source_ip, user_agent, authorizer: None }
    }

    /// `identity` in an event and in the management API.
    pub fn identity(&self) -> Value {
        let mut identity = json!({ "sourceIp": self.source_ip });
        if let Some(user_agent) = &self.user_agent {
            identity["userAgent"] = json!(user_agent);
        }
        identity
    }
}

/// The event of `$connect`, from the handshake.
pub(super) fn connect(api: &WebSocketApi, client: &Client, parts: &Parts) -> Value {
    let headers = all_headers(parts, client.source_ip);
    let mut event = json!({
        "headers": last(&headers),
        "multiValueHeaders": headers,
        "requestContext": context(api, client, "$connect", "CONNECT", &request_id(), client.connected_at),
        "isBase64Encoded": false,
    });
    let parameters = query_parameters(parts.uri.query().unwrap_or_default());
    // As on AWS, empty fields are absent.
    if !parameters.is_empty() {
        event["queryStringParameters"] = json!(last(&parameters));
        event["multiValueQueryStringParameters"] = json!(parameters);
    }
    event
}

/// The event of a message.
pub(super) fn message(
    api: &WebSocketApi,
    client: &Client,
    route_key: &str,
    request_id: &str,
    body: &str,
    now: Timestamp,
) -> Value {
    let mut context = context(api, client, route_key, "MESSAGE", request_id, now);
    context["messageId"] = json!(self::request_id());
    json!({ "requestContext": context, "body": body, "isBase64Encoded": false })
}

/// The event of `$disconnect`.
pub(super) fn disconnect(api: &WebSocketApi, client: &Client, end: &CloseStatus, now: Timestamp) -> Value {
    let mut context = context(api, client, "$disconnect", "DISCONNECT", &request_id(), now);
    context["disconnectStatusCode"] = json!(end.code);
    context["disconnectReason"] = json!(end.reason);
    let domain = arn::api_domain(&api.logical_id);
    // The handshake's headers are no longer available; API Gateway sends these four.
    let headers = [("Host", domain.as_str()), ("x-api-key", ""), ("X-Forwarded-For", ""), ("x-restapi", "")];
    json!({
        "headers": BTreeMap::from(headers),
        "multiValueHeaders": BTreeMap::from(headers.map(|(name, value)| (name, [value]))),
        "requestContext": context,
        "isBase64Encoded": false,
    })
}

fn context(
    api: &WebSocketApi,
    client: &Client,
    route_key: &str,
    event_type: &str,
    request_id: &str,
    now: Timestamp,
) -> Value {
    let mut context = json!({
        "apiId": api.logical_id,
        "connectedAt": client.connected_at.as_millisecond(),
        "connectionId": client.id,
        "domainName": arn::api_domain(&api.logical_id),
        "eventType": event_type,
        "extendedRequestId": request_id,
        "identity": client.identity(),
        "messageDirection": "IN",
        "requestId": request_id,
        "requestTime": now.strftime("%d/%b/%Y:%H:%M:%S +0000").to_string(),
        "requestTimeEpoch": now.as_millisecond(),
        "routeKey": route_key,
        "stage": api.stage,
    });
    if let Some(authorizer) = &client.authorizer {
        context["authorizer"] = authorizer.clone();
    }
    context
}

/// A connection id in API Gateway's format: 11 bytes in base64, so 16 characters, the last one is
/// `=`.
fn connection_id() -> String {
    let bytes: [u8; 11] = std::array::from_fn(|_| fastrand::u8(..));
    URL_SAFE.encode(bytes)
}

/// Whether an id has API Gateway's format.
pub(super) fn is_connection_id(id: &str) -> bool {
    URL_SAFE.decode(id).is_ok_and(|bytes| bytes.len() == 11)
}

#[cfg(test)]
mod tests {
    use aws_lambda_events::apigw::ApiGatewayWebsocketProxyRequest;
    use axum::http::Request;

    use super::*;

    fn api() -> WebSocketApi {
        WebSocketApi {
            logical_id: "Game".to_owned(),
            selection: vec!["action".to_owned()],
            stage: "live".to_owned(),
            throttle: None,
            routes: Vec::new(),
        }
    }

    fn handshake() -> Parts {
        let request = Request::get("/ws?ticket=a%20b&ticket=c+d&x")
            .header("Host", "localhost:3000")
            .header("User-Agent", "test")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Protocol", "one")
            .header("Sec-WebSocket-Protocol", "two");
        request.body(()).expect("a request").into_parts().0
    }

    fn client() -> Client {
        let now = "2025-10-02T10:30:00.123Z".parse().expect("a timestamp");
        Client { id: "L0SM9cOFvHcCIhw=".to_owned(), ..Client::new(&handshake(), [127, 0, 0, 1].into(), now) }
    }

    /// The event without its random ids, parsed as functions parse it.
    fn fixed(mut event: Value) -> Value {
        serde_json::from_value::<ApiGatewayWebsocketProxyRequest>(event.clone()).expect("what functions take");
        for field in ["requestId", "extendedRequestId", "messageId"] {
            let Some(id) = event["requestContext"].get_mut(field).map(Value::take) else { continue };
            assert_eq!(id.as_str().map(str::len), Some(15), "{field}");
        }
        for headers in ["headers", "multiValueHeaders"] {
            event.get_mut(headers).and_then(|headers| headers.as_object_mut()?.remove("X-Amzn-Trace-Id"));
        }
        event
    }

    #[test]
    fn handshake_event_has_everything_that_api_gateway_sends() {
        assert_eq!(
            fixed(connect(&api(), &client(), &handshake())),
            json!({
                "headers": {
                    "host": "localhost:3000",
                    "sec-websocket-protocol": "two",
                    "sec-websocket-version": "13",
                    "user-agent": "test",
                    "X-Forwarded-For": "127.0.0.1",
                    "X-Forwarded-Port": "3000",
                    "X-Forwarded-Proto": "http"
                },
                "multiValueHeaders": {
                    "host": ["localhost:3000"],
                    "sec-websocket-protocol": ["one", "two"],
                    "sec-websocket-version": ["13"],
                    "user-agent": ["test"],
                    "X-Forwarded-For": ["127.0.0.1"],
                    "X-Forwarded-Port": ["3000"],
                    "X-Forwarded-Proto": ["http"]
                },
                "queryStringParameters": {"ticket": "c d", "x": ""},
                "multiValueQueryStringParameters": {"ticket": ["a b", "c d"], "x": [""]},
                "requestContext": {
                    "apiId": "Game",
                    "connectedAt": 1_759_401_000_123_i64,
                    "connectionId": "L0SM9cOFvHcCIhw=",
                    "domainName": "Game.execute-api.us-east-1.amazonaws.com",
                    "eventType": "CONNECT",
                    "extendedRequestId": null,
                    "identity": {"sourceIp": "127.0.0.1", "userAgent": "test"},
                    "messageDirection": "IN",
                    "requestId": null,
                    "requestTime": "02/Oct/2025:10:30:00 +0000",
                    "requestTimeEpoch": 1_759_401_000_123_i64,
                    "routeKey": "$connect",
                    "stage": "live"
                },
                "isBase64Encoded": false
            })
        );
    }

    #[test]
    fn message_event_has_its_text_and_no_headers() {
        let now = Timestamp::from_millisecond(1_759_401_002_000).expect("a timestamp");
        let event = fixed(message(&api(), &client(), "say", &request_id(), r#"{"action":"say"}"#, now));
        assert_eq!(event["body"], r#"{"action":"say"}"#);
        assert_eq!(event["requestContext"]["messageId"], Value::Null);
        assert_eq!(event["requestContext"]["eventType"], "MESSAGE");
        assert_eq!(event["requestContext"]["requestTimeEpoch"], 1_759_401_002_000_i64);
        assert_eq!(event["requestContext"]["connectedAt"], 1_759_401_000_123_i64);
        assert!(event.get("headers").is_none() && event.get("queryStringParameters").is_none());
    }

    #[test]
    fn the_event_of_a_disconnect_has_the_close_status() {
        let end = CloseStatus::new(1001, "Going away");
        let event = fixed(disconnect(&api(), &client(), &end, Timestamp::UNIX_EPOCH));
        assert_eq!(event["requestContext"]["disconnectStatusCode"], 1001);
        assert_eq!(event["requestContext"]["disconnectReason"], "Going away");
        assert_eq!(event["headers"]["Host"], "Game.execute-api.us-east-1.amazonaws.com");
        assert_eq!(event["multiValueHeaders"]["x-restapi"], json!([""]));
    }

    #[test]
    fn connection_ids_have_the_format_of_api_gateway() {
        for _ in 0..100 {
            let id = connection_id();
            assert!(id.len() == 16 && id.ends_with('=') && is_connection_id(&id), "{id}");
        }
        for other in ["", "undefined", "L0SM9cOFvHcCIhw", "L0SM9cOFvHcCIh==", "a/../../b", "L0SM9cOFvHcC!hw="] {
            assert!(!is_connection_id(other), "{other}");
        }
    }
}
