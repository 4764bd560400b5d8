//! The journal: entries of named streams, read newest first across days.
//!
//! It is what SQL gives with `ORDER BY day DESC, time DESC` on a log table; the idea and the need are those of the article on descending
//! scans in the project's seeds. Its way of getting there does not hold, and [`article`] keeps it for whoever comes looking.

pub mod article;
mod entry;
mod id;
mod news;
mod retention;
mod stream;

pub use entry::{Entry, Message, MessageError};
pub use id::{EntryId, EntryIdError};
pub use news::News;
pub use retention::{Retention, RetentionError};
pub use stream::{Stream, StreamError};
