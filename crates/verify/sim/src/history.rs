//! What every world of a history has: its chance, its faults, and what was seen.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

/// Numbers by name.
pub type Counts = BTreeMap<&'static str, u64>;

/// The result of one history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryOutcome {
    /// Its seed.
    pub seed: u64,
    /// What happened, in numbers.
    pub counts: Counts,
    /// The faults, by kind.
    pub faults: Counts,
    /// One line for each promise that was broken.
    pub broken: Vec<String>,
    /// What happened, if it was to be traced.
    pub trace: Vec<String>,
}

/// The chance of a history, and its records.
pub(crate) struct History {
    pub(crate) rng: Rng,
    pub(crate) is_stormy: bool,
    /// How likely each fault is in this history.
    rates: BTreeMap<&'static str, f64>,
    /// The longest latency: of a slow request, and of a usual one.
    latencies_ms: (u64, u64),
    /// Invocations, requests and messages on their way.
    pub(crate) under_way: usize,
    pub(crate) counts: Counts,
    pub(crate) faults: Counts,
    pub(crate) broken: Vec<String>,
    /// The last answers to reads that are eventually consistent.
    answers: BTreeMap<String, (u16, Vec<u8>)>,
    trace: Option<Vec<String>>,
    begin: Instant,
}

impl History {
    /// `kinds` are the faults and how likely each may at most be. One history in sixteen is calm. In
    /// the others each kind is in the air or not, more or less.
    pub(crate) fn new(mut rng: Rng, kinds: &[(&'static str, f64)], latencies_ms: (u64, u64), is_traced: bool) -> Self {
        let is_calm = rng.u8(..16) == 0;
        let rates = kinds.iter().filter_map(|(fault, rate_max)| {
            let (is_on, share) = (rng.bool(), rng.f64());
            (is_on && !is_calm).then_some((*fault, rate_max * share))
        });
        let rates = rates.collect();
        Self {
            rng,
            is_stormy: true,
            rates,
            latencies_ms,
            under_way: 0,
            counts: Counts::new(),
            faults: Counts::new(),
            broken: Vec::new(),
            answers: BTreeMap::new(),
            trace: is_traced.then(Vec::new),
            begin: Instant::now(),
        }
    }

    /// Whether a fault strikes here and now; it is counted when it does.
    pub(crate) fn strikes(&mut self, fault: &'static str) -> bool {
        let rate = self.rates.get(fault).copied().unwrap_or_default();
        let strikes = self.rng.f64() < rate && self.is_stormy;
        if strikes {
            *self.faults.entry(fault).or_default() += 1;
        }
        strikes
    }

    /// How often something arrives that may be lost or doubled.
    pub(crate) fn copies(&mut self, lost: &'static str, twice: &'static str) -> usize {
        if self.strikes(lost) { 0 } else { 1 + usize::from(self.strikes(twice)) }
    }

    /// Mostly a few milliseconds, now and then a few hundred, so that requests overtake each other.
    pub(crate) fn latency(&mut self) -> Duration {
        let (slow, usual) = self.latencies_ms;
        let ms_max = if self.rng.u8(..10) == 0 { slow } else { usual };
        Duration::from_millis(self.rng.u64(1..ms_max))
    }

    /// The answer to a read that is eventually consistent: the present one, or the last one to the
    /// same question, however old that is.
    pub(crate) fn eventually(&mut self, question: String, present: (u16, Vec<u8>)) -> (u16, Vec<u8>) {
        match self.answers.get(&question).cloned() {
            Some(old) if self.strikes("old read") => old,
            _ => {
                self.answers.insert(question, present.clone());
                present
            }
        }
    }

    /// The time since the history began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    pub(crate) fn count(&mut self, what: &'static str, number: u64) {
        *self.counts.entry(what).or_default() += number;
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        let elapsed_ms = self.elapsed().as_millis();
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{elapsed_ms:>8} ms  {}", line()));
        }
    }

    pub(crate) fn outcome(&mut self, seed: u64) -> HistoryOutcome {
        HistoryOutcome {
            seed,
            counts: std::mem::take(&mut self.counts),
            faults: std::mem::take(&mut self.faults),
            broken: std::mem::take(&mut self.broken),
            trace: self.trace.take().unwrap_or_default(),
        }
    }
}
