//! The journal: entries of named streams, read newest first across days.
//!
//! It is what SQL gives with `ORDER BY day DESC, time DESC` on a log table; the idea and the need are those of the article on descending
//! scans in the original designs. Its way of getting there does not hold, and [`descending_keys`] keeps it for whoever comes looking.

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
