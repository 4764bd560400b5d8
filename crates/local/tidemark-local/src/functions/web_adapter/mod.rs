//! The contract of the Lambda Web Adapter: a function with its layer is a web server.
//!
//! The adapter is a client of the function's Runtime API, as on AWS. It waits until the server is
//! ready, then turns each event into an HTTP request and the server's answer into a response.
//!
//! Source: <https://github.com/awslabs/aws-lambda-web-adapter>.

mod event;
mod response;
mod settings;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use super::runtime_api::{PAYLOAD_BYTES_MAX, RESPONSE_MODE, WITH_PRELUDE};
use crate::stack::Function;
use event::{AdapterRequest, EventShape};
pub(super) use settings::Settings;

/// Interval of the readiness check; the adapter's own.
const READINESS_INTERVAL: Duration = Duration::from_millis(10);

/// How long the adapter waits for a server with `AWS_LWA_ASYNC_INIT`, before it takes invocations.
const ASYNC_INIT_WAIT: Duration = Duration::from_millis(9_800);

/// The beginning of the path of a Runtime API.
const RUNTIME: &str = "2018-06-01/runtime/invocation";

/// The adapter of one instance.
#[derive(Debug)]
pub(super) struct WebAdapter {
    settings: Settings,
    runtime_api: SocketAddr,
    /// The ports at which the server may listen, best first.
    ports: Vec<u16>,
    env_config: Value,
    client: Client<HttpConnector, Body>,
}

/// What the adapter sends to the Runtime API.
enum Answer {
    Whole(String),
    Stream(Body),
}

/// Why an invocation has no answer.
type AdapterError = Box<dyn std::error::Error + Send + Sync>;

impl WebAdapter {
    /// An adapter for an instance whose server does not run yet.
    ///
    /// A server that reads `PORT` gets a free port, so that several instances can run. Other
    /// servers listen at the template's port (by default 8080), if no other program does.
    pub(super) fn new(function: &Function, runtime_api: SocketAddr) -> std::io::Result<Self> {
        let settings = Settings::of(&function.environment);
        let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let fixed = std::net::TcpListener::bind((Ipv4Addr::UNSPECIFIED, settings.port)).is_ok();
        let ports = std::iter::once(free).chain(fixed.then_some(settings.port)).collect();
        let env_config = json!({
            "function_name": function.name,
            "memory": function.memory_size_mib,
            "version": "$LATEST",
            "log_stream": "",
            "log_group": format!("/aws/lambda/{}", function.name),
        });
        let client = Client::builder(TokioExecutor::new()).build_http();
        Ok(Self { settings, runtime_api, ports, env_config, client })
    }

