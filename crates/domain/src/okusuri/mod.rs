//! The rules of Okusuri, a medication log: which days count, when to rest, and when to remind.
