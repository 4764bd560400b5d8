//! The soak: all five systems under mixed traffic on the local stack, while instances are killed,
//! batches are duplicated, tables throttle and fail, and the stack itself is killed and restarted.
//! Afterwards every promise is checked against the tables.
//!
//! Each client records its answers: an acknowledged write must be there, a refused one must not,
//! and an unanswered one may or may not. The seed decides the requests and the faults, but not the
//! scheduling of threads.

mod check;
mod clicks;
mod faults;
mod games;
mod journal;
mod okusuri;
mod report;
mod shop;
mod world;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use futures::future::{FutureExt, LocalBoxFuture, join_all};
use serde_json::Value;
use tests::Stack;

pub use check::Check;
pub use report::Report;
pub use world::Tally;

use clicks::Clicks;
use faults::InjectedFaults;
use games::Games;
use journal::Journal;
use okusuri::Okusuri;
use shop::Shop;
use world::World;

/// How many do the same at once.
const CLICKERS: usize = 4;
const SHOPPERS: usize = 4;
const WRITERS: usize = 3;
const PATIENTS: usize = 3;
const TABLES: usize = 2;

/// How long the streams may take to come to rest.
const DRAIN_MAX: Duration = Duration::from_secs(180);
/// How often in a row everything has to be at rest: an entry that a reader of one stream writes
/// comes by another.
const RESTS: u32 = 5;
const REST: Duration = Duration::from_millis(400);

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Everything that is chosen comes out of it.
    pub seed: u64,
    /// How long there is traffic.
    pub time: Duration,
    /// How often the stack is killed meanwhile.
    pub kills: u32,
}

/// A soak whose traffic is over, whose streams are at rest, and in which nothing expires soon.
#[derive(Debug)]
pub struct FinishedSoak {
    options: Options,
    world: World,
    clicks: Clicks,
    shop: Shop,
    journal: Journal,
    okusuri: Okusuri,
    games: Games,
    injected: InjectedFaults,
    drained_in: Duration,
}

/// Starts a stack of its own, and has everything happen to it.
///
/// # Errors
/// When the stack does not come up, or its streams do not come to rest.
pub async fn soak(options: Options) -> Result<FinishedSoak> {
    // With a folder, so that there is something to come back to.
    let stack = Stack::at_lasting_address().await?;
    let world = World::new(stack, options.time)?;
    let mut seeds = Rng::with_seed(options.seed);
    let (clicks, shop, journal) = (Clicks::default(), Shop::default(), Journal::default());
    let (okusuri, games) = (Okusuri::default(), Games::default());
    shop.open(&world, &mut seeds).await?;

    let mut fault_rng = seeds.fork();
    let mut crowd: Vec<LocalBoxFuture<'_, ()>> = Vec::new();
    crowd.extend((0..CLICKERS).map(|_| clicks.drive(&world, seeds.fork()).boxed_local()));
    crowd.extend((0..SHOPPERS).map(|_| shop.drive(&world, seeds.fork()).boxed_local()));
    crowd.push(shop.drive_foreign(&world, seeds.fork()).boxed_local());
    crowd.extend((0..WRITERS).map(|_| journal.drive(&world, seeds.fork()).boxed_local()));
    crowd.extend((0..PATIENTS).map(|place| okusuri.drive(&world, seeds.fork(), place).boxed_local()));
    crowd.extend((0..TABLES).map(|_| games.drive(&world, seeds.fork()).boxed_local()));
    let (injected, _) = tokio::join!(faults::inject(&world, &mut fault_rng, options.kills), join_all(crowd));
    let injected = injected?;

    let begin = Instant::now();
    drain(&world).await?;
    let drained_in = begin.elapsed();
    // The stream releases what an expired reservation has held. No check may come between the two.
    tokio::time::sleep(shop::SHORT_HOLD_IS_OVER).await;
    world.with(async |stack| stack.delete_expired().await).await??;
    drain(&world).await?;
    Ok(FinishedSoak { options, world, clicks, shop, journal, okusuri, games, injected, drained_in })
}

impl FinishedSoak {
    /// Checks every promise against the tables.
    pub async fn check(&self) -> Result<Report> {
        let checks = self.world.with(async |stack| {
            let mut checks = self.clicks.check(stack).await.context("the clicks")?;
            checks.extend(self.shop.check(&self.world, stack).await.context("the shop")?);
            checks.extend(self.journal.check(&self.world).await.context("the journal")?);
            checks.extend(self.okusuri.check(stack).await.context("the medication log")?);
            checks.extend(self.games.check(stack).await.context("the games")?);
            anyhow::Ok(checks)
        });
        Ok(Report {
            seed: self.options.seed,
            seconds: self.options.time.as_secs(),
            systems: self.world.tallies(),
            faults: self.injected.faults.clone(),
            stack_kills: self.injected.kills,
            drained_in_ms: u64::try_from(self.drained_in.as_millis()).unwrap_or(u64::MAX),
            checks: checks.await??,
        })
    }

    /// The stack, for a test that inspects it, or damages something and checks again.
    pub async fn with_stack<T>(&self, work: impl AsyncFnOnce(&Stack) -> T) -> Result<T> {
        self.world.with(work).await
    }
}

/// Waits until every mapping has delivered all that its stream has.
async fn drain(world: &World) -> Result<()> {
    let (begin, mut rests) = (Instant::now(), 0);
    while rests < RESTS {
        tokio::time::sleep(REST).await;
        let health = world.with(async |stack| stack.get("/_local/health").await).await??.json();
        let shards: Vec<&Value> = health["mappings"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|mapping| mapping["shards"].as_object().into_iter().flatten().map(|(_, shard)| shard))
            .collect();
        let is_at_rest = !shards.is_empty() && shards.iter().all(|shard| shard["caughtUp"] == true);
        rests = if is_at_rest { rests + 1 } else { 0 };
        if begin.elapsed() > DRAIN_MAX {
            bail!("the streams do not come to rest: {}", health["mappings"]);
        }
    }
    Ok(())
}
