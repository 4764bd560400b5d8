//! Checks that each marker and the item to which it leads both exist, as the mapping declares them.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::number;
use crate::item::{Attributes, Key, text};
use crate::mapping::{Mapping, World};

/// What an item says about one of the mapping's markers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PairHalf {
    /// The place of the marker in the mapping.
    place: usize,
    /// Whether it is the marker, and not the item that has a marker.
    is_marker: bool,
    /// The hashes of the marker's key, and of the key of the item to which it leads.
    marker: u128,
    item: u128,
    /// The marker's key, for people.
    name: Key,
    /// An expired half is skipped, because TTL may have deleted the other one already.
    expires_at: i64,
}

impl PairHalf {
    /// The halves of pairs that an item is.
    pub(super) fn of(item: &Attributes, world: &World) -> Vec<Self> {
        let target = &world.mapping.target;
        let Some(key) = Key::of(item, target) else { return Vec::new() };
        let kind = text(item, &target.kind);
        let ttl = target.ttl.as_ref().and_then(|name| number(item, name));
        let expires_at = ttl.unwrap_or(i64::MAX);
        let mut halves = Vec::new();
        for (place, marker) in world.mapping.markers.iter().enumerate() {
            // An item without the attributes, or with unusable ones, has no marker.
            let of_marker = if marker.of == kind { world.key_of_attributes(&marker.key, item) } else { None };
            halves.extend(of_marker.map(|marker| Self {
                place,
                is_marker: false,
                marker: marker.hash(),
                item: key.hash(),
                name: marker,
                expires_at,
            }));
            if marker.marker == kind {
                let leads_to = world.key_of_attributes(&marker.leads_to, item);
                halves.push(Self {
                    place,
                    is_marker: true,
                    marker: key.hash(),
                    item: leads_to.as_ref().map(Key::hash).unwrap_or_default(),
                    name: key.clone(),
                    expires_at,
                });
            }
        }
        halves
    }

    /// Equal for all halves of one marker.
    pub(super) fn group(&self) -> u128 {
        self.marker
    }
}

/// The halves whose other half was not found yet.
#[derive(Debug)]
pub(super) struct MarkerPairs<'m> {
    mapping: &'m Mapping,
    now: i64,
    pairs: u64,
    waiting: HashMap<(usize, u128, u128), PairHalf>,
    /// The markers that exist, whatever they lead to.
    markers: HashSet<(usize, u128)>,
}

impl<'m> MarkerPairs<'m> {
    /// `now` is in epoch seconds.
    pub(super) fn new(mapping: &'m Mapping, now: i64) -> Self {
        Self { mapping, now, pairs: 0, waiting: HashMap::new(), markers: HashSet::new() }
    }

    pub(super) fn take(&mut self, half: PairHalf) {
        if half.expires_at <= self.now {
            return;
        }
        if half.is_marker {
            self.markers.insert((half.place, half.marker));
        }
        let pair = (half.place, half.marker, half.item);
        match self.waiting.remove(&pair) {
            Some(other) if other.is_marker != half.is_marker => self.pairs += 1,
            _ => drop(self.waiting.insert(pair, half)),
        }
    }

    /// The number of pairs, and the halves without their other half.
    pub(super) fn finish(self) -> (u64, Vec<(String, Key)>) {
        let (mapping, markers) = (self.mapping, self.markers);
        let alone = self.waiting.into_values().filter_map(|half| {
            let marker = mapping.markers.get(half.place)?;
            // Several items ask for this marker, and it leads to another one.
            if !half.is_marker && marker.is_contested && markers.contains(&(half.place, half.marker)) {
                return None;
            }
            let (one, other) = if half.is_marker { (&marker.marker, &marker.of) } else { (&marker.of, &marker.marker) };
            Some((format!("{one}-without-{other}"), half.name))
        });
        (self.pairs, alone.collect())
    }
}
