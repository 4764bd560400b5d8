//! Sessions: finds the user of a token, and extends and ends sessions.

use domain::UserId;
use jiff::{SignedDuration, Timestamp};

use super::keys::{self, Item, Key, PARTITION_KEY, SESSION_PREFIX, SORT_KEY, n, s, sha256_hex};
use super::rows::{Session, User, UserSession, read};
use super::sign_ins::{SESSION_LIFETIME, profile};
use super::transaction::Transaction;
use store_base::{StoreError, Table, unless_condition_failed};

/// A session that is used goes on; noting that more often than once in this time would cost more
/// than it is worth.
const EXTENDED_EVERY: SignedDuration = SignedDuration::from_hours(24);

/// How often ending a session begins again because its token was exchanged meanwhile.
const EXCHANGES_MAX: u32 = 3;

/// The sessions of a table. Finding the user of a token is two `GetItem` requests.
#[derive(Debug, Clone)]
pub struct Sessions {
    table: Table,
}

impl Sessions {
    /// The sessions in `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// The session of a token and its user, unless the session has expired, was ended, or the user
    /// is being deleted.
    ///
    /// Both are read consistently: a session that was ended a moment ago is none.
    pub async fn of_token(&self, token: &str, now: Timestamp) -> Result<Option<(Session, User)>, StoreError> {
        let Some((session, user)) = self.of_token_whatever_goes_on(token, now).await? else { return Ok(None) };
        let is_ended = is_ended(session.created_at, &user);
        Ok((!is_ended && user.deleting.is_none()).then_some((session, user)))
    }

    /// The same, but also for a user who is being deleted, so that the deletion can be requested
    /// again.
    pub async fn of_token_even_deleting(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Option<(Session, User)>, StoreError> {
        let found = self.of_token_whatever_goes_on(token, now).await?;
        Ok(found.filter(|(session, user)| !is_ended(session.created_at, user)))
    }

    async fn of_token_whatever_goes_on(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Option<(Session, User)>, StoreError> {
        let Some(item) = self.get(&keys::session(&sha256_hex(token.as_bytes()))).await? else { return Ok(None) };
        let session: Session = read(item)?;
        // TTL takes days at times.
        if session.expires_at <= now {
            return Ok(None);
        }
        let Some(item) = self.get(&profile(&session.user_id)).await? else { return Ok(None) };
        Ok(Some((session, read(item)?)))
    }

    /// The user's sessions that are good, the newest first.
    pub async fn list(&self, user: &User, now: Timestamp) -> Result<Vec<Session>, StoreError> {
        let rows = self.rows(&user.user_id).await?;
        let is_good = |row: &Session| row.expires_at > now && !is_ended(row.created_at, user);
        let mut rows: Vec<_> = rows.into_iter().filter(is_good).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.created_at));
        Ok(rows)
    }

    /// Extends a session to the lifetime of a new one, at most once a day. Returns the session, and
    /// whether it was changed.
    pub async fn extend(&self, session: Session, now: Timestamp) -> Result<(Session, bool), StoreError> {
        let expires_at = now + SESSION_LIFETIME;
        if expires_at < session.expires_at + EXTENDED_EVERY {
            return Ok((session, false));
        }
        let update = "SET ExpiresAt = :at, #TTL = :ttl, UpdatedAt = :now";
        // Stops a session that was ended meanwhile from coming back as an item of three attributes.
        let condition = "attribute_exists(PK)";
        let values =
            || vec![("at", s(expires_at.to_string())), ("ttl", n(expires_at.as_second())), ("now", s(now.to_string()))];
        let among_users = among_users(&session.user_id, &session.session_id);
        let transaction = Transaction::new(&self.table)
            .update(&keys::session(&session.token_hash), update, condition, values())?
            .update(&among_users, update, condition, values())?;
        match transaction.write().await? {
            None => Ok((Session { expires_at, updated_at: now, ..session }, true)),
            Some(_) => Ok((session, false)),
        }
    }

    /// Gives a session a new token and the lifetime of a new session. `None` if the old token was
    /// exchanged or the session ended meanwhile.
    pub async fn exchange(
        &self,
        session: Session,
        token_hash: String,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        let former = keys::session(&session.token_hash);
        let session = Session { token_hash, expires_at: now + SESSION_LIFETIME, updated_at: now, ..session };
        // Stops an old token from being exchanged twice.
        let transaction = Transaction::new(&self.table).delete(&former, "attribute_exists(PK)", Vec::new())?;
        let transaction = transaction.put_new(&session)?.set(&UserSession(session.clone()))?;
        Ok(transaction.write().await?.is_none().then_some(session))
    }

    /// Ends one of a user's sessions; false when there is no such one.
    pub async fn end(&self, user_id: &UserId, session_id: &str) -> Result<bool, StoreError> {
        let key = among_users(user_id.as_str(), session_id);
        for _ in 0..EXCHANGES_MAX {
            let Some(item) = self.get(&key).await? else { return Ok(false) };
            let UserSession(row) = read(item)?;
            // First what lets in.
            self.table.batch_delete([keys::session(&row.token_hash).item()]).await?;
            // The token may have been exchanged since the row was read. Then the new one ends too.
            let delete = self.table.delete_item(key.item()).condition_expression("TokenHash = :hash");
            let delete = delete.expression_attribute_values(":hash", s(row.token_hash));
            if unless_condition_failed(delete.send().await)?.is_some() {
                return Ok(true);
            }
        }
        Err(StoreError::Busy("the session's token was exchanged again and again".to_owned()))
    }

    /// Ends all of a user's sessions. The first write is the decisive one: from then on all earlier
    /// sessions are refused, also those that are not deleted yet.
    pub async fn end_all(&self, user_id: &UserId, now: Timestamp) -> Result<(), StoreError> {
        let request = self.table.update_item(profile(user_id.as_str()).item());
        let request = request.update_expression("SET SessionsFrom = :now, UpdatedAt = :now");
        // Stops the update from recreating a user who was deleted meanwhile.
        let request = request.condition_expression("attribute_exists(PK)");
        request.expression_attribute_values(":now", s(now.to_string())).send().await?;
        let rows = self.rows(user_id.as_str()).await?;
        let ended = rows.iter().filter(|row| row.created_at < now);
        let keys: Vec<_> = ended
            .flat_map(|row| [keys::session(&row.token_hash), among_users(&row.user_id, &row.session_id)])
            .collect();
        self.table.batch_delete(keys.iter().map(Key::item)).await
    }

    async fn rows(&self, user_id: &str) -> Result<Vec<Session>, StoreError> {
        let partition = format!("USER#{user_id}");
        let items = self.table.query_prefix([PARTITION_KEY, SORT_KEY], &partition, SESSION_PREFIX).await?;
        items.into_iter().map(|item| read(item).map(|UserSession(session)| session)).collect()
    }

    async fn get(&self, key: &Key) -> Result<Option<Item>, StoreError> {
        let request = self.table.get_item(key.item());
        Ok(request.consistent_read(true).send().await?.item)
    }
}

/// Whether the user has signed out everywhere since a session began.
fn is_ended(began: Timestamp, user: &User) -> bool {
    user.sessions_from.is_some_and(|from| began < from)
}

fn among_users(user_id: &str, session_id: &str) -> Key {
    Key::new(format!("USER#{user_id}"), format!("{SESSION_PREFIX}{session_id}"))
}
