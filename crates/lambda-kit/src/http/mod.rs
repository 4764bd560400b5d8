//! HTTP requests as API Gateway passes them (payload format 2.0), and replies.

use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use lambda_runtime::LambdaEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::client_address::{self, Cdn};
use crate::json_object::{self, JsonObject};
use crate::problem::{BODY_TOO_LARGE, INTERNAL, INVALID_BODY, INVALID_PARAMETER, INVALID_REQUEST, Problem};
use crate::runtime::{self, Answer, Local};

/// One HTTP request.
#[derive(Debug, Clone, Default)]
pub struct Request(ApiGatewayV2httpRequest);

impl Request {
    /// Wraps the event of one request.
    pub fn new(event: ApiGatewayV2httpRequest) -> Self {
        Self(event)
    }

    /// The route that the gateway chose, spelled as in the template: `GET /stats/daily/{date}`, or
    /// `$default`.
    pub fn route(&self) -> &str {
        self.0.route_key.as_deref().unwrap_or("$default")
    }

    /// The method, in capitals.
    pub fn method(&self) -> &str {
        self.0.request_context.http.method.as_str()
    }

    /// Method and path as the client sent them.
    pub fn target(&self) -> String {
        format!("{} {}", self.0.request_context.http.method, self.0.raw_path.as_deref().unwrap_or("/"))
    }

    /// The path as the client sent it.
    pub fn path(&self) -> &str {
        self.0.raw_path.as_deref().unwrap_or("/")
    }

    /// A header; `None` if it is missing or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name)?.to_str().ok()
    }

    /// A cookie's value as the browser sent it. `None` if there are several cookies of the name,
    /// because another host of the same domain may have set one of them.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let cookies = self.0.cookies.as_deref().unwrap_or_default().iter();
        let mut values = cookies.filter_map(|cookie| cookie.split_once('=')).filter(|(known, _)| *known == name);
        let (_, value) = values.next()?;
        values.next().is_none().then_some(value)
    }

    /// Whether the client's connection is encrypted. API Gateway accepts only TLS. The local stack
    /// accepts only plain HTTP and says so in the header `x-forwarded-proto`.
    pub fn is_https(&self) -> bool {
        self.header("x-forwarded-proto") != Some("http")
    }

    /// The media type of the body, without parameters, in lower case; empty if the
    /// header is missing.
    pub fn media_type(&self) -> String {
        let header = self.header("content-type").unwrap_or_default();
        header.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    /// The client's address. [`run`] takes it from the CDN if the CDN passed the request on.
    pub fn source_ip(&self) -> Option<&str> {
        self.0.request_context.http.source_ip.as_deref()
    }

    /// The client's address for rate limits. All limits use this function, so that they mean the
    /// same client. An IPv6 client is its /64 network, because one client has all addresses of that
    /// network. `None` if the gateway reports no address.
    pub fn client_address(&self) -> Option<IpAddr> {
        client_address::rate_limit_address(self.source_ip()?)
    }

    /// A parameter of the path; empty if the route does not declare it.
    pub fn path_parameter(&self, name: &str) -> &str {
        self.0.path_parameters.get(name).map_or("", String::as_str)
    }

    /// A parameter of the query. An empty parameter counts as missing.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.0.query_string_parameters.first(name).filter(|value| !value.is_empty())
    }

    /// Refuses query parameters that the route does not have. Otherwise a misspelled parameter
    /// would be ignored, and the client would get an answer to another question.
    pub fn allow_query_parameters(&self, names: &[&str]) -> Result<(), Problem> {
        let asked = self.0.query_string_parameters.iter().map(|(name, _)| name);
        match asked.filter(|name| !names.contains(name)).min() {
            Some(unknown) => Err(invalid_parameter(unknown, "this route has no such parameter")),
            None => Ok(()),
        }
    }

    /// The media type of `known` that the client prefers, by the weights of `Accept` (RFC 9110,
    /// 12.5.1). The first one if the client accepts none of them, or does not say.
    pub fn preferred_media_type<'a>(&self, known: &[&'a str]) -> &'a str {
        let accept = self.header("accept").unwrap_or_default();
        let ranges: Vec<_> = accept.split(',').map(media_range).collect();
        // The most specific range that matches gives the weight of a type. Of types with equal
        // weight, the one whose range comes first wins.
        let wanted = |media: &str| {
            let kind = media.split('/').next().unwrap_or_default();
            let of = |name: &str| ranges.iter().position(|(range, _)| range.eq_ignore_ascii_case(name));
            let at = of(media).or_else(|| of(&format!("{kind}/*"))).or_else(|| of("*/*"))?;
            Some((ranges[at].1, std::cmp::Reverse(at))).filter(|(weight, _)| *weight > 0)
        };
        let best = known.iter().rev().max_by_key(|media| wanted(media));
        best.copied().unwrap_or_default()
    }

    /// A parameter of the query, read by `parse`; an error becomes a problem that names the
    /// parameter.
    pub fn parse_query<T, E: ToString>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Problem> {
        self.query(name).map(|value| parse(value).map_err(|error| invalid_parameter(name, error))).transpose()
    }

    /// A parameter of the path, read by `parse`.
    pub fn parse_path<T, E: ToString>(
        &self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, Problem> {
        parse(self.path_parameter(name)).map_err(|error| invalid_parameter(name, error))
    }

    /// The body as JSON of at most `bytes_max` bytes. A struct must be a JSON object: an array is
    /// refused.
    pub fn json<T: DeserializeOwned>(&self, bytes_max: usize) -> Result<T, Problem> {
        let body = self.bytes(bytes_max)?;
        if body.is_empty() {
            return Err(INVALID_BODY.detail("a JSON body is needed"));
        }
        let body = json_object::read::<JsonObject<T>>(&body);
        body.map(|JsonObject(body)| body).map_err(|error| INVALID_BODY.detail(error))
    }

    /// The body as it was sent, at most `bytes_max` bytes; empty if there is none.
    pub fn bytes(&self, bytes_max: usize) -> Result<Cow<'_, [u8]>, Problem> {
        let too_large = || BODY_TOO_LARGE.detail(format!("at most {bytes_max} bytes"));
        let body = self.0.body.as_deref().unwrap_or_default();
        // Base64 takes four characters for three bytes, so this refuses a large body before
        // decoding it.
        if body.len() > bytes_max.div_ceil(3) * 4 {
            return Err(too_large());
        }
        let body: Cow<[u8]> = if self.0.is_base64_encoded {
            STANDARD.decode(body).map_err(|_| INVALID_BODY.detail("the body is marked as base64 but is not"))?.into()
        } else {
            body.as_bytes().into()
        };
        if body.len() > bytes_max { Err(too_large()) } else { Ok(body) }
    }
}

