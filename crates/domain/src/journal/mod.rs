//! The journal: entries of named streams, read newest first across days.
//!
//! It does for a stream what `ORDER BY day DESC, time DESC` does for a log table in SQL. The
//! article on descending scans in the original designs asks for it, but its method does not work.
//! [`descending_keys`] keeps that method for comparison.

pub mod descending_keys;
mod entry;
mod id;
mod retention;
mod stream;
mod suite_event;

pub use entry::{Entry, Message, MessageError};
pub use id::{EntryId, EntryIdError};
pub use retention::{Retention, RetentionError};
pub use stream::{JournalStream, JournalStreamError};
pub use suite_event::SuiteEvent;
