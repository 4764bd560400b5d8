//! `FunctionUrlConfig` of a function.

use super::http_api::cors_of;
use super::properties::Properties;
use super::routes;
use crate::stack::{ApiKind, HttpApi, PayloadFormat, Route};

/// The URL of the function with this logical id, and its only route.
pub(super) fn read(id: &str, properties: &Properties<'_>) -> Option<(HttpApi, Route)> {
    let config = properties.map("FunctionUrlConfig")?;
    check_settings(&config);
    let cors = config.raw("Cors").and_then(|node| cors_of(&config, node));
    config.finish("a function URL", &[]);
    // The id that SAM gives the URL.
    let api = HttpApi { cors, ..HttpApi::new(&format!("{id}Url"), ApiKind::FunctionUrl) };
    let route = Route::new(&api.logical_id, "$default", PayloadFormat::V2);
    Some((api, route))
}

/// Records the settings of a URL that have no effect here.
pub(super) fn check_settings(config: &Properties<'_>) {
    if config.required("AuthType").is_some_and(|kind| kind == "AWS_IAM") {
        config.resolver.problems.ignored(&config.node, routes::IAM_IGNORED);
    }
    if config.text("InvokeMode").is_some_and(|mode| mode == "RESPONSE_STREAM") {
        let message = "responses are not streamed on this machine: a client gets the whole response at its end";
        config.resolver.problems.ignored(&config.node, message);
    }
}
