//! Some histories on every test run, and the proofs that a broken rule would be noticed. `make
//! test` plays a part of them, with every weakened rule; `make verify` plays all.

#![allow(clippy::unwrap_used)]

mod games;
mod reminders;
mod rollups;
mod shop_statistics;
mod shops;

/// Whether all histories are played. In a part of them, not every kind of fault strikes.
fn is_long() -> bool {
    std::env::var("TIDEMARK_HISTORIES").is_ok_and(|length| length == "long")
}

/// The seeds from 1: `all` of them, or in `make test` the first `part`.
fn seeds(part: u64, all: u64) -> std::ops::RangeInclusive<u64> {
    1..=if is_long() { all } else { part }
}
