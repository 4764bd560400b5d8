//! The items of a history, and the changes that clients and TTL make to them.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::faults::Fault;
use super::world::Sim;
use super::{Generator, Mender, SimError};
use crate::Policy;

/// How many items some histories write at once: more than one transaction can count.
const BURST: std::ops::Range<usize> = 100..400;

/// How clients mend items that cannot be read.
pub(crate) struct Mending {
    pub(crate) mender: Mender,
    /// Whether an item of this key counts, in DynamoDB's JSON; `None` if it cannot be read.
    pub(crate) counts: Counts,
}

/// Tells of an item whether it counts; `None` if it cannot be read.
pub(crate) type Counts = Box<dyn Fn(&Key, &Value) -> Option<bool>>;

/// The items that clients write.
pub(crate) struct Items {
    sim: Sim,
    generator: Generator,
    mending: Option<Mending>,
    /// Items that can be mended.
    unreadable: Vec<Key>,
    /// Before which change many items are written at once.
    burst: Option<usize>,
    /// Whether the items have keys of their own.
    has_keys: bool,
    changes_max: usize,
    ids: usize,
    /// Whether items are only added.
    is_append_only: bool,
    /// The largest pause between two changes.
    pause_ms_max: u64,
    /// Changes of items so far.
    pub(crate) changes: u64,
    /// Everything that was ever written, in its order, by the key of the item.
    pub(crate) lives: BTreeMap<Key, Vec<Event>>,
}

/// Partition key and sort key.
pub(crate) type Key = (String, String);

/// A change of one item.
pub(crate) enum Event {
    /// In DynamoDB's JSON, and as it was generated.
    Put(Value, Rc<dyn Any>),
    /// In place of an item that could not be read.
    Mended(Value, Rc<dyn Any>),
    Removed,
    Expired,
}

impl Items {
    /// Few changes or many, of few items or many.
    pub(crate) fn new(
        sim: Sim,
        generator: Generator,
        mending: Option<Mending>,
        has_keys: bool,
        is_append_only: bool,
    ) -> Self {
        sim.clone().with(|world| {
            let changes_max = world.rng.usize(1..150);
            Self {
                sim,
                generator,
                mending,
                unreadable: Vec::new(),
                burst: (world.rng.u8(..8) == 0).then(|| world.rng.usize(..changes_max)),
                has_keys,
                changes_max,
                ids: if world.rng.bool() { world.rng.usize(1..8) } else { world.rng.usize(8..200) },
                is_append_only,
                pause_ms_max: world.rng.u64(2..200),
                changes: 0,
                lives: BTreeMap::new(),
            }
        })
    }

    pub(crate) async fn run(&mut self) -> Result<(), SimError> {
        let burst = self.burst.take();
        for number in 0..self.changes_max {
            let pause_ms = self.sim.with(|world| world.rng.u64(1..=self.pause_ms_max));
            sleep(Duration::from_millis(pause_ms)).await;
            if burst == Some(number) {
                let size = self.sim.with(|world| world.rng.usize(BURST));
                (0..size).try_for_each(|_| self.put())?;
            }
            if !self.unreadable.is_empty() && self.sim.with(|world| world.strikes(Fault::Mend)) {
                self.mend()?;
            }
            let dice = self.sim.with(|world| world.rng.u8(..10));
            match self.victim().filter(|_| dice < 3 && !self.is_append_only) {
                Some(key) => self.delete(key, dice == 2)?,
                None => self.put()?,
            }
        }
        Ok(())
    }

    /// Notes a change.
    fn note(&mut self, key: Key, event: Event) {
        self.changes += 1;
        self.lives.entry(key).or_default().push(event);
    }

    /// An item that exists.
    fn victim(&self) -> Option<Key> {
        let exists = |events: &[Event]| matches!(events.last(), Some(Event::Put(..) | Event::Mended(..)));
        let living: Vec<_> = self.lives.iter().filter(|(_, events)| exists(events)).map(|(key, _)| key).collect();
        self.sim.with(|world| world.rng.choice(living).cloned())
    }

