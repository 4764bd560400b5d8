//! The simulation: random histories of clicks and faults, played to their end, against a recount of the clicks.
//!
//! A history is one number, its seed. It runs on one thread under a virtual clock: the real function, the real SDK and the
//! real engine, joined by a wire that takes time and fails (`wire`), and fed by a simulated event source mapping (`source`).
//! Whatever happens is decided by dice that the seed has set, so a history that miscounts can be played again.
//!
//! A history ends when the storm is over and each record has been delivered with success at least once, as AWS promises.

mod baselines;
mod crowd;
mod faults;
mod folding;
mod game;
mod ledger;
mod mutations;
mod operator;
mod oracle;
mod shop;
mod source;
mod stream;
mod streams_api;
mod subject;
mod table;
mod wire;
mod world;

use std::time::Duration;

use fastrand::Rng;
use tokio::task::LocalSet;
use tokio::time::sleep;

pub use faults::{Fault, Tally};
pub use game::{GameOutcome, play_game};
pub use shop::{ShopOutcome, Weakness, play_shop};
pub use subject::{Counter, Layout, Subject};
pub use table::{Database, Embedded, TABLE};

use crowd::Crowd;
use folding::Folding;
use operator::Operator;
use source::{LayoutOf, Setting, Source};
use table::Table;
use world::Sim;

/// Longer than any request stays on the wire, seconds.
const STORM_TAIL_S: std::ops::Range<u64> = 15..200;

/// What came of one history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// Click records in the table at the end.
    pub clicks: u64,
    /// What went wrong on the way.
    pub faults: Tally,
    /// Lanes that were folded, each time that one was.
    pub folds: u64,
    /// One line for each number that is wrong at the end.
    pub miscounts: Vec<String>,
    /// What happened, if it was to be traced.
    pub trace: Vec<String>,
}

/// Plays one history against an empty database. With `is_traced` its outcome tells what happened, line by line.
///
/// # Errors
/// When the harness itself fails, or a shard blocks so that the history does not end.
pub fn play(
    seed: u64,
    subject: Subject,
    layout: Layout,
    database: Box<dyn Database>,
    is_traced: bool,
) -> anyhow::Result<Outcome> {
    // The jitter of retries comes from the thread's generator.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    runtime.block_on(LocalSet::new().run_until(history(seed, subject, layout, database, is_traced)))
}

async fn history(
    seed: u64,
    subject: Subject,
    layout: Layout,
    database: Box<dyn Database>,
    is_traced: bool,
) -> anyhow::Result<Outcome> {
    let sim = Sim::new(Rng::with_seed(seed), Table::create(database)?, is_traced);
    let crowd = Crowd::new(&sim);
    let setting = sim.with(|world| Setting::draw(&mut world.rng));
    let layout_of = sim.with(|world| LayoutOf::draw(layout, &mut world.rng));
    let source = Source::new(sim.clone(), subject, layout_of, setting);

    let delivering = tokio::task::spawn_local(source.clone().run());
    let folding = tokio::task::spawn_local(Folding::new(sim.clone(), subject, layout).run());
    let operating = tokio::task::spawn_local(Operator::new(sim.clone(), subject).run());
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
    let folding = folding.await?;
    sim.settle().await?;
    // What was given up must not come any more once it was repaired; anything else may.
    let replays_first = operator.gives_up();
    if comes_again && replays_first {
        source.replay_everything().await?;
        sim.settle().await?;
    }
    let mut found_wrong = operator.finish().await?;
    if comes_again && !replays_first {
        source.replay_everything().await?;
        sim.settle().await?;
    }
    if subject.has_operator() {
        sim.with(crowd::encore)?;
        source.run().await?;
        sim.settle().await?;
    }

    let folds = folding.finish().await?;
    let verdict = sim.with(|world| oracle::judge(world, subject.promise()))?;
    found_wrong.extend(verdict.miscounts);
    let (faults, trace) = (sim.with(|world| world.tally.clone()), sim.take_trace());
    Ok(Outcome { seed, clicks: verdict.clicks, faults, folds, miscounts: found_wrong, trace })
}
