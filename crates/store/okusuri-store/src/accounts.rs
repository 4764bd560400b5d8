//! Logins elsewhere: which user a provider's subject is, and how users add and remove such logins.

use domain::UserId;
use domain::okusuri::Email;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_bytes::ByteBuf;

use super::keys::{self, ACCOUNT_PREFIX, PARTITION_KEY, SORT_KEY, s};
use super::rows::{Account, AccountOwner, EmailOwner, Row, User, read};
use super::sign_ins::{DECISIONS_MAX, NewSession, NewUser, SignInError, SignIns, SignedIn, check_owner};
use super::transaction::Transaction;
use super::vault::{TokenKind, Vault};
use store_base::StoreError;

/// Logins that are unlinked in one transaction: two actions for each, and one more, are far below
/// the 100 of a transaction.
const LOGINS_AT_ONCE: usize = 20;

/// Somebody at a provider, and what the provider gave out for them.
#[derive(Debug, Clone)]
pub struct Login {
    /// The provider's id.
    pub provider: String,
    /// The user's id at the provider.
    pub subject: String,
    /// An address that the provider vouches for.
    pub verified_email: Option<Email>,
    /// Opens the provider's API.
    pub access_token: Option<SecretString>,
    /// Brings new tokens.
    pub refresh_token: Option<SecretString>,
    /// The ID token.
    pub id_token: Option<SecretString>,
    /// When the access token ends.
    pub access_token_expires_at: Option<Timestamp>,
    /// The granted scopes.
    pub scope: Option<String>,
}

impl Login {
    fn row(&self, vault: &Vault, user_id: &str, now: Timestamp) -> Account {
        let seal = |kind, token: &Option<SecretString>| {
            let token = token.as_ref()?.expose_secret();
            Some(ByteBuf::from(vault.seal_token(user_id, &self.provider, kind, token)))
        };
        Account {
            user_id: user_id.to_owned(),
            provider: self.provider.clone(),
            subject: self.subject.clone(),
            access_token: seal(TokenKind::Access, &self.access_token),
            refresh_token: seal(TokenKind::Refresh, &self.refresh_token),
            id_token: seal(TokenKind::Id, &self.id_token),
            access_token_expires_at: self.access_token_expires_at,
            refresh_token_expires_at: None,
            scope: self.scope.clone(),
            created_at: now,
            updated_at: now,
        }
    }

    fn owner(&self, user_id: &str, now: Timestamp) -> AccountOwner {
        let (provider, subject) = (self.provider.clone(), self.subject.clone());
        AccountOwner { provider, subject, user_id: user_id.to_owned(), created_at: now }
    }
}

/// Why somebody did not come in by a login elsewhere.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// Its address belongs to a user who has not linked this login. The address alone is not proof:
    /// its owner at the provider may be another person.
    #[error("the address belongs to a user who has not linked this login")]
    NotLinked,
    /// The same as with a code.
    #[error(transparent)]
    SignIn(#[from] SignInError),
}

impl From<StoreError> for LoginError {
    fn from(error: StoreError) -> Self {
        Self::SignIn(error.into())
    }
}

/// The result of linking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkOutcome {
    /// The user has the login now, or had it before.
    Yes,
    /// Another user has it.
    Taken,
    /// There is no such user any more, or the user has signed out everywhere.
    NoUser,
}

/// The result of unlinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnlinkOutcome {
    /// The login is gone.
    Yes,
    /// There was none.
    NotThere,
    /// Nothing would be left to sign in with.
    LastSignInMethod,
}

impl SignIns {
    /// Signs in the user of a known login, or creates a user for an unknown one.
    pub async fn with_login(
        &self,
        login: &Login,
        vault: &Vault,
        new: &NewUser,
        session: &NewSession,
        now: Timestamp,
    ) -> Result<SignedIn, LoginError> {
        for _ in 0..DECISIONS_MAX {
            let known = self.of_login(&login.provider, &login.subject).await?;
            if let Some(user) = known.as_ref().filter(|user| user.deleting.is_some()) {
                let user_id = UserId::new(&user.user_id).map_err(StoreError::unreadable)?;
                return Err(SignInError::Deleting(user_id).into());
            }
            if let (None, Some(email)) = (&known, &login.verified_email)
                && self.of_email(email).await?.is_some()
            {
                // Unless another sign-in with the same login created this user between the two
                // reads.
                if self.of_login(&login.provider, &login.subject).await?.is_some() {
                    continue;
                }
                return Err(LoginError::NotLinked);
            }
            let is_new = known.is_none();
            let user = known.unwrap_or_else(|| new.row(login.verified_email.as_ref(), now));
            let actions = Transaction::new(&self.table);
            let actions = if is_new {
                // Stops two users from having one login or one address: of two that are made at
                // once, one finds the marker of the other.
                let actions = actions.put_new(&user)?.put_new(&login.owner(&user.user_id, now))?;
                match &login.verified_email {
                    Some(email) => {
                        let (email, user_id) = (email.to_string(), user.user_id.clone());
                        actions.put_new(&EmailOwner { email, user_id, created_at: now })?
                    }
                    None => actions,
                }
            } else {
                // Stops somebody from coming in by a login that is being unlinked, or while
                // everything of them is being deleted.
                actions
                    .check(
                        &keys::account_owner(&login.provider, &login.subject),
                        "UserId = :user",
                        vec![("user", s(&user.user_id))],
                    )?
                    .add_sign_in_grant(&user, now)?
            };
            let (session, among_users) = session.clone().rows(&user.user_id, now);
            let actions = actions.set(&login.row(vault, &user.user_id, now))?;
            let actions = actions.put_new(&session)?.put_new(&among_users)?;
            if actions.write().await?.is_none() {
                return Ok(SignedIn { user, session, is_new });
            }
        }
        Err(StoreError::Busy("the login changes hands again and again".to_owned()).into())
    }

