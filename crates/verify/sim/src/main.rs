//! `sim`: plays random histories on all processors and checks them: of the clicks, of random
//! rollups, of the drawing game, of the shop, or of reminders.

mod run;

use std::ops::RangeInclusive;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use rollup::sim::{Hazard, Outcome};
use sim::{
    Counts, Database, Embedded, HistoryOutcome, Implementation, ReminderWeakness, Weakness, play_activities,
    play_clicks, play_feedback, play_game, play_hazard, play_reminders, play_rollup, play_shop,
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
    /// A rule of the reminders to weaken.
    #[arg(long, value_enum)]
    reminder_weakness: Option<ReminderWeakness>,
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
    /// Reminders of doses.
    Reminders,
}

fn main() -> anyhow::Result<ExitCode> {
    let Options { seeds, seed, system, implementation, weakness, reminder_weakness } = Options::parse();
    let seeds = seed.map_or(1..=seeds, |seed| seed..=seed);
    let is_traced = seed.is_some();
    let is_right = match system {
        System::Games => promises(seeds, "sim-games", |seed| play_game(seed, empty()?, is_traced, false))?,
        System::Shop => {
            let target = format!("sim-shop{}", variable("WEAKNESS", weakness));
            promises(seeds, &target, |seed| play_shop(seed, weakness, empty()?, is_traced))?
        }
        System::Reminders => {
            let target = format!("sim-reminders{}", variable("WEAKNESS", reminder_weakness));
            promises(seeds, &target, |seed| play_reminders(seed, reminder_weakness, empty()?, is_traced))?
        }
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

fn empty() -> anyhow::Result<Box<dyn Database>> {
    Ok(Box::new(Embedded::new()?))
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

/// The sum of histories.
#[derive(Debug, Default)]
struct Sum {
    seeds: u64,
    counts: Counts,
    faults: Kinds,
    /// Histories in which a promise was broken.
    wrong: u64,
    broken: usize,
}

/// Plays histories of one system, and says whether every promise was kept.
fn promises(
    seeds: RangeInclusive<u64>,
    target: &str,
    play: impl Fn(u64) -> anyhow::Result<HistoryOutcome> + Sync,
) -> anyhow::Result<bool> {
    let again = |seed| format!("make {target} SEED={seed}");
    let play = |seed| {
        let HistoryOutcome { counts, faults, broken, trace, .. } = play(seed)?;
        let errors: Vec<_> = broken.iter().map(|line| format!("seed {seed}: {line}")).collect();
        let (wrong, broken) = (u64::from(!errors.is_empty()), errors.len());
        Ok(Played { trace, errors, sum: Sum { seeds: 1, counts, faults: Kinds(faults), wrong, broken } })
    };
    let add = |all: &mut Sum, one: Sum| {
        all.seeds += one.seeds;
        one.counts.into_iter().for_each(|(what, count)| *all.counts.entry(what).or_default() += count);
        all.wrong += one.wrong;
        all.broken += one.broken;
        all.faults.add(one.faults);
    };
    let Sum { seeds, counts, faults, wrong, broken } = play_all(seeds, again, play, add)?;
    let counts: String = counts.iter().map(|(what, count)| format!("{what} {count}, ")).collect();
    println!("seeds {seeds}, {counts}faults {faults}, broken promises {broken} in {wrong} seeds");
    Ok(broken == 0)
}
