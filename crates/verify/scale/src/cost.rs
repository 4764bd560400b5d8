//! What a load costs in a month.

use crate::clicks::{ClickLoadOutcome, Setting};
use crate::limits::{
    CLICK_BYTES, FIRST_SEEN_WRITES_AT_ONCE, LOG_BYTES, MONTH_S, NEW_PER_HUNDRED, REQUEST_MS, TRANSACTION_MS,
    WRITER_LIST_MS, WRITER_MS,
};
use crate::measured::Measured;
use crate::price;

/// Memory of `click-writer` and `stats-aggregator` in the template.
const WRITER_GB: f64 = 0.25;
const AGGREGATOR_GB: f64 = 0.5;

/// What a click takes, and a month of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Clicks of a batch.
    pub batch: f64,
    /// Write units of a click.
    pub write_units: f64,
    /// Read units of a click.
    pub read_units: f64,
    /// Invocations of a click.
    pub invocations: f64,
    /// Dollars: API, functions, writes and reads, storage of a month's clicks, logs.
    pub dollars: [f64; 5],
}

impl Cost {
    /// Of `rate` clicks a second, day and night.
    pub fn of(rate: f64, setting: &Setting, outcome: &ClickLoadOutcome, measured: &Measured) -> Self {
        let clicks = rate * MONTH_S;
        let requests = 1.0 / setting.clicks_per_request as f64;
        let batches = outcome.batches as f64 / outcome.stored as f64;
        let batch = 1.0 / batches;
        let new = NEW_PER_HUNDRED as f64 / 100.0;
        let commit = if setting.is_buffered { measured.buffer_units } else { measured.commit_units };
        // Each buffer is added to the statistics once a minute.
        let shards = f64::from(setting.stacks) * setting.warm_units / 1_000.0;
        let flushes = if setting.is_buffered { shards / 60.0 / rate * measured.flush_units } else { 0.0 };
        let write_units = 2.0 + new * measured.first_seen_units + batches * commit + flushes;
        let read_units = measured.read_units + batches;
        let writer_s = (if setting.clicks_per_request == 1 { WRITER_MS } else { WRITER_LIST_MS }) as f64 / 1_000.0;
        let first_seen_ms = (batch * new / FIRST_SEEN_WRITES_AT_ONCE as f64).ceil() * REQUEST_MS as f64;
        let aggregator_s = ((2 * REQUEST_MS + TRANSACTION_MS) as f64 + first_seen_ms) / 1_000.0;
        let gb_seconds = requests * writer_s * WRITER_GB + batches * aggregator_s * AGGREGATOR_GB;
        let invocations = requests + batches;
        let dollars = [
            requests * price::HTTP_REQUEST,
            invocations * price::INVOCATION + gb_seconds * price::GB_SECOND,
            write_units * price::WRITE_UNIT + read_units * price::READ_UNIT,
            CLICK_BYTES / 1e9 * (price::STORED_GB_MONTH + price::RECOVERY_GB_MONTH / 2.0),
            invocations * LOG_BYTES / 1e9 * price::LOG_GB,
        ];
        Self { batch, write_units, read_units, invocations, dollars: dollars.map(|of_a_click| of_a_click * clicks) }
    }

    /// All of it.
    pub fn total(&self) -> f64 {
        self.dollars.iter().sum()
    }
}
