//! The simulation: random histories of changes and faults, played to their end, and a naive recount
//! of the items.
//!
//! A history is one number, its seed. It runs on one thread under a virtual clock: the real
//! [`Aggregator`], the real AWS SDK and a DynamoDB engine in this process. Instances crash before
//! and after any request, replies are lost, requests come late, batches come twice, in other pieces
//! and two at once, shards split, clocks jump. When the faults are over and each record has been
//! delivered with success at least once, the statistics must be those of the items.
//!
//! ```no_run
//! use rollup::sim::Simulation;
//! use rollup::{Group, Rollup, count};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Clone, Serialize, Deserialize)]
//! struct Vote {
//!     product: String,
//! }
//!
//! fn votes() -> Rollup<Vote> {
//!     let products =
//!         Group::new("product").attribute("product", |vote: &Vote| vote.product.clone());
//!     let products = products.key("STAT#PRODUCT", "{product}");
//!     Rollup::builder("votes").measure("votes", count()).group(products).build().expect("a declaration")
//! }
//!
//! let random = |rng: &mut fastrand::Rng| Vote { product: format!("product-{}", rng.u8(..5)) };
//! let outcome = Simulation::new(votes, random).play(1..=1_000).expect("an engine");
//! assert_eq!(outcome.miscounts, Vec::<String>::new());
//! ```

mod error;
mod expected;
mod faults;
mod handler;
mod hazards;
mod items;
mod mapping;
mod operator;
mod oracle;
mod outcome;
pub(crate) mod rules;
mod split_read;
mod stream;
mod streams_api;
mod table;
mod wire;
mod world;

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use fastrand::Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::LocalSet;
use tokio::time::sleep;

pub use error::SimError;
pub use expected::Expected;
pub use faults::{Fault, Tally};
pub use hazards::Hazard;
pub use outcome::Outcome;
pub use rules::Weakness;
pub use split_read::{split_read, take_items};
pub use table::TABLE;

use crate::{Aggregator, Layout, Policy, Rollup, Table};
use expected::Expect;
use handler::Starter;
use items::{Items, Mending};
use mapping::Mapping;
use operator::Operator;
use table::SimTable;
use world::Sim;

/// Longer than any request is on the way, seconds.
const STORM_TAIL_S: std::ops::Range<u64> = 15..200;

/// Makes the aggregator of one instance.
pub(crate) type Factory<T> = Rc<dyn Fn(Table) -> Aggregator<T>>;

/// An item as it is written, and as the generator gave it.
pub(crate) type Generated = (serde_dynamo::Item, Rc<dyn Any>);

/// Gives a random item.
pub(crate) type Generator = Rc<dyn Fn(&mut Rng) -> Result<Generated, SimError>>;

/// Mends an item that cannot be read.
pub(crate) type Mender = Rc<dyn Fn(&mut Rng, serde_dynamo::Item) -> Result<Generated, SimError>>;

fn generated<I: Serialize + 'static>(item: I) -> Result<Generated, SimError> {
    Ok((serde_dynamo::to_item(&item).map_err(SimError::new)?, Rc::new(item)))
}

/// In which layout the instances of a history count.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LayoutChoice {
    All(Layout),
    /// Each in one of its own: the layout is being changed.
    Each,
}

/// Random histories of a rollup.
pub struct Simulation<T> {
    factory: Factory<T>,
    generator: Generator,
    mender: Mender,
    /// Somebody's own handler, to be played instead of the aggregators.
    handler: Option<Starter>,
    /// The names of the keys, if the items have them.
    keys: Option<[String; 2]>,
    /// Whether the items have a table of their own with numbers as sort keys.
    is_numbered: bool,
    is_traced: bool,
    expect: Option<Expect>,
    hazard: Option<Hazard>,
    /// Makes the aggregators of the version that is deployed later.
    next_factory: Option<Factory<T>>,
}

