//! The event source mapping: it delivers each shard's records in order, at least once, and often
//! more often than that.
//!
//! A parent's records are done before a child's begin. One batch of a shard runs at a time, except
//! where the fault [`Fault::Overlap`] starts a second one, as a mapping does that does not know of
//! the first.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::faults::Fault;
use super::handler::{Handler, Invocation, Starter};
use super::hazards::abroad;
use super::stream::Shard;
use super::wire::Wire;
use super::world::{Sim, World};
use super::{LayoutChoice, SimError};
use crate::Layout;

/// The function's timeout.
const TIMEOUT: Duration = Duration::from_secs(60);

/// More deliveries than any history needs: a shard that blocks.
const DELIVERIES_MAX: usize = 30_000;

/// How long the pauses grow while there is nothing to deliver.
const PAUSE_IDLE_MS: u64 = 3_000;

/// How long a mapping waits before a batch that failed comes again.
const PAUSE_FAILED_MS: Range<u64> = 100..5_000;

/// Idle warm instances that a mapping keeps.
const WARM_MAX: usize = 4;

/// A mapping, its function's warm instances, and how it batches.
#[derive(Clone)]
pub(crate) struct Mapping {
    sim: Sim,
    starter: Starter,
    /// Starts instances of the version that is deployed later.
    next_starter: Option<Starter>,
    layout: LayoutChoice,
    warm: Rc<RefCell<Vec<Instance>>>,
    settings: MappingSettings,
    /// Whether it gives up on batches: an operator has to repair what they leave behind.
    gives_up: bool,
    /// Whether it reads the stream of a replica.
    is_replica: bool,
}

/// What a mapping is set to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MappingSettings {
    batch_size_max: usize,
    /// `BisectBatchOnFunctionError`.
    bisects: bool,
    /// How long it may take to look for records again, milliseconds: the longer, the fuller are the
    /// batches.
    pause_ms_max: u64,
}

impl MappingSettings {
    /// Small batches or large ones, soon or late.
    pub(crate) fn draw(rng: &mut fastrand::Rng) -> Self {
        Self {
            batch_size_max: [5, 40, 300, 1_000][rng.usize(..4)],
            bisects: rng.bool(),
            pause_ms_max: [60, 1_000, 20_000][rng.usize(..3)],
        }
    }
}

struct Instance {
    deployed: u32,
    wire: Wire,
    handler: Handler,
}

/// How an invocation went, in places of the shard.
#[derive(Debug, Clone, Copy, PartialEq)]
enum InvocationOutcome {
    Done,
    FailedFrom(usize),
    Failed,
}

impl Mapping {
    pub(crate) fn new(sim: Sim, starter: Starter, layout: LayoutChoice, gives_up: bool) -> Self {
        let settings = sim.with(|world| MappingSettings::draw(&mut world.rng));
        let next_starter = None;
        Self { sim, starter, next_starter, layout, warm: Rc::default(), settings, gives_up, is_replica: false }
    }

    /// The same with another version of the function, which is deployed later.
    pub(crate) fn next_version(self, next_starter: Option<Starter>) -> Self {
        Self { next_starter, ..self }
    }

    /// A mapping of a replica's stream to the same function.
    pub(crate) fn replica(&self) -> Self {
        Self { is_replica: true, ..self.clone() }
    }

    /// Delivers everything once, whatever comes of it.
    pub(crate) async fn deliver_all(&self) -> Result<(), SimError> {
        for shard in 0..self.sim.with(|world| world.stream.shards.len()) {
            let len = self.sim.with(|world| world.stream.shards[shard].records.len());
            for from in (0..len).step_by(self.settings.batch_size_max) {
                self.invoke(shard, from..(from + self.settings.batch_size_max).min(len)).await?;
            }
        }
        Ok(())
    }

    /// Works until all shards are drained: those that are there, and those that come.
    pub(crate) async fn run(self) -> Result<(), SimError> {
        let mut watched = 0;
        let mut pollers = JoinSet::new();
        loop {
            let shards = self.sim.with(|world| world.stream.shards.len());
            for shard in watched..shards {
                pollers.spawn_local(self.clone().poll(shard));
            }
            watched = shards;
            let is_open = self.sim.with(|world| world.is_open);
            if is_open {
                self.sim.pause(5..200).await;
            } else {
                // Nothing opens a shard any more.
                let Some(outcome) = pollers.join_next().await else { return Ok(()) };
                outcome.map_err(SimError::new)??;
            }
        }
    }

