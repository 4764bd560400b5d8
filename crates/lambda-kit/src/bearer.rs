//! Bearer tokens ([RFC 6750](https://www.rfc-editor.org/rfc/rfc6750)).

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::http::Request;
use crate::problem::{INVALID_TOKEN, MISSING_TOKEN, Problem};

/// A token that grants access to routes that are not public. The suite has three, and each opens
/// its own part only: the staff token the shop and the journal, the operator token the clicks of
/// people, the health administration's token Okusuri.
#[derive(Debug, Clone)]
pub struct AccessToken(SecretString);

impl AccessToken {
    /// Wraps a token.
    pub fn new(token: SecretString) -> Self {
        Self(token)
    }

    /// For public routes that show more to the token's bearer: `false` without a token, `true` with
    /// the right one. A wrong token is a problem, so that a mistyped one is not answered as if it
    /// were absent.
    pub fn authorize_if_present(&self, request: &Request) -> Result<bool, Problem> {
        request.header("authorization").map_or(Ok(false), |_| self.authorize(request).map(|()| true))
    }

    /// Refuses a request without the token in its `Authorization` header.
    pub fn authorize(&self, request: &Request) -> Result<(), Problem> {
        let Some(header) = request.header("authorization") else {
            return Err(missing_token());
        };
        let hash = |text: &str| Sha256::digest(text.as_bytes());
        // Both hashes have the same length, so the comparison takes the same time however much of
        // the token is right.
        let matches = token(header).is_some_and(|token| hash(token).ct_eq(&hash(self.0.expose_secret())).into());
        if matches { Ok(()) } else { Err(invalid_token()) }
    }
}

/// The token in an `Authorization` header of the scheme `Bearer`.
pub fn token(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// The request has no token, and the route needs one.
pub fn missing_token() -> Problem {
    MISSING_TOKEN.header("www-authenticate", "Bearer")
}

/// The request's token does not open this route.
pub fn invalid_token() -> Problem {
    INVALID_TOKEN.header("www-authenticate", r#"Bearer error="invalid_token""#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
    use http::HeaderValue;

    fn request(header: Option<&'static str>) -> Request {
        let mut event = ApiGatewayV2httpRequest::default();
        if let Some(header) = header {
            event.headers.insert("authorization", HeaderValue::from_static(header));
        }
        Request::new(event)
    }

    fn outcome(header: Option<&'static str>) -> Result<(), &'static str> {
        let token = AccessToken::new(SecretString::from("right"));
        token.authorize(&request(header)).map_err(|problem| problem.name())
    }

    #[test]
    fn a_public_route_takes_no_token_or_the_right_one() {
        let token = AccessToken::new(SecretString::from("right"));
        let authorize_if_present =
            |header| token.authorize_if_present(&request(header)).map_err(|problem| problem.name());
        assert_eq!(authorize_if_present(None), Ok(false));
        assert_eq!(authorize_if_present(Some("Bearer right")), Ok(true));
        assert_eq!(authorize_if_present(Some("Bearer wrong")), Err("invalid-token"));
    }

    #[test]
    fn only_the_right_token_opens() {
        assert_eq!(outcome(Some("Bearer right")), Ok(()));
        assert_eq!(outcome(Some("bearer right")), Ok(()));
        assert_eq!(outcome(None), Err("missing-token"));
        for header in ["right", "Basic right", "Bearer", "Bearer ", "Bearer righ", "Bearer right2", ""] {
            assert_eq!(outcome(Some(header)), Err("invalid-token"), "{header:?}");
        }
    }
}
