//! Lambda's Invoke API, so that functions, `aws lambda invoke` and `cargo lambda invoke` work
//! against the stack.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html>.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::{BytesRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::functions::{
    FunctionError, FunctionResult, Functions, InvokeError, PAYLOAD_BYTES_MAX, Pool, name_and_qualifier,
};
use crate::policies::{Policies, Request};
use crate::rest_protocol::{self, error};
use crate::{actions, arn, event_stream};

/// Maximum payload of an asynchronous invocation: 1 MB.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>.
pub(crate) const EVENT_PAYLOAD_BYTES_MAX: usize = 1024 * 1024;

/// The API's routes.
pub(crate) fn router(functions: Arc<Functions>, policies: Arc<Policies>) -> Router {
    Router::new()
        .route("/2015-03-31/functions/{name}/invocations", post(invoke))
        .route("/2021-11-15/functions/{name}/response-streaming-invocations", post(invoke_streaming))
        .method_not_allowed_fallback(refuse)
        .layer(DefaultBodyLimit::max(PAYLOAD_BYTES_MAX))
        .with_state((functions, policies))
}

/// Answers other methods at the paths of this API.
pub(crate) async fn refuse(method: Method, uri: Uri) -> Response {
    rest_protocol::refusal(&actions::LAMBDA, &method, &uri, "")
}

/// The function's name in the path, with the `Qualifier` of the query behind it.
pub(crate) struct FunctionName(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for FunctionName {
    type Rejection = PathRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PathRejection> {
        let Path(mut name) = Path::<String>::from_request_parts(parts, state).await?;
        let mut query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
        if let Some((_, qualifier)) = query.find(|(key, _)| key == "Qualifier")
            && name_and_qualifier(&name).1 != Some(&*qualifier)
        {
            name = format!("{name}:{qualifier}");
        }
        Ok(Self(name))
    }
}

async fn invoke(
    State((functions, policies)): State<(Arc<Functions>, Arc<Policies>)>,
    FunctionName(name): FunctionName,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let (pool, payload) = match checked(&functions, &policies, &name, &headers, body) {
        Ok(checked) => checked,
        Err(refusal) => return *refusal,
    };
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
    let wants_log = headers.get("x-amz-log-type").is_some_and(|kind| kind == "Tail");
    match if wants_log { pool.invoke_with_log(payload).await } else { pool.invoke(payload).await } {
        Ok(invocation) => {
            let log = invocation.log.and_then(|log| HeaderValue::from_str(&STANDARD.encode(log)).ok());
            let failed = invocation.outcome.is_err();
            let body = invocation.outcome.unwrap_or_else(|failure| failure.body);
            let mut response = answered(&invocation.request_id, "application/json", Body::from(body));
            if failed {
                response.headers_mut().insert("x-amz-function-error", HeaderValue::from_static("Unhandled"));
            }
            log.into_iter().for_each(|log| drop(response.headers_mut().insert("x-amz-log-result", log)));
            response
        }
        Err(refusal) => not_invoked(&refusal),
    }
}

/// `InvokeWithResponseStream`: the parts of the result in AWS's event stream.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/api/API_InvokeWithResponseStream.html>.
async fn invoke_streaming(
    State((functions, policies)): State<(Arc<Functions>, Arc<Policies>)>,
    FunctionName(name): FunctionName,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let (pool, payload) = match checked(&functions, &policies, &name, &headers, body) {
        Ok(checked) => checked,
        Err(refusal) => return *refusal,
    };
    match headers.get("x-amz-invocation-type").map(HeaderValue::as_bytes) {
        None | Some(b"RequestResponse") => {}
        Some(b"DryRun") => return StatusCode::NO_CONTENT.into_response(),
        Some(_) => {
            let message = "InvocationType must be RequestResponse or DryRun";
            return error(StatusCode::BAD_REQUEST, "InvalidParameterValueException", message);
        }
    }
    let invocation = match pool.invoke_streaming(payload).await {
        Ok(invocation) => invocation,
        Err(refusal) => return not_invoked(&refusal),
    };
    let parts = match invocation.outcome {
        Err(failure) => stream::iter([Err(failure)]).boxed(),
        Ok(FunctionResult::Whole(body)) => stream::iter([Ok(body)]).boxed(),
        Ok(FunctionResult::Stream(parts)) => parts.into_stream().boxed(),
    };
    let events = stream::unfold(Some(parts), async |parts| {
        let mut parts = parts?;
        let (event, rest) = match parts.next().await {
            Some(Ok(part)) => (event_stream::message("PayloadChunk", "application/octet-stream", &part), Some(parts)),
            Some(Err(failure)) => (complete(&failed(&failure)), None),
            None => (complete(&json!({})), None),
        };
        Some((Ok::<_, Infallible>(event), rest))
    });
    answered(&invocation.request_id, "application/vnd.amazon.eventstream", Body::from_stream(events))
}

/// The last event of the stream.
fn complete(end: &Value) -> Bytes {
    event_stream::message("InvokeComplete", "application/json", end.to_string().as_bytes())
}

fn failed(failure: &FunctionError) -> Value {
    json!({ "ErrorCode": "Unhandled", "ErrorDetails": String::from_utf8_lossy(&failure.body) })
}

/// The function and the payload of a request that may invoke it.
fn checked<'a>(
    functions: &'a Functions,
    policies: &Policies,
    name: &str,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(&'a Arc<Pool>, Bytes), Box<Response>> {
    let pool = function(functions, policies, name, headers, "InvokeFunction")?;
    let Ok(payload) = body else { return Err(too_large(PAYLOAD_BYTES_MAX).into()) };
    let payload = if payload.is_empty() { Bytes::from_static(b"{}") } else { payload };
    if let Err(problem) = serde_json::from_slice::<serde::de::IgnoredAny>(&payload) {
        let message = format!("Could not parse request body into json: {problem}");
        return Err(error(StatusCode::BAD_REQUEST, "InvalidRequestContentException", &message).into());
    }
    Ok((pool, payload))
}

/// The function of a request that may do `action` with it.
pub(crate) fn function<'a>(
    functions: &'a Functions,
    policies: &Policies,
    name: &str,
    headers: &HeaderMap,
    action: &str,
) -> Result<&'a Arc<Pool>, Box<Response>> {
    let Some(pool) = functions.get(name) else {
        let message = format!("Function not found: {}", arn::function(name));
        return Err(error(StatusCode::NOT_FOUND, "ResourceNotFoundException", &message).into());
    };
    let mut resource = arn::function(&pool.function().name);
    if let (_, Some(qualifier)) = name_and_qualifier(name) {
        resource = format!("{resource}:{qualifier}");
    }
    allow(policies, headers, action, resource)?;
    Ok(pool)
}

