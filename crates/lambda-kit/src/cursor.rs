//! Cursors: the position at which a list continues. A cursor is opaque to the client, signed, bound
//! to its query, and valid for 24 hours.

use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::problem::{EXPIRED_CURSOR, INVALID_CURSOR, Problem};
use crate::signed::{SignedError, Signer};

/// How long a cursor is valid.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// Why a cursor is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// Not signed by us, changed, or made for another query.
    #[error("the cursor does not belong to this query")]
    Forged,
    /// Older than the lifetime of a cursor.
    #[error("the cursor has expired: start again without it")]
    Expired,
}

impl From<SignedError> for CursorError {
    fn from(error: SignedError) -> Self {
        match error {
            SignedError::Forged => Self::Forged,
            SignedError::Expired => Self::Expired,
        }
    }
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

/// Makes and reads cursors.
#[derive(Debug, Clone)]
pub struct Cursors(Signer);

impl Cursors {
    /// Cursors signed with a key. Tickets and tokens may share the key, because each kind of text
    /// is bound to its own purpose.
    pub fn new(key: SecretString) -> Self {
        Self(Signer::new(key))
    }

    /// A cursor for a position in the list that `scope` names: the route and all parameters except
    /// the cursor and the limit.
    pub fn seal(&self, scope: &str, position: &impl Serialize, now: Timestamp) -> Result<String, serde_json::Error> {
        Ok(self.0.seal(&purpose(scope), &serde_json::to_vec(position)?, LIFETIME, now))
    }

    /// The position in a cursor that was made for the same scope and has not expired.
    pub fn open<T: DeserializeOwned>(&self, scope: &str, cursor: &str, now: Timestamp) -> Result<T, CursorError> {
        let position = self.0.open(&purpose(scope), cursor, now)?;
        serde_json::from_slice(&position).map_err(|_| CursorError::Forged)
    }
}

fn purpose(scope: &str) -> String {
    format!("cursor {scope}")
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
        assert_eq!(cursors.open::<u8>("days 2025-10-02", &cursor, now()), Err(CursorError::Forged));
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
