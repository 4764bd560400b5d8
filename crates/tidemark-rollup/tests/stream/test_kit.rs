//! What the test kit says of a wrong declaration.

use rollup::sim::{Expected, Outcome, Simulation};
use serde::Serialize;

use super::*;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reading {
    #[serde(rename(serialize = "value"))]
    value: i64,
}

/// The same type, but serde reads another attribute than it writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Renamed {
    #[serde(rename(deserialize = "val"))]
    value: i64,
}

fn readings<T: 'static>(value: impl Fn(&T) -> i64 + Send + Sync + 'static) -> Rollup<T> {
    let total = Group::new("total").key("STAT#TOTAL", "-");
    Rollup::builder("readings").measure("value", rollup::sum(value)).group(total).build().unwrap()
}

fn value(rng: &mut fastrand::Rng) -> i64 {
    rng.i64(-90..0)
}

fn played<T: Clone + 'static>(simulation: Simulation<T>) -> Outcome {
    simulation.play(1..=3).unwrap()
}

#[test]
fn histories_in_which_no_item_counts_fail() {
    let right = Simulation::new(|| readings(|reading: &Reading| reading.value), |rng| Reading { value: value(rng) });
    let outcome = played(right);
    assert_eq!(outcome.miscounts, [""; 0]);
    assert!(outcome.counted > 0 && outcome.quarantined + outcome.ignored == 0, "{outcome:?}");

    let wrong = Simulation::new(|| readings(|reading: &Renamed| reading.value), |rng| Renamed { value: value(rng) });
    let outcome = played(wrong);
    let [miscount] = outcome.miscounts.try_into().unwrap();
    assert!(miscount.starts_with("no item counts: ") && miscount.contains("missing field `val`"), "{miscount}");
    assert_eq!((outcome.counted, outcome.ignored), (0, 0));
    assert!(outcome.quarantined > 0);
}

#[test]
fn items_that_are_taken_for_statistics_fail() {
    #[derive(Clone, Serialize, Deserialize)]
    struct Visit {
        device: String,
        day: String,
    }
    let visits = || {
        let at = |visit: &Visit| visit.day.parse::<jiff::civil::Date>().ok().map(|day| day.at(0, 0, 0, 0));
        let device = |visit: &Visit| visit.device.clone();
        let days = Group::new("days").attribute("device", device).civil_window("day", Window::Day, at);
        Rollup::builder("visits").measure("visits", count()).group(days.key("D#{device}", "{day}")).build().unwrap()
    };
    let visit =
        |rng: &mut fastrand::Rng| Visit { device: "D#d".to_owned(), day: format!("2025-10-{:02}", rng.u8(1..30)) };
    let outcome = played(Simulation::new(visits, visit).keys("device", "day"));
    let all = outcome.miscounts.join("\n");
    assert!(all.contains("items are taken for statistics and ignored, such as D#d 2025-10-"), "{all}");
    assert!(outcome.ignored > 0 && outcome.counted == 0);
}

#[test]
fn plain_code_finds_a_wrong_closure() {
    let expected = |items: &[&Reading]| {
        let sum: i64 = items.iter().map(|reading| reading.value).sum();
        vec![Expected::new("STAT#TOTAL", "-", "value", sum)]
    };
    let simulation = |rollup: fn() -> Rollup<Reading>| Simulation::new(rollup, |rng| Reading { value: value(rng) });
    let right = simulation(|| readings(|reading: &Reading| reading.value));
    assert_eq!(played(right.expect(expected)).miscounts, [""; 0]);
    let wrong = || simulation(|| readings(|reading: &Reading| reading.value.abs() / 7));
    // The closure is its own judge.
    assert_eq!(played(wrong()).miscounts, [""; 0]);
    let miscounts = played(wrong().expect(expected)).miscounts;
    assert!(miscounts.len() == 3 && miscounts[0].contains("but plain code expects"), "{miscounts:?}");
    assert!(
        simulation(|| readings(|reading: &Reading| reading.value)).expect(|_: &[&u8]| Vec::new()).play([1]).is_err()
    );
}
