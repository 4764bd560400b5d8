//! Histories of the clicks: their declaration, with a weakened rule or not, and the handlers that
//! are usually written instead.

use std::rc::Rc;

use clap::ValueEnum;
use clicks_store::{CountedClick, click_aggregators, read_click};
use fastrand::Rng;
use jiff::civil::date;
use rollup::sim::{Outcome, SimError, Simulation, TABLE, Weakness};
use rollup::{Aggregator, DeclarationError, Group, Policy, Rollup, Window, sum};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::baselines::Baseline;

/// What counts the clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Implementation {
    /// The crate's aggregator, as `stats-aggregator` runs it.
    Tidemark,
    /// The handler of the table's original design, as it is usually written: three additions for
    /// each record.
    UsualHandler,
    /// The same behind one idempotency record for each stream record, as idempotency layers do.
    IdempotencyLayer,
    /// A first-seen record is recognised by its shard alone, although it was counted long ago.
    ClaimWithoutCheckpoint,
    /// A first-seen record that is cached or read is skipped, although its shard never counted it.
    SkippingCache,
    /// The checkpoint moves outside of the transaction that adds the sums.
    CheckpointOutsideTransaction,
    /// A repair ignores other repairs since the measurement.
    UnconditionalRepair,
    /// A repair counts users without writing their first-seen records.
    RepairWithoutRecords,
    /// A redrive does not remember the click.
    ForgetfulRedrive,
    /// A buffer is added to the statistics in one request and removed in another.
    FlushInTwoRequests,
}

impl Implementation {
    fn weakness(self) -> Option<Weakness> {
        match self {
            Self::Tidemark | Self::UsualHandler | Self::IdempotencyLayer => None,
            Self::ClaimWithoutCheckpoint => Some(Weakness::ClaimWithoutCheckpoint),
            Self::SkippingCache => Some(Weakness::SkippingCache),
            Self::CheckpointOutsideTransaction => Some(Weakness::CheckpointOutsideTransaction),
            Self::UnconditionalRepair => Some(Weakness::UnconditionalRepair),
            Self::RepairWithoutRecords => Some(Weakness::RepairWithoutRecords),
            Self::ForgetfulRedrive => Some(Weakness::ForgetfulRedrive),
            Self::FlushInTwoRequests => Some(Weakness::FlushInTwoRequests),
        }
    }
}

/// Plays one history of the clicks, some of which cannot be read.
pub fn play_clicks(seed: u64, implementation: Implementation, is_traced: bool) -> Result<Outcome, SimError> {
    let mut dice = Rng::with_seed(seed);
    // In some histories the days of one batch are more than a transaction can add to.
    let days = if dice.u8(..4) == 0 { dice.i64(200..400) } else { dice.i64(1..60) };
    // Each eighth seed plays the visitors of all time, and the fourth ones between them hours, weeks
    // and targets. The others play days, months and the total.
    let rollup = match seed % 8 {
        0 => 2,
        4 => 1,
        _ => 0,
    };
    let (users, poison) = (dice.u16(1..80), dice.f64() / 10.0);
    let generator = move |rng: &mut Rng| click(rng, users, days, poison);
    let is_idempotent = implementation == Implementation::IdempotencyLayer;
    let simulation = match implementation {
        Implementation::UsualHandler | Implementation::IdempotencyLayer => {
            let simulation =
                Simulation::of(|table| totals(table).unwrap_or_else(|error| unreachable!("{error}")), generator);
            simulation.handled_by(move |client| {
                let baseline = Rc::new(Baseline::new(client, TABLE, is_idempotent));
                async move |event: &RawValue| {
                    let read = |image: &RawValue| read_click(image).ok().flatten();
                    baseline.handle(event, read).await.map_err(|error| error.to_string())
                }
            })
        }
        _ => Simulation::of(move |table| aggregator(&table, rollup), generator),
    };
    let simulation = simulation.keys("userId", "createDateTime").mending(mended);
    let simulation = if is_traced { simulation.traced() } else { simulation };
    let simulation = implementation.weakness().into_iter().fold(simulation, Simulation::weakened);
    simulation.play([seed])
}

fn aggregator(table: &rollup::Table, rollup: usize) -> Aggregator<CountedClick> {
    let aggregators = click_aggregators(table).unwrap_or_else(|error| unreachable!("the declarations: {error}"));
    aggregators.into_iter().nth(rollup).unwrap_or_else(|| unreachable!("there are three"))
}

/// The statistics that the usual handlers know: no users.
fn totals(table: rollup::Table) -> Result<Aggregator<CountedClick>, DeclarationError> {
    let at = |click: &CountedClick| click.date.at(0, 0, 0, 0);
    let rollup = Rollup::builder("clicks")
        .measure("totalClicks", sum(|click: &CountedClick| i64::from(click.count)))
        .group(Group::new("day").civil_window("day", Window::Day, at).key("STAT#DAILY", "{day}"))
        .group(Group::new("month").civil_window("month", Window::Month, at).key("STAT#MONTHLY", "{month}"))
        .group(Group::new("total").key("STAT#TOTAL", "METADATA"))
        .on_modify(Policy::Keep)
        .on_remove(Policy::Keep)
        .on_ttl(Policy::Keep)
        .build()?;
    Ok(Aggregator::decoding(rollup, table, read_click))
}

/// A click as a client writes it, at the end of a month or year, or on a day far away.
fn click(rng: &mut Rng, users: u16, days: i64, poison: f64) -> Value {
    let user = match rng.u8(..30) {
        0 => "x".repeat(2_048),
        1 => "a#b \"c\" 訪客".to_owned(),
        _ => format!("user-{}", rng.u16(..users)),
    };
    let day = match rng.u8(..12) {
        0 => date(1, 1, 1),
        1 => date(9999, 12, 31),
        2 => date(2024, 2, 29),
        _ => date(2025, 12, 31).saturating_add(jiff::Span::new().days(rng.i64(-days..=days))),
    };
    let time = format!("{day}T{:02}:00:00.{:06}Z", rng.u8(10..14), rng.u32(..1_000_000));
    let mut item = json!({
        "userId": user,
        "createDateTime": time,
        "dateKey": format!("DATE#{day}"),
        "recordSort": format!("CLICK#{time}#{user}"),
    });
    if rng.bool() {
        item["target"] = json!(format!("target #{}", rng.u8(..5)));
    }
    if rng.bool() {
        item["clickCount"] = json!(rng.u32(1..1_000));
    }
    if rng.f64() < poison {
        match rng.u8(..4) {
            0 => item["clickCount"] = json!(1.5),
            1 => item["dateKey"] = json!("DATE#1987-06-05"),
            2 => item["recordSort"] = json!(format!("CLICK#{user}")),
            _ => item["userId"] = json!("STAT#DAILY"),
        }
    }
    item
}

/// A click that could not be read, as it should have been written. A broken key stays.
fn mended(mut item: Value) -> Value {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let (user, time) = (text("userId"), text("createDateTime"));
    item["clickCount"] = json!(1);
    item["dateKey"] = json!(format!("DATE#{}", time.split('T').next().unwrap_or_default()));
    item["recordSort"] = json!(format!("CLICK#{time}#{user}"));
    item
}
