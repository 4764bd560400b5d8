//! `FunctionUrlConfig` of a function.

use super::http_api::cors_of;
use super::properties::Properties;
use crate::stack::{ApiKind, HttpApi, PayloadFormat, Route};

/// The URL of the function with this logical id, and its only route.
pub(super) fn read(id: &str, properties: &Properties<'_>) -> Option<(HttpApi, Route)> {
    let config = properties.map("FunctionUrlConfig")?;
    if config.required("AuthType").is_some_and(|kind| kind == "AWS_IAM") {
        let message = "AWS_IAM is not enforced on this machine: anyone may call this URL";
        config.resolver.problems.ignored(&config.node, message);
    }
    if config.text("InvokeMode").is_some_and(|mode| mode == "RESPONSE_STREAM") {
        let message = "responses are not streamed on this machine: a client gets the whole response at its end";
        config.resolver.problems.ignored(&config.node, message);
    }
    let cors = config.raw("Cors").and_then(|node| cors_of(&config, node));
    config.finish("a function URL", &[]);
    // The id that SAM gives the URL.
    let api = HttpApi {
        logical_id: format!("{id}Url"),
        kind: ApiKind::FunctionUrl,
        stage: "$default".to_owned(),
        stage_variables: std::collections::BTreeMap::new(),
        binary_media_types: Vec::new(),
        cors,
        throttle: None,
    };
    let route = Route { api: api.logical_id.clone(), route_key: "$default".to_owned(), payload: PayloadFormat::V2 };
    Some((api, route))
}