    async fn poll(self, shard: usize) -> Result<(), SimError> {
        let mut size_max = self.settings.batch_size_max;
        let mut pause_ms_max = self.settings.pause_ms_max;
        loop {
            let next = self.sim.with(|world| {
                world.pump()?;
                if world.deliveries >= DELIVERIES_MAX {
                    return Err(SimError::new("a shard blocks: its records fail again and again"));
                }
                Ok(self.next(world, shard, size_max))
            })?;
            match next {
                PollerStep::Deliver(records) => {
                    pause_ms_max = self.settings.pause_ms_max;
                    if self.sim.with(|world| world.strikes(Fault::Overlap)) {
                        self.start_another(shard, &records);
                    }
                    let outcome = self.invoke(shard, records.clone()).await?;
                    if outcome == InvocationOutcome::Failed {
                        self.sim.pause(PAUSE_FAILED_MS).await;
                    }
                    size_max = self.sim.with(|world| self.settle(world, shard, &records, outcome));
                    if self.sim.with(|world| world.strikes(Fault::WindowEnd)) {
                        // A failed end of a window is not repeated here: a later one does its work.
                        let end = records.end;
                        if self.sim.with(|world| world.strikes(Fault::Overlap)) {
                            self.start(shard, end..end);
                        }
                        self.invoke(shard, end..end).await?;
                    }
                }
                PollerStep::Wait => {
                    self.sim.pause(5..pause_ms_max).await;
                    pause_ms_max = (pause_ms_max * 3 / 2).min(PAUSE_IDLE_MS.max(pause_ms_max));
                }
                PollerStep::End => return Ok(()),
            }
        }
    }

    fn next(&self, world: &mut World, shard: usize, size_max: usize) -> PollerStep {
        let parent = |shard: &usize| world.stream.shards[*shard].parent;
        if std::iter::successors(parent(&shard), parent).any(|shard| !world.stream.shards[shard].is_drained()) {
            return PollerStep::Wait;
        }
        let Shard { records, settled, is_closed, .. } = &world.stream.shards[shard];
        let (len, settled, is_closed) = (records.len(), *settled, *is_closed);
        if settled == len {
            return if is_closed || !world.is_open { PollerStep::End } else { PollerStep::Wait };
        }
        let size = if world.rng.bool() { size_max } else { world.rng.usize(1..=size_max) };
        let from = if settled > 0 && world.strikes(Fault::Stale) { world.rng.usize(..settled) } else { settled };
        // A stale batch may end before the place that had been reached.
        PollerStep::Deliver(from..(from + size).min(len))
    }

    /// Notes how far the shard is done, and how many records the next batch may have.
    fn settle(&self, world: &mut World, shard: usize, records: &Range<usize>, outcome: InvocationOutcome) -> usize {
        let settled = world.stream.shards[shard].settled;
        let reached = match outcome {
            InvocationOutcome::Done if world.strikes(Fault::Duplicate) => settled,
            InvocationOutcome::Done => records.end,
            InvocationOutcome::FailedFrom(from) => {
                world.tally.note(Fault::PartialFailure);
                from
            }
            InvocationOutcome::Failed if self.gives_up && world.strikes(Fault::GivenUp) => records.end,
            InvocationOutcome::Failed => {
                if !self.settings.bisects || records.len() < 2 {
                    return records.len();
                }
                world.tally.note(Fault::Bisect);
                return records.len() / 2;
            }
        };
        world.stream.shards[shard].settled = settled.max(reached);
        self.settings.batch_size_max
    }

    /// A second invocation for about the same records, which nobody waits for.
    fn start_another(&self, shard: usize, records: &Range<usize>) {
        let records = self.sim.with(|world| {
            let from = world.rng.usize(records.start.saturating_sub(5)..=records.start);
            from..world.rng.usize(records.start + 1..=world.stream.shards[shard].records.len())
        });
        self.start(shard, records);
    }

    /// An invocation that nobody waits for.
    fn start(&self, shard: usize, records: Range<usize>) {
        self.sim.with(|world| world.under_way += 1);
        let mapping = self.clone();
        tokio::task::spawn_local(async move {
            mapping.sim.pause(1..50).await;
            // The answer is ignored, because the mapping has given the invocation up.
            let _ = mapping.invoke(shard, records).await;
            mapping.sim.with(|world| world.under_way -= 1);
        });
    }