/// Refuses a request that its caller's role does not allow.
pub(crate) fn allow(
    policies: &Policies,
    headers: &HeaderMap,
    action: &str,
    resource: String,
) -> Result<(), Box<Response>> {
    let asked = Request { action: format!("lambda:{action}"), resource, ..Request::default() };
    let refused = |sentence: String| error(StatusCode::FORBIDDEN, "AccessDeniedException", &sentence).into();
    policies.allow_signed(headers, &asked).map_err(refused)
}

fn answered(request_id: &str, content_type: &'static str, body: Body) -> Response {
    let mut response = ([("x-amz-executed-version", "$LATEST"), ("content-type", content_type)], body).into_response();
    if let Ok(request_id) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert("x-amzn-requestid", request_id);
    }
    response
}

fn not_invoked(refusal: &InvokeError) -> Response {
    match refusal {
        InvokeError::TooLarge => too_large(PAYLOAD_BYTES_MAX),
        InvokeError::Throttled => {
            error(StatusCode::TOO_MANY_REQUESTS, "TooManyRequestsException", &refusal.to_string())
        }
        InvokeError::Stopping => error(StatusCode::INTERNAL_SERVER_ERROR, "ServiceException", &refusal.to_string()),
    }
}

fn too_large(max: usize) -> Response {
    let message = format!("Request must be smaller than {max} bytes for the InvokeFunction operation");
    error(StatusCode::PAYLOAD_TOO_LARGE, "RequestTooLargeException", &message)
}
