//! Some hours of reminders on every test run, and the proofs that broken promises would be noticed.
//! `make sim-reminders` plays more.

use sim::{Counts, Embedded, HistoryOutcome, ReminderWeakness, play_reminders};

fn play(seed: u64, weakness: Option<ReminderWeakness>) -> HistoryOutcome {
    play_reminders(seed, weakness, Box::new(Embedded::new().unwrap()), false).unwrap()
}

/// Asserts that one of a few histories is wrong. `make sim-reminders WEAKNESS=... SEEDS=50` names all.
fn assert_caught(weakness: ReminderWeakness) {
    let wrong = (1..31).find(|seed| !play(*seed, Some(weakness)).broken.is_empty());
    println!("the first wrong history: {}", wrong.expect("a wrong history"));
}

#[test]
fn no_reminder_breaks_a_promise() {
    let (mut counts, mut faults) = (Counts::new(), Counts::new());
    for seed in crate::seeds(2, 20) {
        let outcome = play(seed, None);
        assert!(outcome.broken.is_empty(), "make sim-reminders SEED={seed}: {:#?}", outcome.broken);
        let add =
            |sum: &mut Counts, one: Counts| one.into_iter().for_each(|(kind, n)| *sum.entry(kind).or_default() += n);
        add(&mut counts, outcome.counts);
        add(&mut faults, outcome.faults);
    }
    println!("{counts:?} {faults:?}");
    if crate::is_long() {
        assert!(faults.len() >= 14, "each kind of fault has to strike: {faults:?}");
        let ends = ["asked", "given up", "over the limit", "undelivered"];
        assert!(ends.iter().all(|end| counts[end] > 0), "{counts:?}");
    }
}

#[test]
fn reminders_of_a_seed_are_always_the_same() {
    let seed = if crate::is_long() { 7 } else { 1 };
    assert_eq!(play(seed, None), play(seed, None));
}

#[test]
fn a_claim_without_its_condition_is_caught() {
    assert_caught(ReminderWeakness::ClaimWithoutCondition);
}

#[test]
fn a_claim_after_the_message_is_caught() {
    assert_caught(ReminderWeakness::ClaimAfterMessage);
}

#[test]
fn a_snooze_that_moves_no_reminder_is_caught() {
    assert_caught(ReminderWeakness::SnoozeForgotten);
}

#[test]
fn doses_without_their_records_are_caught() {
    assert_caught(ReminderWeakness::RecordsIgnored);
}

#[test]
fn the_time_zone_of_another_user_is_caught() {
    assert_caught(ReminderWeakness::ZoneOfAnother);
}

#[test]
fn the_browsers_of_another_user_are_caught() {
    assert_caught(ReminderWeakness::BrowsersOfAnother);
}
