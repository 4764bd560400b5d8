//! The rules of Tidemark's systems, as plain values and functions.
//!
//! Nothing here is asynchronous, uses AWS or serde, reads a clock or draws a random number. The
//! caller passes the time, and a seed where the rules need randomness. The constructors check the
//! rules of their types, so each [`UserId`] and each [`calendar::DateRange`] is valid.

mod attributes;
pub mod calendar;
pub mod clicks;
mod entry_id;
pub mod game;
pub mod journal;
pub mod okusuri;
pub mod shop;
mod short_text;
mod time;
mod user_id;

pub use attributes::{Attributes, AttributesError};
pub use entry_id::{EntryId, EntryIdError};
pub use short_text::{ShortText, ShortTextError};
pub use time::{Moment, MomentError, TimeRange, TimeRangeError};
pub use user_id::{UserId, UserIdError};
