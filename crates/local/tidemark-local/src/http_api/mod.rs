//! API Gateway's HTTP and REST APIs, Lambda's function URLs, and load balancers: pass a request to
//! a function, and its response to the client.
//!
//! The first API of a template is on the stack's own port, each other one on a port of its own.
//! Limits: <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html>.

pub(crate) mod added_headers;
pub(crate) mod authorizers;
mod checks;
mod cors;
pub(crate) mod errors;
pub(crate) mod event;
mod event_load_balancer;
mod event_v1;
pub(crate) mod integration_response;
pub(crate) mod multi_value;
pub(crate) mod routes;
mod streamed_response;
pub(crate) mod throttle;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, to_bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use bytes::Bytes;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use tokio::fs;
use tower::ServiceExt;
use tower_http::compression::Compression;
use tower_http::services::ServeDir;

pub(crate) use routes::RouteError;

use crate::arn;
use crate::functions::{FunctionResult, Functions, InvokeError, Pool};
use crate::metrics::{Metrics, Subject};
use crate::stack::{ApiKind, FixedResponse, HttpApi, PayloadFormat, Route};
use authorizers::{Authorizer, AuthorizerRequest};
use checks::Checks;
use errors::GatewayError;
use routes::{Match, Routes};
use throttle::Bucket;

/// Maximum size of a request body: 10 MB.
pub(crate) const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Maximum size of the request line and headers together, bytes.
pub(crate) const HEADERS_BYTES_MAX: usize = 10_240;

/// How long a function may take for a request of an API.
pub(crate) const INTEGRATION_TIMEOUT: Duration = Duration::from_secs(29);

/// The same for a function URL, whose limit is that of the function: more than the longest one, with
/// the start of an instance.
const URL_TIMEOUT: Duration = Duration::from_secs(960);

/// The APIs of a stack, and its static pages.
#[derive(Debug)]
pub(crate) struct HttpApis {
    apis: Vec<Api>,
    pages: Option<Pages>,
    metrics: Arc<Metrics>,
}

/// A folder of static pages.
#[derive(Debug)]
struct Pages {
    files: ServeDir,
    folder: PathBuf,
}

/// One API, with its own routes.
#[derive(Debug)]
struct Api {
    definition: HttpApi,
    routes: Routes<Target>,
    bucket: Option<Bucket>,
}

#[derive(Debug)]
struct Target {
    backend: Backend,
    payload: PayloadFormat,
    authorizer: Option<Arc<Authorizer>>,
    scopes: Vec<String>,
    checks: Checks,
    timeout: Option<Duration>,
}

/// What answers a request.
#[derive(Debug)]
enum Backend {
    Function(Arc<Pool>),
    Fixed(FixedResponse),
}

impl HttpApis {
    /// The APIs with the routes of all functions. `pages` is the folder of static pages, which
    /// CloudFront serves on AWS.
    pub(crate) fn new(apis: &[HttpApi], functions: &Functions, pages: Option<&Path>) -> Result<Self, RouteError> {
        let of = |api: &HttpApi| {
            let authorizers = authorizers::of_api(api, functions);
            let target = |backend: Backend, route: &Route| Target {
                backend,
                payload: route.payload,
                authorizer: authorizers::of_route(api, route, &authorizers),
                scopes: route.scopes.clone(),
                checks: Checks::new(&route.checks),
                timeout: route.timeout,
            };
            let routes = functions.all().iter().flat_map(|pool| {
                let own = pool.function().routes.iter().filter(|route| route.api == api.logical_id);
                own.map(|route| (route.route_key.clone(), target(Backend::Function(Arc::clone(pool)), route)))
            });
            let fixed = api
                .fixed_routes
                .iter()
                .map(|(route, response)| (route.route_key.clone(), target(Backend::Fixed(response.clone()), route)));
            let routes = routes.chain(fixed);
            let bucket = api.throttle.map(|throttle| Bucket::new(throttle, Instant::now()));
            Ok(Api { definition: api.clone(), routes: Routes::new(routes)?, bucket })
        };
        let apis = apis.iter().map(of).collect::<Result<_, RouteError>>()?;
        Ok(Self { apis, pages: pages.map(Pages::new), metrics: Arc::clone(functions.metrics()) })
    }

