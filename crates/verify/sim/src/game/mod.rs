//! Random games: players with bad connections, several functions on one game, a table with bad
//! moments.
//!
//! A game is determined by its seed, and runs under a virtual clock like the histories of the
//! clicks, with the real game room, the real SDK and the real engine. Messages are lost, duplicated
//! and reordered in both directions. Instances crash at any point. Connections break with or
//! without a close, stay silent, or join by the dozen as spectators. Then the faults stop, all
//! players return, and the result is checked.

mod bounds;
mod crowd;
mod net;
mod oracle;
mod player;
mod wire;
mod world;

use std::rc::Rc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::sleep;

use crate::history::HistoryOutcome;
use crate::simulate;
use crate::table::Database;
use player::Bot;
use world::World;

/// How long the storm lasts at most: a game of one round with the longest pauses.
const STORM_S: u64 = 1_200;

/// How often the items of the game are counted, seconds.
const BOOKS_S: u64 = 20;

/// How often everybody looks in afterwards, until the game is played out.
const LOOKS_MAX: usize = 400;

/// Plays one game against an empty database. With `is_leaky`, the oracle is given a message with
/// the answer, which it has to notice.
pub fn play_game(
    seed: u64,
    database: Box<dyn Database>,
    is_traced: bool,
    is_leaky: bool,
) -> anyhow::Result<HistoryOutcome> {
    simulate(seed, game(seed, database, is_traced, is_leaky))
}

/// Lets a player leave and close the connection in the same moment, of which the functions hear in
/// any order. Returns whether the seat is free.
pub fn play_leave(seed: u64, database: Box<dyn Database>) -> anyhow::Result<bool> {
    simulate(seed, async {
        let world = World::new(Rng::with_seed(seed), database, false, false)?;
        let game_id = world.make_game(3).await?;
        world.with(|state| state.history.is_stormy = false);
        let bots = [0, 1, 2].map(|seat| Bot::new(world.clone(), game_id, seat));
        for bot in &bots {
            bot.look_in().await;
        }
        world.settle().await?;
        bots[2].leave_at_once();
        world.settle().await?;
        Ok(world.live(game_id)?.room.player(world::player(2)).is_none())
    })
}

async fn game(
    seed: u64,
    database: Box<dyn Database>,
    is_traced: bool,
    is_leaky: bool,
) -> anyhow::Result<HistoryOutcome> {
    let world = World::new(Rng::with_seed(seed), database, is_traced, is_leaky)?;
    let seats = world.with(|state| state.history.rng.u8(2..6));
    let game_id = world.make_game(seats).await?;
    let bots: Vec<_> = (0..seats).map(|seat| Rc::new(Bot::new(world.clone(), game_id, seat))).collect();
    if world.with(|state| state.history.rng.u8(..16) == 0) {
        crowd::look_on(&world, game_id);
    }
    let playing: Vec<_> = bots.iter().map(|bot| tokio::task::spawn_local(bot.clone().play())).collect();
    for second in 0..STORM_S {
        sleep(Duration::from_secs(1)).await;
        if second % BOOKS_S == 0 {
            bounds::look_at(&world, game_id)?;
        }
        if world.status(game_id)? == "finished" {
            break;
        }
    }
    world.with(|state| state.history.is_stormy = false);
    for task in playing {
        task.abort();
    }
    world.settle().await?;
    for _ in 0..LOOKS_MAX {
        for bot in &bots {
            bot.look_in().await;
        }
        world.settle().await?;
        if world.status(game_id)? != "playing" {
            break;
        }
        sleep(Duration::from_secs(5)).await;
    }
    // Once more, so that whatever the last one changed has reached everybody.
    for bot in &bots {
        bot.look_in().await;
    }
    world.settle().await?;
    bounds::trim_chat(&world, game_id)?;
    bounds::look_at(&world, game_id)?;
    oracle::judge(&world, game_id, &bots)?;
    Ok(world.with(|state| state.history.outcome(seed)))
}
