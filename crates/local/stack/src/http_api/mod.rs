//! API Gateway's HTTP APIs: pass a request to a function, and its response to the client.
//!
//! All APIs of a template share one port; each has its own CORS configuration and throttling.
//! Limits: <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>.

mod cors;
pub(crate) mod event;
pub(crate) mod integration_response;
pub(crate) mod routes;
pub(crate) mod throttle;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use jiff::Timestamp;
use tower::ServiceExt;
use tower_http::compression::Compression;
use tower_http::services::ServeDir;

pub(crate) use routes::RouteError;

use crate::functions::{Functions, InvokeError, Pool};
use crate::metrics::{Metrics, Subject};
use crate::stack::{Cors, HttpApi};
use crate::template::IMPLICIT_HTTP_API;
use routes::{Match, Routes};
use throttle::Bucket;

/// Maximum size of a request body: 10 MB.
pub(crate) const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Maximum size of the request line and headers together, bytes.
pub(crate) const HEADERS_BYTES_MAX: usize = 10_240;

/// How long a function may take for a request.
pub(crate) const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(29);

/// The HTTP APIs of a stack and its static pages.
#[derive(Debug)]
pub(crate) struct HttpApis {
    apis: Vec<Api>,
    routes: Routes<Target>,
    pages: Option<ServeDir>,
    metrics: Arc<Metrics>,
}

#[derive(Debug)]
struct Api {
    id: String,
    cors: Option<Cors>,
    bucket: Option<Bucket>,
}

#[derive(Debug)]
struct Target {
    api: usize,
    pool: Arc<Pool>,
}

impl HttpApis {
    /// The routes of all functions. `pages` is the folder of static pages, which CloudFront serves
    /// on AWS.
    ///
    /// # Errors
    /// [`RouteError`] when a route key is malformed or appears twice.
    pub(crate) fn new(apis: &[HttpApi], functions: &Functions, pages: Option<&Path>) -> Result<Self, RouteError> {
        let mut apis: Vec<Api> = apis.iter().map(Api::new).collect();
        let mut targets = Vec::new();
        for pool in functions.all() {
            for route in &pool.function().routes {
                let id = route.api.as_deref().unwrap_or(IMPLICIT_HTTP_API);
                let api = apis.iter().position(|api| api.id == id).unwrap_or_else(|| {
                    apis.push(Api { id: id.to_owned(), cors: None, bucket: None });
                    apis.len() - 1
                });
                targets.push((route.route_key.clone(), Target { api, pool: Arc::clone(pool) }));
            }
        }
        let pages = pages.map(ServeDir::new);
        Ok(Self { apis, routes: Routes::new(targets)?, pages, metrics: Arc::clone(functions.metrics()) })
    }

    /// Responds to one request.
    pub(crate) async fn serve(&self, request: Request<Body>, peer: SocketAddr) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let wanted = wanted_method(&parts);
        let api_of = |found: &Match<'_, Target>| &self.apis[found.target.api];
        let specific = self.routes.find(&wanted, path);
        if cors::is_preflight(&parts) {
            let found = specific.as_ref().map(api_of).or_else(|| self.routes.default_route().as_ref().map(api_of));
            if let Some(cors) = found.or(self.apis.first()).and_then(|api| api.cors.as_ref()) {
                return cors::preflight(cors, &parts.headers);
            }
        }
        if specific.is_none()
            && let Some(page) = self.page(&parts).await
        {
            return page;
        }
        let found = match self.routes.find(parts.method.as_str(), path).or_else(|| self.routes.default_route()) {
            Some(found) => found,
            None => return integration_response::message(StatusCode::NOT_FOUND, "Not Found"),
        };
        let api = api_of(&found);
        let mut response = self.call(api, &found, &parts, body, peer).await;
        self.note(response.status());
        if let Some(cors) = &api.cors {
            cors::apply(cors, &parts.headers, response.headers_mut());
        }
        response
    }

    /// Counts a request in the metrics. As in CloudWatch, only requests that match a route count.
    fn note(&self, status: StatusCode) {
        self.metrics.record(&Subject::Api, "Count", 1.0);
        match status.as_u16() {
            400..=499 => self.metrics.record(&Subject::Api, "4xx", 1.0),
            500.. => self.metrics.record(&Subject::Api, "5xx", 1.0),
            _ => {}
        }
    }

    /// The static file for a request, if there is one.
    async fn page(&self, parts: &Parts) -> Option<Response<Body>> {
        let files = self.pages.as_ref()?;
        if parts.method != Method::GET && parts.method != Method::HEAD {
            return None;
        }
        let request = Request::from_parts(parts.clone(), Body::empty());
        let response = Compression::new(files.clone()).oneshot(request).await.ok()?;
        let found = response.status() != StatusCode::NOT_FOUND;
        found.then(|| response.map(Body::new))
    }

    async fn call(
        &self,
        api: &Api,
        found: &Match<'_, Target>,
        parts: &Parts,
        body: Body,
        peer: SocketAddr,
    ) -> Response<Body> {
        if api.bucket.as_ref().is_some_and(|bucket| !bucket.take(Instant::now())) {
            return integration_response::message(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests");
        }
        if header_bytes(parts) > HEADERS_BYTES_MAX {
            return integration_response::message(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "Request Header Fields Too Large",
            );
        }
        let Some(body) = read_body(&parts.headers, body).await else {
            return integration_response::message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large");
        };
        let event = event::build(parts, &body, found, &api.id, peer.ip(), Timestamp::now());
        let invocation = found.target.pool.invoke(event.to_string().into());
        match tokio::time::timeout(INTEGRATION_TIMEOUT, invocation).await {
            Ok(Ok(invocation)) => invocation.outcome.map_or_else(
                |_| integration_response::internal_server_error(),
                |body| integration_response::read(&body),
            ),
            Ok(Err(InvokeError::TooLarge)) => {
                integration_response::message(StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large")
            }
            Ok(Err(InvokeError::Throttled | InvokeError::Stopping)) | Err(_) => {
                integration_response::message(StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable")
            }
        }
    }
}

impl Api {
    fn new(api: &HttpApi) -> Self {
        let bucket = api.throttle.map(|throttle| Bucket::new(throttle, Instant::now()));
        Self { id: api.logical_id.clone(), cors: api.cors.clone(), bucket }
    }
}

/// The method of a request; for a preflight, the method that it asks about.
fn wanted_method(parts: &Parts) -> String {
    let asked = cors::is_preflight(parts).then(|| parts.headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)).flatten();
    asked.and_then(|method| method.to_str().ok()).unwrap_or(parts.method.as_str()).to_owned()
}

fn header_bytes(parts: &Parts) -> usize {
    let line = parts.method.as_str().len() + parts.uri.to_string().len();
    let headers = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len());
    line + headers.sum::<usize>()
}

/// The body; `None` if it is too large. A `Content-Length` above the limit is rejected before the
/// body is read.
async fn read_body(headers: &HeaderMap, body: Body) -> Option<Bytes> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > BODY_BYTES_MAX) {
        return None;
    }
    to_bytes(body, BODY_BYTES_MAX).await.ok()
}
