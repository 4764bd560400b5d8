//! `AWS::Serverless::HttpApi`, declared or made by SAM.

use std::time::Duration;

use super::intrinsics::Resolver;
use super::properties::Properties;
use super::resources::IMPLICIT_HTTP_API;
use super::yaml::{Node, NodeKind};
use crate::stack::{Cors, HttpApi, Stack, Throttle};

/// How long a browser may keep a CORS answer, seconds: API Gateway's limit.
const CORS_AGE_S_MAX: i64 = 86_400;

/// API Gateway's limit of a burst.
const BURST_MAX: i64 = 10_000;

/// What has no effect on one machine.
const CLOUD_ONLY: [&str; 6] = ["AccessLogSettings", "Description", "Domain", "Name", "PropagateTags", "Tags"];

/// Reads an API.
pub(super) fn read(id: &str, properties: &Properties<'_>) -> HttpApi {
    let cors = properties.raw("CorsConfiguration").and_then(|node| cors(properties, node));
    let throttle = properties.map("DefaultRouteSettings").and_then(|settings| throttle(&settings));
    if let Some(node) = properties.raw("StageName") {
        let stage = properties.text("StageName");
        if stage.as_deref() != Some("$default") {
            properties.resolver.problems.at(node, "only the stage $default can be served here");
        }
    }
    properties.finish("an HTTP API", &CLOUD_ONLY);
    HttpApi { logical_id: id.to_owned(), cors, throttle }
}

/// The API that SAM makes, with what `Globals` say of it, when a function's events use it.
pub(super) fn implicit(root: &Node, resolver: &Resolver<'_>, stack: &mut Stack) {
    if !stack.functions.iter().any(|function| function.routes.iter().any(|route| route.api.is_none())) {
        return;
    }
    let globals = root.get("Globals").and_then(|globals| globals.get("HttpApi"));
    let nothing = root.with(NodeKind::Map(Vec::new()));
    let properties = Properties::new(resolver, globals.unwrap_or(&nothing));
    stack.http_apis.push(read(IMPLICIT_HTTP_API, &properties));
}

/// The throttling among the settings of routes.
pub(super) fn throttle(settings: &Properties<'_>) -> Option<Throttle> {
    let rate_per_s = settings.rate("ThrottlingRateLimit");
    let burst = settings.count("ThrottlingBurstLimit", 0..=BURST_MAX);
    settings.finish("the settings of routes", &["DetailedMetricsEnabled", "LoggingLevel", "DataTraceEnabled"]);
    Some(Throttle { rate_per_s: rate_per_s?, burst: burst? })
}

fn cors(properties: &Properties<'_>, node: &Node) -> Option<Cors> {
    let resolved = properties.resolver.resolve(node)?;
    // SAM's short form: `true` lets everybody in.
    if resolved.as_text() == Some("true") {
        let everything = || vec!["*".to_owned()];
        return Some(Cors {
            allow_origins: everything(),
            allow_methods: everything(),
            allow_headers: everything(),
            ..Cors::default()
        });
    }
    let cors = Properties::new(properties.resolver, &resolved);
    let read = Cors {
        allow_origins: cors.texts("AllowOrigins"),
        allow_methods: cors.texts("AllowMethods"),
        allow_headers: cors.texts("AllowHeaders"),
        expose_headers: cors.texts("ExposeHeaders"),
        allow_credentials: cors.boolean("AllowCredentials").unwrap_or_default(),
        max_age: cors.count("MaxAge", -1..=CORS_AGE_S_MAX).map(Duration::from_secs),
    };
    cors.finish("CORS", &[]);
    if read.allow_credentials && read.allow_origins.iter().any(|origin| origin == "*") {
        properties.resolver.problems.at(node, "credentials cannot be allowed to every origin: name the origins");
    }
    Some(read)
}
