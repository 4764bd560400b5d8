//! The schedule of `stats-merger`: runs of it, which may meet each other, and each of which a fault
//! may kill.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use store::clicks::Merger;

use crate::implementation::{Implementation, Layout};
use crate::mutations::merge_in_two_requests;
use crate::wire::Wire;
use crate::world::Sim;

/// How long it is between two runs, milliseconds; on AWS a minute.
const REST_MS: std::ops::Range<u64> = 50..20_000;

/// How often the last run is begun again at the most: nobody is in its way.
const LAST_RUNS_MAX: usize = 3;

/// Somebody who starts runs.
pub(crate) struct MergeSchedule {
    sim: Sim,
    implementation: Implementation,
    layout: Layout,
    merges: Arc<AtomicU64>,
}

impl MergeSchedule {
    pub(crate) fn new(sim: Sim, implementation: Implementation, layout: Layout) -> Self {
        Self { sim, implementation, layout, merges: Arc::default() }
    }

    /// Works as long as clicks are to come.
    pub(crate) async fn run(self) -> Self {
        while self.layout == Layout::Buffers && self.sim.with(|world| world.is_open) {
            self.sim.pause(REST_MS).await;
            if self.sim.with(|world| world.rng.u8(..4) == 0) {
                tokio::join!(self.once(), self.once());
            } else {
                self.once().await;
            }
        }
        self
    }

    /// Merges the remaining buffers after all clicks are counted, and returns the number of all
    /// merged buffers.
    pub(crate) async fn finish(self) -> anyhow::Result<u64> {
        if self.layout == Layout::Buffers {
            let merger = Merger::new(&Wire::new(self.sim.clone()).table());
            for _ in 0..LAST_RUNS_MAX {
                let report = stats_merger::handle(&merger).await?;
                self.merges.fetch_add(report.shards, Ordering::Relaxed);
            }
            anyhow::ensure!(merger.list().await?.is_empty(), "something cannot be merged");
        }
        Ok(self.merges.load(Ordering::Relaxed))
    }

    /// One run, unless it dies or fails.
    async fn once(&self) {
        let wire = Wire::new(self.sim.clone());
        let run = async {
            if self.implementation == Implementation::MergeInTwoRequests {
                return merge_in_two_requests(wire.client()).await;
            }
            Ok(stats_merger::handle(&Merger::new(&wire.table())).await?.shards)
        };
        let outcome = tokio::select! {
            biased;
            () = wire.killed() => Err(anyhow::anyhow!("it is dead")),
            outcome = run => outcome,
        };
        match outcome {
            Ok(merges) => drop(self.merges.fetch_add(merges, Ordering::Relaxed)),
            Err(error) => self.sim.with(|world| world.trace(|| format!("a merger fails: {error:#}"))),
        }
    }
}
