//! Signs in with a mailed code: a known user, or a new one.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use domain::UserId;
use domain::okusuri::{Email, Regimen};
use jiff::{SignedDuration, Timestamp};

use super::keys::{self, Item, Key, PROFILE, n, s};
use super::rows::{EmailOwner, Session, User, UserSession, read};
use super::transaction::Transaction;
use super::users::image;
use super::verifications::VerifiedCode;
use store_base::{StoreError, Table};

/// How long a session lasts that is not used.
pub const SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(30 * 24);

/// How often a sign-in is conditional_upsert again because another one was faster.
pub(super) const DECISIONS_MAX: u32 = 4;

/// A session that is to be.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// SHA-256 of its token, lower-case hexadecimal: see [`super::sha256_hex`].
    pub token_hash: String,
    /// Its id, shown instead of its token.
    pub session_id: String,
    /// From where.
    pub ip_address: Option<String>,
    /// With which browser.
    pub user_agent: Option<String>,
}

impl NewSession {
    pub(super) fn rows(self, user_id: &str, now: Timestamp) -> (Session, UserSession) {
        let Self { token_hash, session_id, ip_address, user_agent } = self;
        let row = Session {
            user_id: user_id.to_owned(),
            session_id,
            token_hash,
            expires_at: now + SESSION_LIFETIME,
            ip_address,
            user_agent,
            created_at: now,
            updated_at: now,
        };
        let among_users = UserSession(row.clone());
        (row, among_users)
    }
}

/// The data of a new user.
#[derive(Debug, Clone)]
pub struct NewUser {
    /// The id.
    pub id: UserId,
    /// What the user is to be called.
    pub name: Option<String>,
    /// An IANA name that exists.
    pub time_zone: String,
}

impl NewUser {
    pub(super) fn row(&self, email: Option<&Email>, now: Timestamp) -> User {
        User {
            user_id: self.id.to_string(),
            name: self.name.clone(),
            email: email.map(Email::to_string),
            email_verified: email.is_some(),
            image: None,
            time_zone: self.time_zone.clone(),
            // What suits everybody until the user has been asked.
            regimen: Some(Regimen::Medicines),
            asks_regimen: true,
            sessions_from: None,
            sign_in_grants_added: None,
            deleting: None,
            created_at: now,
            updated_at: now,
        }
    }
}

/// A signed-in user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn {
    /// Who.
    pub user: User,
    /// For how long.
    pub session: Session,
    /// Whether the user was made just now.
    pub is_new: bool,
}

/// Why somebody did not come in.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The code was used already, or another one was sent since.
    #[error("the code was used already")]
    Used,
    /// Everything of the user is being deleted. That has to be brought to its end first; then the
    /// address is free.
    #[error("the user is being deleted")]
    Deleting(UserId),
    /// Any other error. After a transient one the session may be stored, but nobody has its token.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Signs in. Its requests are `GetItem` and `TransactWriteItems`.
#[derive(Debug, Clone)]
pub struct SignIns {
    pub(super) table: Table,
}

impl SignIns {
    /// Signs in at `table`.
    pub fn new(table: &Table) -> Self {
        Self { table: table.clone() }
    }

    /// Signs in the owner of the mailbox: the user of the address, or a new one. The same
    /// transaction uses up the code.
    pub async fn with_code(
        &self,
        code: &VerifiedCode,
        new: &NewUser,
        session: &NewSession,
        now: Timestamp,
    ) -> Result<SignedIn, SignInError> {
        for _ in 0..DECISIONS_MAX {
            let known = self.of_email(&code.email).await?;
            if let Some(user) = known.as_ref().filter(|user| user.deleting.is_some()) {
                return Err(SignInError::Deleting(UserId::new(&user.user_id).map_err(StoreError::unreadable)?));
            }
            // Stops a code from being used twice.
            let hash = AttributeValue::B(Blob::new(code.code_hash.clone()));
            let [used, copy] = [code.is_known_device, !code.is_known_device]
                .map(|is_known_device| keys::verification(&code.email.mailbox(), is_known_device));
            let actions = Transaction::new(&self.table).delete(&used, "CodeHash = :hash", vec![("hash", hash)])?;
            let actions = actions.forget(&copy)?;
            let is_new = known.is_none();
            let strangers = match &known {
                Some(user) if !user.email_verified => self.sign_in_grants(user).await?,
                _ => Vec::new(),
            };
            let before = known.clone();
            let user = known.map_or_else(|| new.row(Some(&code.email), now), |user| verified(user, now));
            let (session, among_users) = session.clone().rows(&user.user_id, now);
            let actions = match &before {
                // Stops two users from having one address: of two that are made at once, one finds
                // the marker of the other.
                None => {
                    let (email, user_id) = (code.email.to_string(), user.user_id.clone());
                    actions.put_new(&user)?.put_new(&EmailOwner { email, user_id, created_at: now })?
                }
                Some(before) => check_owner(actions, &code.email, &user.user_id)?
                    .verify(before, now)?
                    .remove_sign_in_grants(&user.user_id, &strangers)?,
            };
            let actions = actions.put_new(&session)?.put_new(&among_users)?;
            match actions.write().await? {
                None => return Ok(SignedIn { user, session, is_new }),
                Some(0) => return Err(SignInError::Used),
                // The address has found or lost its user in between.
                Some(_) => {}
            }
        }
        Err(StoreError::Busy("the address changes hands again and again".to_owned()).into())
    }

