//! `sim`: plays histories of clicks on all processors and says whether the statistics were right;
//! or random games, or crowds at the shop, and whether all promises were kept.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{Parser, ValueEnum};
use tidemark_sim::{Embedded, HistoryOutcome, Implementation, Layout, Tally, Weakness, play, play_game, play_shop};

/// Plays random histories of clicks and faults, and recounts.
#[derive(Debug, Parser)]
struct Options {
    /// How many histories: those of the seeds 1, 2, 3 and so on.
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// Plays only the history of this seed, and tells what happens in it.
    #[arg(long)]
    seed: Option<u64>,
    /// Whose counting is put to the test.
    #[arg(long, value_enum, default_value_t = Implementation::Tidemark)]
    implementation: Implementation,
    /// Where it counts to.
    #[arg(long, value_enum, default_value_t = Layout::Sums)]
    layout: Layout,
    /// Plays the drawing game instead.
    #[arg(long, conflicts_with = "implementation")]
    games: bool,
    /// Sends a crowd to one product of the shop instead.
    #[arg(long, conflicts_with_all = ["implementation", "games"])]
    shop: bool,
    /// With `--shop`: which rule of the shop is weakened, to see that it is noticed.
    #[arg(long, value_enum, requires = "shop")]
    weakness: Option<Weakness>,
}

/// What all histories came to.
#[derive(Debug, Default)]
struct Sum {
    seeds: u64,
    clicks: u64,
    faults: Tally,
    merges: u64,
    /// Histories that ended with a wrong number.
    wrong: u64,
    miscounts: usize,
}

/// What all crowds at the shop came to.
#[derive(Debug, Default)]
struct ShopSum {
    seeds: u64,
    requests: u64,
    rows: u64,
    faults: BTreeMap<&'static str, u64>,
    /// Histories in which a promise was broken.
    wrong: u64,
    broken: usize,
}

