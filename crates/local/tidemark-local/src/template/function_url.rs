//! `FunctionUrlConfig` of a function.

use super::http_api::cors_of;
use super::properties::Properties;
use super::routes;
use crate::stack::{ApiKind, HttpApi, PayloadFormat, Route};

/// The URL of the function with this logical id, and its only route.
pub(super) fn read(id: &str, properties: &Properties<'_>) -> Option<(HttpApi, Route)> {
    let config = properties.map("FunctionUrlConfig")?;
    let streams_responses = read_settings(&config);
    let cors = config.raw("Cors").and_then(|node| cors_of(&config, node));
    config.finish("AWS::Serverless::Function.FunctionUrlConfig");
    // The id that SAM gives the URL.
    let api = HttpApi { cors, streams_responses, ..HttpApi::new(&format!("{id}Url"), ApiKind::FunctionUrl) };
    let route = Route::new(&api.logical_id, "$default", PayloadFormat::V2);
    Some((api, route))
}

/// Whether the URL streams responses. Records a setting that has no effect here.
pub(super) fn read_settings(config: &Properties<'_>) -> bool {
    if config.required("AuthType").is_some_and(|kind| kind == "AWS_IAM") {
        config.resolver.problems.unchecked(&config.node, routes::IAM_IGNORED);
    }
    match config.text("InvokeMode").as_deref() {
        None | Some("BUFFERED") => false,
        Some("RESPONSE_STREAM") => true,
        Some(other) => {
            let message = format!("InvokeMode must be BUFFERED or RESPONSE_STREAM, not {other}");
            config.wrong(&config.node, message).unwrap_or_default()
        }
    }
}