    /// Responds to a request on the stack's own port: by the first API, or by a static page.
    pub(crate) async fn serve(&self, request: Request<Body>, peer: SocketAddr) -> Response<Body> {
        let Some(api) = self.apis.first() else {
            let (parts, _) = request.into_parts();
            let page = self.page(&parts).await;
            return page.unwrap_or_else(|| integration_response::message(StatusCode::NOT_FOUND, "Not Found"));
        };
        self.serve_by(api, request, peer, true).await
    }

    /// Responds to a request on the port of the API at `index`.
    pub(crate) async fn serve_api(&self, index: usize, request: Request<Body>, peer: SocketAddr) -> Response<Body> {
        match self.apis.get(index) {
            Some(api) => self.serve_by(api, request, peer, false).await,
            None => integration_response::message(StatusCode::NOT_FOUND, "Not Found"),
        }
    }

    async fn serve_by(&self, api: &Api, request: Request<Body>, peer: SocketAddr, with_pages: bool) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let path = api.without_stage(parts.uri.path());
        let wanted = wanted_method(&parts);
        let specific = api.find(&wanted, path);
        let cors = api.definition.cors.as_ref();
        if cors::is_preflight(&parts)
            && let Some(cors) = cors
        {
            return cors::preflight(cors, &parts.headers);
        }
        if with_pages
            && specific.is_none()
            && let Some(page) = self.page(&parts).await
        {
            return page;
        }
        let found = match api.find(parts.method.as_str(), path).or_else(|| api.routes.default_route()) {
            Some(found) => found,
            None => return GatewayError::NoRoute.response(&api.definition),
        };
        let response = api.call(&found, path, &parts, body, peer).await;
        let mut response = response.unwrap_or_else(|error| error.response(&api.definition));
        self.note(response.status());
        // A function behind a REST API sets its own CORS headers.
        if let Some(cors) = cors.filter(|_| api.definition.kind != ApiKind::Rest) {
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
        let pages = self.pages.as_ref()?;
        if parts.method != Method::GET && parts.method != Method::HEAD || !pages.holds(parts.uri.path()).await {
            return None;
        }
        let request = Request::from_parts(parts.clone(), Body::empty());
        let response = Compression::new(pages.files.clone()).oneshot(request).await.ok()?;
        let found = response.status() != StatusCode::NOT_FOUND;
        found.then(|| response.map(Body::new))
    }
}

impl Pages {
    fn new(folder: &Path) -> Self {
        Self { files: ServeDir::new(folder), folder: folder.to_owned() }
    }

    /// Whether a path is in the folder. A link that leads out of it is not.
    async fn holds(&self, path: &str) -> bool {
        let path = percent_decode_str(path.trim_start_matches('/')).decode_utf8_lossy().into_owned();
        let (folder, file) = tokio::join!(fs::canonicalize(&self.folder), fs::canonicalize(self.folder.join(path)));
        folder.is_ok_and(|folder| file.is_ok_and(|file| file.starts_with(folder)))
    }
}

