//! The counters of codes, in the row of a mailbox and in the row of a source.

use domain::okusuri::sign_in::SignInCounters;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::keys::{n, s};
use super::rows::Row;
use super::upsert::Upsert;
use store_base::{StoreError, Table};

/// The attributes that a row may not have.
pub(super) const OPTIONAL: &[&str] = &["LockedUntil", "SentAt", "WriteId"];

/// The counters, and when the row was made and changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct CodeCounters {
    /// Wrong codes in the window.
    pub attempts: u32,
    /// Codes sent in the window.
    pub sends: u32,
    /// Locks that are not forgotten.
    pub locks: u32,
    /// When the window began.
    pub window_from: Timestamp,
    /// When the last code was sent, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_at: Option<Timestamp>,
    /// Until when no code is sent or taken; none, or one that has passed, when it is not locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Timestamp>,
    /// The number of the last write. A request whose answer was lost recognizes its own write by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_id: Option<u32>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

impl CodeCounters {
    pub(super) fn sent(&self) -> SignInCounters {
        let Self { sends, attempts, locks, window_from, sent_at, locked_until, .. } = *self;
        SignInCounters { sends, attempts, locks, window_from, sent_at, locked_until }
    }

    /// The counters that replace `before`.
    pub(super) fn new(sent: SignInCounters, before: Option<&Self>, now: Timestamp) -> Self {
        let SignInCounters { sends, attempts, locks, window_from, sent_at, locked_until } = sent;
        let created_at = before.map_or(now, |before| before.created_at);
        let write_id = Some(fastrand::u32(..));
        Self { sends, attempts, locks, window_from, sent_at, locked_until, write_id, created_at, updated_at: now }
    }
}

/// Writes a row with the counters `after`, on the condition that the counters are still `before`.
/// `false`: another request has changed them.
pub(super) async fn write_counted<R: Row>(
    table: &Table,
    row: &R,
    after: &CodeCounters,
    before: Option<&CodeCounters>,
) -> Result<bool, StoreError> {
    let row = Upsert::new(row)?;
    let row = match before {
        // Stops two concurrent requests from being counted as one, two codes from being sent within
        // a minute, and a used code from coming back.
        Some(before) => row.when(
            "Attempts = :attempts AND Sends = :sends AND UpdatedAt = :updatedAt",
            vec![
                ("attempts", n(before.attempts)),
                ("sends", n(before.sends)),
                ("updatedAt", s(before.updated_at.to_string())),
            ],
        ),
        // The same if there is no row yet.
        None => row.when("attribute_not_exists(PK)", Vec::new()),
    };
    row.send_with_id(table, "WriteId", after.write_id).await
}
