//! The rules of Tidemark's systems, as plain values and functions.
//!
//! Nothing here is asynchronous, knows AWS or serde, reads a clock or draws a random number: whoever calls passes time in, and a seed
//! where there is chance.
//! A type's constructor is the only way to a value of it, so a [`UserId`] or a [`calendar::DateRange`] that exists is
//! a valid one.

mod attributes;
pub mod calendar;
pub mod clicks;
pub mod game;
pub mod journal;
pub mod okusuri;
pub mod shop;
mod short_text;
mod time;
mod user_id;

pub use attributes::{Attributes, AttributesError};
pub use short_text::{ShortText, ShortTextError};
pub use time::{Moment, MomentError, TimeRange, TimeRangeError};
pub use user_id::{UserId, UserIdError};
