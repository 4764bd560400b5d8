//! The services that are not on this machine: another emulator has them, or a call is refused with
//! the service's name.

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::json;

use crate::policies;

/// The path of the endpoint for services that no emulator has.
pub(crate) const PATH: &str = "/_local/other-services";

/// The route that refuses every call.
pub(crate) fn router() -> Router {
    let rest = format!("{PATH}/{{*path}}");
    Router::new().route(PATH, any(refuse)).route(&format!("{PATH}/"), any(refuse)).route(&rest, any(refuse))
}

async fn refuse(request: Request) -> Response {
    let headers = request.headers();
    let authorization = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // The scope of a signature: the key, the day, the region, and the service.
    let scope = authorization.split_once("Credential=").map_or("", |(_, scope)| scope);
    let service = scope.split('/').nth(3).filter(|name| !name.is_empty()).unwrap_or("this service");
    let caller = policies::caller(headers).unwrap_or("a function");
    let message = format!(
        "{service} is not on this machine: --aws-endpoint URL sends such calls to an emulator, for example MiniStack or moto"
    );
    tracing::warn!("{caller} called a service that is not here: {message}");
    let body = json!({ "__type": "ServiceNotOnThisMachine", "message": message, "Message": message }).to_string();
    let kind = [("content-type", "application/x-amz-json-1.1"), ("x-amzn-errortype", "ServiceNotOnThisMachine")];
    (StatusCode::NOT_IMPLEMENTED, kind, body).into_response()
}
