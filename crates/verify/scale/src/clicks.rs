//! Clicks, one by one, through everything that may say no: the API's throttle, the account's
//! instances, the partitions of table and index, the stream's shards with one batch at a time, and
//! the statistics that all batches meet at.
//!
//! Time advances in steps of 10 ms. Buckets begin empty, so the result is the long-run rate.
//! Refused requests are counted and not retried, except the aggregator's, which backs off like the
//! function.

use std::collections::BTreeMap;

use fastrand::Rng;

use crate::bucket::Bucket;
use crate::limits::{
    API_REQUESTS_PER_S, CONCURRENCY, FIRST_SEEN_WRITES_AT_ONCE, NEW_PER_HUNDRED, NEW_TABLE_WRITE_UNITS_PER_S,
    PARTITION_WRITE_UNITS_PER_S, POLL_MS, REQUEST_MS, TABLE_WRITE_UNITS_PER_S, TEMPLATE_API_RATE, TEMPLATE_BATCH,
    TRANSACTION_MS, WRITER_LIST_MS, WRITER_MS,
};
use crate::measured::Measured;

const STEP_MS: u64 = 10;

/// How long a load lasts.
const SECONDS: u64 = 10;

/// The share of refused clicks above which a limit counts as reached: one in a thousand.
const REFUSED_SHARE_MAX: f64 = 0.001;

/// How far behind the aggregator may be at the end: the clicks of this many milliseconds.
const LAG_MS_MAX: u64 = 5_000;

/// The aggregator's pauses between tries.
const BACKOFF_MS: u64 = 25;
const BACKOFF_MS_MAX: u64 = 5_000;

/// Settings and quotas that can be changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Setting {
    /// `ApiThrottlingRate`.
    pub api_rate: f64,
    /// The account's quota of requests.
    pub account_rate: f64,
    /// Clicks of one `POST /clicks`.
    pub clicks_per_request: u64,
    /// Instances that may run at once.
    pub concurrency: u32,
    /// Write units a second that table and index are warm for.
    pub warm_units: f64,
    /// The quota of table and index.
    pub table_units: f64,
    /// `ClickDateShards`.
    pub date_shards: u32,
    /// `StatLayout: buffers`.
    pub is_buffered: bool,
    /// `MaximumBatchingWindowInSeconds`, in milliseconds.
    pub window_ms: u64,
    /// Stacks among which users are spread.
    pub stacks: u32,
}

impl Default for Setting {
    /// A new stack with the template's defaults, in a new account.
    fn default() -> Self {
        Self {
            api_rate: TEMPLATE_API_RATE,
            account_rate: API_REQUESTS_PER_S,
            clicks_per_request: 1,
            concurrency: CONCURRENCY,
            warm_units: NEW_TABLE_WRITE_UNITS_PER_S,
            table_units: TABLE_WRITE_UNITS_PER_S,
            date_shards: 1,
            is_buffered: false,
            window_ms: 0,
            stacks: 1,
        }
    }
}

/// What says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// The template's throttle.
    Throttle,
    /// The account's requests.
    AccountRequests,
    /// The account's instances.
    Concurrency,
    /// The table's quota.
    TableQuota,
    /// The table's partitions, in number.
    Partitions,
    /// One day's partitions of the index, whose back-pressure refuses the table's write.
    Day,
    /// The statistics that all shards add to: conflicts, and a partition.
    Statistics,
    /// The checkpoints, which share a partition key.
    Checkpoints,
}

/// What a load came to.
#[derive(Debug, Clone, Default)]
pub struct ClickLoadOutcome {
    /// Clicks stored.
    pub stored: u64,
    /// Batches counted.
    pub batches: u64,
    /// Refused clicks and late batches, by the limit that caused them.
    pub refused: BTreeMap<Limit, u64>,
    /// The limit that was reached first, if any.
    pub reached: Option<Limit>,
    /// Instances that ran at once, at the most.
    pub instances_max: u32,
}

