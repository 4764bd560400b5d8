//! `sim`: plays random histories on all processors and checks them: of the clicks, of random
//! rollups, of the drawing game, or of the shop.

mod run;

use std::ops::RangeInclusive;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use rollup::sim::{Hazard, Outcome};
use sim::{
    Embedded, Implementation, Weakness, play_activities, play_clicks, play_feedback, play_game, play_hazard,
    play_rollup, play_shop,
};

use run::{Kinds, Played, play_all};

/// Plays random histories with faults, and checks the result. By default, histories of the clicks.
#[derive(Debug, Parser)]
struct Options {
    /// How many histories: those of the seeds 1, 2, 3 and so on.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// Plays only the history of this seed, and prints each event.
    #[arg(long)]
    seed: Option<u64>,
    /// The system to simulate.
    #[arg(long, value_enum, default_value_t = System::Clicks)]
    system: System,
    /// What counts the clicks.
    #[arg(long, value_enum, default_value_t = Implementation::Tidemark)]
    implementation: Implementation,
    /// A rule of the shop to weaken.
    #[arg(long, value_enum)]
    weakness: Option<Weakness>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum System {
    /// The statistics of the clicks.
    Clicks,
    /// Random declarations of rollups.
    Rollups,
    /// Random declarations, each seed with a hazard: a changed declaration, a recount in another
    /// region, a growing number of shards, the stream of a replica.
    Hazards,
    /// The statistics of the shop's activities.
    Activities,
    /// The example `voice-of-customer`.
    Feedback,
    /// The drawing game.
    Games,
    /// 64 writers at one product of the shop.
    Shop,
}

fn main() -> anyhow::Result<ExitCode> {
    let Options { seeds, seed, system, implementation, weakness } = Options::parse();
    let seeds = seed.map_or(1..=seeds, |seed| seed..=seed);
    let is_traced = seed.is_some();
    let is_right = match system {
        System::Games => games(seeds, is_traced)?,
        System::Shop => shops(seeds, is_traced, weakness)?,
        System::Clicks => {
            let other = Some(implementation).filter(|implementation| *implementation != Implementation::Tidemark);
            let again = format!("sim{}", variable("IMPLEMENTATION", other));
            counted(seeds, &again, |seed| Ok(play_clicks(seed, implementation, is_traced)?))?
        }
        System::Rollups | System::Hazards | System::Activities | System::Feedback => {
            let again = format!("sim-rollups{}", variable("PLAY", Some(system)));
            counted(seeds, &again, |seed| match system {
                System::Activities => Ok(play_activities(seed, None, is_traced)?),
                System::Feedback => Ok(play_feedback(seed, is_traced)?),
                System::Hazards => {
                    let hazard = Hazard::ALL[seed as usize % Hazard::ALL.len()];
                    Ok(play_hazard(seed, hazard, false, is_traced)?)
                }
                _ => Ok(play_rollup(seed, None, is_traced)?),
            })?
        }
    };
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// ` NAME=value` for `make`, if there is a value.
fn variable<V: ValueEnum>(name: &str, value: Option<V>) -> String {
    let value = value.and_then(|value| value.to_possible_value());
    value.map_or_else(String::new, |value| format!(" {name}={}", value.get_name()))
}

/// Plays histories of statistics, and says whether none was miscounted.
fn counted(
    seeds: RangeInclusive<u64>,
    target: &str,
    play: impl Fn(u64) -> anyhow::Result<Outcome> + Sync,
) -> anyhow::Result<bool> {
    let again = |seed| format!("make {target} SEED={seed}");
    let played = |mut outcome: Outcome| Played {
        trace: std::mem::take(&mut outcome.trace),
        errors: outcome.miscounts.clone(),
        sum: outcome,
    };
    let all = play_all(seeds, again, |seed| Ok(played(play(seed)?)), Outcome::add)?;
    let Outcome { seeds, changes, faults, wrong_seeds, miscounts, .. } = all;
    let wrong = if wrong_seeds > 0 { format!(" in {wrong_seeds} seeds") } else { String::new() };
    println!(
        "seeds {seeds}, changes {changes}, faults {} (by kind: {faults}), miscounts {}{wrong}",
        faults.total(),
        miscounts.len()
    );
    Ok(miscounts.is_empty())
}

/// The sum of games.
#[derive(Debug, Default)]
struct GameSum {
    games: u64,
    posts: u64,
    solved: u64,
    faults: Kinds,
    broken: usize,
}

/// Plays random games, and says whether every promise was kept.
fn games(seeds: RangeInclusive<u64>, is_traced: bool) -> anyhow::Result<bool> {
    let again = |seed| format!("make sim-games SEED={seed}");
    let play = |seed| {
        let outcome = play_game(seed, Box::new(Embedded::new()?), is_traced, false)?;
        let errors: Vec<_> = outcome.broken.iter().map(|line| format!("seed {seed}: {line}")).collect();
        let (posts, solved, faults) = (outcome.posts, outcome.solved, Kinds(outcome.faults));
        let sum = GameSum { games: 1, posts, solved, faults, broken: errors.len() };
        Ok(Played { trace: outcome.trace, errors, sum })
    };
    let add = |all: &mut GameSum, one: GameSum| {
        all.games += one.games;
        all.posts += one.posts;
        all.solved += one.solved;
        all.broken += one.broken;
        all.faults.add(one.faults);
    };
    let GameSum { games, posts, solved, faults, broken } = play_all(seeds, again, play, add)?;
    println!("games {games}, messages {posts}, right guesses {solved}, faults {faults}, broken promises {broken}");
    Ok(broken == 0)
}

/// The sum of histories of the shop.
#[derive(Debug, Default)]
struct ShopSum {
    seeds: u64,
    requests: u64,
    rows: u64,
    faults: Kinds,
    /// Histories in which a promise was broken.
    wrong: u64,
    broken: usize,
}

/// Plays histories of the shop, and says whether every promise was kept.
fn shops(seeds: RangeInclusive<u64>, is_traced: bool, weakness: Option<Weakness>) -> anyhow::Result<bool> {
    let variable = variable("WEAKNESS", weakness);
    let again = |seed| format!("make sim-shop SEED={seed}{variable}");
    let play = |seed| {
        let outcome = play_shop(seed, weakness, Box::new(Embedded::new()?), is_traced)?;
        let errors: Vec<_> = outcome.broken.iter().map(|line| format!("seed {seed}: {line}")).collect();
        let (requests, rows, faults) = (outcome.requests, outcome.rows, Kinds(outcome.faults));
        let (wrong, broken) = (u64::from(!errors.is_empty()), errors.len());
        Ok(Played { trace: outcome.trace, errors, sum: ShopSum { seeds: 1, requests, rows, faults, wrong, broken } })
    };
    let add = |all: &mut ShopSum, one: ShopSum| {
        all.seeds += one.seeds;
        all.requests += one.requests;
        all.rows += one.rows;
        all.wrong += one.wrong;
        all.broken += one.broken;
        all.faults.add(one.faults);
    };
    let ShopSum { seeds, requests, rows, faults, wrong, broken } = play_all(seeds, again, play, add)?;
    println!(
        "seeds {seeds}, requests {requests}, rows {rows}, faults {faults}, broken promises {broken} in {wrong} seeds"
    );
    Ok(broken == 0)
}
