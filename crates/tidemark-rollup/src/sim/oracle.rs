//! The recount: what the statistics have to be, and where they differ.
//!
//! It shares no code with the counting beyond the declaration: it holds all items in memory and
//! counts with sets.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use serde_json::value::RawValue;

use super::SimError;
use super::faults::Fault;
use super::items::Items;
use super::world::World;
use crate::aggregator::Aggregator;
use crate::amount::Amount;
use crate::declaration::{Policy, RESERVED_PREFIX, Rollup};
use crate::distinct::stat_of;
use crate::event::Record;
use crate::measure::{Measure, MeasureKind};

/// By partition key, sort key and attribute; a ranked number has the name of its measure.
pub(crate) type Numbers = BTreeMap<(String, String, String), String>;

/// Compares the statistics and the quarantine, if there is one, with the items. Returns a line for
/// each difference. `stored` are the items of the table.
pub(crate) fn judge<T>(
    world: &mut World,
    aggregator: &Aggregator<T>,
    (items, stored, found): (&Items, &[Value], &Numbers),
    has_quarantine: bool,
) -> Result<Vec<String>, SimError> {
    let rollup = aggregator.rollup();
    let read = |image: &Value| {
        let image = RawValue::from_string(image.to_string()).ok()?;
        aggregator.read(&image).ok().flatten()
    };
    let counted = items.counted([rollup.on_modify, rollup.on_remove, rollup.on_ttl], read);
    let expected = recount(rollup, &counted);
    let mut wrong = Vec::new();
    let mut quarantined = Vec::new();
    for item in stored {
        let text = |name: &str| item[name]["S"].as_str().unwrap_or_default().to_owned();
        let (partition, sort) = world.table.key_of(item);
        if partition.starts_with(&format!("{RESERVED_PREFIX}{}#QUARANTINE", rollup.name)) {
            quarantined.push(text("record"));
        } else if partition.contains("#CHECKPOINT#") && !item["buffer"].is_null() {
            wrong.push(format!("the buffer of {sort} was never added"));
        }
    }
    let keys: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for key in keys {
        let amount = |numbers: &Numbers| {
            let text = numbers.get(key).map_or("0", String::as_str);
            text.parse::<Amount>().map_err(|_| SimError::new(format!("{key:?} is {text}")))
        };
        let (right, stored) = (amount(&expected)?, amount(found)?);
        if right.plus(Amount { units: -stored.units, scale: stored.scale }).units != 0 {
            let (partition, sort, attribute) = key;
            wrong.push(format!("{partition} {sort}: {attribute} is {stored} instead of {right}"));
        }
    }
    let mut unreadable = world.stream.unreadable.clone();
    let records = world.stream.shards.iter().flat_map(|shard| &shard.records);
    for record in records.filter(|record| !record.number.is_empty()) {
        let Ok(parsed) = serde_json::from_str::<Record<'_>>(&record.json) else { continue };
        let is_new =
            parsed.event_name == "INSERT" || parsed.event_name == "MODIFY" && rollup.on_modify == Policy::Retract;
        let image = parsed.change.new_image.filter(|_| is_new);
        let key = serde_json::from_str::<Value>(&record.json)?["dynamodb"]["Keys"].take();
        let (partition, sort) = world.table.key_of(&key);
        if image.is_some_and(|image| !rollup.owns(&partition, &sort) && aggregator.read(image).is_err()) {
            unreadable.push(record.json.clone());
        }
    }
    if world.tally.of(Fault::GivenUp) > 0 {
        // A record that was never delivered cannot be in quarantine.
        unreadable.retain(|record| quarantined.contains(record));
    }
    unreadable.sort();
    quarantined.sort();
    if has_quarantine && unreadable != quarantined {
        wrong.push(format!("{} records are in quarantine instead of {}", quarantined.len(), unreadable.len()));
    }
    Ok(wrong)
}

