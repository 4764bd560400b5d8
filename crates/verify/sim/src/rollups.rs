//! Histories of random declarations, each played once, with random groups, measures, policies and
//! items.

use fastrand::Rng;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rollup::sim::{Hazard, Outcome, SimError, Simulation, Weakness};
use rollup::{
    Aggregator, Group, Measure, Policy, Rollup, RollupBuilder, Window, average, count, distinct, first, last, maximum,
    minimum, sum,
};
use serde::{Deserialize, Serialize};

/// An item with something for each kind of dimension and measure.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct RandomItem {
    /// Seconds since 1970.
    at: Option<i64>,
    color: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    user: Option<String>,
    units: i64,
    cents: Option<i64>,
}

/// Plays one history of the declaration that the seed gives.
pub fn play_rollup(seed: u64, weakness: Option<Weakness>, is_traced: bool) -> Result<Outcome, SimError> {
    let users = Rng::with_seed(seed).u8(1..30);
    let simulation =
        Simulation::of(move |table| Aggregator::new(declaration(seed), table), move |rng| item(rng, users));
    let simulation = if seed.is_multiple_of(2) { simulation.numbered() } else { simulation };
    let simulation = if is_traced { simulation.traced() } else { simulation };
    let simulation = if let Some(weakness) = weakness { simulation.weakened(weakness) } else { simulation };
    simulation.play([seed])
}

/// Plays one history with a hazard, and without the rule that meets it if it is weakened. The seed
/// gives the declaration; it takes everything back, as the recounts of some hazards need it.
pub fn play_hazard(seed: u64, hazard: Hazard, is_weakened: bool, is_traced: bool) -> Result<Outcome, SimError> {
    let users = Rng::with_seed(seed).u8(1..30);
    let version = |version: u32| {
        move |table| {
            let builder = random(&mut dice(seed), [Policy::Retract; 3]).version(version);
            let units = move |item: &RandomItem| item.units * i64::from(1 + version);
            let color =
                move |item: &RandomItem| if version == 0 { item.color.clone() } else { item.color.to_uppercase() };
            let group = Group::new("colors")
                .attribute("color", color)
                .key("COLORS", "{color}")
                .measures(["items", "all-units"]);
            let rollup = builder.measure("all-units", sum(units)).group(group).build();
            Aggregator::new(rollup.unwrap_or_else(|error| unreachable!("seed {seed}: {error}")), table)
        }
    };
    let simulation = Simulation::of(version(0), move |rng| item(rng, users)).hazard(hazard);
    let simulation = if hazard == Hazard::ChangedDeclaration { simulation.redeployed(version(1)) } else { simulation };
    let simulation = if is_traced { simulation.traced() } else { simulation };
    let simulation = if is_weakened { simulation.weakened(hazard.rule()) } else { simulation };
    simulation.play([seed])
}

fn item(rng: &mut Rng, users: u8) -> RandomItem {
    let text = |rng: &mut Rng, from: &[&str]| rng.choice(from).map_or_else(String::new, |text| (*text).to_owned());
    // Around the end of a year in one of the time zones.
    let at = 1_767_225_600 + rng.i64(-40 * 86_400..40 * 86_400);
    RandomItem {
        at: (rng.u8(..10) > 0).then_some(at),
        color: text(rng, &["red", "blue", "#", "", "訪客 %"]),
        place: (rng.u8(..4) > 0)
            .then(|| text(rng, &["a", "a#b", "b", "long"]).repeat(if rng.u8(..40) == 0 { 150 } else { 1 })),
        user: (rng.u8(..8) > 0).then(|| format!("user#{}", rng.u8(..users))),
        units: rng.i64(-3..10),
        cents: (rng.u8(..4) > 0).then(|| rng.i64(-5_000..100_000)),
    }
}

/// The declaration of a seed.
fn declaration(seed: u64) -> Rollup<RandomItem> {
    let rng = &mut dice(seed);
    let policy = |rng: &mut Rng| if rng.u8(..3) == 0 { Policy::Keep } else { Policy::Retract };
    let policies = if rng.u8(..3) == 0 { [Policy::Keep; 3] } else { [Policy::Retract, policy(rng), policy(rng)] };
    let builder = random(rng, policies);
    builder.build().unwrap_or_else(|error| unreachable!("seed {seed}: {error}"))
}

fn dice(seed: u64) -> Rng {
    Rng::with_seed(seed ^ 0x0726_6f6c_6c75_7073)
}

/// Random measures and groups.
fn random(rng: &mut Rng, policies: [Policy; 3]) -> RollupBuilder<RandomItem> {
    let mut builder = Rollup::builder("random").on_modify(policies[0]).on_remove(policies[1]).on_ttl(policies[2]);
    let mut names = Vec::new();
    for (name, measure) in measures() {
        if rng.bool() || name == "items" {
            builder = builder.measure(name, measure);
            names.push(name);
        }
    }
    for number in 0..rng.usize(1..=5) {
        builder = builder.group(group(rng, number, &names));
    }
    if rng.bool() { builder.remove_empty() } else { builder }
}

fn measures() -> Vec<(&'static str, Measure<RandomItem>)> {
    vec![
        ("items", count()),
        ("units", sum(|item: &RandomItem| item.units)),
        ("price", sum(|item: &RandomItem| item.cents).decimals(2)),
        ("mean", average(|item: &RandomItem| item.cents).decimals(2)),
        ("users", distinct(|item: &RandomItem| item.user.clone())),
        ("colors", distinct(|item: &RandomItem| item.color.clone())),
        ("least", minimum(|item: &RandomItem| item.units)),
        ("most", maximum(|item: &RandomItem| item.cents).decimals(2)),
        ("opening", first(|item: &RandomItem| Some((Timestamp::from_second(item.at?).ok()?, item.units)))),
        ("closing", last(|item: &RandomItem| Some((Timestamp::from_second(item.at?).ok()?, item.cents?)))),
    ]
}

/// A group by some of: a window, the color, the place.
fn group(rng: &mut Rng, number: usize, measures: &[&'static str]) -> Group<RandomItem> {
    let mut group = Group::new(format!("g{number}"));
    let (mut partition, mut sort) = (format!("STAT#{number}"), "-".to_owned());
    let mut place = |rng: &mut Rng, name: &str| {
        let text = if rng.bool() { &mut partition } else { &mut sort };
        text.push_str(&format!("#{{{name}}}"));
    };
    if rng.u8(..3) > 0 {
        let windows = [Window::Hour, Window::Day, Window::Week, Window::Month, Window::Year];
        let window = windows[rng.usize(..windows.len())];
        group = group.window("window", window, |item: &RandomItem| {
            item.at.and_then(|second| Timestamp::from_second(second).ok())
        });
        let zones = ["UTC", "Asia/Tokyo", "America/New_York", "Pacific/Chatham"];
        group = group.zone(TimeZone::get(zones[rng.usize(..zones.len())]).unwrap_or(TimeZone::UTC));
        place(rng, "window");
    }
    if rng.bool() {
        group = group.attribute("color", |item: &RandomItem| item.color.clone());
        place(rng, "color");
    }
    if rng.bool() {
        group = group.attribute("place", |item: &RandomItem| item.place.clone());
        place(rng, "place");
    }
    if rng.bool() {
        group = group.set("label", format!("group {number}"));
    }
    if rng.bool() {
        let kept = measures.iter().filter(|name| **name == "items" || rng.bool());
        group = group.measures(kept.copied().collect::<Vec<_>>());
    }
    group.key(partition, sort)
}
