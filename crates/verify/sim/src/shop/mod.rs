//! A crowd at one product: many writers, several functions, a table with bad moments, and clocks
//! that differ.
//!
//! A history is one number, its seed, and runs under a virtual clock like the clicks' histories do:
//! the real functions, the real SDK and the real engine. Requests and answers are lost, come twice
//! and late, instances die before, in and after a transaction, and reservations run out while
//! orders want them. Then the storm is over, and the books are looked at.

mod foreign;
mod oracle;
mod sweeper;
mod weakness;
mod world;
mod writer;

use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::sleep;

pub use weakness::Weakness;

use crate::history::HistoryOutcome;
use crate::simulate;
use crate::table::Database;
use foreign::Foreign;
use sweeper::Sweeper;
use world::{State, World};
use writer::Writer;

/// How many change the product's price and stock and reserve goods at the same time.
const WRITERS: usize = 64;

/// How often all of them come.
const WAVES: std::ops::RangeInclusive<u8> = 1..=2;

/// Plays one history against an empty database, with the rules as they are or with one of them
/// weakened.
pub fn play_shop(
    seed: u64,
    weakness: Option<Weakness>,
    database: Box<dyn Database>,
    is_traced: bool,
) -> anyhow::Result<HistoryOutcome> {
    simulate(seed, history(seed, weakness, database, is_traced))
}

async fn history(
    seed: u64,
    weakness: Option<Weakness>,
    database: Box<dyn Database>,
    is_traced: bool,
) -> anyhow::Result<HistoryOutcome> {
    let world = World::new(Rng::with_seed(seed), weakness, database, is_traced)?;
    world.make_products().await?;
    let writers: Vec<_> = (0..WRITERS).map(|number| Rc::new(Writer::new(world.clone(), number))).collect();
    let sweeper = Sweeper::new(world.clone());
    let sweeping = tokio::task::spawn_local(sweeper.clone().run());
    let waves = world.with(|state| state.history.rng.u8(WAVES));
    for wave in 0..waves {
        let coming = writers.iter().map(|writer| tokio::task::spawn_local(writer.clone().come(wave)));
        let coming: Vec<_> = coming.collect();
        if world.with(|state| state.replaced.is_some()) {
            Foreign::new(world.clone()).come().await;
        }
        for task in coming {
            task.await??;
        }
        // Requests are remembered for thirty days: nobody asks again after the pause.
        world.with(|state| state.history.is_stormy = false);
        world.settle().await?;
        for writer in &writers {
            writer.insist().await?;
        }
        let hours = world.with(|state| {
            state.history.is_stormy = true;
            state.history.rng.u64(..24 * 40)
        });
        sleep(Duration::from_secs(hours * 60 * 60)).await;
    }
    sweeping.abort();
    world.with(|state| state.history.is_stormy = false);
    sweeper.sweep_all().await?;
    world.settle().await?;
    let rows = oracle::judge(&world, &writers).await?;
    // They hold the world, and the world holds them.
    world.with(State::end);
    Ok(world.with(|state| {
        state.history.count("rows", rows);
        state.history.outcome(seed)
    }))
}
