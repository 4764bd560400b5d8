//! Codes by e-mail: the row of a mailbox that a code was sent to, or tried for.

use domain::okusuri::Email;
use domain::okusuri::sign_in::{Code, Limits, Locked, SendError, SignInCounters};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use subtle::ConstantTimeEq;

use super::code_counters::{self, CodeCounters, write_counted};
use super::keys::{self, Key};
use super::rows::{Row, read};
use super::vault::Vault;
use store_base::{StoreError, Table};

/// How often a change is tried again because another one was faster.
const DECISIONS_MAX: u32 = 5;

/// The code of a mailbox: `VERIFICATION#<mailbox>` `CODE`, and `CODE#DEVICE` for the devices that
/// its owner signed in on. Whether somebody has an address there makes no difference to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Verification {
    /// The normalised address without its `+tag`: one mailbox has one code at a time, and one set
    /// of limits.
    pub mailbox: String,
    /// The normalised address that was asked for last.
    pub email: String,
    /// HMAC-SHA256 of address and code; empty as long as none was sent.
    pub code_hash: ByteBuf,
    /// Whether the row is for known devices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_known_device: bool,
    /// The counters of the mailbox.
    #[serde(flatten)]
    pub counted: CodeCounters,
}

impl Row for Verification {
    const TYPE: &'static str = "verification";
    const OPTIONAL: &'static [&'static str] = code_counters::OPTIONAL;

    fn key(&self) -> Key {
        keys::verification(&self.mailbox, self.is_known_device)
    }

    fn owner(&self) -> &str {
        &self.mailbox
    }

    fn created_at(&self) -> Timestamp {
        self.counted.created_at
    }

    /// Later than the code's expiry, because the counters stay longer.
    fn expires_at(&self) -> Option<Timestamp> {
        Some(self.counted.sent().matters_until())
    }
}

/// Why no code was made.
#[derive(Debug, thiserror::Error)]
pub enum IssueError {
    /// Too often.
    #[error(transparent)]
    Refused(#[from] SendError),
    /// Any other error. After a transient one the row may be written, and then the code counts as
    /// sent.
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

/// A right code. The first sign-in uses it up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCode {
    pub(super) email: Email,
    pub(super) code_hash: Vec<u8>,
    pub(super) is_known_device: bool,
}

/// The codes of a table. Its requests are `GetItem` and `UpdateItem`.
#[derive(Debug, Clone)]
pub struct Codes {
    table: Table,
    vault: Vault,
    is_known_device: bool,
}

impl Codes {
    /// The codes in `table`, hashed under the keys of `vault`.
    pub fn new(table: &Table, vault: Vault) -> Self {
        Self { table: table.clone(), vault, is_known_device: false }
    }

    /// The codes for a device. A known one, which the owner of the mailbox signed in on, has its
    /// own counters, so a stranger's guesses do not lock it.
    pub fn for_device(&self, is_known: bool) -> Self {
        Self { is_known_device: is_known, ..self.clone() }
    }

    /// Makes `code` the one that the address signs in with, in the place of any other of its
    /// mailbox, unless there were too many.
    pub async fn issue(&self, email: &Email, code: &Code, now: Timestamp) -> Result<(), IssueError> {
        self.issue_once(email, code, now).await?;
        if !self.is_known_device {
            return Ok(());
        }
        // The owner may type it on another device, if strangers have not locked that.
        match self.for_device(false).issue_once(email, code, now).await {
            Err(IssueError::Refused(_)) => Ok(()),
            issued => issued,
        }
    }

    async fn issue_once(&self, email: &Email, code: &Code, now: Timestamp) -> Result<(), IssueError> {
        let code_hash = ByteBuf::from(self.vault.code_hash(email, code));
        for _ in 0..DECISIONS_MAX {
            let before = self.get(email).await?;
            let counted = before.as_ref().map(|before| &before.counted);
            let sent = SignInCounters::count_send(counted.map(CodeCounters::sent).as_ref(), Limits::MAILBOX, now)?;
            let code_hash = code_hash.clone();
            let row = Verification { email: email.to_string(), code_hash, ..self.row(email, &before, sent, now) };
            if write_counted(&self.table, &row, &row.counted, counted).await? {
                return Ok(());
            }
        }
        Err(StoreError::Busy("others ask for codes of the same address".to_owned()).into())
    }

    /// Whether `code` is the one that was sent last. Each call is one of the attempts that the
    /// mailbox has, and is counted before the code is compared.
    pub async fn check(&self, email: &Email, code: &Code, now: Timestamp) -> Result<VerifiedCode, CheckError> {
        let checked = self.check_once(email, code, now).await;
        if !self.is_known_device || !matches!(checked, Err(CheckError::Wrong { .. } | CheckError::Expired)) {
            return checked;
        }
        // The code may have been asked for on another device.
        self.for_device(false).check_once(email, code, now).await.or(checked)
    }

    async fn check_once(&self, email: &Email, code: &Code, now: Timestamp) -> Result<VerifiedCode, CheckError> {
        for _ in 0..DECISIONS_MAX {
            let before = self.get(email).await?;
            let counted = before.as_ref().map(|before| &before.counted);
            let sent = SignInCounters::count_attempt(counted.map(CodeCounters::sent).as_ref(), Limits::MAILBOX, now)?;
            let (attempts_left, is_good) = (sent.attempts_left(Limits::MAILBOX), sent.is_good(now));
            // Where no code is under way the same is written, and the same is compared: nobody can
            // tell.
            let row = self.row(email, &before, sent, now);
            if write_counted(&self.table, &row, &row.counted, counted).await? {
                let code_hash = self.vault.code_hash(email, code);
                let is_right: bool = code_hash.ct_eq(&row.code_hash).into();
                return match (is_right, is_good) {
                    (true, true) => {
                        let (email, is_known_device) = (email.clone(), self.is_known_device);
                        Ok(VerifiedCode { email, code_hash, is_known_device })
                    }
                    (true, false) => Err(CheckError::Expired),
                    (false, _) => Err(CheckError::Wrong { attempts_left }),
                };
            }
        }
        Err(StoreError::Busy("others try codes of the same address".to_owned()).into())
    }

    /// The row with another count. Where nothing is remembered of the mailbox, no code is under
    /// way.
    fn row(&self, email: &Email, before: &Option<Verification>, sent: SignInCounters, now: Timestamp) -> Verification {
        let counted = CodeCounters::new(sent, before.as_ref().map(|before| &before.counted), now);
        let is_known_device = self.is_known_device;
        match before {
            Some(before) => Verification { counted, ..before.clone() },
            None => {
                let (mailbox, email, code_hash) = (email.mailbox(), email.to_string(), ByteBuf::new());
                Verification { mailbox, email, code_hash, is_known_device, counted }
            }
        }
    }

    async fn get(&self, email: &Email) -> Result<Option<Verification>, StoreError> {
        let key = keys::verification(&email.mailbox(), self.is_known_device).item();
        let request = self.table.get_item(key).consistent_read(true);
        request.send().await?.item.map(read).transpose()
    }
}
