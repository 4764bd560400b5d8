//! Attempts to sign in at a provider: the values that are stored until the browser comes back, for
//! one use.

use aws_sdk_dynamodb::types::ReturnValue;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use super::keys::{self, sha256_hex};
use super::rows::{item, read, row};
use super::vault::Vault;
use store_base::{StoreError, Table};

/// How long somebody may take to sign in at the provider.
pub const OAUTH_ATTEMPT_LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// An attempt: `OAUTH#<hash of the state>` `STATE`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct OauthState {
    /// SHA-256 of the state, lower-case hexadecimal.
    pub state_hash: String,
    /// At which provider.
    pub provider: String,
    /// What the ID token has to repeat.
    pub nonce: String,
    /// The verifier of PKCE, encrypted.
    pub verifier: ByteBuf,
    /// The page to go back to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub return_to: Option<String>,
    /// The browser's time zone, for a new user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// To whom the login is to be linked: a hash of state and session id, so that nothing here
    /// outlives the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_to: Option<String>,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    /// When it was made.
    pub created_at: Timestamp,
}

row! {
    OauthState as "oauth_state", owner state_hash,
    key |row| keys::oauth_state(&row.state_hash),
    expires |row| Some(row.expires_at)
}

/// What an attempt is about.
#[derive(Debug, Clone)]
pub struct OauthAttempt {
    /// At which provider.
    pub provider: String,
    /// What the ID token has to repeat.
    pub nonce: String,
    /// The verifier of PKCE.
    pub verifier: SecretString,
    /// The page to go back to.
    pub return_to: Option<String>,
    /// The browser's time zone, for a new user.
    pub time_zone: Option<String>,
    /// To whom the login is to be linked; see [`OauthAttempt::link_to`].
    pub link_to: Option<String>,
}

impl OauthAttempt {
    /// How an attempt names the session whose user its login is to be linked to. An attempt that
    /// was begun in a session which has ended since leads nowhere, also in a browser where the same
    /// user has signed in again.
    pub fn link_to(state: &str, session_id: &str) -> String {
        sha256_hex(format!("{state}#{session_id}").as_bytes())
    }
}

/// The attempts of a table. Its requests are `PutItem` and `DeleteItem`.
#[derive(Debug, Clone)]
pub struct OauthStates {
    table: Table,
    vault: Vault,
}

impl OauthStates {
    /// The attempts in `table`, sealed by `vault`.
    pub fn new(table: &Table, vault: Vault) -> Self {
        Self { table: table.clone(), vault }
    }

    /// Remembers an attempt by its state, which nobody can guess.
    pub async fn begin(&self, state: &str, attempt: OauthAttempt, now: Timestamp) -> Result<(), StoreError> {
        let state_hash = sha256_hex(state.as_bytes());
        let OauthAttempt { provider, nonce, verifier, return_to, time_zone, link_to } = attempt;
        let verifier = ByteBuf::from(self.vault.seal_verifier(&state_hash, verifier.expose_secret()));
        let expires_at = now + OAUTH_ATTEMPT_LIFETIME;
        let created_at = now;
        let row =
            OauthState { state_hash, provider, nonce, verifier, return_to, time_zone, link_to, expires_at, created_at };
        let put = self.table.put_item(item(&row)?);
        put.send().await?;
        Ok(())
    }

    /// Takes the attempt of a state and deletes it: of two concurrent callbacks with one state,
    /// only one gets it.
    pub async fn take(&self, state: &str, now: Timestamp) -> Result<Option<OauthAttempt>, StoreError> {
        let state_hash = sha256_hex(state.as_bytes());
        let key = keys::oauth_state(&state_hash).item();
        let delete = self.table.delete_item(key);
        let Some(item) = delete.return_values(ReturnValue::AllOld).send().await?.attributes else { return Ok(None) };
        let OauthState { provider, nonce, verifier, return_to, time_zone, link_to, expires_at, .. } = read(item)?;
        // TTL takes days at times.
        if expires_at <= now {
            return Ok(None);
        }
        let verifier = self.vault.open_verifier(&state_hash, &verifier).map_err(StoreError::unreadable)?;
        Ok(Some(OauthAttempt { provider, nonce, verifier, return_to, time_zone, link_to }))
    }
}
