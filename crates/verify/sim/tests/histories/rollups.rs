//! Histories of the clicks and of random declarations on every test run, and the proof that a wrong
//! count would show. `make sim` plays more.

use std::ops::{Range, RangeInclusive};

use crate::{is_long, seeds};
use rollup::sim::{Fault, Hazard, Outcome, Weakness};
use sim::{Implementation, play_clicks, play_feedback, play_hazard, play_rollup};

fn play_all(play: impl Fn(u64) -> Outcome, seeds: RangeInclusive<u64>) -> Outcome {
    let mut all = Outcome::default();
    seeds.for_each(|seed| all.add(play(seed)));
    let first: Vec<_> = all.miscounts.iter().take(5).collect();
    assert!(first.is_empty(), "{first:#?}");
    all
}

/// Asserts that a history is wrong. `seeds` start where the first one was: after a change to the
/// simulation, `make sim IMPLEMENTATION=... SEEDS=100` names others.
fn assert_caught(play: impl Fn(u64) -> Outcome, mut seeds: Range<u64>) {
    let wrong = seeds.find(|seed| !play(*seed).miscounts.is_empty());
    println!("the first wrong history: {}", wrong.expect("a wrong history"));
}

fn clicks(implementation: Implementation) -> impl Fn(u64) -> Outcome {
    move |seed| play_clicks(seed, implementation, false).unwrap()
}

fn rollups(weakness: Weakness) -> impl Fn(u64) -> Outcome {
    move |seed| play_rollup(seed, Some(weakness), false).unwrap()
}

#[test]
fn the_statistics_of_the_clicks_are_exact() {
    let all = play_all(clicks(Implementation::Tidemark), seeds(6, 40));
    // A batch that is counted in part takes an outage at the right moment: a few in a thousand
    // histories.
    let struck: &[Fault] = if is_long() { Fault::ALL } else { &[] };
    for fault in struck.iter().filter(|fault| ![Fault::PartialFailure, Fault::Timeout].contains(fault)) {
        assert!(all.faults.of(*fault) > 0, "{fault:?} never struck");
    }
    assert_eq!(all.faults.of(Fault::Timeout), 0, "the function is to answer before Lambda ends it");
}

#[test]
fn the_statistics_of_random_declarations_are_exact() {
    let all = play_all(|seed| play_rollup(seed, None, false).unwrap(), seeds(2, 30));
    assert!(!is_long() || all.changes > 2_000 && all.faults.total() > 1_000, "{} changes, {}", all.changes, all.faults);
}

#[test]
fn the_statistics_of_the_example_are_exact() {
    let all = play_all(|seed| play_feedback(seed, false).unwrap(), seeds(3, 20));
    assert!(!is_long() || all.changes > 1_000 && all.faults.total() > 500, "{} changes, {}", all.changes, all.faults);
}

#[test]
fn the_statistics_are_exact_in_spite_of_each_hazard() {
    for hazard in Hazard::ALL {
        play_all(|seed| play_hazard(seed, *hazard, false, false).unwrap(), seeds(2, 3));
    }
}

#[test]
fn a_hazard_without_its_rule_is_caught() {
    for hazard in Hazard::ALL {
        println!("{hazard:?}");
        assert_caught(|seed| play_hazard(seed, *hazard, true, false).unwrap(), 1..60);
    }
}

/// The faults break the usual handlers, and not the simulation: without faults they are right.
#[test]
fn the_usual_handlers_are_caught() {
    for implementation in [Implementation::UsualHandler, Implementation::IdempotencyLayer] {
        let outcomes: Vec<_> = seeds(6, 12).map(clicks(implementation)).collect();
        assert!(
            outcomes.iter().filter(|outcome| outcome.wrong_seeds > 0).count() * 2 > outcomes.len(),
            "{implementation:?}"
        );
        let mut calm = outcomes.iter().filter(|outcome| outcome.faults.total() == 0).peekable();
        assert!(!is_long() || calm.peek().is_some(), "every history had faults");
        assert!(calm.all(|outcome| outcome.wrong_seeds == 0), "{implementation:?}");
    }
}

#[test]
fn values_recorded_without_the_checkpoint_are_caught() {
    assert_caught(clicks(Implementation::ClaimWithoutCheckpoint), 1..10);
    assert_caught(rollups(Weakness::ClaimWithoutCheckpoint), 1..20);
}

#[test]
fn cache_that_skips_uncounted_first_seen_records_is_caught() {
    assert_caught(clicks(Implementation::SkippingCache), 10..20);
}

#[test]
fn a_checkpoint_outside_of_the_transaction_is_caught() {
    assert_caught(clicks(Implementation::CheckpointOutsideTransaction), 13..33);
}

#[test]
fn an_unconditional_repair_is_caught() {
    assert_caught(clicks(Implementation::UnconditionalRepair), 34..54);
}

#[test]
fn a_repair_without_first_seen_records_is_caught() {
    assert_caught(clicks(Implementation::RepairWithoutRecords), 2..12);
}

#[test]
fn a_redrive_that_does_not_remember_the_click_is_caught() {
    assert_caught(clicks(Implementation::ForgetfulRedrive), 4..14);
}

#[test]
fn buffer_flush_in_two_requests_is_caught() {
    assert_caught(clicks(Implementation::FlushInTwoRequests), 47..69);
}

#[test]
fn a_deletion_that_is_taken_back_twice_is_caught() {
    assert_caught(rollups(Weakness::RetractTwice), 1..20);
}

#[test]
fn a_deletion_by_ttl_that_is_taken_back_is_caught() {
    assert_caught(rollups(Weakness::TtlRetracted), 9..49);
}

#[test]
fn a_modification_that_counts_like_an_insertion_is_caught() {
    assert_caught(rollups(Weakness::OldImageIgnored), 1..20);
}

/// What happened, without the bodies of requests, which say the same in any order.
fn without_bodies(mut outcome: Outcome) -> Outcome {
    for line in &mut outcome.trace {
        line.truncate(line.find('{').unwrap_or(line.len()));
    }
    outcome
}

/// Shows where two histories part, and not all of both.
fn assert_same(seed: u64, play: impl Fn(u64) -> Outcome) {
    let (one, other) = (without_bodies(play(seed)), without_bodies(play(seed)));
    assert!(!one.trace.is_empty());
    let parting = one.trace.iter().zip(&other.trace).find(|(one, other)| one != other);
    assert_eq!(parting, None, "seed {seed}");
    assert!(one == other, "seed {seed}");
}

#[test]
fn a_seed_always_gives_the_same_history() {
    for seed in seeds(1, 4) {
        assert_same(seed, |seed| play_clicks(seed, Implementation::Tidemark, true).unwrap());
        assert_same(seed, |seed| play_rollup(seed, None, true).unwrap());
    }
}
