//! Statistics of sensor readings that are corrected: values, regions and times change, and readings
//! are deleted. The test kit plays them with faults, without AWS:
//!
//! ```sh
//! cargo run --example sensors --features sim
//! ```

use rollup::fastrand::Rng;
use rollup::jiff::Timestamp;
use rollup::jiff::tz::TimeZone;
use rollup::sim::Simulation;
use rollup::{
    DeclarationError, Group, Policy, Rollup, RollupBuilder, Window, average, count, decimal_sum, distinct, maximum,
    minimum,
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize)]
struct Reading {
    sensor: String,
    region: String,
    /// In hundredths of a degree, because a statistic of binary fractions would not be exact.
    hundredths: i64,
    at: Timestamp,
}

/// Windows of one region, and of all.
fn windows(rollup: RollupBuilder<Reading>) -> Result<Rollup<Reading>, DeclarationError> {
    let at = |reading: &Reading| reading.at;
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

/// What follows each correction and deletion.
fn readings() -> Result<Rollup<Reading>, DeclarationError> {
    windows(
        Rollup::builder("readings")
            .measure("readings", count())
            .measure("degrees", decimal_sum(2, |reading: &Reading| reading.hundredths))
            .measure("mean", average(|reading: &Reading| reading.hundredths))
            .measure("sensors", distinct(|reading: &Reading| reading.sensor.clone())),
    )
}

/// The extremes of the readings as they were inserted. An extreme forgets which reading gave it, so
/// none can be taken back, and `build` refuses it in a rollup that takes values back.
fn extremes() -> Result<Rollup<Reading>, DeclarationError> {
    windows(
        Rollup::builder("extremes")
            .on_modify(Policy::Keep)
            .on_remove(Policy::Keep)
            .measure("lowest", minimum(|reading: &Reading| reading.hundredths))
            .measure("highest", maximum(|reading: &Reading| reading.hundredths)),
    )
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

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Says a mistake of the declarations as an error.
    let _ = (readings()?, extremes()?);
    type Declared = (&'static str, fn() -> Rollup<Reading>);
    let rollups: [Declared; 2] =
        [("readings", || readings().expect("built above")), ("extremes", || extremes().expect("built above"))];
    let histories: u64 = std::env::args().nth(1).map_or(Ok(20), |histories| histories.parse())?;
    for (name, rollup) in rollups {
        let outcome = Simulation::new(rollup, random).play(1..=histories)?;
        println!("{name}: {} changes, {}; {} wrong numbers", outcome.changes, outcome.faults, outcome.miscounts.len());
        outcome.miscounts.iter().for_each(|miscount| println!("{miscount}"));
        if !outcome.miscounts.is_empty() {
            return Err("the statistics are wrong".into());
        }
    }
    Ok(())
}
