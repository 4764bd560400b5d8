//! Some crowds at the shop on every test run, and the proof that broken promises would be noticed.
//! `make sim-shop` plays more.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::thread;

use sim::{Embedded, HistoryOutcome, Weakness, play_shop};

fn play(seed: u64, weakness: Option<Weakness>) -> HistoryOutcome {
    play_shop(seed, weakness, Box::new(Embedded::new().unwrap()), false).unwrap()
}

/// Plays the histories of some seeds on two threads.
fn play_all(seeds: RangeInclusive<u64>) -> Vec<HistoryOutcome> {
    let (odd, even) = seeds.partition::<Vec<_>, _>(|seed| seed % 2 == 1);
    let half = |seeds: Vec<u64>| move || seeds.into_iter().map(|seed| play(seed, None)).collect::<Vec<_>>();
    thread::scope(|scope| {
        let odd = scope.spawn(half(odd));
        let mut outcomes = half(even)();
        outcomes.extend(odd.join().unwrap());
        outcomes
    })
}

/// Asserts that two of the histories are wrong. `seeds` start where the first one was: after a
/// change to the simulation, `make sim-shop WEAKNESS=... SEEDS=100` names others.
fn assert_caught(weakness: Weakness, seeds: Range<u64>) {
    let enough = if crate::is_long() { 2 } else { 1 };
    let wrong: Vec<_> = seeds.filter(|seed| !play(*seed, Some(weakness)).broken.is_empty()).take(enough).collect();
    println!("the first wrong histories: {wrong:?}");
    assert_eq!(wrong.len(), enough, "{weakness:?}");
}

#[test]
fn no_crowd_breaks_a_promise() {
    let mut faults: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut calm, mut rows) = (0, 0);
    for outcome in play_all(crate::seeds(2, 24)) {
        assert!(outcome.broken.is_empty(), "make sim-shop SEED={}: {:#?}", outcome.seed, outcome.broken);
        // A client of the original design comes in calm histories too.
        calm += usize::from(outcome.faults.keys().all(|kind| kind.starts_with("foreign ")));
        rows += outcome.counts["rows"];
        for (fault, count) in outcome.faults {
            *faults.entry(fault).or_default() += count;
        }
    }
    if !crate::is_long() {
        return;
    }
    assert!(faults.len() >= 15, "each kind of fault has to strike: {faults:?}");
    assert!(calm > 0 && rows > 500, "{calm} calm histories, {rows} rows");
}

#[test]
fn a_crowd_comes_again_just_as_it_was() {
    let seed = if crate::is_long() { 7 } else { 1 };
    assert_eq!(play(seed, None), play(seed, None));
}

#[test]
fn a_lock_on_the_stocks_value_is_caught() {
    assert_caught(Weakness::LockOnValue, 1..7);
}

#[test]
fn lock_unknown_to_a_foreign_writer_is_caught() {
    assert_caught(Weakness::LockOnVersion, 2..9);
}

#[test]
fn refusals_that_nothing_remembers_are_caught() {
    assert_caught(Weakness::RefusalsForgotten, 9..25);
}

#[test]
fn a_change_without_a_lock_is_caught() {
    assert_caught(Weakness::NoLock, 1..7);
}

#[test]
fn requests_that_nothing_remembers_are_caught() {
    assert_caught(Weakness::NoIdempotencyMarkers, 1..7);
}

#[test]
fn a_row_outside_of_the_transaction_is_caught() {
    assert_caught(Weakness::RowsOutsideTransaction, 1..7);
}

#[test]
fn an_expiry_that_nothing_remembers_is_caught() {
    assert_caught(Weakness::ExpiryForgotten, 13..25);
}

#[test]
fn an_order_in_parts_is_caught() {
    assert_caught(Weakness::OrdersInParts, 1..7);
}

#[test]
fn lines_that_expire_alone_are_caught() {
    assert_caught(Weakness::LinesExpireAlone, 1..7);
}