/// What all games came to.
#[derive(Debug, Default)]
struct GameSum {
    games: u64,
    posts: u64,
    solved: u64,
    faults: BTreeMap<&'static str, u64>,
    broken: usize,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let seeds = options.seed.map_or(1..=options.seeds, |seed| seed..=seed);
    let is_traced = options.seed.is_some();
    let is_right = if options.games {
        games(seeds, is_traced)?
    } else if options.shop {
        shops(seeds, is_traced, options.weakness)?
    } else {
        histories(seeds, is_traced, options.implementation, options.layout)?
    };
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays a seed after the other on each processor.
fn on_all_processors(
    seeds: RangeInclusive<u64>,
    play: impl Fn(u64) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<()> {
    let (next, last) = (AtomicU64::new(*seeds.start()), *seeds.end());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > last {
                return Ok(());
            }
            play(seed)?;
        }
    };
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

/// Plays histories of clicks, and says whether none was miscounted.
fn histories(
    seeds: RangeInclusive<u64>,
    is_traced: bool,
    implementation: Implementation,
    layout: Layout,
) -> anyhow::Result<bool> {
    let last = *seeds.end();
    let sum = Mutex::new(Sum::default());
    on_all_processors(seeds, |seed| {
        let outcome = play(seed, implementation, layout, Box::new(Embedded::new()?), is_traced);
        // Whoever holds the lock writes whole lines.
        let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = outcome.inspect_err(|_| println!("{}", replay(seed, implementation, layout)))?;
        report(&outcome, implementation, layout);
        add(&mut sum, &outcome, last);
        Ok(())
    })?;
    let Sum { seeds, clicks, faults, merges, wrong, miscounts } =
        sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    let merges = if layout == Layout::Buffers { format!(", merges {merges}") } else { String::new() };
    let wrong = if wrong > 0 { format!(" in {wrong} seeds") } else { String::new() };
    println!(
        "seeds {seeds}, clicks {clicks}, faults {} (by kind: {faults}){merges}, miscounts {miscounts}{wrong}",
        faults.total()
    );
    Ok(miscounts == 0)
}

/// Plays random games, and says whether every promise was kept.
fn games(seeds: RangeInclusive<u64>, is_traced: bool) -> anyhow::Result<bool> {
    let sum = Mutex::new(GameSum::default());
    on_all_processors(seeds, |seed| {
        let replay = format!("seed {seed} fails; to play it again, told line by line: make sim-games SEED={seed}");
        let outcome = play_game(seed, Box::new(Embedded::new()?), is_traced, false);
        let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = outcome.inspect_err(|_| println!("{replay}"))?;
        outcome.trace.iter().for_each(|line| println!("{line}"));
        if !outcome.broken.is_empty() {
            outcome.broken.iter().for_each(|line| println!("seed {seed}: {line}"));
            println!("{replay}");
        }
        sum.games += 1;
        sum.posts += outcome.posts;
        sum.solved += outcome.solved;
        sum.broken += outcome.broken.len();
        for (fault, times) in outcome.faults {
            *sum.faults.entry(fault).or_default() += times;
        }
        Ok(())
    })?;
    let GameSum { games, posts, solved, faults, broken } = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    let kinds: Vec<_> = faults.iter().map(|(fault, times)| format!("{fault} {times}")).collect();
    let all: u64 = faults.values().sum();
    println!(
        "games {games}, messages {posts}, right guesses {solved}, faults {all} (by kind: {}), broken promises {broken}",
        kinds.join(", ")
    );
    Ok(broken == 0)
}

/// Sends crowds to the shop, and says whether every promise was kept.
fn shops(seeds: RangeInclusive<u64>, is_traced: bool, weakness: Option<Weakness>) -> anyhow::Result<bool> {
    let sum = Mutex::new(ShopSum::default());
    on_all_processors(seeds, |seed| {
        let weak = weakness.and_then(|weak| weak.to_possible_value());
        let weak = weak.map_or_else(String::new, |value| format!(" WEAKNESS={}", value.get_name()));
        let replay = format!("seed {seed} fails; to play it again, told line by line: make sim-shop SEED={seed}{weak}");
        let outcome = play_shop(seed, weakness, Box::new(Embedded::new()?), is_traced);
        let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = outcome.inspect_err(|_| println!("{replay}"))?;
        outcome.trace.iter().for_each(|line| println!("{line}"));
        if !outcome.broken.is_empty() {
            outcome.broken.iter().for_each(|line| println!("seed {seed}: {line}"));
            println!("{replay}");
        }
        sum.seeds += 1;
        sum.requests += outcome.requests;
        sum.rows += outcome.rows;
        sum.wrong += u64::from(!outcome.broken.is_empty());
        sum.broken += outcome.broken.len();
        for (fault, times) in outcome.faults {
            *sum.faults.entry(fault).or_default() += times;
        }
        Ok(())
    })?;
    let ShopSum { seeds, requests, rows, faults, wrong, broken } =
        sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    let kinds: Vec<_> = faults.iter().map(|(fault, times)| format!("{fault} {times}")).collect();
    let all: u64 = faults.values().sum();
    println!(
        "seeds {seeds}, requests {requests}, rows {rows}, faults {all} (by kind: {}), broken promises {broken} in {wrong} seeds",
        kinds.join(", ")
    );
    Ok(broken == 0)
}

fn add(sum: &mut Sum, outcome: &HistoryOutcome, last: u64) {
    sum.seeds += 1;
    sum.clicks += outcome.clicks;
    sum.faults.add(&outcome.faults);
    sum.merges += outcome.merges;
    sum.wrong += u64::from(!outcome.miscounts.is_empty());
    sum.miscounts += outcome.miscounts.len();
    if sum.seeds.is_multiple_of(1_000) && sum.seeds < last {
        println!("{} of {last} seeds, miscounts {}", sum.seeds, sum.miscounts);
    }
}

/// The trace, if there is one, and the errors.
fn report(outcome: &HistoryOutcome, implementation: Implementation, layout: Layout) {
    for line in &outcome.trace {
        println!("{line}");
    }
    for miscount in &outcome.miscounts {
        println!("seed {}: {miscount}", outcome.seed);
    }
    if !outcome.miscounts.is_empty() {
        println!("{}", replay(outcome.seed, implementation, layout));
    }
}

/// How to play one history again.
fn replay(seed: u64, implementation: Implementation, layout: Layout) -> String {
    let implementation = match implementation.to_possible_value().filter(|_| implementation != Implementation::Tidemark)
    {
        Some(value) => format!(" IMPLEMENTATION={}", value.get_name()),
        None => String::new(),
    };
    let layout = if layout == Layout::Buffers { " LAYOUT=buffers" } else { "" };
    format!("seed {seed} fails; to play it again, told line by line: make sim SEED={seed}{implementation}{layout}")
}
