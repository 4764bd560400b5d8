//! Okusuri's table: PK `PK`, SK `SK`, TTL `TTL`; indexes `DueIndex` (`DuePartition`, `DueAt`) and
//! `TypeIndex` (`TypePartition`, `TypeSort`), both of keys only.
//!
//! What lies where is written beside each row in [`rows`]: a user's own items in the partition
//! `USER#<user id>`, and beside them the items by which one is found without an index: the session
//! of a token, the user of an e-mail address, the user of a login elsewhere.

mod access_log;
mod accounts;
mod admin;
mod code_counters;
mod dose_reminders;
mod doses;
mod keys;
mod limits;
mod logs;
mod medicines;
mod notifications;
mod oauth_state;
mod reminders;
pub mod rows;
mod sessions;
mod sign_in_grants;
mod sign_ins;
mod summary;
mod transaction;
mod upsert;
mod user_deletion;
mod user_export;
mod users;
pub mod vault;
mod verifications;

pub use access_log::{Access, AccessLog, AccessRecord};
pub use accounts::{LinkOutcome, Login, LoginError, UnlinkOutcome};
pub use admin::{LISTED_TYPES, ListPosition, Listings};
pub use dose_reminders::{DoseAsks, DoseReminderChange, DueDose};
pub use doses::{DayDoses, DoseKey, DoseMarked, Doses};
pub use keys::{Key, due_partition, sha256_hex};
pub use limits::{CodeLimits, MailKind, Source};
pub use logs::{Calendar, LogPosition, LogRange, Logs};
pub use medicines::{MedicineDraft, MedicineError, Medicines};
pub use notifications::{Notifications, UserNotifications};
pub use oauth_state::{OAUTH_ATTEMPT_LIFETIME, OauthAttempt, OauthStates};
pub use reminders::{Due, DuePartition, ReminderChange, ReminderKind, Reminders};
pub use rows::{Row, item, read};
pub use sessions::Sessions;
pub use sign_ins::{NewSession, NewUser, SESSION_LIFETIME, SignInError, SignIns, SignedIn};
pub use summary::{LogEntry, LogWriteOutcome};
pub use transaction::WriteError;
pub use user_deletion::DeleteProgress;
pub use user_export::{UserData, UserDataKind};
pub use users::{OWN_IMAGE, ProfileChange, Users};
pub use verifications::{CheckError, Codes, IssueError, Verification, VerifiedCode};

/// Opens the connection to DynamoDB with the smallest of reads, so that the first request does not
/// pay for the handshake.
pub async fn connect(table: &store_base::Table) -> Result<(), store_base::StoreError> {
    let nothing = keys::session("connect").item();
    table.connect(nothing).await
}
