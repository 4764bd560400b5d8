//! The rules of Okusuri, a medication log: which days count, when to rest, and when to remind.

mod email;
mod reminder;
pub mod sign_in;

pub use email::{Email, EmailError};
pub use reminder::{LATE_MAX, TIME_DEFAULT, Turn, due_on, local_date, next_due, turn};
