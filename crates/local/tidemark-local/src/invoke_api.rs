//! Lambda's Invoke API, so that functions, `aws lambda invoke` and `cargo lambda invoke` work
//! against the stack.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use serde_json::json;

use crate::arn;
use crate::functions::{Functions, InvokeError, PAYLOAD_BYTES_MAX};
use crate::policies::{Policies, Request};

/// Maximum payload of an asynchronous invocation: 1 MB.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>.
pub(crate) const EVENT_PAYLOAD_BYTES_MAX: usize = 1024 * 1024;

/// The API's routes.
pub(crate) fn router(functions: Arc<Functions>, policies: Arc<Policies>) -> Router {
    Router::new()
        .route("/2015-03-31/functions/{name}/invocations", post(invoke))
        .layer(DefaultBodyLimit::max(PAYLOAD_BYTES_MAX))
        .with_state((functions, policies))
}

async fn invoke(
    State((functions, policies)): State<(Arc<Functions>, Arc<Policies>)>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Some(pool) = functions.get(&name) else {
        let message = format!("Function not found: {}", arn::function(&name));
        return error(StatusCode::NOT_FOUND, "ResourceNotFoundException", &message);
    };
    let resource = arn::function(&pool.function().name);
    let asked = Request { action: "lambda:InvokeFunction".to_owned(), resource, ..Request::default() };
    if let Err(sentence) = policies.allow_signed(&headers, &asked) {
        return error(StatusCode::FORBIDDEN, "AccessDeniedException", &sentence);
    }
    let Ok(payload) = body else { return too_large(PAYLOAD_BYTES_MAX) };
    let payload = if payload.is_empty() { Bytes::from_static(b"{}") } else { payload };
    if let Err(problem) = serde_json::from_slice::<serde::de::IgnoredAny>(&payload) {
        let message = format!("Could not parse request body into json: {problem}");
        return error(StatusCode::BAD_REQUEST, "InvalidRequestContentException", &message);
    }
    match headers.get("x-amz-invocation-type").map(HeaderValue::as_bytes) {
        None | Some(b"RequestResponse") => {}
        Some(b"DryRun") => return StatusCode::NO_CONTENT.into_response(),
        Some(b"Event") if payload.len() > EVENT_PAYLOAD_BYTES_MAX => return too_large(EVENT_PAYLOAD_BYTES_MAX),
        Some(b"Event") => {
            functions.invoke_event(pool, payload);
            return StatusCode::ACCEPTED.into_response();
        }
        Some(_) => {
            let message = "InvocationType must be RequestResponse, Event or DryRun";
            return error(StatusCode::BAD_REQUEST, "InvalidParameterValueException", message);
        }
    }
    match pool.invoke(payload).await {
        Ok(invocation) => {
            let failed = invocation.outcome.is_err();
            let body = invocation.outcome.unwrap_or_else(|failure| failure.body);
            let mut response = ([("x-amz-executed-version", "$LATEST")], body).into_response();
            response.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
            if failed {
                response.headers_mut().insert("x-amz-function-error", HeaderValue::from_static("Unhandled"));
            }
            if let Ok(request_id) = HeaderValue::from_str(&invocation.request_id) {
                response.headers_mut().insert("x-amzn-requestid", request_id);
            }
            response
        }
        Err(InvokeError::TooLarge) => too_large(PAYLOAD_BYTES_MAX),
        Err(throttled @ InvokeError::Throttled) => {
            error(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsException", &throttled.to_string())
        }
        Err(stopping @ InvokeError::Stopping) => {
            error(StatusCode::INTERNAL_SERVER_ERROR, "ServiceException", &stopping.to_string())
        }
    }
}

fn too_large(max: usize) -> Response {
    let message = format!("Request must be smaller than {max} bytes for the InvokeFunction operation");
    error(StatusCode::PAYLOAD_TOO_LARGE, "RequestTooLargeException", &message)
}

fn error(status: StatusCode, kind: &'static str, message: &str) -> Response {
    let body = json!({ "Type": "User", "Message": message, "message": message }).to_string();
    (status, [("x-amzn-errortype", kind), ("content-type", "application/json")], body).into_response()
}
