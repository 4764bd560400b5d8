//! Statistics of sensor readings that are corrected: values, regions and times change, and readings
//! are deleted. The test kit plays them with faults, without AWS:
//!
//! ```sh
//! cargo run --example sensors --features sim
//! ```

use rollup::fastrand::Rng;
use rollup::jiff::Timestamp;
use rollup::jiff::tz::TimeZone;
use rollup::sim::{Expected, Simulation};
use rollup::{Amount, DeclarationError, Group, Rollup, Window, average, count, distinct, last, maximum, minimum, sum};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Reading {
    sensor: String,
    region: String,
    /// In hundredths of a degree, because a statistic of binary fractions would not be exact.
    hundredths: i64,
    at: Timestamp,
}

fn readings() -> Result<Rollup<Reading>, DeclarationError> {
    let at = |reading: &Reading| reading.at;
    let value = |reading: &Reading| reading.hundredths;
    let rollup = Rollup::builder("readings")
        .measure("readings", count())
        .measure("degrees", sum(value).decimals(2))
        .measure("mean", average(value).decimals(2))
        .measure("lowest", minimum(value).decimals(2))
        .measure("highest", maximum(value).decimals(2))
        .measure("latest", last(|reading: &Reading| (reading.at, reading.hundredths)).decimals(2))
        .measure("sensors", distinct(|reading: &Reading| reading.sensor.clone()))
        .remove_empty();
    // A civil day in New York has 23, 24 or 25 hours.
    let zones = [("new-york", "America/New_York"), ("kathmandu", "Asia/Kathmandu")];
    let civil_days = zones.into_iter().fold(rollup, |rollup, (name, zone)| {
        let zone = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        let days = Group::new(name).zone(zone).window("day", Window::Day, at);
        rollup.group(days.key(format!("STAT#{name}"), "{day}"))
    });
    let hours = Group::new("hours").attribute("region", |reading: &Reading| reading.region.clone());
    civil_days
        .group(hours.window("hour", Window::Hour, at).key("STAT#{region}", "{hour}"))
        .group(Group::new("months").window("month", Window::Month, at).key("STAT#MONTHS", "{month}"))
        .group(Group::new("total").key("STAT#TOTAL", "-"))
        .build()
}

fn random(rng: &mut Rng) -> Reading {
    Reading {
        sensor: format!("sensor-{}", rng.u8(..9)),
        region: ["north", "south", "east"][rng.usize(..3)].to_owned(),
        hundredths: rng.i64(-4_000..4_000),
        // Days around the change to summer time in New York, on 2026-03-08.
        at: Timestamp::from_second(1_772_800_000 + rng.i64(..400_000)).unwrap_or_default(),
    }
}

/// The extremes of all readings, in plain code.
fn expected(readings: &[&Reading]) -> Vec<Expected> {
    let values = || readings.iter().map(|reading| reading.hundredths);
    let of = |measure: &str, hundredths: Option<i64>| {
        let decimal = Amount { units: hundredths.unwrap_or_default().into(), scale: 2 };
        Expected::new("STAT#TOTAL", "-", measure, decimal)
    };
    let latest = readings.iter().map(|reading| (reading.at, reading.hundredths)).max();
    vec![of("lowest", values().min()), of("highest", values().max()), of("latest", latest.map(|(_, value)| value))]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Says a mistake of the declaration as an error.
    readings()?;
    let histories: u64 = std::env::args().nth(1).map_or(Ok(20), |histories| histories.parse())?;
    let simulation = Simulation::new(|| readings().expect("built above"), random).expect(expected);
    let outcome = simulation.play(1..=histories)?;
    println!("{} changes, {}; {} wrong numbers", outcome.changes, outcome.faults, outcome.miscounts.len());
    outcome.miscounts.iter().for_each(|miscount| println!("{miscount}"));
    if outcome.miscounts.is_empty() { Ok(()) } else { Err("the statistics are wrong".into()) }
}
