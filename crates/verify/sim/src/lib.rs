//! The simulation: random histories of clicks and faults, played to their end, against a recount of
//! the clicks.
//!
//! A history is one number, its seed. It runs on one thread under a virtual clock: the real
//! function, the real SDK and the real engine, joined by a wire that takes time and fails (`wire`),
//! and fed by a simulated event source mapping (`event_source_mapping`). Whatever happens is
//! decided by dice that the seed has set, so a history that miscounts can be played again.
//!
//! A history ends when the storm is over and each record has been delivered with success at least
//! once, as AWS promises.

mod baselines;
mod crowd;
mod event_source_mapping;
mod faults;
mod game;
mod implementation;
mod merge_schedule;
mod mutations;
mod operator;
mod oracle;
mod shop;
mod stat_errors;
mod stream;
mod streams_api;
mod table;
mod wire;
mod world;

use std::time::Duration;

use fastrand::Rng;
use tokio::task::LocalSet;
use tokio::time::sleep;

pub use faults::{Fault, Tally};
pub use game::{GameOutcome, play_game};
pub use implementation::{Counter, Implementation, Layout};
pub use shop::{ShopOutcome, Weakness, play_shop};
pub use table::{Database, Embedded, TABLE};

use crowd::Crowd;
use event_source_mapping::{EventSourceMapping, InstanceLayout, MappingSettings};
use merge_schedule::MergeSchedule;
use operator::Operator;
use table::Table;
use world::Sim;

/// Longer than any request stays on the wire, seconds.
const STORM_TAIL_S: std::ops::Range<u64> = 15..200;

/// The result of one history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryOutcome {
    /// Its seed.
    pub seed: u64,
    /// Click records in the table at the end.
    pub clicks: u64,
    /// The faults.
    pub faults: Tally,
    /// Buffers that were merged into the statistics, each time that one was.
    pub merges: u64,
    /// One line for each number that is wrong at the end.
    pub miscounts: Vec<String>,
    /// What happened, if it was to be traced.
    pub trace: Vec<String>,
}

/// Plays one history against an empty database. With `is_traced` its outcome tells what happened,
/// line by line.
///
/// # Errors
/// When the harness itself fails, or a shard blocks so that the history does not end.
pub fn play(
    seed: u64,
    implementation: Implementation,
    layout: Layout,
    database: Box<dyn Database>,
    is_traced: bool,
) -> anyhow::Result<HistoryOutcome> {
    // The jitter of retries comes from the thread's generator.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(LocalSet::new().run_until(history(seed, implementation, layout, database, is_traced)))
}

async fn history(
    seed: u64,
    implementation: Implementation,
    layout: Layout,
    database: Box<dyn Database>,
    is_traced: bool,
) -> anyhow::Result<HistoryOutcome> {
    let sim = Sim::new(Rng::with_seed(seed), Table::create(database)?, is_traced);
    let crowd = Crowd::new(&sim);
    let setting = sim.with(|world| MappingSettings::draw(&mut world.rng));
    let layout_of = sim.with(|world| InstanceLayout::draw(layout, &mut world.rng));
    let mapping = EventSourceMapping::new(sim.clone(), implementation, layout_of, setting);

    let delivering = tokio::task::spawn_local(mapping.clone().run());
    let merging = tokio::task::spawn_local(MergeSchedule::new(sim.clone(), implementation, layout).run());
    let operating = tokio::task::spawn_local(Operator::new(sim.clone(), implementation).run());
    crowd.run().await?;
    let tail_s = sim.with(|world| world.rng.u64(STORM_TAIL_S));
    sleep(Duration::from_secs(tail_s)).await;
    let comes_again = sim.with(|world| {
        world.pump()?;
        let comes_again = world.rng.f64() < world.rate(Fault::Stale);
        (world.is_stormy, world.is_open) = (false, false);
        anyhow::Ok(comes_again)
    })?;
    delivering.await??;
    let mut operator = operating.await??;
    let merging = merging.await?;
    sim.settle().await?;
    // A batch that was given up must not be delivered after its repair; other batches may.
    let replays_first = operator.gives_up();
    if comes_again && replays_first {
        mapping.replay_everything().await?;
        sim.settle().await?;
    }
    let mut found_wrong = operator.finish().await?;
    if comes_again && !replays_first {
        mapping.replay_everything().await?;
        sim.settle().await?;
    }
    if implementation.has_operator() {
        sim.with(crowd::encore)?;
        mapping.run().await?;
        sim.settle().await?;
    }

    let merges = merging.finish().await?;
    let verdict = sim.with(|world| oracle::judge(world, implementation.promise()))?;
    found_wrong.extend(verdict.miscounts);
    let (faults, trace) = (sim.with(|world| world.tally.clone()), sim.take_trace());
    Ok(HistoryOutcome { seed, clicks: verdict.clicks, faults, merges, miscounts: found_wrong, trace })
}
