//! A user, and the items that lead to it: address, logins, sessions.

use domain::okusuri::Regimen;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::{Row, of_user};
use crate::keys::{self, Key};

/// A user: `USER#<user id>` `PROFILE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct User {
    /// The id: a UUIDv7, or what better-auth made.
    pub user_id: String,
    /// The user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// As it was given, not normalised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether a code sent to the address came back.
    pub email_verified: bool,
    /// A picture: an URL of at most 2 KB, or `self:<etag>` for one that lies in [`UserImage`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// An IANA name, which says when the user's days begin.
    pub time_zone: String,
    /// The regimen as a text. Users of before there was a choice, and those of the migration, have
    /// none: they are [`Regimen::default`].
    #[serde(default, with = "super::as_text", skip_serializing_if = "Option::is_none")]
    pub regimen: Option<Regimen>,
    /// Whether the regimen is a guess, and the user is to be asked for it. Only `true` is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_regimen: bool,
    /// Sessions made before are refused: signing out everywhere is this one write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions_from: Option<Timestamp>,
    /// How many logins, sessions and push subscriptions were ever added, other than with a code.
    /// One that is added beside the first right code changes this, and so is found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in_grants_added: Option<u64>,
    /// Since when everything of the user is being deleted. Nobody is signed in then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleting: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    User as "user", owner user_id,
    key |row| of_user(&row.user_id, keys::PROFILE)
}

/// A user's picture, kept out of the profile, which is read with each request: `USER#<user id>`
/// `IMAGE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct UserImage {
    /// Whose.
    pub user_id: String,
    /// `image/png`, `image/jpeg` or `image/webp`.
    pub content_type: String,
    /// At most 256 KB.
    pub bytes: ByteBuf,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    UserImage as "user_image", owner user_id,
    key |row| of_user(&row.user_id, keys::IMAGE)
}

/// What makes an e-mail address unique: `EMAIL#<normalised>` `EMAIL`, written in the transaction
/// that gives it to a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct EmailOwner {
    /// Normalised.
    pub email: String,
    /// Whose.
    pub user_id: String,
    /// When it was made.
    pub created_at: Timestamp,
}

row! {
    EmailOwner as "email", owner email,
    key |row| keys::email(&row.email)
}

/// A session, found by its token: `SESSION#<hash of the token>` `SESSION`. Read consistently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Session {
    /// Whose.
    pub user_id: String,
    /// What the session is called where its token must not be shown.
    pub session_id: String,
    /// SHA-256 of the token, lower-case hexadecimal.
    pub token_hash: String,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    /// Where it was begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<String>,
    /// With which browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    Session as "session", owner user_id,
    key |row| keys::session(&row.token_hash),
    expires |row| Some(row.expires_at)
}

/// The same session in its user's partition, so that a user's sessions can be listed: `USER#<user
/// id>` `SESSION#<session id>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserSession(pub Session);

impl Row for UserSession {
    const TYPE: &'static str = "user_session";

    fn key(&self) -> Key {
        of_user(&self.0.user_id, format!("{}{}", keys::SESSION_PREFIX, self.0.session_id))
    }

    fn owner(&self) -> &str {
        &self.0.user_id
    }

    fn created_at(&self) -> Timestamp {
        self.0.created_at
    }

    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.0.expires_at)
    }
}

/// A login at a provider: `USER#<user id>` `ACCOUNT#<provider>#<subject>`. Tokens are encrypted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Account {
    /// Whose.
    pub user_id: String,
    /// The provider's id, without `#`.
    pub provider: String,
    /// Who the user is there.
    pub subject: String,
    /// Encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token: Option<ByteBuf>,
    /// Encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<ByteBuf>,
    /// Encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<ByteBuf>,
    /// As the provider said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_token_expires_at: Option<Timestamp>,
    /// As the provider said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token_expires_at: Option<Timestamp>,
    /// The granted scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

row! {
    Account as "account", owner user_id,
    key |row| of_user(&row.user_id, format!("{}{}#{}", keys::ACCOUNT_PREFIX, row.provider, row.subject))
}

/// What makes a login at a provider unique: `ACCOUNT#<provider>#<subject>` `ACCOUNT`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AccountOwner {
    /// The provider's id, without `#`.
    pub provider: String,
    /// Who the user is there.
    pub subject: String,
    /// Whose.
    pub user_id: String,
    /// When it was made.
    pub created_at: Timestamp,
}

row! {
    AccountOwner as "account_owner", owner subject,
    key |row| keys::account_owner(&row.provider, &row.subject)
}
