//! Some histories on every test run, and the proofs that a broken rule would be noticed.

#![allow(clippy::unwrap_used)]

mod games;
mod rollups;
mod shop_statistics;
mod shops;
