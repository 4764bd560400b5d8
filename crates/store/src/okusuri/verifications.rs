//! Codes by e-mail: what is remembered of a mailbox that a code was sent to, or tried for.

use aws_sdk_dynamodb::Client;
use domain::okusuri::Email;
use domain::okusuri::sign_in::{Code, Limits, Locked, SendError, Sent};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_with::skip_serializing_none;
use subtle::ConstantTimeEq;

use super::keys::{self, Key, n, s};
use super::rows::{Row, read};
use super::set::Set;
use super::vault::Vault;
use crate::StoreError;

/// How often a change is decided again because another one was faster.
const DECISIONS_MAX: u32 = 5;

/// The code of a mailbox: `VERIFICATION#<mailbox>` `CODE`. Whether somebody has an address there makes no difference to it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Verification {
    /// The normalised address without its `+tag`: one mailbox has one code at a time, and one set of limits.
    pub mailbox: String,
    /// The normalised address that was asked for last.
    pub email: String,
    /// HMAC-SHA256 of address and code; empty as long as none was sent.
    pub code_hash: ByteBuf,
    /// Wrong codes in the window.
    pub attempts: u32,
    /// Codes sent in the window.
    pub sends: u32,
    /// Locks that are not forgotten.
    pub locks: u32,
    /// When the window began.
    pub window_from: Timestamp,
    /// When the code was sent, if one was.
    pub sent_at: Option<Timestamp>,
    /// Until when no code is sent or taken; none, or one that has passed, when the mailbox is not locked.
    pub locked_until: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl Row for Verification {
    const TYPE: &'static str = "verification";
    const OPTIONAL: &'static [&'static str] = &["LockedUntil", "SentAt"];

    fn key(&self) -> Key {
        keys::verification(&self.mailbox)
    }

    fn owner(&self) -> &str {
        &self.mailbox
    }

    fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// Later than the code's end: what is counted outlives it.
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.sent().matters_until())
    }
}

impl Verification {
    fn new(email: &Email, now: Timestamp) -> Self {
        Self {
            mailbox: email.mailbox(),
            email: email.to_string(),
            code_hash: ByteBuf::new(),
            attempts: 0,
            sends: 0,
            locks: 0,
            window_from: now,
            sent_at: None,
            locked_until: None,
            created_at: now,
            updated_at: now,
        }
    }

    fn sent(&self) -> Sent {
        let Self { sends, attempts, locks, window_from, sent_at, locked_until, .. } = *self;
        Sent { sends, attempts, locks, window_from, sent_at, locked_until }
    }

    fn with(self, sent: Sent, now: Timestamp) -> Self {
        let Sent { sends, attempts, locks, window_from, sent_at, locked_until } = sent;
        Self { sends, attempts, locks, window_from, sent_at, locked_until, updated_at: now, ..self }
    }
}

/// Why no code was made.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// Too often.
    #[error(transparent)]
    Refused(#[from] SendError),
    /// Anything else. What is transient may have been written: then the code counts as sent.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a code was not taken.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It is not that one. Whether a code is under way makes no difference to it.
    #[error("the code is wrong")]
    Wrong {
        /// How many more wrong codes the mailbox takes.
        attempts_left: u32,
    },
    /// It is the one that was sent, and too old. Nobody else learns that.
    #[error("the code has expired")]
    Expired,
    /// It was not looked at.
    #[error(transparent)]
    Locked(#[from] Locked),
    /// Anything else.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A code that was right. Signing in uses it up, for whoever is first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RightCode {
    pub(super) email: Email,
    pub(super) code_hash: Vec<u8>,
}

/// The codes of a table. Its requests are `GetItem` and `UpdateItem`.
#[derive(Debug, Clone)]
pub struct Codes {
    client: Client,
    table: String,
    vault: Vault,
}

impl Codes {
    /// The codes in `table`, hashed under the keys of `vault`.
    pub fn new(client: Client, table: impl Into<String>, vault: Vault) -> Self {
        Self { client, table: table.into(), vault }
    }

    /// Makes `code` the one that the address signs in with, in the place of any other of its mailbox, unless there were too many.
    pub async fn issue(&self, email: &Email, code: &Code, now: Timestamp) -> Result<(), IssueError> {
        let code_hash = ByteBuf::from(self.vault.code_hash(email, code));
        for _ in 0..DECISIONS_MAX {
            let before = self.get(email).await?;
            let sent = Sent::again(before.as_ref().map(Verification::sent).as_ref(), Limits::MAILBOX, now)?;
            let row = before.clone().unwrap_or_else(|| Verification::new(email, now)).with(sent, now);
            let row = Verification { email: email.to_string(), code_hash: code_hash.clone(), ..row };
            if self.write(before.as_ref(), &row).await? {
                return Ok(());
            }
        }
        Err(StoreError::Busy("others ask for codes of the same address".to_owned()).into())
    }

    /// Whether `code` is the one that was sent last. Each call is one of the attempts that the mailbox has, and is counted before the code is compared.
    pub async fn check(&self, email: &Email, code: &Code, now: Timestamp) -> Result<RightCode, CheckError> {
        for _ in 0..DECISIONS_MAX {
            let before = self.get(email).await?;
            let sent = Sent::guess(before.as_ref().map(Verification::sent).as_ref(), Limits::MAILBOX, now)?;
            let (attempts_left, is_good) = (sent.attempts_left(Limits::MAILBOX), sent.is_good(now));
            // Where no code is under way the same is written, and the same is compared: nobody can tell.
            let row = before.clone().unwrap_or_else(|| Verification::new(email, now)).with(sent, now);
            if self.write(before.as_ref(), &row).await? {
                let code_hash = self.vault.code_hash(email, code);
                let is_right: bool = code_hash.ct_eq(&row.code_hash).into();
                return match (is_right, is_good) {
                    (true, true) => Ok(RightCode { email: email.clone(), code_hash }),
                    (true, false) => Err(CheckError::Expired),
                    (false, _) => Err(CheckError::Wrong { attempts_left }),
                };
            }
        }
        Err(StoreError::Busy("others try codes of the same address".to_owned()).into())
    }

    async fn get(&self, email: &Email) -> Result<Option<Verification>, StoreError> {
        let key = keys::verification(&email.mailbox()).item();
        let request = self.client.get_item().table_name(&self.table).set_key(Some(key)).consistent_read(true);
        request.send().await?.item.map(read).transpose()
    }

    /// Writes what was decided on the state `before`; false when it is no longer that, and nothing was written.
    async fn write(&self, before: Option<&Verification>, row: &Verification) -> Result<bool, StoreError> {
        let row = Set::new(row)?;
        let row = match before {
            // Stops guesses that come at once from being counted as one, two codes from being sent within a minute, and a code that was used up
            // meanwhile from coming back.
            Some(before) => row.when(
                "Attempts = :attempts AND Sends = :sends AND UpdatedAt = :updatedAt",
                vec![
                    ("attempts", n(before.attempts)),
                    ("sends", n(before.sends)),
                    ("updatedAt", s(before.updated_at.to_string())),
                ],
            ),
            // The same, where nothing is remembered of the address.
            None => row.when("attribute_not_exists(PK)", Vec::new()),
        };
        row.send(&self.client, &self.table).await
    }
}
