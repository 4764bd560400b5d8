//! The state of one history: dice, clock, table, stream, and the faults so far.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep};

use super::SimError;
use super::faults::{Fault, FaultRates, Tally};
use super::stream::Stream;
use super::table::SimTable;

/// Where histories begin: a little before a midnight that ends a day, a month, a leap day or a
/// year.
const EVES: [&str; 8] = [
    "2025-10-02T23:59:30Z",
    "2025-10-31T23:59:40Z",
    "2024-02-28T23:59:45Z",
    "2024-02-29T23:59:45Z",
    "2025-02-28T23:59:50Z",
    "2000-02-29T23:59:20Z",
    "2024-12-31T23:59:50Z",
    "1999-12-31T23:59:55Z",
];

/// How far the clock jumps, either way: a second to 20 hours. A stream keeps its records for a day,
/// and the state of a shard is kept for three.
const STEP_SECONDS: std::ops::Range<i64> = 1..20 * 3_600;

/// How long an outage lasts. Some last longer than a function's timeout.
const OUTAGE_MS: std::ops::Range<u64> = 100..90_000;

/// How many shards a stream gets because of the hazard that they grow.
const GROWN_MAX: usize = 120;

/// How many times pending work is polled before a history counts as stuck.
const POLLS_MAX: usize = 100_000;

/// After what an outage may begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    Request,
    Transaction,
    /// A transaction with so many actions that more of the batch is left.
    FullTransaction,
}

/// The state that a history's tasks share.
pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) table: SimTable,
    pub(crate) stream: Stream,
    pub(crate) tally: Tally,
    /// Whether faults occur.
    pub(crate) is_stormy: bool,
    /// Whether more changes will come.
    pub(crate) is_open: bool,
    /// Requests on the way, and invocations for which no caller waits.
    pub(crate) under_way: usize,
    /// How often a new version of the function was deployed.
    pub(crate) deployed: u32,
    /// Whether each record was delivered.
    pub(crate) is_drained: bool,
    /// The least probability that a shard is followed by another.
    pub(crate) rolls_min: f64,
    /// Batches delivered.
    pub(crate) deliveries: usize,
    fault_rates: FaultRates,
    eve: Timestamp,
    step: SignedDuration,
    begin: Instant,
    outage_end: Instant,
    trace: Option<Vec<String>>,
}

/// A handle to the world. A lock is held for one step and never across an await.
#[derive(Clone)]
pub(crate) struct Sim(Arc<Mutex<World>>);

impl World {
    /// The probability of a fault now.
    pub(crate) fn rate(&self, fault: Fault) -> f64 {
        if self.is_stormy { self.fault_rates.rate(fault) } else { 0.0 }
    }

    /// Whether a fault occurs now; it is counted if it does.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        let strikes = self.rng.f64() < self.rate(fault);
        if strikes {
            self.tally.note(fault);
        }
        strikes
    }

    /// Whether the database cannot be reached.
    pub(crate) fn is_out(&self) -> bool {
        self.is_stormy && Instant::now() < self.outage_end
    }

    /// After a request was applied, an outage may begin.
    pub(crate) fn may_go_out(&mut self, after: Moment) {
        let rate = self.rate(Fault::Outage);
        let chance = match after {
            Moment::Request => rate / 20.0,
            Moment::Transaction => rate,
            Moment::FullTransaction => rate.sqrt(),
        };
        if !self.is_out() && self.rng.f64() < chance {
            self.tally.note(Fault::Outage);
            self.outage_end = Instant::now() + Duration::from_millis(self.rng.u64(OUTAGE_MS));
        }
    }

    /// The time on the clocks, which sometimes jump.
    pub(crate) fn now(&mut self) -> Timestamp {
        if self.strikes(Fault::ClockStep) {
            let far = if self.rng.bool() { STEP_SECONDS.end } else { 120 };
            let step = SignedDuration::from_secs(self.rng.i64(STEP_SECONDS.start..far));
            self.step = if self.rng.bool() { step } else { -step };
        }
        let elapsed = SignedDuration::try_from(self.begin.elapsed()).unwrap_or_default();
        self.eve + self.step + elapsed
    }

    /// Adds a line to the trace.
    pub(crate) fn trace(&mut self, line: impl FnOnce() -> String) {
        let elapsed_ms = self.begin.elapsed().as_millis();
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{elapsed_ms:>8} ms  {}", line()));
        }
    }

    /// Moves new records of the table to the shards, which may split before.
    pub(crate) fn pump(&mut self) -> Result<(), SimError> {
        for record in self.table.new_records()? {
            let key = self.table.key_of(&record["dynamodb"]["Keys"]);
            let grows = self.stream.shards.len() < GROWN_MAX && key.0.starts_with("ITEM#");
            for fault in [Fault::Split, Fault::Roll] {
                let rolls_min = if grows && fault == Fault::Roll { self.rolls_min } else { 0.0 };
                let strikes = self.rng.f64() < self.rate(fault).max(rolls_min);
                if strikes && self.stream.change(&mut self.rng, fault) {
                    self.tally.note(fault);
                    self.trace(|| format!("{fault:?}"));
                }
            }
            if self.strikes(Fault::Garbage) {
                self.stream.push_garbage(&mut self.rng);
            }
            self.stream.push(&mut self.rng, &key, record);
        }
        Ok(())
    }
}

impl Sim {
    /// A world in which nothing has happened yet. `rng` decides all of it.
    pub(crate) fn new(mut rng: Rng, table: SimTable, is_traced: bool) -> Self {
        let fault_rates = FaultRates::draw(&mut rng);
        let eve = EVES[rng.usize(..EVES.len())].parse().unwrap_or(Timestamp::UNIX_EPOCH);
        let stream = Stream::new(&mut rng);
        Self(Arc::new(Mutex::new(World {
            rng,
            table,
            stream,
            tally: Tally::default(),
            is_stormy: true,
            is_open: true,
            under_way: 0,
            deployed: 0,
            is_drained: false,
            rolls_min: 0.0,
            deliveries: 0,
            fault_rates,
            eve,
            step: SignedDuration::ZERO,
            begin: Instant::now(),
            outage_end: Instant::now(),
            trace: is_traced.then(Vec::new),
        })))
    }

    /// One step.
    pub(crate) fn with<A>(&self, step: impl FnOnce(&mut World) -> A) -> A {
        step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets some virtual time pass.
    pub(crate) async fn pause(&self, ms: std::ops::Range<u64>) {
        let ms = self.with(|world| world.rng.u64(ms));
        sleep(Duration::from_millis(ms)).await;
    }

    /// Waits until no request is on the way and no invocation runs.
    pub(crate) async fn settle(&self) -> Result<(), SimError> {
        for _ in 0..POLLS_MAX {
            if self.with(|world| world.under_way == 0) {
                return Ok(());
            }
            sleep(Duration::from_millis(100)).await;
        }
        Err(SimError::new("requests are still on the way"))
    }

    /// The lines of the trace.
    pub(crate) fn take_trace(&self) -> Vec<String> {
        self.with(|world| world.trace.take().unwrap_or_default())
    }
}
