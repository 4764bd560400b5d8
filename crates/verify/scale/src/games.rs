//! Concurrent games, and the resources they share: the sockets' throttle, the account's requests
//! and callbacks, its instances, and the table's partitions. Each game has its own partition, far
//! from its limit.
//!
//! A game's messages are those of the bench's game. The pen is down for half of the drawing, in
//! bouts, and each game is at another point of its turn.

use fastrand::Rng;

use crate::bucket::Bucket;
use crate::limits::{API_REQUESTS_PER_S, CONCURRENCY, MESSAGE_MS, NEW_TABLE_WRITE_UNITS_PER_S, TEMPLATE_API_RATE};
use crate::measured::Game;

const STEP_MS: u64 = 100;
const SECONDS: u64 = 150;
const REFUSED_SHARE_MAX: f64 = 0.001;

/// As `docs/benchmarks.md` has them.
const TURNS: f64 = 100.0;
const CHOOSING_S: f64 = 5.0;
const REVEAL_S: f64 = 8.0;
const BOUT_S: f64 = 3.0;
const DOWN_S: f64 = 1.5;
/// Three batches in a bout.
const INK_S: f64 = DOWN_S / 3.0;
const LISTENERS: f64 = 9.0;

/// Settings and quotas that can be changed.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// `ApiThrottlingRate`.
    pub api_rate: f64,
    /// The account's quota of requests and callbacks.
    pub account_rate: f64,
    /// Instances that may run at once.
    pub concurrency: f64,
    /// Write units a second that the table is warm for.
    pub warm_units: f64,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            api_rate: TEMPLATE_API_RATE,
            account_rate: API_REQUESTS_PER_S,
            concurrency: f64::from(CONCURRENCY),
            warm_units: NEW_TABLE_WRITE_UNITS_PER_S,
        }
    }
}

/// What says no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The template's throttle.
    Throttle,
    /// The account's requests and callbacks.
    AccountRequests,
    /// The account's instances.
    Concurrency,
    /// The table's partitions, in number.
    Partitions,
}

/// What a load came to: the most of any second.
#[derive(Debug, Clone, Copy, Default)]
pub struct GameLoadOutcome {
    /// The limit that was reached first, if any.
    pub reached: Option<Limit>,
    /// Messages in.
    pub messages_in_max: f64,
    /// Messages in, and posts to connections.
    pub messages_max: f64,
    /// Instances at once.
    pub instances_max: f64,
    /// Write units.
    pub write_units_max: f64,
}

/// Plays `count` games for two turns.
pub fn play(count: u32, setting: &Setting, game: &Game, seed: u64) -> GameLoadOutcome {
    let mut rng = Rng::with_seed(seed);
    let turn_s = game.minutes * 60.0 / TURNS;
    let drawing_s = turn_s - CHOOSING_S - REVEAL_S;
    let inks = drawing_s / BOUT_S * DOWN_S / INK_S;
    let others_per_s = (game.messages_in / TURNS - inks).max(0.0) / turn_s;
    let posts = (game.messages - game.messages_in) / TURNS;
    let posts_of_other = (posts - LISTENERS * inks).max(0.0) / (others_per_s * turn_s);
    let write_units = game.write_units / game.messages_in;
    let begun: Vec<f64> = (0..count).map(|_| rng.f64() * turn_s).collect();

    let limits = [Limit::Throttle, Limit::AccountRequests, Limit::Concurrency, Limit::Partitions];
    let in_flight_per_s = setting.concurrency * 1_000.0 / MESSAGE_MS as f64;
    let mut buckets = [setting.api_rate, setting.account_rate, in_flight_per_s, setting.warm_units].map(Bucket::new);
    let mut refused = [0.0; 4];
    let (mut all, mut outcome, mut second) = (0.0, GameLoadOutcome::default(), [0.0; 2]);
    let step_s = STEP_MS as f64 / 1_000.0;
    for step in 0..SECONDS * 1_000 / STEP_MS {
        let now_s = step as f64 * step_s;
        let (mut ins, mut outs) = (0.0, 0.0);
        for begun in &begun {
            let at = (now_s + begun) % turn_s - CHOOSING_S;
            let is_down = (0.0..drawing_s).contains(&at) && at % BOUT_S < DOWN_S;
            let ink = if is_down { step_s / INK_S } else { 0.0 };
            let others = others_per_s * step_s;
            ins += ink + others;
            outs += LISTENERS * ink + posts_of_other * others;
        }
        for (index, (bucket, units)) in buckets.iter_mut().zip([ins, ins + outs, ins, ins * write_units]).enumerate() {
            bucket.refill(step_s);
            bucket.take(units);
            if !bucket.has_room() {
                // Refused requests cost nothing.
                bucket.take(-units);
                refused[index] += units;
            }
        }
        all += ins;
        second = [second[0] + ins, second[1] + outs];
        if step % (1_000 / STEP_MS) == 1_000 / STEP_MS - 1 {
            outcome.messages_in_max = outcome.messages_in_max.max(second[0]);
            outcome.messages_max = outcome.messages_max.max(second[0] + second[1]);
            second = [0.0; 2];
        }
    }
    outcome.instances_max = outcome.messages_in_max * MESSAGE_MS as f64 / 1_000.0;
    outcome.write_units_max = outcome.messages_in_max * write_units;
    let worst = limits.into_iter().zip(refused).max_by(|(_, one), (_, other)| one.total_cmp(other));
    outcome.reached = worst.filter(|(_, refused)| *refused > all * REFUSED_SHARE_MAX).map(|(limit, _)| limit);
    outcome
}