    /// The variables of the server, in addition to those of the function.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let port = self.ports.first().copied().unwrap_or(self.settings.port).to_string();
        ["PORT", "AWS_LWA_PORT"].map(|name| (name, port.clone())).into()
    }

    /// Explains a failed start of a server whose port is in use.
    pub(super) fn hint(&self) -> Option<String> {
        (self.ports.len() == 1).then(|| {
            let port = self.settings.port;
            format!(
                "port {port} is in use by another program or instance; let the server read its port from PORT, or free it"
            )
        })
    }

    /// Waits for the server, and serves invocations until the Runtime API closes. Sets `fixed_port`
    /// before the first invocation if the server does not read `PORT`.
    pub(super) async fn run(self, fixed_port: Arc<AtomicBool>) {
        let ready = self.ready();
        let mut port = if self.settings.async_init {
            tokio::time::timeout(ASYNC_INIT_WAIT, ready).await.ok()
        } else {
            Some(ready.await)
        };
        let is_fixed = port.is_some_and(|port| self.ports.first() != Some(&port));
        fixed_port.store(is_fixed, Ordering::Relaxed);
        while let Ok((headers, event)) = self.next().await {
            let id = header(&headers, "lambda-runtime-aws-request-id");
            let server = match port {
                Some(port) => port,
                None => *port.insert(self.ready().await),
            };
            let request = Request::post(format!("http://{}/{RUNTIME}/{id}/response", self.runtime_api));
            let request = match self.answer(server, &headers, &event).await {
                Ok(Answer::Whole(body)) => request.header(CONTENT_TYPE, "application/json").body(Body::from(body)),
                Ok(Answer::Stream(body)) => {
                    request.header(CONTENT_TYPE, WITH_PRELUDE).header(RESPONSE_MODE, "streaming").body(body)
                }
                Err(error) => request
                    .uri(format!("http://{}/{RUNTIME}/{id}/error", self.runtime_api))
                    .header(CONTENT_TYPE, "application/json")
                    .body(Body::from(failure(&error.to_string()))),
            };
            let Ok(request) = request else { return };
            if self.client.request(request).await.is_err() {
                return;
            }
        }
    }

    /// Waits until a port answers the readiness check, and returns it.
    async fn ready(&self) -> u16 {
        loop {
            for port in &self.ports {
                if self.is_ready(*port).await {
                    return *port;
                }
            }
            tokio::time::sleep(READINESS_INTERVAL).await;
        }
    }

    async fn is_ready(&self, port: u16) -> bool {
        let checked = self.settings.readiness_port.unwrap_or(port);
        if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err() {
            return false;
        }
        if self.settings.readiness_tcp {
            return TcpStream::connect((Ipv4Addr::LOCALHOST, checked)).await.is_ok();
        }
        let path = self.settings.readiness_path.trim_start_matches('/');
        let status = self.get(&format!("http://127.0.0.1:{checked}/{path}")).await;
        status.is_ok_and(|status| self.settings.healthy.contains(status.as_u16()))
    }

    async fn get(&self, url: &str) -> Result<StatusCode, AdapterError> {
        Ok(self.client.request(Request::get(url).body(Body::empty())?).await?.status())
    }

    async fn next(&self) -> Result<(HeaderMap, Bytes), AdapterError> {
        let request = Request::get(format!("http://{}/{RUNTIME}/next", self.runtime_api)).body(Body::empty())?;
        let response = self.client.request(request).await?;
        if response.status() != StatusCode::OK {
            return Err(format!("the Runtime API answered {}", response.status()).into());
        }
        let (parts, body) = response.into_parts();
        Ok((parts.headers, axum::body::to_bytes(Body::new(body), PAYLOAD_BYTES_MAX).await?))
    }

    /// Sends an event to the server, and returns the function's response.
    async fn answer(&self, port: u16, headers: &HeaderMap, event: &[u8]) -> Result<Answer, AdapterError> {
        let mut request = event::request(event, &self.settings)?;
        request.headers.insert("x-amzn-lambda-context", self.lambda_context(headers).parse()?);
        self.settings.move_authorization(&mut request.headers);
        let shape = request.shape;
        let response = self.call(port, request).await?;
        let status = response.status().as_u16();
        if self.settings.error_status_codes.contains(status) {
            return Err(format!("Request failed with configured error status code: {status}").into());
        }
        let (parts, body) = response.into_parts();
        if self.settings.streams_responses && shape != EventShape::PassThrough {
            return Ok(Answer::Stream(response::streamed(&parts, body)));
        }
        let body = axum::body::to_bytes(body, PAYLOAD_BYTES_MAX).await?;
        Ok(Answer::Whole(match shape {
            EventShape::PassThrough => response::pass_through(&body),
            shape => response::of_http(shape, &parts, &body).to_string(),
        }))
    }

    async fn call(&self, port: u16, request: AdapterRequest) -> Result<Response<Body>, AdapterError> {
        let mut http = Request::builder()
            .method(Method::from_bytes(request.method.as_bytes())?)
            .uri(format!("http://127.0.0.1:{port}{}", request.target))
            .body(Body::from(request.body))?;
        *http.headers_mut() = request.headers;
        Ok(self.client.request(http).await?.map(Body::new))
    }

    fn lambda_context(&self, headers: &HeaderMap) -> String {
        let deadline: u64 = header(headers, "lambda-runtime-deadline-ms").parse().unwrap_or_default();
        json!({
            "request_id": header(headers, "lambda-runtime-aws-request-id"),
            "deadline": deadline,
            "invoked_function_arn": header(headers, "lambda-runtime-invoked-function-arn"),
            "xray_trace_id": header(headers, "lambda-runtime-trace-id"),
            "client_context": null,
            "identity": null,
            "env_config": self.env_config,
        })
        .to_string()
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn failure(message: &str) -> String {
    json!({ "errorType": "lambda_web_adapter::Error", "errorMessage": message }).to_string()
}
