//! Sessions: who is behind a token.

use aws_sdk_dynamodb::Client;
use domain::UserId;
use jiff::Timestamp;

use super::keys::{self, Item, Key, PROFILE, sha256_hex};
use super::rows::{Session, User, read};
use crate::StoreError;

/// The sessions of a table. Reading who is behind a token is `GetItem`, twice.
#[derive(Debug, Clone)]
pub struct Sessions {
    client: Client,
    table: String,
}

impl Sessions {
    /// The sessions in `table`.
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { client, table: table.into() }
    }

    /// The session of a token and its user, unless the session has expired, was ended, or the user is being deleted.
    ///
    /// Both are read consistently: a session that was ended a moment ago is none.
    pub async fn of_token(&self, token: &str, now: Timestamp) -> Result<Option<(Session, User)>, StoreError> {
        let Some(item) = self.get(&keys::session(&sha256_hex(token.as_bytes()))).await? else { return Ok(None) };
        let session: Session = read(item)?;
        if session.expires_at <= now {
            return Ok(None);
        }
        let user_id = UserId::new(session.user_id.as_str()).map_err(StoreError::unreadable)?;
        let Some(item) = self.get(&Key::new(keys::user(&user_id), PROFILE)).await? else { return Ok(None) };
        let user: User = read(item)?;
        let is_ended = user.sessions_from.is_some_and(|from| session.created_at < from);
        Ok((!is_ended && user.deleting.is_none()).then_some((session, user)))
    }

    async fn get(&self, key: &Key) -> Result<Option<Item>, StoreError> {
        let request = self.client.get_item().table_name(&self.table).set_key(Some(key.item()));
        Ok(request.consistent_read(true).send().await?.item)
    }
}