    /// Delivers everything once more, from the first record of each shard, and ends all windows.
    pub(crate) async fn replay_everything(&self) -> Result<(), SimError> {
        for shard in 0..self.sim.with(|world| world.stream.shards.len()) {
            let len = self.sim.with(|world| world.stream.shards[shard].records.len());
            let batches = (0..len).step_by(self.settings.batch_size_max);
            let batches = batches.map(|from| from..(from + self.settings.batch_size_max).min(len));
            for records in batches.chain(std::iter::once(len..len)) {
                if self.invoke(shard, records).await? != InvocationOutcome::Done {
                    return Err(SimError::new("a batch failed, though there were no faults"));
                }
            }
        }
        Ok(())
    }

    /// Ends the window of each shard.
    pub(crate) async fn end_windows(&self) -> Result<(), SimError> {
        for shard in 0..self.sim.with(|world| world.stream.shards.len()) {
            let len = self.sim.with(|world| world.stream.shards[shard].records.len());
            if self.invoke(shard, len..len).await? != InvocationOutcome::Done {
                return Err(SimError::new("the end of a window failed, though there were no faults"));
            }
        }
        Ok(())
    }

    async fn invoke(&self, shard: usize, records: Range<usize>) -> Result<InvocationOutcome, SimError> {
        let instance = self.instance();
        let (event, now, time_left) = self.sim.with(|world| {
            world.deliveries += 1;
            world.trace(|| format!("deliver records {records:?} of shard {shard}"));
            let time_left = if world.strikes(Fault::NoTime) { Duration::ZERO } else { TIMEOUT };
            (world.stream.event(shard, records.clone()), world.now(), time_left)
        });
        let event = RawValue::from_string(if self.is_replica { abroad(&event) } else { event })?;
        let invocation = tokio::time::timeout(TIMEOUT, (instance.handler)(Invocation { event, time_left, now }));
        let reply = tokio::select! {
            biased;
            () = instance.wire.killed() => {
                self.sim.with(|world| world.trace(|| format!("the instance that had shard {shard} is dead")));
                return Ok(InvocationOutcome::Failed);
            }
            reply = invocation => reply,
        };
        let Ok(reply) = reply else {
            self.sim.with(|world| world.tally.note(Fault::Timeout));
            return Ok(InvocationOutcome::Failed);
        };
        let outcome = match reply {
            Ok(reply) => self.sim.with(|world| read(world, shard, &records, &reply)),
            Err(error) => {
                self.sim.with(|world| world.trace(|| format!("records {records:?} of shard {shard} fail: {error}")));
                InvocationOutcome::Failed
            }
        };
        self.keep_warm(instance);
        Ok(outcome)
    }

    /// A warm instance or, one time in five and when there is none, a cold one.
    fn instance(&self) -> Instance {
        let mut warm = self.warm.borrow_mut();
        let deployed = self.sim.with(|world| world.deployed);
        warm.retain(|instance| instance.deployed == deployed);
        let choice = self.sim.with(|world| (world.rng.u8(..5) > 0).then(|| world.rng.usize(..warm.len().max(1))));
        if let Some(index) = choice.filter(|index| *index < warm.len()) {
            return warm.swap_remove(index);
        }
        let wire = Wire::new(self.sim.clone());
        let layout = match self.layout {
            LayoutChoice::All(layout) => layout,
            LayoutChoice::Each if self.sim.with(|world| world.rng.bool()) => Layout::Buffers,
            LayoutChoice::Each => Layout::Sums,
        };
        let starter = self.next_starter.as_ref().filter(|_| deployed > 0).unwrap_or(&self.starter);
        let handler = starter(&wire, layout);
        Instance { deployed, wire, handler }
    }

    fn keep_warm(&self, instance: Instance) {
        let mut warm = self.warm.borrow_mut();
        if warm.len() < WARM_MAX {
            warm.push(instance);
        }
    }
}

/// What a poller does next.
enum PollerStep {
    Deliver(Range<usize>),
    Wait,
    End,
}

/// Reads a reply as a mapping with `ReportBatchItemFailures` and a tumbling window does.
fn read(world: &World, shard: usize, records: &Range<usize>, reply: &Value) -> InvocationOutcome {
    let Some(failure) = reply["batchItemFailures"].get(0) else { return InvocationOutcome::Done };
    let batch = &world.stream.shards[shard].records[records.clone()];
    let position = batch.iter().position(|record| failure["itemIdentifier"] == record.number.as_str());
    position.map_or(InvocationOutcome::Failed, |position| InvocationOutcome::FailedFrom(records.start + position))
}