/// The numbers of the items of the table.
pub(crate) fn found<T>(world: &World, rollup: &Rollup<T>, stored: &[Value]) -> Result<Numbers, SimError> {
    let mut found = Numbers::new();
    let mut ranks: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for item in stored {
        let (partition, sort) = world.table.key_of(item);
        let Value::Object(attributes) = item else { continue };
        if rollup.group_of(&partition, &sort).is_some() {
            for (name, value) in attributes {
                if let Some(number) = value["N"].as_str() {
                    found.insert((partition.clone(), sort.clone(), name.clone()), number.to_owned());
                }
            }
        }
        let entries = item["held"]["M"].as_object().unwrap_or(attributes);
        let key = (partition, sort);
        for (entry, value) in entries {
            // A holding counts items, and a first-seen record has bytes.
            let is_held = value["B"].is_string() || value["N"].as_str().is_some_and(|held| !held.starts_with('-'));
            let stat = stat_of(rollup, &key, entry).filter(|_| is_held);
            let Some((stat, (name, measure))) =
                stat.and_then(|of| Some((rollup.stat(&of.0)?, rollup.measures.get(of.1)?)))
            else {
                continue;
            };
            if measure.is_ranked {
                ranks.entry((stat.key, name)).or_default().push(key.1.clone());
            }
        }
    }
    for ((key, name), ranks) in ranks {
        let Some((_, measure)) = rollup.measures.iter().find(|(of, _)| of == name) else { continue };
        let rank = if measure.is_first() { ranks.iter().min() } else { ranks.iter().max() };
        let number = rank.and_then(|rank| measure.ranked(rank));
        let number = number.ok_or_else(|| SimError::new(format!("{key:?}: {ranks:?} are not ranks of {name}")))?;
        found.insert((key.0, key.1, name.clone()), number.to_string());
    }
    Ok(found)
}

fn recount<T>(rollup: &Rollup<T>, items: &[T]) -> Numbers {
    let mut numbers = Numbers::new();
    for group in &rollup.groups {
        let mut members: BTreeMap<Vec<String>, Vec<&T>> = BTreeMap::new();
        for item in items {
            if let Some(values) = group.group.values(item) {
                members.entry(values).or_default().push(item);
            }
        }
        for (values, members) in members {
            let (partition, sort) = (group.partition.render(&values), group.sort.render(&values));
            for (name, measure) in group.measures.iter().filter_map(|index| rollup.measures.get(*index)) {
                let mut put = |attribute: String, number: String| {
                    numbers.insert((partition.clone(), sort.clone(), attribute), number);
                };
                let all = |value: &dyn Fn(&T) -> Option<i64>| -> Vec<i128> {
                    members.iter().filter_map(|item| value(item)).map(i128::from).collect()
                };
                let decimal = |units: i128| Amount { units, scale: measure.scale }.to_string();
                // A ranked number has the number of its different values beside it.
                let ranked: BTreeSet<_> = members.iter().filter_map(|item| extreme_of(measure, item)).collect();
                let best = if measure.is_first() { ranked.first() } else { ranked.last() };
                if let Some((_, best)) = best {
                    put(name.clone(), decimal(i128::from(*best)));
                }
                if measure.is_ranked {
                    put(format!("{name}Values"), ranked.len().to_string());
                }
                match &measure.kind {
                    MeasureKind::Count => put(name.clone(), members.len().to_string()),
                    MeasureKind::Sum(value) => put(name.clone(), decimal(all(value).iter().sum())),
                    MeasureKind::Average(value) => {
                        let all = all(value);
                        put(format!("{name}Sum"), decimal(all.iter().sum()));
                        put(format!("{name}Count"), all.len().to_string());
                    }
                    MeasureKind::Distinct(value) => {
                        let distinct: BTreeSet<_> = members.iter().filter_map(|item| value(item)).collect();
                        put(name.clone(), distinct.len().to_string());
                    }
                    MeasureKind::Minimum(_)
                    | MeasureKind::Maximum(_)
                    | MeasureKind::First(_)
                    | MeasureKind::Last(_) => {}
                }
            }
        }
    }
    numbers
}

/// What an item gives to an extreme: its time, if the measure is the first or the last number, and
/// its number.
fn extreme_of<T>(measure: &Measure<T>, item: &T) -> Option<(Option<Timestamp>, i64)> {
    match &measure.kind {
        MeasureKind::Minimum(value) | MeasureKind::Maximum(value) => Some((None, value(item)?)),
        MeasureKind::First(value) | MeasureKind::Last(value) => value(item).map(|(at, value)| (Some(at), value)),
        _ => None,
    }
}
