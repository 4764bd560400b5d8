//! Texts that a client stores for us and cannot change: signed, bound to their purpose, and
//! expiring.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

const TAG_BYTES: usize = 32;
const EXPIRY_BYTES: usize = 8;

/// Why a signed text is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignedError {
    /// Not signed by us, changed, or made for another purpose.
    #[error("it was not issued here, or not for this purpose")]
    Forged,
    /// It was valid before.
    #[error("it has expired")]
    Expired,
}

/// Signs and verifies: `base64url(expiry | content | HMAC-SHA256 of purpose and both)`.
#[derive(Debug, Clone)]
pub(crate) struct Signer(SecretString);

impl Signer {
    pub(crate) fn new(key: SecretString) -> Self {
        Self(key)
    }

    /// Signs a text for one purpose; it is valid for `lifetime` from now. The content is not
    /// encrypted: every bearer can read it.
    pub(crate) fn seal(&self, purpose: &str, content: &[u8], lifetime: SignedDuration, now: Timestamp) -> String {
        let expiry = now.as_second().saturating_add(lifetime.as_secs());
        let mut bytes = expiry.to_be_bytes().to_vec();
        bytes.extend(content);
        let tag = self.mac(purpose, &bytes).finalize().into_bytes();
        bytes.extend(tag);
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The content of a text that was signed for the same purpose and has not expired. Tags are
    /// compared in constant time.
    pub(crate) fn open(&self, purpose: &str, text: &str, now: Timestamp) -> Result<Vec<u8>, SignedError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| SignedError::Forged)?;
        let (signed, tag) = bytes.split_last_chunk::<TAG_BYTES>().ok_or(SignedError::Forged)?;
        self.mac(purpose, signed).verify_slice(tag).map_err(|_| SignedError::Forged)?;
        let (expiry, content) = signed.split_first_chunk::<EXPIRY_BYTES>().ok_or(SignedError::Forged)?;
        if now.as_second() > i64::from_be_bytes(*expiry) {
            return Err(SignedError::Expired);
        }
        Ok(content.to_owned())
    }

    /// Four bytes of the content's HMAC: equal contents have equal tags, and the tag reveals
    /// nothing else.
    pub(crate) fn tag(&self, purpose: &str, content: &[u8]) -> u32 {
        let tag = self.mac(purpose, content).finalize().into_bytes();
        tag.iter().take(4).fold(0, |tag, byte| tag << 8 | u32::from(*byte))
    }

    fn mac(&self, purpose: &str, signed: &[u8]) -> Hmac<Sha256> {
        // The length keeps the boundary between purpose and content unambiguous.
        let key = self.0.expose_secret().as_bytes();
        let mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.chain_update((purpose.len() as u64).to_be_bytes()).chain_update(purpose).chain_update(signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIFETIME: SignedDuration = SignedDuration::from_secs(60);

    fn signer(key: &str) -> Signer {
        Signer::new(SecretString::from(key))
    }

    fn now() -> Timestamp {
        "2025-10-02T10:30:00Z".parse().expect("a time")
    }

    #[test]
    fn a_text_opens_for_its_own_purpose_and_key_only() {
        let text = signer("key").seal("purpose", b"content", LIFETIME, now());
        assert_eq!(signer("key").open("purpose", &text, now()), Ok(b"content".to_vec()));
        assert_eq!(signer("key").open("purposes", &text, now()), Err(SignedError::Forged));
        assert_eq!(signer("other").open("purpose", &text, now()), Err(SignedError::Forged));
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'), "{text}");
    }

    #[test]
    fn any_changed_character_is_noticed() {
        let signer = signer("key");
        let text = signer.seal("p", b"[1,2]", LIFETIME, now());
        for index in 0..text.len() {
            let mut forged = text.clone().into_bytes();
            forged[index] = if forged[index] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).expect("ASCII");
            assert_eq!(signer.open("p", &forged, now()), Err(SignedError::Forged), "{index}");
        }
        for forged in ["", "AAAA", "not base64!", &text[1..]] {
            assert_eq!(signer.open("p", forged, now()), Err(SignedError::Forged), "{forged}");
        }
    }

    #[test]
    fn signed_text_is_valid_to_the_last_second() {
        let text = signer("key").seal("p", b"", LIFETIME, now());
        let second = SignedDuration::from_secs(1);
        assert_eq!(signer("key").open("p", &text, now() + LIFETIME), Ok(Vec::new()));
        assert_eq!(signer("key").open("p", &text, now() + LIFETIME + second), Err(SignedError::Expired));
    }
}