impl Api {
    /// The route for a request. A REST API overlooks a slash at the end of a path.
    fn find(&self, method: &str, path: &str) -> Option<Match<'_, Target>> {
        let without = path.strip_suffix('/').filter(|path| self.definition.kind == ApiKind::Rest && !path.is_empty());
        self.routes.find(method, without.unwrap_or(path))
    }

    /// The path without the stage. Both forms are accepted: a REST API has the stage in its
    /// address.
    fn without_stage<'a>(&self, path: &'a str) -> &'a str {
        let rest = path.strip_prefix('/').and_then(|path| path.strip_prefix(self.definition.stage.as_str()));
        match rest {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') && matches!(self.definition.kind, ApiKind::Http | ApiKind::Rest) => {
                rest
            }
            _ => path,
        }
    }

    async fn call(
        &self,
        found: &Match<'_, Target>,
        path: &str,
        parts: &Parts,
        body: Body,
        peer: SocketAddr,
    ) -> Result<Response<Body>, GatewayError> {
        let kind = self.definition.kind;
        if self.bucket.as_ref().is_some_and(|bucket| !bucket.take(Instant::now())) {
            return Err(GatewayError::Throttled);
        }
        if header_bytes(parts) > HEADERS_BYTES_MAX {
            return Err(GatewayError::HeadersTooLarge);
        }
        let Target { backend, payload, authorizer, scopes, checks, timeout } = found.target;
        let grant = match authorizer {
            None => None,
            Some(authorizer) => {
                let arn = self.request_arn(parts, path);
                let event = |format| self.event(format, found, path, parts, &Bytes::new(), peer);
                let request = AuthorizerRequest { parts, api: &self.definition, arn: &arn, scopes, event: &event };
                Some(authorizer.decide(request).await.map_err(GatewayError::Refused)?)
            }
        };
        let body = read_body(&parts.headers, body).await.ok_or(GatewayError::TooLarge)?;
        checks.test(parts, &body)?;
        let pool = match backend {
            Backend::Function(pool) => pool,
            Backend::Fixed(fixed) => return Ok(integration_response::fixed(fixed)),
        };
        let mut event = self.event(*payload, found, path, parts, &body, peer);
        if let Some(grant) = grant {
            grant.add_to(&mut event, *payload, kind);
        }
        let is_streamed = self.definition.streams_responses;
        let invocation = pool.invoke_streaming(event.to_string().into());
        let limit = if kind == ApiKind::FunctionUrl { URL_TIMEOUT } else { timeout.unwrap_or(INTEGRATION_TIMEOUT) };
        match tokio::time::timeout(pool.function().time_limit(limit), invocation)
            .await
            .map_err(|_| GatewayError::TimedOut)?
        {
            Ok(invocation) => match invocation.outcome {
                Err(_) => Err(GatewayError::FunctionFailed),
                Ok(FunctionResult::Stream(parts)) => streamed_response::of(parts, is_streamed).await,
                // As on AWS, a URL that streams sends a whole result as it is.
                Ok(FunctionResult::Whole(body)) if is_streamed => {
                    let mut response = Response::new(Body::from(body));
                    let json = HeaderValue::from_static("application/json");
                    response.headers_mut().insert(header::CONTENT_TYPE, json);
                    Ok(response)
                }
                Ok(FunctionResult::Whole(body)) => integration_response::read(&body, kind, *payload).map_err(|why| {
                    let (function, api) = (&pool.function().logical_id, &self.definition.logical_id);
                    tracing::error!("{function} | its result is no response of {api} ({kind:?}, {payload:?}): {why}");
                    GatewayError::FunctionFailed
                }),
            },
            Err(InvokeError::TooLarge) => Err(GatewayError::TooLarge),
            Err(InvokeError::Throttled | InvokeError::Stopping) => Err(GatewayError::Unavailable),
        }
    }

    /// The ARN of a request, as policies of authorizers name it.
    fn request_arn(&self, parts: &Parts, path: &str) -> String {
        let HttpApi { logical_id, stage, .. } = &self.definition;
        let path = path.trim_start_matches('/');
        format!("{}:{logical_id}/{stage}/{}/{path}", arn::of_region("execute-api"), parts.method)
    }

    fn event(
        &self,
        format: PayloadFormat,
        found: &Match<'_, Target>,
        path: &str,
        parts: &Parts,
        body: &Bytes,
        peer: SocketAddr,
    ) -> serde_json::Value {
        let HttpApi { logical_id, kind, stage, stage_variables, binary_media_types, .. } = &self.definition;
        match format {
            PayloadFormat::V2 => {
                let api = (*kind, logical_id.as_str(), stage.as_str());
                let mut event = event::build(parts, body, found, api, peer.ip(), Timestamp::now());
                if !stage_variables.is_empty() {
                    event["stageVariables"] = serde_json::json!(stage_variables);
                }
                event
            }
            PayloadFormat::LoadBalancer { multi_value } => {
                event_load_balancer::build(parts, body, logical_id, multi_value, peer.ip())
            }
            PayloadFormat::V1 => {
                let is_rest = *kind == ApiKind::Rest;
                let api = event_v1::EventApi { id: logical_id, stage, stage_variables, binary_media_types, is_rest };
                event_v1::build(parts, path, body, found, api, peer.ip())
            }
        }
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
