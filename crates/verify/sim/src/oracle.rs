//! The recount: what the statistics have to be, from the clicks in the table, and where they
//! differ.
//!
//! It shares no code with the function: it reads items as JSON and counts with sets.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde_json::Value;

use crate::faults::Fault;
use crate::implementation::Promise;
use crate::world::World;

/// Clicks and unique users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Numbers {
    clicks: u64,
    unique_users: u64,
}

/// What the table says.
pub(crate) struct Verdict {
    /// Click records in the table.
    pub(crate) clicks: u64,
    /// One line for each number that is wrong.
    pub(crate) miscounts: Vec<String>,
}

/// By partition key (`STAT#DAILY`) and sort key (`2025-10-02`).
type Stats = BTreeMap<(String, String), Numbers>;

/// Compares the statistics, the index keys under which readers find them, and the quarantine with
/// the clicks and the poison.
pub(crate) fn judge(world: &mut World, promise: Promise) -> anyhow::Result<Verdict> {
    let items = world.table.items()?;
    let text = |item: &Value, name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
    let (mut expected, mut found) = (Stats::new(), Stats::new());
    let mut visitors: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let (mut clicks, mut quarantined, mut miscounts) = (0, Vec::new(), Vec::new());
    for item in &items {
        let (partition, sort) = (text(item, "userId"), text(item, "createDateTime"));
        if world.stream.is_poison(&partition, &sort) {
            continue;
        }
        if text(item, "recordSort").starts_with("CLICK#") {
            clicks += 1;
            let count = item["clickCount"]["N"].as_str().map_or(Ok(1), str::parse::<u64>).context("a click's count")?;
            let periods = [("STAT#DAILY", &sort[..10]), ("STAT#MONTHLY", &sort[..7]), ("STAT#TOTAL", "METADATA")];
            for (kind, period) in periods {
                let key = (kind.to_owned(), period.to_owned());
                expected.entry(key.clone()).or_default().clicks += count;
                visitors.entry(key).or_default().insert(partition.clone());
            }
        } else if partition.starts_with("STAT#") {
            let number = |name: &str| item[name]["N"].as_str().map_or(Ok(0), str::parse::<u64>);
            let numbers = Numbers { clicks: number("totalClicks")?, unique_users: number("uniqueUsers")? };
            let (date_key, record_sort) = match partition.as_str() {
                "STAT#DAILY" => (format!("DATE#{sort}"), "STAT#DAILY"),
                "STAT#MONTHLY" => (format!("MONTH#{sort}"), "STAT#MONTHLY"),
                _ => ("STAT#TOTAL".to_owned(), "METADATA"),
            };
            if text(item, "dateKey") != date_key || text(item, "recordSort") != record_sort {
                miscounts.push(format!("{partition} {sort} is not where its readers look"));
            }
            found.insert((partition, sort), numbers);
        } else if partition == "QUARANTINE#CLICKS" {
            quarantined.push(text(item, "record"));
        }
    }
    for (key, users) in visitors.iter().filter(|(key, _)| key.0 != "STAT#TOTAL") {
        expected.entry(key.clone()).or_default().unique_users = users.len() as u64;
    }
    compare(&expected, &found, promise, &mut miscounts);
    if promise.quarantine {
        let mut poison = world.stream.poison.clone();
        if world.tally.of(Fault::GivenUp) > 0 {
            // A record that was never delivered cannot be in quarantine.
            poison.retain(|record| quarantined.contains(record));
        }
        poison.sort();
        quarantined.sort();
        if poison != quarantined {
            miscounts.push(format!("quarantine: {} records instead of {}", quarantined.len(), poison.len()));
        }
    }
    Ok(Verdict { clicks, miscounts })
}

fn compare(expected: &Stats, found: &Stats, promise: Promise, miscounts: &mut Vec<String>) {
    let keys: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for key in keys {
        let of = |stats: &Stats| stats.get(key).copied().unwrap_or_default();
        let (right, told) = (of(expected), of(found));
        let (kind, period) = key;
        if right.clicks != told.clicks {
            miscounts.push(format!("{kind} {period}: {} clicks instead of {}", told.clicks, right.clicks));
        }
        if promise.unique_users && right.unique_users != told.unique_users {
            let (told, right) = (told.unique_users, right.unique_users);
            miscounts.push(format!("{kind} {period}: {told} unique users instead of {right}"));
        }
    }
}
