//! Models of bodies: JSON schemas of draft 4, as API Gateway reads them.

use serde_json::Value;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Model {
    validator: jsonschema::Validator,
}

impl Model {
    /// Compiles a schema.
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        jsonschema::draft4::new(schema).map(|validator| Self { validator }).map_err(|error| error.to_string())
    }

    /// Whether a body fits.
    pub(crate) fn test(&self, body: &[u8]) -> Result<(), String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
        self.validator.validate(&body).map_err(|error| format!("[{error}]"))
    }
}
