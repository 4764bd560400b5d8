//! The state of one history: dice, clock, table, stream, and what happened so far.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fastrand::Rng;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::faults::{Fault, FaultRates, Tally};
use crate::stream::Stream;
use crate::table::Table;

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

/// A second and four weeks: how far the clock jumps at least and at most, either way.
const STEP_SECONDS: std::ops::Range<i64> = 1..28 * 86_400;

/// How long an outage lasts: some outlive a function's timeout.
const OUTAGE_MS: std::ops::Range<u64> = 100..90_000;

/// How many times pending work is polled before a history counts as stuck.
const LOOKS_MAX: usize = 100_000;

/// After what an outage may begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    Request,
    /// A batch has been counted.
    Transaction,
    /// As much of a batch has been counted as a transaction holds; the rest has not.
    FullTransaction,
}

/// Everything that a history's tasks share.
pub(crate) struct World {
    pub(crate) rng: Rng,
    pub(crate) table: Table,
    pub(crate) stream: Stream,
    pub(crate) tally: Tally,
    /// Whether faults strike.
    pub(crate) is_stormy: bool,
    /// Whether clicks are still to come.
    pub(crate) is_open: bool,
    /// Requests on the wire and invocations nobody waits for.
    pub(crate) under_way: usize,
    /// Clicks that could not be read, as they should have been put.
    pub(crate) mendable: Vec<Value>,
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
    /// The probability of a fault just now.
    pub(crate) fn rate(&self, fault: Fault) -> f64 {
        if self.is_stormy { self.fault_rates.rate(fault) } else { 0.0 }
    }

    /// Whether a fault strikes here and now; it is counted when it does.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        let strikes = self.rng.f64() < self.rate(fault);
        if strikes {
            self.tally.note(fault);
        }
        strikes
    }

    /// Whether the database is out of reach.
    pub(crate) fn is_out(&self) -> bool {
        self.is_stormy && Instant::now() < self.outage_end
    }

    /// After a request was applied, the database may get out of reach.
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

    /// What the clocks show, which now and then jump.
    pub(crate) fn now(&mut self) -> Timestamp {
        if self.strikes(Fault::ClockStep) {
            let far = if self.rng.bool() { STEP_SECONDS.end } else { 120 };
            let step = SignedDuration::from_secs(self.rng.i64(STEP_SECONDS.start..far));
            self.step = if self.rng.bool() { step } else { -step };
        }
        let elapsed = SignedDuration::try_from(self.begin.elapsed()).unwrap_or_default();
        self.eve + self.step + elapsed
    }

    /// The day on the clocks, in UTC.
    pub(crate) fn today(&mut self) -> Date {
        self.now().to_zoned(TimeZone::UTC).date()
    }

    /// Notes a line for whoever replays the history.
    pub(crate) fn trace(&mut self, line: impl FnOnce() -> String) {
        let elapsed_ms = self.begin.elapsed().as_millis();
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{elapsed_ms:>8} ms  {}", line()));
        }
    }
}

impl Sim {
    /// A world in which nothing has happened yet. `rng` decides all of it.
    pub(crate) fn new(mut rng: Rng, table: Table, is_traced: bool) -> Self {
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
            mendable: Vec::new(),
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
    pub(crate) fn with<T>(&self, step: impl FnOnce(&mut World) -> T) -> T {
        step(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets some virtual time go by.
    pub(crate) async fn pause(&self, ms: std::ops::Range<u64>) {
        let ms = self.with(|world| world.rng.u64(ms));
        sleep(Duration::from_millis(ms)).await;
    }

    /// Waits until no request is on the wire and no invocation runs.
    pub(crate) async fn settle(&self) -> anyhow::Result<()> {
        for _ in 0..LOOKS_MAX {
            if self.with(|world| world.under_way == 0) {
                return Ok(());
            }
            sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("requests are still on the wire")
    }

    /// The lines noted.
    pub(crate) fn take_trace(&self) -> Vec<String> {
        self.with(|world| world.trace.take().unwrap_or_default())
    }
}
