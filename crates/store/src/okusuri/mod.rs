//! Okusuri's table: PK `PK`, SK `SK`, TTL `TTL`; indexes `DueIndex` (`DuePartition`, `DueAt`) and `TypeIndex` (`TypePartition`, `TypeSort`), both of keys only.
//!
//! What lies where is written beside each row in [`rows`]: a user's own items in the partition `USER#<user id>`, and beside them the items by which
//! one is found without an index: the session of a token, the user of an e-mail address, the user of a login elsewhere.

mod accesses;
mod accounts;
mod admin;
mod attempts;
mod counted;
mod doses;
mod everything;
mod keys;
mod limits;
mod logs;
mod medicines;
mod notifications;
mod reminders;
pub mod rows;
mod sessions;
mod set;
mod sign_ins;
mod summary;
mod transaction;
mod users;
pub mod vault;
mod verifications;
mod ways_in;

pub use accesses::{Access, AccessRecord, Accesses};
pub use accounts::{Linked, Login, LoginError, Unlinked};
pub use admin::{LISTED_TYPES, ListPosition, Listings};
pub use attempts::{ATTEMPT_LIFETIME, Attempt, Attempts};
pub use doses::{DayDoses, DoseName, Doses, Marked};
pub use everything::{Deleted, Everything, Kind};
pub use keys::{Key, due_partition, sha256_hex};
pub use limits::{CodeLimits, Source};
pub use logs::{Calendar, LogPosition, LogRange, Logs};
pub use medicines::{Medicines, Unmade};
pub use notifications::{Notifications, NotificationsOf};
pub use reminders::{Due, DuePartition, ReminderChange, Reminders};
pub use rows::{Row, item, read};
pub use sessions::Sessions;
pub use sign_ins::{Entered, NewSession, NewUser, SESSION_LIFETIME, SignInError, SignIns};
pub use summary::{Entry, Written};
pub use transaction::WriteError;
pub use users::{OWN_IMAGE, ProfileChange, Users};
pub use verifications::{CheckError, Codes, IssueError, RightCode, Verification};

/// Opens the connection to DynamoDB with the smallest of reads, so that the first request does not pay for the handshake.
pub async fn connect(table: &crate::Table) -> Result<(), crate::StoreError> {
    let nothing = keys::session("connect").item();
    table.connect(nothing).await
}
