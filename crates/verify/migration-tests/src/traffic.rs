//! Programs that write while a test goes on. They keep a little ahead of the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::task::JoinHandle;

/// How many writes go on by themselves while nobody waits for more: so a slow phase does not meet a
/// mountain of changes.
const WRITES_AHEAD_MAX: u64 = 40;

const PAUSE: Duration = Duration::from_millis(5);

/// What the programs and the test know of each other.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    stop: AtomicBool,
    answered: AtomicU64,
    goal: AtomicU64,
}

impl Pace {
    /// Waits while the programs are far ahead. False if a program has to end.
    pub(crate) async fn goes_on(&self) -> bool {
        while !self.stop.load(Ordering::Relaxed) {
            if self.answered.load(Ordering::Relaxed) < self.goal.load(Ordering::Relaxed) + WRITES_AHEAD_MAX {
                return true;
            }
            tokio::time::sleep(PAUSE).await;
        }
        false
    }

    /// Counts a write that was answered.
    pub(crate) fn answered(&self) {
        self.answered.fetch_add(1, Ordering::Relaxed);
    }
}

/// The running programs.
#[derive(Debug)]
pub(crate) struct Programs<T> {
    pace: Arc<Pace>,
    running: Vec<JoinHandle<Result<T>>>,
}

impl<T: Send + 'static> Programs<T> {
    /// Starts programs.
    pub(crate) fn start<F: Future<Output = Result<T>> + Send + 'static>(
        programs: impl IntoIterator<Item = impl FnOnce(Arc<Pace>) -> F>,
    ) -> Self {
        let pace = Arc::<Pace>::default();
        let running = programs.into_iter().map(|program| tokio::spawn(program(Arc::clone(&pace))));
        Self { running: running.collect(), pace }
    }

    /// Waits until so many more writes are answered.
    ///
    /// # Errors
    /// If a program has ended, or if they do not get on for so long.
    pub(crate) async fn more(&mut self, writes: u64, patience: Duration) -> Result<()> {
        let goal = self.pace.answered.load(Ordering::Relaxed) + writes;
        self.pace.goal.store(goal, Ordering::Relaxed);
        for _ in 0..patience.as_millis() / PAUSE.as_millis() {
            if self.pace.answered.load(Ordering::Relaxed) >= goal {
                return Ok(());
            }
            if let Some(ended) = self.running.iter().position(JoinHandle::is_finished) {
                let why = self.running.swap_remove(ended).await?.err();
                bail!("a program has ended: {why:?}");
            }
            tokio::time::sleep(PAUSE).await;
        }
        bail!("the programs do not get on")
    }

    /// Stops the programs, each after its write.
    ///
    /// # Errors
    /// Why a program has ended.
    pub(crate) async fn stop(self) -> Result<Vec<T>> {
        self.pace.stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for program in self.running {
            all.push(program.await??);
        }
        Ok(all)
    }
}
