//! A client of an API.

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, header};
use bytes::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use super::{TestError, UnknownName};

/// Maximum size of an answer.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;

/// A client of an API.
#[derive(Debug)]
pub struct Http {
    url: Result<String, UnknownName>,
    client: Client<HttpConnector, Body>,
}

/// The answer of an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Answer {
    /// The body as text; other bytes become `U+FFFD`.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`TestError::Answer`] with the body if it is not JSON.
    pub fn json(&self) -> Result<Value, TestError> {
        serde_json::from_slice(&self.body).map_err(|error| TestError::Answer(format!("{error} in: {}", self.text())))
    }
}

impl Http {
    pub(super) fn new(url: Result<String, UnknownName>) -> Self {
        Self { url, client: Client::builder(TokioExecutor::new()).build_http() }
    }

    /// The API's address, without a slash at the end.
    ///
    /// # Errors
    /// [`TestError::Unknown`] if the template has no such API.
    pub fn url(&self) -> Result<&str, TestError> {
        Ok(self.url.as_deref().map_err(Clone::clone)?)
    }

    /// Sends a `GET`. The path begins with `/`, and may have a query.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn get(&self, path: &str) -> Result<Answer, TestError> {
        self.request(Method::GET, path, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a `POST` of JSON.
    ///
    /// # Errors
    /// As [`request`](Self::request).
    pub async fn post(&self, path: &str, body: Value) -> Result<Answer, TestError> {
        let json = HeaderMap::from_iter([(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"))]);
        self.request(Method::POST, path, json, body.to_string()).await
    }

    /// Sends any request. Any status is an answer, and no redirect is followed.
    ///
    /// # Errors
    /// [`TestError::Unknown`] if the template has no such API, [`TestError::Answer`] if the path is
    /// invalid or no answer comes.
    pub async fn request(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<Answer, TestError> {
        let url = format!("{}{path}", self.url()?);
        let failed = |error: &dyn std::error::Error| TestError::Answer(format!("{method} {url}: {error}"));
        let mut request = Request::builder().uri(&url).body(Body::from(body.into())).map_err(|error| failed(&error))?;
        *request.method_mut() = method.clone();
        *request.headers_mut() = headers;
        let (parts, body) = self.client.request(request).await.map_err(|error| failed(&error))?.into_parts();
        let body = to_bytes(Body::new(body), ANSWER_BYTES_MAX).await.map_err(|error| failed(&error))?;
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }
}
