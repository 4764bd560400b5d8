//! An authorizer that verifies a JSON Web Token.
//!
//! Source:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html>.

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::keys::{KeyError, Keys};
use super::{AuthorizerRequest, Grant, Refusal, identity, text};
use crate::stack::JwtAuthorizer;

/// The algorithms that API Gateway accepts.
const ALGORITHMS: [Algorithm; 3] = [Algorithm::RS256, Algorithm::RS384, Algorithm::RS512];

/// Verifies the tokens of one issuer.
#[derive(Debug)]
pub(super) struct JwtVerifier {
    settings: JwtAuthorizer,
    keys: Keys,
}

impl JwtVerifier {
    pub(super) fn new(settings: JwtAuthorizer) -> Self {
        let keys = Keys::new(&settings.issuer);
        Self { settings, keys }
    }

    pub(super) async fn decide(&self, request: AuthorizerRequest<'_>) -> Result<Grant, Refusal> {
        let token = identity(&self.settings.identity, &request).ok_or(Refusal::Unauthorized)?;
        let token = match token.get(..7) {
            Some(scheme) if scheme.eq_ignore_ascii_case("bearer ") => token[7..].trim(),
            _ => token.trim(),
        };
        let claims = self.verify(token).await?;
        let required = if request.scopes.is_empty() { &self.settings.scopes } else { request.scopes };
        if required.is_empty() {
            return Ok(Grant::Jwt { claims: claims_as_text(&claims), scopes: None });
        }
        let granted = scopes_of(&claims);
        if !required.iter().any(|scope| granted.contains(scope)) {
            return Err(Refusal::Forbidden { explicit: false });
        }
        Ok(Grant::Jwt { claims: claims_as_text(&claims), scopes: Some(required.to_vec()) })
    }

    /// The claims of a token with a valid signature, issuer, audience and time.
    async fn verify(&self, token: &str) -> Result<Map<String, Value>, Refusal> {
        let refused = |reason: &str| {
            tracing::debug!("a token of {} is refused: {reason}", self.settings.issuer);
            Refusal::Unauthorized
        };
        let header = decode_header(token).map_err(|error| refused(&error.to_string()))?;
        if !ALGORITHMS.contains(&header.alg) {
            return Err(refused("its algorithm is not RS256, RS384 or RS512"));
        }
        let kid = header.kid.ok_or_else(|| refused("it names no key"))?;
        let key = self.keys.get(&kid).await.map_err(|error| match error {
            KeyError::Unknown => refused("its key is unknown"),
            KeyError::Unreachable(reason) => {
                tracing::warn!("the keys of {} cannot be read: {reason}", self.settings.issuer);
                Refusal::Failed
            }
        })?;
        let mut validation = Validation::new(header.alg);
        validation.set_issuer(&[&self.settings.issuer]);
        validation.set_required_spec_claims(&["exp", "iss"]);
        validation.validate_nbf = true;
        validation.leeway = 0;
        // `client_id` may stand for the audience.
        validation.validate_aud = false;
        let claims =
            decode::<Map<String, Value>>(token, &key, &validation).map_err(|error| refused(&error.to_string()))?.claims;
        let audience = ["aud", "client_id"]
            .iter()
            .filter_map(|name| claims.get(*name))
            .find(|value| !value.is_null())
            .map(texts)
            .unwrap_or_default();
        if !audience.iter().any(|name| self.settings.audience.contains(name)) {
            return Err(refused("it is for another audience"));
        }
        Ok(claims)
    }
}

/// `scope` is a list with spaces, `scp` may be an array.
fn scopes_of(claims: &Map<String, Value>) -> Vec<String> {
    let all = ["scope", "scp"].into_iter().filter_map(|name| claims.get(name)).flat_map(texts);
    all.flat_map(|scopes| scopes.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => vec![text(value)],
    }
}

/// The claims as API Gateway passes them on: a list becomes a text in brackets.
fn claims_as_text(claims: &Map<String, Value>) -> Map<String, Value> {
    let as_text = |value: &Value| match value {
        Value::Array(values) => format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(" ")),
        value => text(value),
    };
    claims.iter().map(|(name, value)| (name.clone(), Value::String(as_text(value)))).collect()
}