struct Shard {
    waiting: u64,
    /// The batch under way: its clicks, and when its commit may be tried.
    batch: Option<(u64, u64, u32)>,
    free_at_ms: u64,
    /// When a batch is taken that is full, and when one is taken that is not.
    next_full_ms: u64,
    next_poll_ms: u64,
}

/// Plays `rate` clicks a second of one stack.
pub fn play(rate: f64, setting: &Setting, measured: &Measured, seed: u64) -> ClickLoadOutcome {
    let mut rng = Rng::with_seed(seed);
    let partitions = (setting.warm_units / PARTITION_WRITE_UNITS_PER_S).ceil().max(1.0) as usize;
    let mut throttle = Bucket::new(setting.api_rate);
    let mut account = Bucket::new(setting.account_rate);
    let mut table = Bucket::new(setting.table_units);
    let mut table_partitions = vec![Bucket::new(PARTITION_WRITE_UNITS_PER_S); partitions];
    let mut day = vec![Bucket::new(PARTITION_WRITE_UNITS_PER_S); setting.date_shards as usize];
    let mut total = Bucket::new(PARTITION_WRITE_UNITS_PER_S);
    // Checkpoints are written again and again under sort keys that stay, so a hot partition of them
    // is split in two.
    let mut checkpoint_partitions = [Bucket::new(PARTITION_WRITE_UNITS_PER_S); 2];
    let mut total_held_until_ms = 0;
    let stagger = |index: usize| index as u64 * POLL_MS / partitions as u64;
    let mut shards: Vec<_> = (0..partitions)
        .map(|index| Shard { waiting: 0, batch: None, free_at_ms: 0, next_full_ms: 0, next_poll_ms: stagger(index) })
        .collect();

    let writer_ms = if setting.clicks_per_request == 1 { WRITER_MS } else { WRITER_LIST_MS };
    let writer_steps = (writer_ms / STEP_MS).max(1) as usize;
    let mut writers_until = vec![0_u32; writer_steps];
    let (mut writers, mut counting) = (0_u32, 0_u32);

    let mut outcome = ClickLoadOutcome::default();
    let mut refuse = |limit: Limit, clicks: u64| *outcome.refused.entry(limit).or_default() += clicks;
    let mut due = 0.0;
    let (mut stored, mut batches, mut instances_max) = (0, 0, 0);
    for step in 0..SECONDS * 1_000 / STEP_MS {
        let now_ms = step * STEP_MS;
        let seconds = STEP_MS as f64 / 1_000.0;
        for bucket in [&mut throttle, &mut account, &mut table, &mut total] {
            bucket.refill(seconds);
        }
        for bucket in table_partitions.iter_mut().chain(&mut day).chain(&mut checkpoint_partitions) {
            bucket.refill(seconds);
        }
        let ending = step as usize % writer_steps;
        writers -= std::mem::take(&mut writers_until[ending]);

        // Requests of this step, as they come: a little more or less than the rate says.
        due += rate * seconds / setting.clicks_per_request as f64 * (0.9 + 0.2 * rng.f64());
        let requests = due as u64;
        due -= requests as f64;
        for _ in 0..requests {
            let clicks = setting.clicks_per_request;
            if !throttle.has_room() {
                refuse(Limit::Throttle, clicks);
                continue;
            }
            throttle.take(1.0);
            if !account.has_room() {
                refuse(Limit::AccountRequests, clicks);
                continue;
            }
            account.take(1.0);
            if writers + counting >= setting.concurrency {
                refuse(Limit::Concurrency, clicks);
                continue;
            }
            writers += 1;
            writers_until[ending] += 1;
            for _ in 0..clicks {
                let (partition, date_shard) = (rng.usize(..partitions), rng.usize(..day.len()));
                if !table.has_room() {
                    refuse(Limit::TableQuota, 1);
                } else if !table_partitions[partition].has_room() {
                    refuse(Limit::Partitions, 1);
                } else if !day[date_shard].has_room() {
                    refuse(Limit::Day, 1);
                } else {
                    table.take(1.0);
                    table_partitions[partition].take(1.0);
                    day[date_shard].take(1.0);
                    shards[partition].waiting += 1;
                    stored += 1;
                }
            }
        }
        instances_max = instances_max.max(writers + counting);

        for shard in &mut shards {
            if let Some((clicks, at_ms, tries)) = shard.batch {
                if at_ms > now_ms {
                    continue;
                }
                let (limit, is_in) = if setting.is_buffered {
                    let partition = &mut checkpoint_partitions[rng.usize(..2)];
                    let is_in = partition.has_room();
                    if is_in {
                        partition.take(measured.buffer_units);
                    }
                    (Limit::Checkpoints, is_in)
                } else {
                    let is_in = total.has_room() && total_held_until_ms <= now_ms;
                    if is_in {
                        // Twice, as a transaction does; the other items and the index have
                        // partitions of their own.
                        total.take(2.0);
                        total_held_until_ms = now_ms + TRANSACTION_MS;
                    }
                    (Limit::Statistics, is_in)
                };
                if is_in {
                    batches += 1;
                    counting -= 1;
                    shard.batch = None;
                    shard.free_at_ms = now_ms + if setting.is_buffered { REQUEST_MS } else { TRANSACTION_MS };
                } else {
                    let pause_ms = (BACKOFF_MS << tries.min(8)).min(BACKOFF_MS_MAX);
                    let at_ms = now_ms + pause_ms + rng.u64(..=pause_ms);
                    shard.batch = Some((clicks, at_ms, tries + 1));
                    refuse(limit, 0);
                }
                continue;
            }
            let is_free = shard.free_at_ms <= now_ms
                && shard.waiting > 0
                && (shard.next_poll_ms <= now_ms || shard.next_full_ms <= now_ms && shard.waiting >= TEMPLATE_BATCH);
            if !is_free || writers + counting >= setting.concurrency {
                continue;
            }
            let clicks = shard.waiting.min(TEMPLATE_BATCH);
            shard.waiting -= clicks;
            counting += 1;
            shard.next_full_ms = now_ms + POLL_MS;
            shard.next_poll_ms = now_ms + POLL_MS.max(setting.window_ms);
            let new = clicks * NEW_PER_HUNDRED / 100;
            for _ in 0..new {
                table_partitions[rng.usize(..partitions)].take(measured.first_seen_units);
            }
            // The checkpoint, the first-seen records that are there, the new ones in rounds.
            let first_seen_ms = new.div_ceil(FIRST_SEEN_WRITES_AT_ONCE) * REQUEST_MS;
            shard.batch = Some((clicks, now_ms + 2 * REQUEST_MS + first_seen_ms, 0));
        }
    }

    let late: u64 = shards.iter().map(|shard| shard.waiting + shard.batch.map_or(0, |(clicks, ..)| clicks)).sum();
    let late = late.saturating_sub((rate * LAG_MS_MAX as f64 / 1_000.0) as u64);
    if late > 0 {
        refuse(if setting.is_buffered { Limit::Checkpoints } else { Limit::Statistics }, late);
    }
    let bearable = rate * SECONDS as f64 * REFUSED_SHARE_MAX;
    let worst = outcome.refused.iter().max_by_key(|(_, refused)| **refused);
    outcome.reached = worst.filter(|(_, refused)| **refused as f64 > bearable).map(|(limit, _)| *limit);
    ClickLoadOutcome { stored, batches, instances_max, ..outcome }
}

/// How many clicks of one second a day takes before the first is refused, when the second's units
/// are all there: what the bench counts on the real engine. `shard_of` says to which of the date
/// shards a user belongs.
pub fn clicks_of_one_second(date_shards: u32, shard_of: impl Fn(u64, u32) -> u32) -> u64 {
    let mut day = vec![Bucket::full(PARTITION_WRITE_UNITS_PER_S); date_shards as usize];
    let mut stored = 0;
    loop {
        let bucket = &mut day[shard_of(stored, date_shards) as usize];
        if !bucket.has_room() {
            return stored;
        }
        bucket.take(1.0);
        stored += 1;
    }
}