/// A media range of `Accept` and its weight in thousandths.
fn media_range(text: &str) -> (&str, u16) {
    let mut parts = text.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    // A weight is a number from 0 to 1 with up to three digits. Any other text counts as no weight.
    let weight = weight.and_then(|weight| weight.parse::<f32>().ok()).filter(|weight| (0.0..=1.0).contains(weight));
    (media, weight.map_or(1_000, |weight| (weight * 1_000.0) as u16))
}

/// The problem for a parameter that cannot be read.
pub fn invalid_parameter(name: &str, why: impl ToString) -> Problem {
    INVALID_PARAMETER.detail(format!("`{name}`: {}", why.to_string()))
}

/// One HTTP response.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    status: u16,
    headers: HeaderMap,
    cookies: Vec<String>,
    body: String,
    is_base64_encoded: bool,
}

impl Reply {
    /// A response of a content type. It is not cached, because the suite's answers are live.
    pub fn new(status: u16, content_type: &'static str, body: String) -> Self {
        let headers = [("content-type", content_type), ("cache-control", "no-store")];
        let headers = headers.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let headers = HeaderMap::from_iter(headers);
        Self { status, headers, cookies: Vec::new(), body, is_base64_encoded: false }
    }

    /// A response of bytes that are not text.
    pub fn bytes(status: u16, content_type: &'static str, body: &[u8]) -> Self {
        Self { is_base64_encoded: true, ..Self::new(status, content_type, STANDARD.encode(body)) }
    }

    /// A response without a body: 204.
    pub fn empty() -> Self {
        let mut reply = Self::new(204, "", String::new());
        reply.headers.remove("content-type");
        reply
    }

    /// Redirects the browser to another address with a GET: 302.
    pub fn redirect(location: &str) -> Self {
        Self { status: 302, ..Self::empty() }.header("location", location)
    }

