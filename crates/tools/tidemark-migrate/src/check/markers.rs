//! Checks that each marker and the item to which it leads both exist, as the mapping declares them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use store_base::Table;

use super::number;
use crate::Failure;
use crate::item::{Attributes, Key, text};
use crate::mapping::World;

/// A marker without its item, or an item without its marker.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alone {
    /// Which one lacks the other.
    pub(super) what: String,
    /// The marker's key.
    pub(super) marker: Key,
    own: Key,
}

/// The number of markers among these items that lead to their item, and what is alone of the items.
pub(super) async fn look_up(table: &Table, world: &World, items: &[Attributes]) -> Result<(u64, Vec<Alone>), Failure> {
    let (pairs, mut alone) = look_once(table, world, items).await?;
    if !alone.is_empty() {
        // A writer may have changed both between the two reads.
        let keys = alone.iter().map(|alone| alone.own.clone()).collect();
        let again: Vec<_> = read(table, world, keys).await?.into_values().collect();
        let (_, again) = look_once(table, world, &again).await?;
        alone.retain(|alone| again.contains(alone));
    }
    Ok((pairs, alone))
}

async fn read(table: &Table, world: &World, keys: BTreeSet<Key>) -> Result<BTreeMap<Key, Attributes>, Failure> {
    let target = &world.mapping.target;
    let found = table.batch_get(keys.iter().map(|key| key.attributes(target)).collect(), true).await?;
    Ok(found.into_iter().filter_map(|item| Some((Key::of(&item, target)?, item))).collect())
}

async fn look_once(table: &Table, world: &World, items: &[Attributes]) -> Result<(u64, Vec<Alone>), Failure> {
    let (target, now) = (&world.mapping.target, Timestamp::now().as_second());
    // TTL may have deleted the other one already.
    let is_live = |item: &&Attributes| {
        let ttl = target.ttl.as_ref().and_then(|name| number(item, name));
        ttl.is_none_or(|ttl| ttl > now)
    };
    let mut halves = Vec::new();
    for item in items.iter().filter(is_live) {
        let (Some(own), kind) = (Key::of(item, target), text(item, &target.kind)) else { continue };
        for marker in &world.mapping.markers {
            // An item without the attributes, or with unusable ones, has no marker.
            let key = if marker.of == kind { world.key_of_attributes(&marker.key, item) } else { None };
            halves.extend(key.map(|key| (marker, own.clone(), false, Some(key))));
            if marker.marker == kind {
                halves.push((marker, own.clone(), true, world.key_of_attributes(&marker.leads_to, item)));
            }
        }
    }
    let others = read(table, world, halves.iter().filter_map(|(.., other)| other.clone()).collect()).await?;
    let (mut pairs, mut alone) = (0, Vec::new());
    for (marker, own, is_marker, key) in halves {
        let (kind, other_kind, back) = match is_marker {
            true => (&marker.marker, &marker.of, &marker.key),
            false => (&marker.of, &marker.marker, &marker.leads_to),
        };
        let other = key.as_ref().and_then(|key| others.get(key)).filter(is_live);
        let other = other.filter(|other| text(other, &target.kind) == other_kind);
        if other.is_some_and(|other| world.key_of_attributes(back, other).as_ref() == Some(&own)) {
            pairs += u64::from(is_marker);
        // Several items may ask for a contested marker, and it leads to another one.
        } else if is_marker || !marker.is_contested || other.is_none() {
            let what = format!("{kind}-without-{other_kind}");
            let marker = key.filter(|_| !is_marker).unwrap_or_else(|| own.clone());
            alone.push(Alone { what, marker, own });
        }
    }
    Ok((pairs, alone))
}