impl<T: Clone + 'static> Simulation<T> {
    /// Plays `rollup` with items from `generator`. Items are written as serde serializes them.
    pub fn new(rollup: fn() -> Rollup<T>, generator: impl Fn(&mut Rng) -> T + 'static) -> Self
    where
        T: Serialize + DeserializeOwned,
    {
        Self::of(move |table| Aggregator::new(rollup(), table), generator)
    }

    /// Plays the aggregators that `factory` makes. `generator` gives items as they are written.
    pub fn of<I: Serialize + 'static>(
        factory: impl Fn(Table) -> Aggregator<T> + 'static,
        generator: impl Fn(&mut Rng) -> I + 'static,
    ) -> Self {
        let generator: Generator = Rc::new(move |rng: &mut Rng| generated(generator(rng)));
        let another = Rc::clone(&generator);
        let mender = Rc::new(move |rng: &mut Rng, _| another(rng));
        Self {
            factory: Rc::new(factory),
            generator,
            mender,
            handler: None,
            keys: None,
            is_numbered: false,
            is_traced: false,
            expect: None,
            hazard: None,
            next_factory: None,
        }
    }

    /// Plays your own handler instead of the crate's aggregator. The statistics that it keeps in
    /// the table [`TABLE`] must be those of the declaration, which only judges it. It needs no
    /// quarantine, and the operator's commands are not played.
    ///
    /// `start` is a cold start: it gets a client whose requests meet the faults, and returns the
    /// handler. The handler gets the event of an invocation, and returns the function's reply, or
    /// an error if the invocation fails.
    ///
    /// ```no_run
    /// # use rollup::sim::{Simulation, TABLE};
    /// # use rollup::{Group, Rollup, count};
    /// # use serde_json::value::RawValue;
    /// # #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// # struct Vote;
    /// # fn votes() -> Rollup<Vote> {
    /// #     let total = Group::new("total").key("STAT#TOTAL", "-");
    /// #     Rollup::builder("votes").measure("votes", count()).group(total).build().expect("a declaration")
    /// # }
    /// # struct MyHandler;
    /// # impl MyHandler {
    /// #     fn new(_: aws_sdk_dynamodb::Client, _: &str) -> Self { Self }
    /// #     async fn handle(&self, _: &str) -> Result<serde_json::Value, String> { Ok(serde_json::Value::Null) }
    /// # }
    /// let simulation = Simulation::new(votes, |_| Vote).handled_by(|client| {
    ///     let handler = MyHandler::new(client, TABLE);
    ///     async move |event: &RawValue| handler.handle(event.get()).await
    /// });
    /// let outcome = simulation.play(1..=100).expect("an engine");
    /// println!("{} of 100 histories have wrong numbers", outcome.wrong_seeds);
    /// ```
    pub fn handled_by<H>(self, start: impl Fn(Client) -> H + 'static) -> Self
    where
        H: AsyncFn(&RawValue) -> Result<Value, String> + 'static,
    {
        Self { handler: Some(handler::foreign(start)), ..self }
    }

    /// Says how a client mends an item that cannot be read, with the key that it has. Otherwise the
    /// client writes another item of the generator in its place.
    pub fn mending<I: Serialize + DeserializeOwned + 'static>(self, mend: impl Fn(I) -> I + 'static) -> Self {
        let mend = move |_: &mut Rng, item| {
            let item = serde_dynamo::from_item(item).map_err(SimError::new)?;
            generated(mend(item))
        };
        Self { mender: Rc::new(mend), ..self }
    }

    /// Takes the keys of an item from two of its attributes. Otherwise the simulation gives an item
    /// one of a few keys, so that some items replace others.
    pub fn keys(self, partition_key: impl Into<String>, sort_key: impl Into<String>) -> Self {
        Self { keys: Some([partition_key.into(), sort_key.into()]), ..self }
    }

    /// Puts the items into a table of their own whose sort key is a number, as in a table of devices
    /// and times. [`Self::keys`] has no effect then.
    pub fn numbered(self) -> Self {
        Self { is_numbered: true, keys: None, ..self }
    }

    /// Compares the statistics with numbers that plain code gives for the items which a history ends
    /// with. Without it, the declaration itself says what is right, and a mistake in one of its
    /// closures shows nowhere. The items are as the generator gave them, so a mistake in reading
    /// them shows, too. Numbers that are not expected may be any.
    ///
    /// ```no_run
    /// # use rollup::sim::{Expected, Simulation};
    /// # use rollup::{Group, Rollup, count};
    /// # #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// # struct Vote;
    /// # fn votes() -> Rollup<Vote> {
    /// #     let total = Group::new("total").key("STAT#TOTAL", "-");
    /// #     Rollup::builder("votes").measure("votes", count()).group(total).build().expect("a declaration")
    /// # }
    /// let simulation = Simulation::new(votes, |_| Vote)
    ///     .expect(|votes: &[&Vote]| vec![Expected::new("STAT#TOTAL", "-", "votes", votes.len())]);
    /// ```
    pub fn expect<I: 'static>(self, numbers: impl Fn(&[&I]) -> Vec<Expected> + 'static) -> Self {
        Self { expect: Some(expected::expect(numbers)), ..self }
    }

    /// Leaves a rule out, to see that the simulation finds it.
    pub fn weakened(self, weakness: Weakness) -> Self {
        let weakened =
            |factory: Factory<T>| -> Factory<T> { Rc::new(move |table| factory(table).weakened(Some(weakness))) };
        Self { factory: weakened(Rc::clone(&self.factory)), next_factory: self.next_factory.map(weakened), ..self }
    }

    /// Plays histories with a hazard beside the faults, and without an operator who repairs what it
    /// does. The rollup must take back modifications and deletions, those by TTL included.
    pub fn hazard(self, hazard: Hazard) -> Self {
        let few = |factory: Factory<T>| -> Factory<T> { Rc::new(move |table| factory(table).with_few_shards()) };
        let folds = hazard == Hazard::GrowingShards;
        let factory = if folds { few(self.factory) } else { self.factory };
        Self { hazard: Some(hazard), factory, ..self }
    }

    /// In some moment of each history, the aggregators of `factory` take the place of the others.
    /// An operator repairs the statistics, so that the new declaration is accepted. The hazard is
    /// [`Hazard::ChangedDeclaration`].
    pub fn redeployed(self, factory: impl Fn(Table) -> Aggregator<T> + 'static) -> Self {
        Self { next_factory: Some(Rc::new(factory)), hazard: Some(Hazard::ChangedDeclaration), ..self }
    }

    /// Keeps a line for each event of a history.
    pub fn traced(self) -> Self {
        Self { is_traced: true, ..self }
    }

    /// Plays the histories of some seeds.
    ///
    /// # Errors
    /// When the engine fails, or a shard blocks so that a history does not end.
    pub fn play(&self, seeds: impl IntoIterator<Item = u64>) -> Result<Outcome, SimError> {
        let mut outcome = Outcome::default();
        for seed in seeds {
            outcome.add(self.play_seed(seed).map_err(|error| SimError::new(format!("seed {seed}: {error}")))?);
        }
        outcome.miscounts.extend(outcome.shortcomings());
        Ok(outcome)
    }

    fn play_seed(&self, seed: u64) -> Result<Outcome, SimError> {
        // The jitter of retries comes from the thread's generator.
        fastrand::seed(seed);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.map_err(SimError::new)?.block_on(LocalSet::new().run_until(self.history(seed)))
    }

    async fn history(&self, seed: u64) -> Result<Outcome, SimError> {
        let keys = self.keys.clone().unwrap_or_else(|| ["simPartition", "simSort"].map(ToOwned::to_owned));
        let is_numbered = self.is_numbered && self.keys.is_none();
        let sim = Sim::new(Rng::with_seed(seed), SimTable::create(keys, is_numbered)?, self.is_traced);
        let aggregator = Rc::new((self.factory)(wire::Wire::new(sim.clone()).table()));
        let (rollup, weakness) = (aggregator.rollup(), aggregator.rules.weakness);
        let layout = sim.with(|world| match world.rng.u8(..6) {
            _ if weakness == Some(Weakness::FlushInTwoRequests) => LayoutChoice::All(Layout::Buffers),
            0 => LayoutChoice::Each,
            1 | 2 => LayoutChoice::All(Layout::Buffers),
            _ => LayoutChoice::All(Layout::Sums),
        });
        // A recount sees only the items of the table, so it fits rollups that take everything back,
        // and tables to which items are only added.
        let keeps = [rollup.on_modify, rollup.on_remove, rollup.on_ttl].map(|policy| policy == Policy::Keep);
        let needs_operator = weakness.is_some_and(Weakness::is_of_operator);
        let likely = |quarters: u8| sim.with(|world| world.rng.u8(..4) < quarters) || needs_operator;
        let is_append_only = likely(2) && keeps == [true; 3];
        let has_operator =
            self.hazard.is_none() && likely(3) && (is_append_only || keeps == [false; 3]) && self.handler.is_none();
        let starter = self.handler.clone().unwrap_or_else(|| handler::aggregators(Rc::clone(&self.factory)));
        let next_starter = self.next_factory.clone().map(handler::aggregators);
        let mapping = Mapping::new(sim.clone(), starter, layout, has_operator).next_version(next_starter);
        if self.hazard == Some(Hazard::GrowingShards) {
            sim.with(|world| world.rolls_min = hazards::ROLLS);
        }
        let accepting = self.next_factory.clone().map(|factory| {
            tokio::task::spawn_local(hazards::redeploy(sim.clone()));
            tokio::task::spawn_local(hazards::accept(sim.clone(), factory))
        });
        // Where modifications are kept, a redrive counts mended items.
        let mending = (has_operator && is_append_only).then(|| self.mending_of(&aggregator));
        let (generator, has_keys) = (Rc::clone(&self.generator), self.keys.is_some());
        let mut items = Items::new(sim.clone(), generator, mending, has_keys, is_append_only);

        let delivering = tokio::task::spawn_local(mapping.clone().run());
        let operating = has_operator.then(|| {
            let operator = Operator::new(sim.clone(), Rc::clone(&self.factory));
            tokio::task::spawn_local(operator.run())
        });
        items.run().await?;
        let tail_s = sim.with(|world| world.rng.u64(STORM_TAIL_S));
        sleep(Duration::from_secs(tail_s)).await;
        let comes_again = sim.with(|world| {
            world.pump()?;
            let comes_again = world.rng.f64() < world.rate(Fault::Stale);
            (world.is_stormy, world.is_open) = (false, false);
            Ok::<_, SimError>(comes_again)
        })?;
        delivering.await.map_err(SimError::new)??;
        sim.with(|world| world.is_drained = true);
        if let Some(accepting) = accepting {
            accepting.await.map_err(SimError::new)?;
        }
        sim.settle().await?;
        match self.hazard {
            Some(Hazard::OtherRegion) => hazards::recount_abroad(&sim, &self.factory).await,
            Some(Hazard::TwoStreams) => hazards::deliver_replica(&sim, &mapping, &items).await?,
            _ => {}
        }
        let mut miscounts = Vec::new();
        if let Some(operating) = operating {
            let mut operator = operating.await.map_err(SimError::new)??;
            // A batch that was given up must not be delivered after its repair.
            sim.with(|world| world.stream.forget(&mut world.rng));
            operator.finish().await?;
            // New items find the repaired records of values.
            items.run().await?;
            sim.with(world::World::pump)?;
            mapping.clone().run().await?;
            sim.settle().await?;
            mapping.end_windows().await?;
            operator.last_recount().await?;
            miscounts = operator.wrong;
        } else if comes_again {
            mapping.replay_everything().await?;
            sim.settle().await?;
        }
        mapping.end_windows().await?;
        sim.settle().await?;

        let is_next = sim.with(|world| world.deployed > 0);
        let next = self.next_factory.as_ref().filter(|_| is_next);
        let aggregator = next
            .map_or_else(|| Rc::clone(&aggregator), |factory| Rc::new(factory(wire::Wire::new(sim.clone()).table())));
        let stored = sim.with(|world| world.table.items())?;
        let found = sim.with(|world| oracle::found(world, aggregator.rollup(), &stored))?;
        let judged = (&items, stored.as_slice(), &found);
        miscounts.extend(sim.with(|world| oracle::judge(world, &aggregator, judged, self.handler.is_none()))?);
        if let Some(expect) = &self.expect {
            let policies = [rollup.on_modify, rollup.on_remove, rollup.on_ttl];
            miscounts.extend(expected::compare(&found, &items, policies, expect)?);
        }
        let wrong_seeds = u64::from(!miscounts.is_empty());
        let miscounts = miscounts.into_iter().map(|line| format!("seed {seed}: {line}")).collect();
        let (faults, trace) = (sim.with(|world| world.tally.clone()), sim.take_trace());
        let (seeds, changes) = (1, items.changes);
        let mut outcome = Outcome { seeds, changes, faults, wrong_seeds, miscounts, trace, ..Outcome::default() };
        outcome::sort(&mut outcome, &aggregator, &sim.with(|world| world.table.keys.clone()), &items);
        Ok(outcome)
    }

    fn mending_of(&self, aggregator: &Rc<Aggregator<T>>) -> Mending {
        let aggregator = Rc::clone(aggregator);
        let counts = move |(partition, sort): &items::Key, image: &Value| {
            if aggregator.rollup().owns(partition, sort) {
                return Some(false);
            }
            let image = RawValue::from_string(image.to_string()).ok()?;
            aggregator.read(&image).ok().map(|item| item.is_some())
        };
        Mending { mender: Rc::clone(&self.mender), counts: Box::new(counts) }
    }
}
