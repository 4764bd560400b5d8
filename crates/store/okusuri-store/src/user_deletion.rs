//! The deletion of a user's data.

use domain::UserId;
use domain::okusuri::Email;
use jiff::Timestamp;

use super::UserData;
use super::keys::{self, ACCOUNT_PREFIX, Key, PARTITION_KEY, PROFILE, SESSION_PREFIX, SORT_KEY, s};
use super::rows::{Account, EmailOwner, Row, User, UserSession, read};
use super::sign_ins::profile;
use super::transaction::Transaction;
use store_base::StoreError;

/// The number of items that are read before they are deleted, 25 in a request.
const DELETED_AT_ONCE: i32 = 250;

/// The number of sessions that are deleted together with the profile. Each has two items, and a
/// transaction has at most 100.
const LAST_SESSIONS: usize = 40;

/// Whether a deletion has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteProgress {
    /// Nothing of the user is left.
    Done,
    /// Time was up. The next call continues.
    Unfinished,
}

impl UserData {
    /// Deletes everything of a user, for as long as `is_time` says so.
    ///
    /// After the first write nobody is signed in as the user. An item that leads to another one is
    /// deleted before it. The last write deletes the profile and the remaining sessions. So after
    /// an interruption the same session can ask again, or the user signs in with a code by mail.
    pub async fn delete(
        &self,
        user_id: &UserId,
        now: Timestamp,
        is_time: impl Fn() -> bool,
    ) -> Result<DeleteProgress, StoreError> {
        let key = profile(user_id.as_str());
        let item = self.table.get_item(key.item()).consistent_read(true);
        let Some(item) = item.send().await?.item else { return Ok(DeleteProgress::Done) };
        let user: User = read(item)?;
        if user.deleting.is_none() {
            let begin = Transaction::new(&self.table).update(
                &key,
                "SET Deleting = :now, UpdatedAt = :now",
                // Stops the update from recreating a user whom another request deleted.
                "attribute_exists(PK)",
                vec![("now", s(now.to_string()))],
            )?;
            if begin.write().await?.is_some() {
                return Ok(DeleteProgress::Done);
            }
        }
        if !self.delete_items(user_id, &is_time).await? {
            return Ok(DeleteProgress::Unfinished);
        }
        if let Some(email) = user.email.as_deref().and_then(|email| Email::new(email).ok()) {
            self.delete_email(user_id, &email).await?;
        }
        self.delete_ways_back(user_id).await?;
        // A request that had been let in before the first write may have written behind the last
        // read.
        Ok(if self.delete_items(user_id, is_time).await? { DeleteProgress::Done } else { DeleteProgress::Unfinished })
    }

    /// Deletes all items in the user's partition but the profile and the sessions, and what each
    /// leads to; false when time was up.
    async fn delete_items(&self, user_id: &UserId, is_time: impl Fn() -> bool) -> Result<bool, StoreError> {
        let mut start = None;
        loop {
            let (items, next) = self.some(user_id, None, start, DELETED_AT_ONCE).await?;
            let mut keys = Vec::new();
            for item in items {
                let sort = item.get(SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
                if sort == PROFILE || sort.starts_with(SESSION_PREFIX) {
                    continue;
                }
                if sort.starts_with(ACCOUNT_PREFIX) {
                    let account: Account = read(item)?;
                    let owner = keys::account_owner(&account.provider, &account.subject);
                    self.delete_marker(&owner, user_id).await?;
                }
                keys.push(Key::new(keys::user(user_id), sort));
            }
            self.table.batch_delete(keys.iter().map(Key::item)).await?;
            start = next;
            if start.is_none() {
                return Ok(true);
            }
            if !is_time() {
                return Ok(false);
            }
        }
    }

    /// Deletes the sessions, and the last of them together with the profile.
    async fn delete_ways_back(&self, user_id: &UserId) -> Result<(), StoreError> {
        let sessions = self.table.query_prefix([PARTITION_KEY, SORT_KEY], &keys::user(user_id), SESSION_PREFIX).await?;
        let mut keys = Vec::new();
        for session in sessions {
            let session: UserSession = read(session)?;
            keys.extend([keys::session(&session.0.token_hash), session.key()]);
        }
        let last = keys.split_off(keys.len().saturating_sub(LAST_SESSIONS * 2));
        self.table.batch_delete(keys.iter().map(Key::item)).await?;
        let begin = Transaction::new(&self.table).forget(&profile(user_id.as_str()))?;
        let actions = last.iter().try_fold(begin, Transaction::forget)?;
        actions.write().await.map(drop)
    }

    async fn delete_email(&self, user_id: &UserId, email: &Email) -> Result<(), StoreError> {
        let marker = keys::email(email.as_str());
        let request = self.table.get_item(marker.item()).consistent_read(true);
        let owner: Option<EmailOwner> = request.send().await?.item.map(read).transpose()?;
        // Another user may have the address, and a code for it under way.
        if owner.is_some_and(|owner| owner.user_id == user_id.as_str()) {
            let codes =
                [true, false].map(|is_known_device| keys::verification(&email.mailbox(), is_known_device).item());
            self.table.batch_delete(codes).await?;
            self.delete_marker(&marker, user_id).await?;
        }
        Ok(())
    }

    /// Deletes a marker if it is the user's.
    async fn delete_marker(&self, marker: &Key, user_id: &UserId) -> Result<(), StoreError> {
        let user = vec![("user", s(user_id.as_str()))];
        // Stops a marker from being deleted that has gone to somebody else.
        let transaction = Transaction::new(&self.table).delete(marker, "UserId = :user", user)?;
        transaction.write().await.map(drop)
    }
}
