//! Some random games on every test run, and the proof that a leak would be noticed.

use std::collections::BTreeMap;

use sim::{Embedded, HistoryOutcome, play_game, play_leave};

fn play(seed: u64, is_leaky: bool) -> HistoryOutcome {
    play_game(seed, Box::new(Embedded::new().unwrap()), false, is_leaky).unwrap()
}

#[test]
fn no_game_breaks_a_promise() {
    let mut faults: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut posts, mut solved) = (0, 0);
    for seed in crate::seeds(2, 20) {
        let outcome = play(seed, false);
        assert!(outcome.broken.is_empty(), "seed {seed}: {:#?}", outcome.broken);
        posts += outcome.counts["messages"];
        solved += outcome.counts["right guesses"];
        for (fault, count) in outcome.faults {
            *faults.entry(fault).or_default() += count;
        }
    }
    if !crate::is_long() {
        return;
    }
    assert_eq!(faults.len(), 15, "each kind of fault has to strike: {faults:?}");
    assert!(posts > 1_000 && solved > 20, "{posts} posts, {solved} right guesses");
}

#[test]
fn a_game_is_played_again_just_as_it_was() {
    let seed = if crate::is_long() { 7 } else { 1 };
    assert_eq!(play(seed, false), play(seed, false));
}

#[test]
fn an_answer_in_a_message_is_noticed() {
    let is_noticed = |seed| play(seed, true).broken.iter().any(|line| line.contains("was told"));
    assert!((1..4).any(is_noticed));
}

#[test]
fn a_leave_counts_though_its_connection_ends_first() {
    for seed in 1..=20 {
        assert!(play_leave(seed, Box::new(Embedded::new().unwrap())).unwrap(), "seed {seed}: the seat is taken");
    }
}
