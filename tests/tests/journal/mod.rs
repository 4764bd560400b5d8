//! The journal: entries, their order and their readers.

mod descending_keys;
mod histories;
mod journey;
mod store;
