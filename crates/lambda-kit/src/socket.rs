//! WebSocket events as API Gateway passes them, and what answers them.
//!
//! A type of its own: the common crate's one has every member of a REST request and takes longer to
//! read than a relayed stroke.

use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;
use std::time::Instant;

use http::{HeaderMap, HeaderName, HeaderValue};
use lambda_runtime::{LambdaEvent, service_fn};
use serde::{Deserialize, Serialize};

use crate::client_address::{self, Cdn};
use crate::telemetry;

/// One event ([its
/// members](https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-websocket-api-mapping-template-reference.html)).
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketEvent {
    request_context: RequestContext,
    /// The message. None when a connection begins or ends.
    body: Option<String>,
    #[serde(default)]
    is_base64_encoded: bool,
    /// Only when a connection begins.
    query_string_parameters: Option<HashMap<String, String>>,
    /// Only when a connection begins.
    multi_value_headers: Option<HashMap<String, Vec<String>>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestContext {
    connection_id: String,
    route_key: String,
    disconnect_status_code: Option<i64>,
    identity: Option<Identity>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    source_ip: Option<String>,
}

impl SocketEvent {
    /// The connection's id, as API Gateway made it.
    pub fn connection_id(&self) -> &str {
        &self.request_context.connection_id
    }

    /// The route that the gateway chose: `$connect`, `$disconnect`, `$default` or an action.
    pub fn route(&self) -> &str {
        &self.request_context.route_key
    }

    /// The message's text. API Gateway refuses binary frames, so a body that is marked as base64 is
    /// not a text.
    pub fn text(&self) -> Option<&str> {
        self.body.as_deref().filter(|_| !self.is_base64_encoded)
    }

    /// A parameter of the query with which the connection begins. An empty one counts as missing.
    pub fn query(&self, name: &str) -> Option<&str> {
        let value = self.query_string_parameters.as_ref()?.get(name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// The client's address when a connection begins, by way of the CDN too. Later events name the
    /// other end of the connection, which may be the CDN.
    pub fn source_ip(&self) -> Option<&str> {
        self.request_context.identity.as_ref()?.source_ip.as_deref()
    }

    /// The client when a connection begins, for limits, as [`client_address::rate_limit_address`]
    /// has it.
    pub fn client_address(&self) -> Option<IpAddr> {
        client_address::rate_limit_address(self.source_ip()?)
    }

    /// Takes the client's address from the CDN, where `cdn` passed the connection on.
    fn with_client_address(mut self, cdn: &Cdn) -> Self {
        let Some(lines) = self.multi_value_headers.take() else { return self };
        let mut headers = HeaderMap::new();
        for (name, value) in
            lines.into_iter().flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
        {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.append(name, value);
            }
        }
        if let Some(identity) = &mut self.request_context.identity {
            identity.source_ip = cdn.client(&mut headers, identity.source_ip.as_deref());
        }
        self
    }

    /// Why the connection has ended, as the WebSocket's close code; 1006 when nobody has said.
    pub fn close_code(&self) -> i64 {
        self.request_context.disconnect_status_code.unwrap_or(1006)
    }
}

/// The answer. To `$connect` it lets the connection in or not; to a message only API Gateway's
/// metrics see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketReply {
    status_code: u16,
}

impl SocketReply {
    /// All is well.
    pub const OK: Self = Self { status_code: 200 };

    /// An HTTP status.
    pub const fn new(status_code: u16) -> Self {
        Self { status_code }
    }
}

/// The time, milliseconds since 1970.
pub fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// Answers events until Lambda ends the process: one log line and one flush of the metrics for
/// each. The handler gives the reply and a word for the log.
pub async fn run<F, Fut>(handle: F) -> Result<(), lambda_runtime::Error>
where
    F: Fn(SocketEvent) -> Fut,
    Fut: Future<Output = (SocketReply, &'static str)>,
{
    let (handle, cdn) = (&handle, &Cdn::from_env());
    let answer = |event: LambdaEvent<SocketEvent>| async move {
        let start = Instant::now();
        let (connection_id, route) = (event.payload.connection_id().to_owned(), event.payload.route().to_owned());
        let (reply, outcome) = handle(event.payload.with_client_address(cdn)).await;
        let duration_ms = start.elapsed().as_secs_f64() * 1_000.0;
        let status = reply.status_code;
        tracing::info!(request_id = event.context.request_id, connection_id, route, status, outcome, duration_ms);
        telemetry::flush();
        Ok::<_, lambda_runtime::Error>(reply)
    };
    lambda_runtime::run(service_fn(answer)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(json: &str) -> SocketEvent {
        serde_json::from_str(json).expect("an event")
    }

    #[test]
    fn a_connection_begins_with_a_query_and_ends_with_a_code() {
        let begin = event(
            r#"{"requestContext":{"connectionId":"L0SM9cOFvHcCIhw=","routeKey":"$connect","more":[1]},"isBase64Encoded":false,
                "queryStringParameters":{"ticket":"abc","empty":""},"multiValueQueryStringParameters":{"ticket":["abc"]}}"#,
        );
        assert_eq!(
            (begin.connection_id(), begin.route(), begin.query("ticket")),
            ("L0SM9cOFvHcCIhw=", "$connect", Some("abc"))
        );
        assert_eq!((begin.query("empty"), begin.query("other"), begin.text()), (None, None, None));
        let end = r#"{"requestContext":{"connectionId":"c","routeKey":"$disconnect","disconnectStatusCode":1001}}"#;
        assert_eq!(
            (event(end).close_code(), event(&end.replace(",\"disconnectStatusCode\":1001", "")).close_code()),
            (1001, 1006)
        );
    }

    #[test]
    fn the_cdn_names_its_client_when_a_connection_begins() {
        let begin = r#"{"requestContext":{"connectionId":"c","routeKey":"$connect","identity":{"sourceIp":"64.252.70.1"}},
            "multiValueHeaders":{"X-Forwarded-For":["203.0.113.7, 64.252.70.1"],"X-Tidemark-Cdn-Key":["k"]}}"#;
        for (key, client) in [("k", "203.0.113.7"), ("another", "64.252.70.1")] {
            assert_eq!(event(begin).with_client_address(&Cdn::new(key)).source_ip(), Some(client));
        }
    }

    #[test]
    fn a_message_is_text() {
        let message =
            r#"{"requestContext":{"connectionId":"c","routeKey":"ping"},"body":"{}","isBase64Encoded":false}"#;
        assert_eq!(event(message).text(), Some("{}"));
        assert_eq!(event(&message.replace("false", "true")).text(), None);
    }
}
