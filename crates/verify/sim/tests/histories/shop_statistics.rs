//! Histories of the shop's activities on every test run, and the proof that a weakened rule shows.

use rollup::sim::{Outcome, Weakness};
use sim::play_activities;

#[test]
fn the_statistics_of_the_activities_are_exact() {
    let mut all = Outcome::default();
    for seed in crate::seeds(4, 30) {
        all.add(play_activities(seed, None, false).unwrap());
    }
    let first: Vec<_> = all.miscounts.iter().take(5).collect();
    assert!(first.is_empty(), "{first:#?}");
    assert!(
        !crate::is_long() || all.changes > 1_000 && all.faults.total() > 500,
        "{} changes, {}",
        all.changes,
        all.faults
    );
}

#[test]
fn a_rule_that_is_left_out_is_caught() {
    for weakness in [Weakness::RetractTwice, Weakness::ClaimWithoutCheckpoint, Weakness::OldImageIgnored] {
        let is_wrong = |seed| !play_activities(seed, Some(weakness), false).unwrap().miscounts.is_empty();
        assert!((1..21).any(is_wrong), "{weakness:?}");
    }
}
