//! What a REST API with a request validator checks before it calls a function.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-method-request-validation.html>.

use axum::http::header;
use axum::http::request::Parts;

use super::errors::GatewayError;
use super::multi_value;
use crate::models::Model;
use crate::stack::{IdentitySource, RequestChecks};

/// The content type of a request that names none, and the name of a model of any type.
const DEFAULT_TYPE: &str = "application/json";
const ANY_TYPE: &str = "$default";

/// The checks of a route.
#[derive(Debug, Default)]
pub(super) struct Checks {
    parameters: Vec<IdentitySource>,
    /// By content type.
    models: Vec<(String, Model)>,
}

impl Checks {
    /// The checks; their models were compiled once when the template was read.
    pub(super) fn new(checks: &RequestChecks) -> Self {
        let model = |(kind, schema): (&String, _)| Some((kind.clone(), Model::new(schema).ok()?));
        Self { parameters: checks.parameters.clone(), models: checks.bodies.iter().filter_map(model).collect() }
    }

    /// Whether a request passes.
    pub(super) fn test(&self, parts: &Parts, body: &[u8]) -> Result<(), GatewayError> {
        let query = multi_value::query_parameters(parts.uri.query().unwrap_or_default());
        let is_blank = |bytes: &[u8]| bytes.trim_ascii().is_empty();
        let missing = self.parameters.iter().filter_map(|parameter| match parameter {
            IdentitySource::Header(name) => {
                let mut values = parts.headers.get_all(name).iter();
                values.all(|value| is_blank(value.as_bytes())).then_some(name.as_str())
            }
            IdentitySource::Query(name) => {
                let mut values = query.get(name).into_iter().flatten();
                values.all(|value| is_blank(value.as_bytes())).then_some(name.as_str())
            }
            IdentitySource::StageVariable(_) | IdentitySource::Context(_) => None,
        });
        let missing: Vec<&str> = missing.collect();
        if !missing.is_empty() {
            let text = format!("Missing required request parameters: [{}]", missing.join(", "));
            return Err(GatewayError::BadParameters(text));
        }
        let sent = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let sent = sent.and_then(|value| value.split(';').next()).unwrap_or(DEFAULT_TYPE).trim();
        let named = |wanted: &str| self.models.iter().find(|(kind, _)| kind.eq_ignore_ascii_case(wanted));
        match named(sent).or_else(|| named(ANY_TYPE)) {
            Some((_, model)) => model.test(body).map_err(GatewayError::BadBody),
            // As on AWS, a body of another type is not checked.
            None => Ok(()),
        }
    }
}
