//! Cursors: where a list goes on, opaque to the client, signed, bound to their query, and expiring.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use crate::problem::{EXPIRED_CURSOR, INVALID_CURSOR, Problem};

/// How long a page's cursor is good.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

const TAG_BYTES: usize = 32;
const EXPIRY_BYTES: usize = 8;

/// Why a cursor is not honoured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Not ours, changed, or of another query.
    #[error("the cursor does not belong to this query")]
    Forged,
    /// Older than a day.
    #[error("the cursor has expired: start again without it")]
    Expired,
}

impl From<CursorError> for Problem {
    fn from(error: CursorError) -> Self {
        match error {
            CursorError::Forged => INVALID_CURSOR,
            CursorError::Expired => EXPIRED_CURSOR,
        }
        .detail(error)
    }
}

/// Seals and opens cursors: `base64url(expiry | position as JSON | HMAC-SHA256 of scope and both)`.
#[derive(Debug, Clone)]
pub struct Cursors(SecretString);

impl Cursors {
    /// Cursors under a key.
    pub fn new(key: SecretString) -> Self {
        Self(key)
    }

    /// A cursor for a position in the list that `scope` names: the route and every parameter but the cursor and the limit.
    pub fn seal(&self, scope: &str, position: &impl Serialize, now: Timestamp) -> Result<String, serde_json::Error> {
        let mut bytes = (now + LIFETIME).as_second().to_be_bytes().to_vec();
        bytes.extend(serde_json::to_vec(position)?);
        let tag = self.mac(scope, &bytes).finalize().into_bytes();
        bytes.extend(tag);
        Ok(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The position in a cursor that was sealed for the same scope less than a day ago.
    pub fn open<T: DeserializeOwned>(&self, scope: &str, cursor: &str, now: Timestamp) -> Result<T, CursorError> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| CursorError::Forged)?;
        let (signed, tag) = bytes.split_last_chunk::<TAG_BYTES>().ok_or(CursorError::Forged)?;
        self.mac(scope, signed).verify_slice(tag).map_err(|_| CursorError::Forged)?;
        let (expiry, position) = signed.split_first_chunk::<EXPIRY_BYTES>().ok_or(CursorError::Forged)?;
        if now.as_second() > i64::from_be_bytes(*expiry) {
            return Err(CursorError::Expired);
        }
        serde_json::from_slice(position).map_err(|_| CursorError::Forged)
    }

    fn mac(&self, scope: &str, signed: &[u8]) -> Hmac<Sha256> {
        // The length keeps a byte from moving between scope and position.
        let key = self.0.expose_secret().as_bytes();
        let mac = Hmac::<Sha256>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.chain_update((scope.len() as u64).to_be_bytes()).chain_update(scope).chain_update(signed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursors(key: &str) -> Cursors {
        Cursors::new(SecretString::from(key))
    }

    fn now() -> Timestamp {
        "2025-10-02T10:30:00Z".parse().expect("a time")
    }

    #[test]
    fn a_cursor_opens_for_its_own_query_only() {
        let cursors = cursors("key");
        let cursor = cursors.seal("days 2025-10-02", &"position", now()).expect("JSON");
        assert_eq!(cursors.open::<String>("days 2025-10-02", &cursor, now()), Ok("position".to_owned()));
        assert_eq!(cursors.open::<String>("days 2025-10-03", &cursor, now()), Err(CursorError::Forged));
        assert_eq!(self::cursors("other").open::<String>("days 2025-10-02", &cursor, now()), Err(CursorError::Forged));
        assert!(cursor.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'), "{cursor}");
    }

    #[test]
    fn any_changed_character_is_noticed() {
        let cursors = cursors("key");
        let cursor = cursors.seal("s", &[1, 2], now()).expect("JSON");
        for index in 0..cursor.len() {
            let mut forged = cursor.clone().into_bytes();
            forged[index] = if forged[index] == b'A' { b'B' } else { b'A' };
            let forged = String::from_utf8(forged).expect("ASCII");
            assert_eq!(cursors.open::<Vec<u8>>("s", &forged, now()), Err(CursorError::Forged), "{index}");
        }
        for forged in ["", "AAAA", "not base64!", &cursor[1..]] {
            assert_eq!(cursors.open::<Vec<u8>>("s", forged, now()), Err(CursorError::Forged), "{forged}");
        }
    }

    #[test]
    fn a_cursor_is_good_for_a_day() {
        let cursors = cursors("key");
        let cursor = cursors.seal("s", &1, now()).expect("JSON");
        assert_eq!(cursors.open::<u8>("s", &cursor, now() + LIFETIME), Ok(1));
        assert_eq!(
            cursors.open::<u8>("s", &cursor, now() + LIFETIME + SignedDuration::from_secs(1)),
            Err(CursorError::Expired)
        );
    }
}
