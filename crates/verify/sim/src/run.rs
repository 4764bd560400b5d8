//! Plays seeds on all processors and adds their outcomes up.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// After how many seeds the progress is printed.
const PROGRESS: u64 = 1_000;

/// The outcome of one history.
pub(crate) struct Played<S> {
    /// What happened, if it was traced.
    pub(crate) trace: Vec<String>,
    /// One line for each error.
    pub(crate) errors: Vec<String>,
    pub(crate) sum: S,
}

/// Plays one seed after the other on each processor. Prints the errors of each seed with `again`,
/// the command that plays it again.
pub(crate) fn play_all<S: Default + Send>(
    seeds: RangeInclusive<u64>,
    again: impl Fn(u64) -> String + Sync,
    play: impl Fn(u64) -> anyhow::Result<Played<S>> + Sync,
    add: impl Fn(&mut S, S) + Sync,
) -> anyhow::Result<S> {
    let (next, last) = (AtomicU64::new(*seeds.start()), *seeds.end());
    let all = Mutex::new((S::default(), 0_u64));
    let work = || -> anyhow::Result<()> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed > last {
                return Ok(());
            }
            let played = play(seed);
            // Stops two threads from mixing their lines.
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            let again = || println!("seed {seed} fails; to play it again, with each event: {}", again(seed));
            let played = played.inspect_err(|_| again())?;
            played.trace.iter().chain(&played.errors).for_each(|line| println!("{line}"));
            if !played.errors.is_empty() {
                again();
            }
            let (sum, done) = &mut *all;
            add(sum, played.sum);
            *done += 1;
            if done.is_multiple_of(PROGRESS) && *done < last {
                println!("{done} of {last} seeds");
            }
        }
    };
    let threads = std::thread::available_parallelism()?.get();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })?;
    Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner).0)
}

/// Numbers of faults by kind. Prints `5 (by kind: lost reply 3, outage 2)`.
#[derive(Debug, Default)]
pub(crate) struct Kinds(pub(crate) BTreeMap<&'static str, u64>);

impl Kinds {
    pub(crate) fn add(&mut self, other: Self) {
        for (kind, count) in other.0 {
            *self.0.entry(kind).or_default() += count;
        }
    }
}

impl fmt::Display for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds: Vec<_> = self.0.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        write!(f, "{} (by kind: {})", self.0.values().sum::<u64>(), kinds.join(", "))
    }
}