    /// A response of JSON.
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        match serde_json::to_string(body) {
            Ok(body) => Self::new(status, "application/json", body),
            Err(error) => {
                tracing::error!(%error, "a reply cannot be written as JSON");
                INTERNAL.into()
            }
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// Sets a cookie; each cookie becomes its own `Set-Cookie` header.
    pub fn cookie(mut self, cookie: &Cookie<'_>) -> Self {
        self.cookies.push(cookie.to_string());
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The header `location` of a redirect.
    pub fn location(&self) -> Option<&str> {
        self.headers.get("location")?.to_str().ok()
    }

    /// The cookies that the response sets, in the form of `Set-Cookie`.
    pub fn cookies(&self) -> &[String] {
        &self.cookies
    }

    /// The body, in base64 if it is not text.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// The response in the form that API Gateway expects.
    pub fn into_event(self) -> ApiGatewayV2httpResponse {
        let mut event = ApiGatewayV2httpResponse::default();
        event.status_code = i64::from(self.status);
        event.headers = self.headers;
        event.cookies = self.cookies;
        event.body = Some(self.body.into());
        event.is_base64_encoded = self.is_base64_encoded;
        event
    }
}

impl From<Problem> for Reply {
    fn from(problem: Problem) -> Self {
        let reply = Self::new(problem.status, "application/problem+json", problem.to_json().to_string());
        problem.headers.iter().fold(reply, |reply, (name, value)| reply.header(name, value))
    }
}

/// A cookie that the page's scripts cannot read and that forms of other sites do not send.
#[derive(Debug, Clone, Copy)]
pub struct Cookie<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value: only letters, digits, `-`, `_` and `.`, because nothing is escaped.
    pub value: &'a str,
    /// The path under which the browser sends it.
    pub path: &'a str,
    /// How long the browser keeps the cookie; zero deletes it.
    pub max_age: Duration,
    /// Whether the browser sends it over encrypted connections only.
    pub is_secure: bool,
}

impl fmt::Display for Cookie<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, path, max_age, is_secure } = self;
        let secure = if *is_secure { "; Secure" } else { "" };
        write!(f, "{name}={value}; Path={path}; Max-Age={}; HttpOnly; SameSite=Lax{secure}", max_age.as_secs())
    }
}

/// API Gateway replaces bytes of a header that are not UTF-8 with this character.
const REPLACEMENT_CHARACTER: &[u8] = "\u{fffd}".as_bytes();

/// Reads a request, or says what is wrong with it. If Lambda's types read it, a request that they
/// refuse would end as an error of the function, a 500. And a header that is not text, such as an
/// idempotency key, would count as missing.
fn read(event: &RawValue) -> Result<Box<ApiGatewayV2httpRequest>, Problem> {
    let event: Box<ApiGatewayV2httpRequest> = serde_json::from_str(event.get()).map_err(|error| {
        tracing::warn!(%error, "a request cannot be read");
        INVALID_REQUEST.detail("a header, the path or the query cannot be read")
    })?;
    let is_text = |value: &HeaderValue| {
        !value.as_bytes().windows(REPLACEMENT_CHARACTER.len()).any(|bytes| bytes == REPLACEMENT_CHARACTER)
    };
    match event.headers.iter().find(|(_, value)| !is_text(value)) {
        Some((name, _)) => Err(INVALID_REQUEST.detail(format!("the header `{name}` is not UTF-8"))),
        None => Ok(event),
    }
}

/// Answers requests until Lambda ends the process, with one log line and one flush of the metrics
/// for each.
pub async fn run<F, Fut>(handle: F) -> Result<(), lambda_runtime::Error>
where
    F: Fn(Request) -> Fut,
    Fut: Future<Output = Result<Reply, Problem>>,
{
    serve(&|request| Box::pin(handle(request))).await
}

fn serve<'a>(
    handle: &'a dyn Fn(Request) -> Local<'a, Result<Reply, Problem>>,
) -> Local<'a, Result<(), lambda_runtime::Error>> {
    Box::pin(async move {
        let cdn = &Cdn::from_env();
        let answer = |event: LambdaEvent<Box<RawValue>>| -> Answer<'_> {
            Box::pin(async move {
                let start = Instant::now();
                let (mut route, mut client) = (String::new(), None);
                let outcome = match read(&event.payload) {
                    Ok(mut event) => {
                        let peer = event.request_context.http.source_ip.take();
                        client = cdn.client(&mut event.headers, peer.as_deref());
                        event.request_context.http.source_ip.clone_from(&client);
                        let request = Request::new(*event);
                        request.route().clone_into(&mut route);
                        handle(request).await
                    }
                    Err(problem) => Err(problem),
                };
                let (reply, problem) = match outcome {
                    Ok(reply) => (reply, ""),
                    Err(problem) => {
                        let name = problem.name();
                        (problem.into(), name)
                    }
                };
                let duration_ms = start.elapsed().as_secs_f64() * 1_000.0;
                let (request_id, status) = (event.context.request_id, reply.status);
                tracing::info!(request_id, route, status, problem, client, duration_ms);
                runtime::json(&reply.into_event())
            })
        };
        runtime::serve(&answer).await
    })
}

#[cfg(test)]
mod tests;
