//! Identifies the sender to push services ([RFC 8292](https://www.rfc-editor.org/rfc/rfc8292)): a
//! token for each push service, signed with the service's own key.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hkdf::Hkdf;
use http::Uri;
use jiff::{SignedDuration, Timestamp};
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use sha2::Sha256;

/// The size of a private key.
const KEY_BYTES: usize = 32;

/// A shorter secret could be guessed.
const SECRET_BYTES_MIN: usize = 32;

/// The purpose for which keys are derived. Another purpose would give another key.
const PURPOSE: &[u8] = b"tidemark vapid key";

/// How long a token is valid. Push services refuse tokens that are valid for more than 24 hours.
const LIFETIME: SignedDuration = SignedDuration::from_hours(12);

/// A cached token with a shorter remaining lifetime is replaced.
const REMAINING_LIFETIME_MIN: SignedDuration = SignedDuration::from_hours(1);

/// The most cached tokens. Browsers use a handful of push services; caching tokens for invented
/// ones would waste memory.
const CACHED_TOKENS_MAX: usize = 64;

/// Why a secret gives no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VapidKeyError {
    /// Fewer than 32 bytes.
    #[error("the secret of the VAPID key needs at least {SECRET_BYTES_MIN} bytes")]
    TooShort,
    /// The secret is 43 characters of base64url, but not a valid private key.
    #[error("the secret has the length of a P-256 private key but is not a valid one")]
    NotAKey,
}

/// The key by which push services recognise this service, and a contact for them.
#[derive(Debug)]
pub struct VapidKey {
    signing: SigningKey,
    subject: String,
    /// Cached by push service, because signing is the slowest part of a message.
    tokens: Mutex<HashMap<String, (String, Timestamp)>>,
}

impl VapidKey {
    /// A key from a secret. Push services use `subject` to contact the operator; it is a `mailto:`
    /// or `https:` address.
    ///
    /// A secret that is already a private key (43 characters of base64url, as the libraries of most
    /// languages write one) is used unchanged, so that existing subscriptions stay valid. From any
    /// other secret of at least 32 bytes a key is derived.
    ///
    /// # Errors
    /// [`VapidKeyError`].
    pub fn new(secret: &SecretString, subject: impl Into<String>) -> Result<Self, VapidKeyError> {
        let secret = secret.expose_secret().trim();
        let given = URL_SAFE_NO_PAD.decode(secret).ok().filter(|bytes| bytes.len() == KEY_BYTES);
        let signing = match given {
            Some(key) => SigningKey::from_slice(&key).map_err(|_| VapidKeyError::NotAKey)?,
            None if secret.len() < SECRET_BYTES_MIN => return Err(VapidKeyError::TooShort),
            None => derive_key(secret.as_bytes()),
        };
        Ok(Self { signing, subject: subject.into(), tokens: Mutex::default() })
    }

    /// The public key in the form that `PushManager.subscribe` expects: base64url of the
    /// uncompressed point.
    pub fn public(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.signing.verifying_key().to_sec1_point(false))
    }

    /// The `Authorization` header of a message to `endpoint`.
    pub(super) fn authorization(&self, endpoint: &Uri, now: Timestamp) -> String {
        let origin = origin(endpoint);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = tokens.get(&origin).filter(|(_, expiry)| expiry.duration_since(now) > REMAINING_LIFETIME_MIN);
        let token = match kept {
            Some((token, _)) => token.clone(),
            None => {
                let expiry = now.saturating_add(LIFETIME).unwrap_or(Timestamp::MAX);
                let token = self.token(&origin, expiry);
                if tokens.len() >= CACHED_TOKENS_MAX {
                    tokens.clear();
                }
                tokens.insert(origin, (token.clone(), expiry));
                token
            }
        };
        format!("vapid t={token}, k={}", self.public())
    }

    fn token(&self, origin: &str, expiry: Timestamp) -> String {
        let encode = |part: serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let header = encode(json!({ "typ": "JWT", "alg": "ES256" }));
        let claims = encode(json!({ "aud": origin, "exp": expiry.as_second(), "sub": self.subject }));
        let signed = format!("{header}.{claims}");
        let signature: Signature = self.signing.sign(signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()))
    }
}

/// Scheme, host, and the port unless it is the scheme's default.
fn origin(endpoint: &Uri) -> String {
    let (scheme, host) = (endpoint.scheme_str().unwrap_or("https"), endpoint.host().unwrap_or_default());
    let usual = if scheme == "https" { 443 } else { 80 };
    match endpoint.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    }
}

/// One time in 2^32, the 32 bytes are not a valid key; then the next candidate is used.
fn derive_key(secret: &[u8]) -> SigningKey {
    let keys = Hkdf::<Sha256>::new(None, secret);
    let candidates = (0_u8..).filter_map(|count| {
        let mut bytes = [0; KEY_BYTES];
        keys.expand_multi_info(&[PURPOSE, &[count]], &mut bytes).ok()?;
        SigningKey::from_slice(&bytes).ok()
    });
    candidates.into_iter().next().unwrap_or_else(|| unreachable!("256 times in a row no key"))
}