    /// Writes a new item or, unless items are only added, replaces one.
    fn put(&mut self) -> Result<(), SimError> {
        let (attributes, generated) = self.sim.with(|world| (self.generator)(&mut world.rng))?;
        let image = serde_json::to_value(attributes)?;
        let replaced = self.sim.with(|world| world.rng.u8(..8) == 0 && !self.is_append_only);
        let key = if !self.has_keys {
            let id =
                if self.is_append_only { self.lives.len() } else { self.sim.with(|world| world.rng.usize(..self.ids)) };
            let is_numbered = self.sim.with(|world| world.table.is_numbered);
            if is_numbered {
                (format!("ITEM#{}", id / 4), format!("{}", id % 4))
            } else {
                (format!("ITEM#{id}"), "-".to_owned())
            }
        } else {
            let own = self.sim.with(|world| world.table.key_of(&image));
            if replaced { self.victim().unwrap_or(own) } else { own }
        };
        // Items with keys of their own may come twice.
        if self.is_append_only && self.lives.contains_key(&key) {
            return Ok(());
        }
        let image = self.with_key(&key, image);
        self.write(&image)?;
        if self.mending.as_ref().is_some_and(|mending| (mending.counts)(&key, &image).is_none()) {
            self.unreadable.push(key.clone());
        }
        self.note(key, Event::Put(image, generated));
        Ok(())
    }

    fn with_key(&self, key: &Key, mut image: Value) -> Value {
        let key = self.sim.with(|world| world.table.key(key));
        if let (Value::Object(image), Value::Object(key)) = (&mut image, key) {
            image.extend(key);
        }
        image
    }

    fn write(&self, image: &Value) -> Result<(), SimError> {
        self.sim.with(|world| {
            world.trace(|| format!("put {image}"));
            world.table.put(image)
        })
    }

    /// Mends an item that cannot be read, in its place; or deletes it.
    fn mend(&mut self) -> Result<(), SimError> {
        let Some(mending) = &self.mending else { return Ok(()) };
        let (index, deletes) =
            self.sim.with(|world| (world.rng.usize(..self.unreadable.len()), world.rng.u8(..5) == 0));
        let key = self.unreadable.swap_remove(index);
        let Some(Event::Put(item, _)) = self.lives.get(&key).and_then(|events| events.last()) else { return Ok(()) };
        let item = serde_json::from_value(item.clone())?;
        let (mended, generated) = self.sim.with(|world| (mending.mender)(&mut world.rng, item))?;
        let image = self.with_key(&key, serde_json::to_value(mended)?);
        if deletes || (mending.counts)(&key, &image) != Some(true) {
            return self.delete(key, false);
        }
        self.write(&image)?;
        self.note(key, Event::Mended(image, generated));
        Ok(())
    }

    fn delete(&mut self, key: Key, is_expiry: bool) -> Result<(), SimError> {
        self.sim.with(|world| {
            // The records so far must not be taken for this deletion.
            world.pump()?;
            if is_expiry {
                world.stream.expiring.insert(key.clone());
            }
            world.trace(|| format!("delete {key:?}, expired: {is_expiry}"));
            world.table.remove(&key)?;
            world.pump()
        })?;
        self.note(key, if is_expiry { Event::Expired } else { Event::Removed });
        Ok(())
    }

    /// The items that count at the end, by the policies. `read` gives `None` for an image that does
    /// not count.
    pub(crate) fn counted<T>(&self, policies: [Policy; 3], read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
        self.last(policies, |image, _| read(image))
    }

    /// The same as they were generated, whether they can be read or not.
    pub(crate) fn existing(&self, policies: [Policy; 3]) -> Vec<Rc<dyn Any>> {
        self.last(policies, |_, generated| Some(Rc::clone(generated)))
    }

    /// All images that were written.
    pub(crate) fn written(&self) -> impl Iterator<Item = &Value> {
        self.lives.values().flatten().filter_map(|event| match event {
            Event::Put(image, _) | Event::Mended(image, _) => Some(image),
            Event::Removed | Event::Expired => None,
        })
    }

    fn last<T>(
        &self,
        [on_modify, on_remove, on_ttl]: [Policy; 3],
        read: impl Fn(&Value, &Rc<dyn Any>) -> Option<T>,
    ) -> Vec<T> {
        let mut counted = Vec::new();
        for events in self.lives.values() {
            let mut current = None;
            let mut exists = false;
            for event in events {
                let deletion = match event {
                    Event::Put(image, generated) if !exists || on_modify == Policy::Retract => {
                        current = read(image, generated);
                        None
                    }
                    Event::Put(..) => None,
                    // A redrive counts it.
                    Event::Mended(image, generated) => {
                        current = read(image, generated);
                        None
                    }
                    Event::Removed => Some(on_remove),
                    Event::Expired => Some(on_ttl),
                };
                exists = deletion.is_none();
                // What a deletion keeps stays; a new item comes beside it.
                if let Some(policy) = deletion {
                    counted.extend(current.take().filter(|_| policy == Policy::Keep));
                }
            }
            counted.extend(current);
        }
        counted
    }
}
