//! What opens a user's log, or is told of it: logins elsewhere, sessions and push subscriptions.
//!
//! Before the user has verified the address, each grant may belong to a stranger who registered it
//! first. The first right code removes them all, together with the name and the picture, in the
//! transaction that signs in.

use jiff::Timestamp;

use super::keys::{self, ACCOUNT_PREFIX, Key, NOTIFICATION_PREFIX, PARTITION_KEY, SESSION_PREFIX, SORT_KEY, n, s};
use super::rows::{Account, AccountOwner, PushSubscription, User, UserSession, read};
use super::sign_ins::{ALIVE, SignIns, profile};
use super::transaction::Transaction;
use super::upsert::Values;
use store_base::StoreError;

/// Ways in that one transaction removes: two actions each, far below the 100 of a transaction
/// ([quotas](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html)).
const REMOVED_AT_ONCE: usize = 40;

/// One of a user's sign-in grants, with the items to delete.
#[derive(Debug, Clone)]
pub(super) struct SignInGrant {
    /// The user's own item.
    own: Key,
    /// The item elsewhere that leads to it.
    marker: Option<Key>,
}

/// The condition for a change of a user's profile. It stops a user who is being deleted from coming
/// back. It also stops a write from a session that has ended since `user` was read: the first right
/// code ends a stranger's session.
pub(super) fn signed_in_still(user: &User) -> (String, Values) {
    match user.sessions_from {
        None => (format!("{ALIVE} AND attribute_not_exists(SessionsFrom)"), Vec::new()),
        Some(from) => (format!("{ALIVE} AND SessionsFrom = :from"), vec![("from", s(from.to_string()))]),
    }
}

impl Transaction<'_> {
    /// Counts one more way in of a user.
    pub(super) fn add_sign_in_grant(self, user: &User, now: Timestamp) -> Result<Self, StoreError> {
        let (condition, mut values) = signed_in_still(user);
        values.extend([("one", n(1)), ("now", s(now.to_string()))]);
        self.update(&profile(&user.user_id), "SET UpdatedAt = :now ADD SignInGrantsAdded :one", &condition, values)
    }

    /// Deletes a user's ways in.
    pub(super) fn remove_sign_in_grants(self, user_id: &str, ways: &[SignInGrant]) -> Result<Self, StoreError> {
        ways.iter().try_fold(self, |actions, way| {
            let actions = actions.forget(&way.own)?;
            match &way.marker {
                // Stops a marker from being deleted that has gone to somebody else.
                Some(marker) => actions.delete(marker, "UserId = :user", vec![("user", s(user_id))]),
                None => Ok(actions),
            }
        })
    }
}

impl SignIns {
    /// All ways in of a user that one transaction can remove; those beyond are removed here.
    pub(super) async fn sign_in_grants(&self, user: &User) -> Result<Vec<SignInGrant>, StoreError> {
        let mut ways = Vec::new();
        let partition = format!("USER#{}", user.user_id);
        for prefix in [ACCOUNT_PREFIX, SESSION_PREFIX, NOTIFICATION_PREFIX] {
            for item in self.table.query_prefix([PARTITION_KEY, SORT_KEY], &partition, prefix).await? {
                let sort = item.get(keys::SORT_KEY).and_then(|sort| sort.as_s().ok()).cloned().unwrap_or_default();
                let own = Key::new(partition.clone(), sort);
                let marker = match prefix {
                    ACCOUNT_PREFIX => {
                        let account: Account = read(item)?;
                        let marker = keys::account_owner(&account.provider, &account.subject);
                        let owner: Option<AccountOwner> = self.get(&marker).await?.map(read).transpose()?;
                        owner.filter(|owner| owner.user_id == user.user_id).map(|_| marker)
                    }
                    SESSION_PREFIX => {
                        let marker = keys::session(&read::<UserSession>(item)?.0.token_hash);
                        self.get(&marker).await?.map(|_| marker)
                    }
                    // A platform's setting reaches nobody.
                    _ if read::<PushSubscription>(item).is_err() => continue,
                    _ => None,
                };
                ways.push(SignInGrant { own, marker });
            }
        }
        while ways.len() > REMOVED_AT_ONCE {
            let surplus = ways.split_off(ways.len() - REMOVED_AT_ONCE);
            // One that has changed hands since is found by the next attempt.
            let removal = Transaction::new(&self.table).remove_sign_in_grants(&user.user_id, &surplus)?;
            removal.write().await?;
        }
        Ok(ways)
    }
}