    /// The user of an address.
    pub async fn of_email(&self, email: &Email) -> Result<Option<User>, StoreError> {
        let Some(marker) = self.get(&keys::email(email.as_str())).await? else { return Ok(None) };
        let marker: EmailOwner = read(marker)?;
        self.user(&marker.user_id).await.map(Some)
    }

    /// The user that a lookup item names. The profile must exist, because it is the last item of a
    /// user that is deleted.
    pub(super) async fn user(&self, user_id: &str) -> Result<User, StoreError> {
        let item = self.get(&profile(user_id)).await?;
        read(item.ok_or_else(|| StoreError::unreadable(format!("the user {user_id} has a marker and is not there")))?)
    }

    pub(super) async fn get(&self, key: &Key) -> Result<Option<Item>, StoreError> {
        let request = self.table.get_item(key.item());
        Ok(request.consistent_read(true).send().await?.item)
    }
}

/// The condition on a profile that exists and is not being deleted.
pub(super) const ALIVE: &str = "attribute_exists(PK) AND attribute_not_exists(Deleting)";

pub(super) fn profile(user_id: &str) -> Key {
    Key::new(format!("USER#{user_id}"), PROFILE)
}

/// Insists that an address is still a user's: it stops a sign-in that was conditional_upsert before
/// the address went to somebody else.
pub(super) fn check_owner<'a>(
    actions: Transaction<'a>,
    email: &Email,
    user_id: &str,
) -> Result<Transaction<'a>, StoreError> {
    actions.check(&keys::email(email.as_str()), "UserId = :user", vec![("user", s(user_id))])
}

impl Transaction<'_> {
    /// Notes that the user has proved to have the mailbox. The condition stops somebody from coming
    /// in while everything of them is being deleted.
    fn verify(self, before: &User, now: Timestamp) -> Result<Self, StoreError> {
        let mut values = vec![("true", AttributeValue::Bool(true)), ("now", s(now.to_string()))];
        let (update, condition) = if before.email_verified {
            // The profile may have been read before a sign-out everywhere, which must stay in
            // effect.
            ("SET EmailVerified = :true, UpdatedAt = :now", ALIVE.to_owned())
        } else {
            values.push(("false", AttributeValue::Bool(false)));
            // Stops a way in from staying that was added after they were looked for.
            let added = before.sign_in_grants_added.map_or("attribute_not_exists(SignInGrantsAdded)", |added| {
                values.push(("added", n(added)));
                "SignInGrantsAdded = :added"
            });
            let condition = format!("{ALIVE} AND EmailVerified = :false AND {added}");
            ("SET EmailVerified = :true, UpdatedAt = :now, SessionsFrom = :now REMOVE #Name, Image", condition)
        };
        let actions = self.update(&profile(&before.user_id), update, &condition, values)?;
        if before.email_verified { Ok(actions) } else { actions.forget(&image(&before.user_id)) }
    }
}

/// The user after proving to have the mailbox. Whoever held the account before that, and may have
/// been somebody else, is out; so are the name and the picture that they gave it.
fn verified(user: User, now: Timestamp) -> User {
    let user = User { updated_at: now, ..user };
    if user.email_verified {
        return user;
    }
    User { email_verified: true, sessions_from: Some(now), name: None, image: None, ..user }
}
