//! The steps from a new stack to a load: the limit that is reached first, its remedy, the next
//! limit, and so on.

use crate::clicks::{ClickLoadOutcome, Limit, Setting, play};
use crate::games;
use crate::limits::{DATE_SHARDS_MAX, WRITER_LIST_MS, WRITER_MS};
use crate::measured::Measured;

/// All histories are played with this seed.
const SEED: u64 = 1;

/// How often the rate at which a limit is reached is halved in on: two digits of a thousandth of
/// the load.
const HALVINGS: u32 = 18;

/// More than any load needs.
const CURES_MAX: usize = 20;

/// Room that a cure leaves.
const SPARE: f64 = 1.25;

/// One limit on the way, and its cure.
#[derive(Debug, Clone)]
pub struct LimitStep {
    /// Which.
    pub limit: String,
    /// From how much on it refuses.
    pub from: f64,
    /// What to set.
    pub cure: String,
}

/// A load that goes through.
#[derive(Debug, Clone)]
pub struct SustainedLoad {
    /// The limits on the way.
    pub steps: Vec<LimitStep>,
    /// The setting that carries it.
    pub setting: Setting,
    /// The result in one stack.
    pub outcome: ClickLoadOutcome,
}

/// Clicks a second.
pub fn clicks(rate: f64, measured: &Measured) -> SustainedLoad {
    let (mut setting, mut steps) = (Setting::default(), Vec::new());
    for _ in 0..CURES_MAX {
        let of_one = |rate: f64, setting: &Setting| play(rate / f64::from(setting.stacks), setting, measured, SEED);
        let outcome = of_one(rate, &setting);
        let Some(mut limit) = outcome.reached else { return SustainedLoad { steps, setting, outcome } };
        let (mut below, mut from) = (0.0, rate);
        for _ in 0..HALVINGS {
            let middle = if below == 0.0 { from / 2.0 } else { (below * from).sqrt() };
            match of_one(middle, &setting).reached {
                Some(earlier) => (limit, from) = (earlier, middle),
                None => below = middle,
            }
        }
        let (what, cure) = cure(limit, rate, &mut setting);
        steps.push(LimitStep { limit: what, from, cure });
    }
    let outcome = ClickLoadOutcome::default();
    SustainedLoad { steps, setting, outcome }
}

/// Sets what lets `rate` through a limit, and says so.
fn cure(limit: Limit, rate: f64, setting: &mut Setting) -> (String, String) {
    let rate = rate / f64::from(setting.stacks);
    let requests = rate / setting.clicks_per_request as f64;
    let (what, cure) = match limit {
        Limit::Throttle => {
            setting.api_rate = round(requests * SPARE);
            ("the template's throttle of the API", format!("`ApiThrottlingRate` {}", number(setting.api_rate)))
        }
        Limit::AccountRequests if setting.clicks_per_request == 1 => {
            setting.clicks_per_request = 25;
            ("the account's requests a second", "25 clicks in a request".to_owned())
        }
        Limit::AccountRequests => {
            setting.account_rate = round(requests * SPARE);
            ("the account's requests a second", format!("API Gateway's quota: {}", number(setting.account_rate)))
        }
        Limit::Concurrency => {
            let writer_ms = if setting.clicks_per_request == 1 { WRITER_MS } else { WRITER_LIST_MS };
            let at_once = requests * writer_ms as f64 / 1_000.0 + setting.warm_units / 1_000.0;
            setting.concurrency = round(at_once * SPARE) as u32;
            ("instances at once", format!("Lambda's quota: {}", number(f64::from(setting.concurrency))))
        }
        Limit::TableQuota => {
            setting.table_units = round(rate * SPARE);
            ("the quota of table and index", format!("DynamoDB's quota: {} write units", number(setting.table_units)))
        }
        Limit::Partitions => {
            setting.warm_units = round(rate * SPARE);
            let cure = format!(
                "warm throughput of {} write units, or half an hour for each doubling",
                number(setting.warm_units)
            );
            ("the partitions that a new table has", cure)
        }
        Limit::Day if setting.date_shards < DATE_SHARDS_MAX => {
            // The fullest of the shards decides.
            setting.date_shards = ((rate / 850.0).ceil() as u32).min(DATE_SHARDS_MAX);
            ("one day's partitions of the index", format!("`ClickDateShards` {}", setting.date_shards))
        }
        Limit::Statistics if !setting.is_buffered => {
            setting.is_buffered = true;
            ("statistics that all shards add to", "`StatLayout` buffers".to_owned())
        }
        Limit::Checkpoints if setting.window_ms == 0 => {
            setting.window_ms = 1_000;
            ("checkpoints, which share a partition key", "the mapping's `MaximumBatchingWindowInSeconds` 1".to_owned())
        }
        Limit::Day | Limit::Statistics | Limit::Checkpoints => {
            let stacks = (rate / 85_000.0).ceil().max(2.0);
            let per_stack = rate / stacks;
            setting.stacks *= stacks as u32;
            *setting =
                Setting { warm_units: round(per_stack * SPARE), table_units: round(per_stack * SPARE), ..*setting };
            let what = if limit == Limit::Checkpoints {
                "checkpoints, which share a partition key"
            } else {
                "100 partitions of one day"
            };
            (what, format!("{} stacks, each in an account of its own, with users spread over them", setting.stacks))
        }
    };
    (what.to_owned(), cure)
}

/// Games at once.
pub fn games(count: u32, measured: &Measured) -> (Vec<LimitStep>, games::GameLoadOutcome) {
    let (mut setting, mut steps) = (games::Setting::default(), Vec::new());
    for _ in 0..CURES_MAX {
        let outcome = games::play(count, &setting, &measured.game, SEED);
        let Some(mut limit) = outcome.reached else { return (steps, outcome) };
        let (mut below, mut from) = (0, count);
        for _ in 0..HALVINGS {
            let middle = u32::midpoint(below, from);
            match games::play(middle, &setting, &measured.game, SEED).reached {
                Some(earlier) => (limit, from) = (earlier, middle),
                None => below = middle,
            }
        }
        let peak = |value: f64| round(value * SPARE);
        let (what, cure) = match limit {
            games::Limit::Throttle => {
                setting.api_rate = peak(outcome.messages_in_max);
                ("the template's throttle of the sockets", format!("`ApiThrottlingRate` {}", number(setting.api_rate)))
            }
            games::Limit::AccountRequests => {
                setting.account_rate = peak(outcome.messages_max);
                (
                    "the account's requests and callbacks a second",
                    format!("API Gateway's quota: {}", number(setting.account_rate)),
                )
            }
            games::Limit::Concurrency => {
                setting.concurrency = peak(outcome.instances_max);
                ("instances at once", format!("Lambda's quota: {}", number(setting.concurrency)))
            }
            games::Limit::Partitions => {
                setting.warm_units = peak(outcome.write_units_max);
                (
                    "the partitions that a new table has",
                    format!("warm throughput of {} write units", number(setting.warm_units)),
                )
            }
        };
        steps.push(LimitStep { limit: what.to_owned(), from: f64::from(from), cure });
    }
    (steps, games::GameLoadOutcome::default())
}

/// To two digits, upwards.
fn round(value: f64) -> f64 {
    let unit = 10_f64.powf(value.max(1.0).log10().floor() - 1.0).max(1.0);
    (value / unit).ceil() * unit
}

/// With a comma at each thousand.
pub fn number(value: f64) -> String {
    let digits = format!("{:.0}", value.round());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
