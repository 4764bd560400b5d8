//! Checks that each marker and the item to which it leads both exist, as the mapping declares them.

use std::collections::HashMap;

use crate::item::{Attributes, Key};
use crate::mapping::World;

/// What an item says about one of the mapping's markers.
#[derive(Debug)]
enum Half {
    /// The item asks for the marker at this key.
    Owner(String),
    /// The item is the marker, and leads to the item at this key.
    Marker(String),
}

/// The halves whose other half was not found yet.
#[derive(Debug)]
pub(super) struct MarkerPairs<'w> {
    world: &'w World,
    now: i64,
    pairs: u64,
    /// By the mapping's marker, and the hashes of the marker's key and of the item's key.
    waiting: HashMap<(usize, u128, u128), Half>,
    /// The keys of all markers that several items may ask for.
    contested: std::collections::HashSet<(usize, u128)>,
}

impl<'w> MarkerPairs<'w> {
    /// `now` is in epoch seconds. Expired items are skipped, because TTL may have deleted one half
    /// already.
    pub(super) fn new(world: &'w World, now: i64) -> Self {
        Self { world, now, pairs: 0, waiting: HashMap::new(), contested: std::collections::HashSet::new() }
    }

    pub(super) fn take(&mut self, item: &Attributes) {
        let target = &self.world.mapping.target;
        let ttl = target.ttl.as_ref().and_then(|name| super::number(item, name));
        let kind = item.get(&target.kind).and_then(|kind| kind.as_s().ok());
        let (Some(key), Some(kind)) = (Key::of(item, target), kind) else { return };
        if ttl.is_some_and(|ttl| ttl <= self.now) {
            return;
        }
        for (place, marker) in self.world.mapping.markers.iter().enumerate() {
            if marker.of == *kind {
                // An item without the attributes, or with unusable ones, has no marker.
                let Some(of_marker) = self.world.key_of_attributes(&marker.key, item) else { continue };
                self.meet((place, of_marker.hash(), key.hash()), Half::Owner(of_marker.to_string()));
            }
            if marker.marker == *kind {
                let leads_to = self.world.key_of_attributes(&marker.leads_to, item);
                self.contested.insert((place, key.hash()));
                let to = leads_to.as_ref().map(Key::hash).unwrap_or_default();
                self.meet((place, key.hash(), to), Half::Marker(key.to_string()));
            }
        }
    }

    fn meet(&mut self, place: (usize, u128, u128), half: Half) {
        match (self.waiting.remove(&place), &half) {
            (Some(Half::Owner(_)), Half::Marker(_)) | (Some(Half::Marker(_)), Half::Owner(_)) => self.pairs += 1,
            _ => drop(self.waiting.insert(place, half)),
        }
    }

    /// The number of pairs, and the halves without their other half.
    pub(super) fn finish(self) -> (u64, Vec<(String, String)>) {
        let (markers, contested) = (&self.world.mapping.markers, self.contested);
        let alone = self.waiting.into_iter().filter_map(|((place, of_marker, _), half)| {
            let marker = &markers[place];
            match half {
                // Several items ask for this marker, and it leads to another one.
                Half::Owner(_) if marker.is_contested && contested.contains(&(place, of_marker)) => None,
                Half::Owner(name) => Some((format!("{}-without-{}", marker.of, marker.marker), name)),
                Half::Marker(name) => Some((format!("{}-without-{}", marker.marker, marker.of), name)),
            }
        });
        (self.pairs, alone.collect())
    }
}
