//! The rules of Okusuri, a medication log: which days count, when to rest, and when to remind.

mod email;
pub mod sign_in;

pub use email::{Email, EmailError};