    /// The user of a login.
    pub async fn of_login(&self, provider: &str, subject: &str) -> Result<Option<User>, StoreError> {
        let Some(marker) = self.get(&keys::account_owner(provider, subject)).await? else { return Ok(None) };
        let marker: AccountOwner = read(marker)?;
        self.user(&marker.user_id).await.map(Some)
    }

    /// The user's logins elsewhere.
    pub async fn logins(&self, user_id: &UserId) -> Result<Vec<Account>, StoreError> {
        let items =
            self.table.query_prefix([PARTITION_KEY, SORT_KEY], &format!("USER#{user_id}"), ACCOUNT_PREFIX).await?;
        items.into_iter().map(read).collect()
    }

    /// Adds a login to a signed-in user.
    pub async fn link(
        &self,
        user: &User,
        login: &Login,
        vault: &Vault,
        now: Timestamp,
    ) -> Result<LinkOutcome, StoreError> {
        for _ in 0..DECISIONS_MAX {
            let marker = self.get(&keys::account_owner(&login.provider, &login.subject)).await?;
            let owner: Option<AccountOwner> = marker.map(read).transpose()?;
            if owner.as_ref().is_some_and(|owner| owner.user_id != user.user_id) {
                return Ok(LinkOutcome::Taken);
            }
            // Stops a login for a user who was deleted meanwhile, or whose session has ended.
            let actions = Transaction::new(&self.table).add_sign_in_grant(user, now)?;
            let actions = match &owner {
                // Stops two users from having one login.
                None => actions.put_new(&login.owner(&user.user_id, now))?,
                // The same, when it was unlinked and went to somebody else in between.
                Some(owner) => {
                    let value = vec![("user", s(&user.user_id))];
                    actions.check(&owner.key(), "UserId = :user", value)?
                }
            };
            let actions = actions.set(&login.row(vault, &user.user_id, now))?;
            match actions.write().await? {
                None => return Ok(LinkOutcome::Yes),
                Some(0) => return Ok(LinkOutcome::NoUser),
                Some(_) => {}
            }
        }
        Err(StoreError::Busy("the login changes hands again and again".to_owned()))
    }

    /// Takes a provider's logins away from a user, unless they are the last way in.
    pub async fn unlink(&self, user: &User, provider: &str) -> Result<UnlinkOutcome, StoreError> {
        let user_id = UserId::new(&user.user_id).map_err(StoreError::unreadable)?;
        for _ in 0..DECISIONS_MAX {
            let (gone, others): (Vec<_>, Vec<_>) =
                self.logins(&user_id).await?.into_iter().partition(|account| account.provider == provider);
            if gone.is_empty() {
                return Ok(UnlinkOutcome::NotThere);
            }
            let actions = Transaction::new(&self.table);
            // Whatever stays has to stay until the rest is gone. Stops two logins, each thought to
            // be the other's spare, from being unlinked at once.
            let email = user.email.as_deref().and_then(|email| Email::new(email).ok());
            let mut actions = match (self.owned(email, &user_id).await?, others.first()) {
                (Some(email), _) => check_owner(actions, &email, &user.user_id)?,
                (None, Some(other)) => actions.check(&other.key(), "attribute_exists(PK)", Vec::new())?,
                (None, None) => return Ok(UnlinkOutcome::LastSignInMethod),
            };
            // A provider's logins beyond what a transaction takes stay for another time.
            for account in gone.iter().take(LOGINS_AT_ONCE) {
                let owner = keys::account_owner(&account.provider, &account.subject);
                let value = vec![("user", s(&user.user_id))];
                actions = actions
                    // Stops a marker from being deleted that is somebody else's by now.
                    .delete(&owner, "attribute_not_exists(PK) OR UserId = :user", value)?
                    .delete(&account.key(), "attribute_exists(PK)", Vec::new())?;
            }
            if actions.write().await?.is_none() {
                return Ok(UnlinkOutcome::Yes);
            }
        }
        Err(StoreError::Busy("the logins change again and again".to_owned()))
    }

    /// The address, if a code sent to it opens this user.
    async fn owned(&self, email: Option<Email>, user_id: &UserId) -> Result<Option<Email>, StoreError> {
        let Some(email) = email else { return Ok(None) };
        let marker = self.get(&keys::email(email.as_str())).await?;
        let owner: Option<EmailOwner> = marker.map(read).transpose()?;
        Ok(owner.filter(|owner| owner.user_id == user_id.as_str()).map(|_| email))
    }
}
