//! `sim`: plays histories on all processors and says whether the statistics were right.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{Parser, ValueEnum};
use tidemark_sim::{Embedded, Outcome, Subject, Tally, play};

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
    #[arg(long, value_enum, default_value_t = Subject::Tidemark)]
    subject: Subject,
}

/// What all histories came to.
#[derive(Debug, Default)]
struct Sum {
    seeds: u64,
    clicks: u64,
    faults: Tally,
    miscounts: usize,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::parse();
    let seeds = options.seed.map_or(1..=options.seeds, |seed| seed..=seed);
    let (next, last) = (AtomicU64::new(*seeds.start()), *seeds.end());
    let sum = Mutex::new(Sum::default());
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        let work = || -> anyhow::Result<()> {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed > last {
                    return Ok(());
                }
                let outcome = play(seed, options.subject, Box::new(Embedded::new()?), options.seed.is_some());
                // Whoever holds the lock writes whole lines.
                let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                let outcome = outcome.inspect_err(|_| println!("{}", replay(seed, options.subject)))?;
                report(&outcome, options.subject);
                add(&mut sum, &outcome, last);
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    let Sum { seeds, clicks, faults, miscounts } = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("seeds {seeds}, clicks {clicks}, faults {} (by kind: {faults}), miscounts {miscounts}", faults.total());
    Ok(if miscounts == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn add(sum: &mut Sum, outcome: &Outcome, last: u64) {
    sum.seeds += 1;
    sum.clicks += outcome.clicks;
    sum.faults.add(&outcome.faults);
    sum.miscounts += outcome.miscounts.len();
    if sum.seeds.is_multiple_of(1_000) && sum.seeds < last {
        println!("{} of {last} seeds, miscounts {}", sum.seeds, sum.miscounts);
    }
}

/// The trace, if there is one, and what is wrong.
fn report(outcome: &Outcome, subject: Subject) {
    for line in &outcome.trace {
        println!("{line}");
    }
    for miscount in &outcome.miscounts {
        println!("seed {}: {miscount}", outcome.seed);
    }
    if !outcome.miscounts.is_empty() {
        println!("{}", replay(outcome.seed, subject));
    }
}

/// How to play one history again.
fn replay(seed: u64, subject: Subject) -> String {
    let subject = match subject.to_possible_value().filter(|_| subject != Subject::Tidemark) {
        Some(value) => format!(" SUBJECT={}", value.get_name()),
        None => String::new(),
    };
    format!("seed {seed} fails; to play it again, told line by line: make sim SEED={seed}{subject}")
}
