//! The journal: entries of named streams, read newest first across days.
//!
//! It does for a stream what `ORDER BY day DESC, time DESC` does for a log table in SQL. The
//! article in the original designs wants the same, but its method does not work:
//! `docs/decisions/0014-newest-first-across-days.md`.

mod entry;
mod retention;
mod stream;
mod suite_event;

pub use entry::{Entry, Message, MessageError};
pub use retention::{Retention, RetentionError};
pub use stream::{JournalStream, JournalStreamError};
pub use suite_event::SuiteEvent;
