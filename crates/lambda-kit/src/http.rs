//! HTTP requests as API Gateway passes them (payload format 2.0), and replies.

use std::borrow::Cow;
use std::future::Future;
use std::time::Instant;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use lambda_runtime::{LambdaEvent, service_fn};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::{BODY_TOO_LARGE, INTERNAL, INVALID_BODY, INVALID_PARAMETER, Problem};
use crate::telemetry;

/// One request.
#[derive(Debug, Clone, Default)]
pub struct Request(ApiGatewayV2httpRequest);

impl Request {
    /// The event of one request.
    pub fn new(event: ApiGatewayV2httpRequest) -> Self {
        Self(event)
    }

    /// The route that the gateway chose, spelled as in the template: `GET /stats/daily/{date}`, or `$default`.
    pub fn route(&self) -> &str {
        self.0.route_key.as_deref().unwrap_or("$default")
    }

    /// Method and path as the client sent them.
    pub fn target(&self) -> String {
        format!("{} {}", self.0.request_context.http.method, self.0.raw_path.as_deref().unwrap_or("/"))
    }

    /// A header; `None` when it is missing or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name)?.to_str().ok()
    }

    /// A parameter of the path, which the route declares.
    pub fn path_parameter(&self, name: &str) -> &str {
        self.0.path_parameters.get(name).map_or("", String::as_str)
    }

    /// A parameter of the query. An empty one counts as missing.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.0.query_string_parameters.first(name).filter(|value| !value.is_empty())
    }

    /// A parameter of the query, read by `parse`; what is wrong becomes a problem that names the parameter.
    pub fn parse_query<T, E: ToString>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Problem> {
        self.query(name).map(|value| parse(value).map_err(|error| invalid(name, error))).transpose()
    }

    /// A parameter of the path, read by `parse`.
    pub fn parse_path<T, E: ToString>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Problem> {
        parse(self.path_parameter(name)).map_err(|error| invalid(name, error))
    }

    /// The body as JSON of at most `bytes_max` bytes.
    pub fn json<T: DeserializeOwned>(&self, bytes_max: usize) -> Result<T, Problem> {
        let too_large = || BODY_TOO_LARGE.detail(format!("at most {bytes_max} bytes"));
        let body = self.0.body.as_deref().unwrap_or_default();
        // Base64 takes four characters for three bytes: this refuses before anything is decoded.
        if body.len() > bytes_max.div_ceil(3) * 4 {
            return Err(too_large());
        }
        let body: Cow<[u8]> = if self.0.is_base64_encoded {
            STANDARD.decode(body).map_err(|_| INVALID_BODY.detail("the body is marked as base64 and is not"))?.into()
        } else {
            body.as_bytes().into()
        };
        if body.len() > bytes_max {
            return Err(too_large());
        }
        if body.is_empty() {
            return Err(INVALID_BODY.detail("a JSON body is needed"));
        }
        serde_json::from_slice(&body).map_err(|error| INVALID_BODY.detail(error))
    }
}

/// A parameter that cannot be read.
pub fn invalid(name: &str, why: impl ToString) -> Problem {
    INVALID_PARAMETER.detail(format!("`{name}`: {}", why.to_string()))
}

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    status: u16,
    headers: HeaderMap,
    body: String,
}

impl Reply {
    /// An answer of some content type. It is not cached: what this suite answers is live.
    pub fn new(status: u16, content_type: &'static str, body: String) -> Self {
        let headers = [("content-type", content_type), ("cache-control", "no-store")];
        let headers = headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        Self { status, headers: HeaderMap::from_iter(headers), body }
    }

    /// JSON.
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        match serde_json::to_string(body) {
            Ok(body) => Self::new(status, "application/json", body),
            Err(error) => {
                tracing::error!(%error, "a reply cannot be written as JSON");
                INTERNAL.into()
            }
        }
    }

    /// A header more.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// HTTP's status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// What goes to the client.
    pub fn body(&self) -> &str {
        &self.body
    }

    fn into_event(self) -> ApiGatewayV2httpResponse {
        let mut event = ApiGatewayV2httpResponse::default();
        event.status_code = i64::from(self.status);
        event.headers = self.headers;
        event.body = Some(self.body.into());
        event
    }
}

/// Answers requests until Lambda ends the process: one log line and one flush of the metrics for each.
pub async fn run<F, Fut>(handle: F) -> Result<(), lambda_runtime::Error>
where
    F: Fn(Request) -> Fut,
    Fut: Future<Output = Result<Reply, Problem>>,
{
    let handle = &handle;
    let answer = |event: LambdaEvent<ApiGatewayV2httpRequest>| async move {
        let start = Instant::now();
        let request = Request::new(event.payload);
        let route = request.route().to_owned();
        let (reply, problem) = match handle(request).await {
            Ok(reply) => (reply, ""),
            Err(problem) => {
                let name = problem.name();
                (problem.into(), name)
            }
        };
        let duration_ms = start.elapsed().as_secs_f64() * 1_000.0;
        tracing::info!(request_id = event.context.request_id, route, status = reply.status, problem, duration_ms);
        telemetry::flush();
        Ok::<_, lambda_runtime::Error>(reply.into_event())
    };
    lambda_runtime::run(service_fn(answer)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_body(body: &str, is_base64_encoded: bool) -> Request {
        let mut event = ApiGatewayV2httpRequest::default();
        event.body = Some(body.to_owned());
        event.is_base64_encoded = is_base64_encoded;
        Request::new(event)
    }

    fn name(outcome: Result<serde_json::Value, Problem>) -> Result<serde_json::Value, &'static str> {
        outcome.map_err(|problem| problem.name())
    }

    #[test]
    fn a_body_is_json_plain_or_in_base64() {
        assert_eq!(with_body("[1]", false).json(10), Ok(serde_json::json!([1])));
        assert_eq!(with_body("WzFd", true).json(10), Ok(serde_json::json!([1])));
        assert_eq!(name(with_body("[1", false).json(10)), Err("invalid-body"));
        assert_eq!(name(with_body("", false).json(10)), Err("invalid-body"));
        assert_eq!(name(with_body("!", true).json(10)), Err("invalid-body"));
    }

    #[test]
    fn a_body_over_the_limit_is_refused_before_it_is_read() {
        assert_eq!(name(with_body("[1,2,3]", false).json(6)), Err("body-too-large"));
        assert!(with_body("[1,2,3]", false).json::<serde_json::Value>(7).is_ok());
        let encoded = STANDARD.encode("[1,2,3]");
        assert_eq!(name(with_body(&encoded, true).json(6)), Err("body-too-large"));
        assert!(with_body(&encoded, true).json::<serde_json::Value>(7).is_ok());
    }
}
