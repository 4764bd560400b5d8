//! The services that are not on this machine: another emulator has them, or a call is refused with
//! the service's name, in the protocol of the request.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::json;

use crate::policies;
use crate::query_protocol;

/// The path of the endpoint for services that no emulator has.
pub(crate) const PATH: &str = "/_local/other-services";

/// The type of the error.
const KIND: &str = "ServiceNotOnThisMachine";

/// The services whose protocol is REST with XML. Those with forms get XML too.
const REST_XML: [&str; 5] = ["s3", "s3-outposts", "s3express", "cloudfront", "route53"];

/// The route that refuses every call.
pub(crate) fn router() -> Router {
    let rest = format!("{PATH}/{{*path}}");
    Router::new().route(PATH, any(refuse)).route(&format!("{PATH}/"), any(refuse)).route(&rest, any(refuse))
}

async fn refuse(request: Request) -> Response {
    let headers = request.headers();
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let authorization = text("authorization");
    // The scope of a signature: the key, the day, the region, and the service.
    let scope = authorization.split_once("Credential=").map_or("", |(_, scope)| scope);
    let service = scope.split('/').nth(3).filter(|name| !name.is_empty()).unwrap_or("this service");
    let caller = policies::caller(headers).unwrap_or("a function");
    let message = format!(
        "{service} is not on this machine: --aws-endpoint URL sends such calls to an emulator, for example MiniStack or moto"
    );
    tracing::warn!("{caller} called a service that is not here: {message}");
    let is_form = text("content-type").starts_with("application/x-www-form-urlencoded");
    if is_form || REST_XML.contains(&service) {
        return query_protocol::failure(
            StatusCode::NOT_IMPLEMENTED,
            &format!("https://{service}.amazonaws.com/doc/"),
            KIND,
            &message,
        );
    }
    let body = json!({ "__type": KIND, "message": message, "Message": message }).to_string();
    // A client of JSON 1.0 gets JSON 1.0.
    let content_type = Some(text("content-type")).filter(|kind| kind.starts_with("application/x-amz-json-"));
    let headers = [("content-type", content_type.unwrap_or("application/x-amz-json-1.1")), ("x-amzn-errortype", KIND)];
    (StatusCode::NOT_IMPLEMENTED, headers, body).into_response()
}
