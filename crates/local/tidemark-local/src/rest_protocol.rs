//! The errors of AWS's REST protocol with JSON.

use axum::Json;
use axum::http::uri::PathAndQuery;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::actions::{REFUSED, Service};

/// The error for an action that this machine does not have, or that the service does not have.
/// `prefix` is the path of the endpoint.
pub(crate) fn refusal(service: &Service, method: &Method, uri: &Uri, prefix: &str) -> Response {
    let path = uri.path_and_query().map_or("", PathAndQuery::as_str);
    let path = path.strip_prefix(prefix).unwrap_or(path);
    let action = service.action_at(method.as_str(), path);
    match action.and_then(|action| service.refusal(action)) {
        Some(sentence) => error(StatusCode::NOT_IMPLEMENTED, REFUSED, &sentence),
        None => {
            let unknown = service.unknown(&format!("{method} {path}"));
            error(StatusCode::NOT_FOUND, "UnknownOperationException", &unknown)
        }
    }
}

/// An error: its type is in a header.
pub(crate) fn error(status: StatusCode, kind: &'static str, message: &str) -> Response {
    let body = Json(json!({ "Type": "User", "Message": message, "message": message }));
    (status, [("x-amzn-errortype", kind)], body).into_response()
}
